"""What the author of a kernel knows; nothing in the results depends on it."""

from __future__ import annotations

from typing import Any

from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current
from lazyblock.language.semantics.debug import device_assert


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """`input`, whose first elements are multiples of `values`."""
    return input


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """`input`, of which `values` elements at a time are consecutive numbers."""
    return input


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """`input`, of which `values` elements at a time are equal."""
    return input


@builtin
def assume(cond: Any) -> None:
    """`cond` holds; asserted in debug mode."""
    if current().debug:
        device_assert(cond, "an assumption does not hold")
