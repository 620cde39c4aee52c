"""What kernels iterate over: ranges that become loops, and items known at compile time."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language import iterators
from lazyblock.language.constexpr import constexpr, unwrap, wrap
from lazyblock.language.dtypes import dtype, int32, int64, uint32, uint64
from lazyblock.language.frontend.scope import say
from lazyblock.language.semantics import to_tensor
from lazyblock.language.tensor import tensor


def static_items(value: Any) -> list[Any]:
    """The items of a tuple, or of a range with known bounds; numbers are constexprs."""
    if isinstance(value, (iterators.range, iterators.static_range)):
        return [constexpr(item) for item in builtins.range(*_known_bounds(value))]
    value = unwrap(value) if isinstance(value, constexpr) else value
    if isinstance(value, (tuple, list, builtins.range)):
        return [wrap(item) if isinstance(item, (bool, int, float, str)) else item for item in value]
    raise CompileError(
        f"{say(value)} cannot be iterated over.",
        hint="loop over range(...), tl.range(...), tl.static_range(...) or a tuple.",
    )


def index_type(types: Sequence[dtype]) -> dtype:
    """The type of a range's index: the widest of its bounds', at least int32."""
    is_wide = any(type.primitive_bitwidth == 64 for type in types)
    if is_wide:
        return uint64 if uint64 in types else int64
    return uint32 if uint32 in types else int32


def bounds_of(loop: Any) -> list[tensor]:
    """Start, stop and step of a range as integer scalars."""
    bounds = [to_tensor(value) for value in (loop.start, loop.stop, loop.step)]
    for bound in bounds:
        if bound.handle.shape or not bound.dtype.is_int():
            raise CompileError(f"The bounds of a range are integer scalars, got {say(bound)}.")
    check_step(unwrap(loop.step))
    return bounds


def check_step(step: Any) -> None:
    """A range moves."""
    if isinstance(step, int) and step == 0:
        raise CompileError("The step of a range must not be 0.")


def range_of(loop: Any) -> tuple[dtype, builtins.range]:
    """Type and indices of a range whose bounds have values (in interpreter mode)."""
    bounds = bounds_of(loop)
    return index_type([bound.dtype for bound in bounds]), builtins.range(*map(int, bounds))


def _known_bounds(value: Any) -> tuple[int, int, int]:
    bounds = [unwrap(bound) for bound in (value.start, value.stop, value.step)]
    for bound in bounds:
        if isinstance(bound, tensor):
            raise CompileError(
                f"The bounds of this range must be known at compile time, got {say(bound)}.",
                hint="pass the bound as a tl.constexpr, or loop over range(...).",
            )
        if not isinstance(bound, int):
            raise CompileError(f"A range has integer bounds, got {say(bound)}.")
    start, stop, step = bounds
    check_step(step)
    return start, stop, step
