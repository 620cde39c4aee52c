"""Where a program instance stands, and blocks made from nothing."""

from __future__ import annotations

from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import dtype
from lazyblock.language.semantics.convert import cast, scalar, to_tensor, unwrap_number
from lazyblock.language.semantics.shapes import check_shape, check_static_int, mark_odd, stretch
from lazyblock.language.tensor import describe, tensor


def _grid_axis(axis: Any, function: str) -> int:
    number = check_static_int(axis, "'axis'")
    if number not in (0, 1, 2):
        raise SemanticError(f"tl.{function} takes axis 0, 1 or 2, got {number}.")
    return number


@builtin
def program_id(axis: Any) -> tensor:
    """Place of this program instance in the grid along `axis`, int32."""
    return tensor(current_builder().program_id(_grid_axis(axis, "program_id")))


@builtin
def num_programs(axis: Any) -> tensor:
    """Extent of the grid along `axis`, int32."""
    return tensor(current_builder().num_programs(_grid_axis(axis, "num_programs")))


@builtin
def arange(start: Any, end: Any) -> tensor:
    """start, start + 1, ..., end - 1 as int32; an odd number of them is an extension."""
    first, last = check_static_int(start, "'start'"), check_static_int(end, "'end'")
    count = last - first
    if count <= 0:
        raise SemanticError(f"tl.arange({first}, {last}) has no elements.")
    mark_odd((count,))
    if not -(2**31) <= first <= last <= 2**31:
        raise SemanticError(f"tl.arange({first}, {last}) leaves the range of int32.")
    b = current_builder()
    return tensor(b.arange(first, last))


@builtin
def full(shape: Any, value: Any, dtype: Any) -> tensor:
    """`value` in every element of a block of `shape` and `dtype`."""
    given = unwrap_number(value)
    if isinstance(given, tensor):
        if given.handle.type.size != 1:
            raise SemanticError(f"tl.full repeats a scalar, got {describe(given)}.")
        element = cast(given, dtype)
    else:
        element = _constant(given, dtype)
    return stretch(element, check_shape(shape))


def _constant(value: Any, type: dtype) -> tensor:
    """A literal converted as a cast converts it; integers wrap."""
    if isinstance(value, int) and type.scalar.is_int():
        return tensor(current_builder().constant(value, type.scalar.ir))
    literal = to_tensor(value)
    if literal.dtype.is_floating() and type.scalar.is_floating():
        return scalar(float(value), type.scalar)
    return cast(literal, type)


@builtin
def zeros(shape: Any, dtype: Any) -> tensor:
    """A block of zeros."""
    return full(shape, 0, dtype)


@builtin
def zeros_like(input: Any) -> tensor:
    """A block of zeros of `input`'s shape and type."""
    like = to_tensor(input)
    return full(like.handle.shape, 0, like.dtype)


@builtin
def full_like(input: Any, value: Any) -> tensor:
    """`value` in every element of a block of `input`'s shape and type."""
    like = to_tensor(input)
    return full(like.handle.shape, value, like.dtype)
