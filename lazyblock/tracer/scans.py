"""Scans of the namespace: running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from lazyblock.errors import ValueRangeError
from lazyblock.graph.ops import ReduceKind
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
]


def cumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Array:
    """Sums so far; axis None takes all elements in C order. Dtypes as in `sum`."""
    return to_array(x).cumsum(axis, dtype)


def cumprod(x: Any, /, axis: int | None = None, dtype: Any = None) -> Array:
    """Products so far; see `cumsum`."""
    return to_array(x).cumprod(axis, dtype)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Sums so far; include_initial puts 0 before them. Several axes need `axis`."""
    return _cumulative(ReduceKind.SUM, to_array(x), axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Products so far; include_initial puts 1 before them. Several axes need `axis`."""
    return _cumulative(ReduceKind.PROD, to_array(x), axis, dtype, include_initial)


def _cumulative(
    kind: ReduceKind, x: Array, axis: int | None, dtype: Any, include_initial: bool
) -> Array:
    if axis is None and x.ndim > 1:
        raise ValueRangeError(
            "For arrays which have more than one dimension ``axis`` argument is required."
        )
    return x.accumulate(kind, axis, dtype, f"cumulative_{kind.value}", include_initial)
