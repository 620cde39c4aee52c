"""Functions of the language that are written in the language: reductions, scans, softmax."""

from __future__ import annotations

from typing import Any

import lazyblock.language as language
from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, constexpr_function
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import dtype, float32, int32, uint32
from lazyblock.language.semantics import arithmetic, elementwise
from lazyblock.language.semantics.convert import cast, retype, to_tensor, widen_bfloat16
from lazyblock.language.semantics.elementwise import PropagateNan
from lazyblock.language.semantics.reduce import (
    associative_scan,
    index_along,
    keep_axes,
    reduce,
)
from lazyblock.language.semantics.shapes import check_axis, ravel
from lazyblock.language.tensor import describe, tensor
from lazyblock.tiler.ir import Value

Axis = int | None


def sum_type(type: dtype, wanted: dtype | None) -> dtype:
    """In which type elements of `type` are added up: small integers in 32 bits."""
    if wanted is not None:
        return wanted
    if type.is_int() and type.primitive_bitwidth < 32:
        return int32 if type.is_int_signed() else uint32
    return type


@builtin
def sum(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> tensor:
    """Sum along `axis` (None: of all elements); integers below 32 bits add up in 32."""
    value = to_tensor(input)
    value = cast(value, sum_type(value.dtype, dtype))
    total: tensor = reduce(value, axis, arithmetic.add_plain, keep_dims)
    return total


@builtin
def xor_sum(input: Any, axis: Any = None, keep_dims: bool = False) -> tensor:
    """Exclusive or of integers along `axis`."""
    return _of_bits("xor", input, axis, keep_dims, "xor_sum")


@builtin
def reduce_or(input: Any, axis: Any = None, keep_dims: bool = False) -> tensor:
    """Or of the bits of integers along `axis`."""
    return _of_bits("or", input, axis, keep_dims, "reduce_or")


def _of_bits(name: str, input: Any, axis: Any, keep_dims: bool, function: str) -> tensor:
    value = to_tensor(input)
    if not value.dtype.is_int():
        raise SemanticError(f"tl.{function} is of integers, got {describe(value)}.")
    found: tensor = reduce(value, axis, lambda a, b: arithmetic.binary(name, a, b), keep_dims)
    return found


# --- extremes ------------------------------------------------------------------------------------


@builtin
def max(
    input: Any,
    axis: Any = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
    propagate_nan: Any = PropagateNan.NONE,
) -> Any:
    """Largest element along `axis`, and with return_indices its place; NaN is passed over.

    Without indices, halves give float32 and integers below 32 bits int32, and NaN may propagate.
    """
    return _extreme("max", input, axis, return_indices, keep_dims, propagate_nan)


@builtin
def min(
    input: Any,
    axis: Any = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
    propagate_nan: Any = PropagateNan.NONE,
) -> Any:
    """Smallest element along `axis`, and with return_indices its place; NaN is passed over.

    Without indices, halves give float32 and integers below 32 bits int32, and NaN may propagate.
    """
    return _extreme("min", input, axis, return_indices, keep_dims, propagate_nan)


@builtin
def argmax(input: Any, axis: Any, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Place of the largest element along `axis`, int32; of equal ones the first."""
    place: tensor = _extreme("max", input, axis, True, keep_dims)[1]
    return place


@builtin
def argmin(input: Any, axis: Any, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """Place of the smallest element along `axis`, int32; of equal ones the first."""
    place: tensor = _extreme("min", input, axis, True, keep_dims)[1]
    return place


def _extreme(
    kind: str,
    input: Any,
    axis: Any,
    return_indices: bool,
    keep_dims: bool,
    propagate_nan: Any = PropagateNan.NONE,
) -> Any:
    value = widen_bfloat16(to_tensor(input))
    if return_indices:
        return _extreme_with_index(kind, value, axis, keep_dims)
    if value.dtype.primitive_bitwidth < 32:
        value = cast(value, float32 if value.dtype.is_floating() else int32)
    binary = elementwise.maximum if kind == "max" else elementwise.minimum
    return reduce(value, axis, lambda a, b: binary(a, b, propagate_nan), keep_dims)


def _extreme_with_index(kind: str, value: tensor, axis: Any, keep_dims: bool) -> Any:
    ndim = value.ndim
    if axis is None:
        value, place = ravel(value), 0
    else:
        place = check_axis(axis, ndim)
    b = current_builder()
    order = "gt" if kind == "max" else "lt"
    is_float = value.dtype.is_floating()

    def combine(left: Value, index: Value, right: Value, other: Value) -> list[Value]:
        """The better one; of equal ones, and of NaN, the first. NaN loses to numbers."""
        is_first = b.compare("lt", index, other)
        is_tied = b.compare("eq", left, right)
        is_better = b.compare(order, left, right)
        if is_float:
            is_tied = b.or_(is_tied, b.and_(b.is_nan(left), b.is_nan(right)))
            is_better = b.or_(is_better, b.and_(b.is_nan(right), b.not_(b.is_nan(left))))
        keep = b.or_(is_better, b.and_(is_tied, is_first))
        return [b.select(keep, left, right), b.select(keep, index, other)]

    index = index_along(value, place)
    handles = b.reduce([value.handle, index.handle], place, combine)
    found = [retype(h, v.dtype) for h, v in zip(handles, (value, index), strict=True)]
    if keep_dims:
        found = [keep_axes(v, place, ndim if axis is None else 0) for v in found]
    return tuple(found)


# --- scans ---------------------------------------------------------------------------------------


@builtin
def cumsum(input: Any, axis: Any = 0, reverse: bool = False, dtype: Any = None) -> tensor:
    """Running sums along `axis`; integers below 32 bits and bfloat16 add up in 32."""
    value = widen_bfloat16(to_tensor(input))
    value = cast(value, sum_type(value.dtype, dtype))
    sums: tensor = associative_scan(value, axis, arithmetic.add_plain, reverse)
    return sums


@builtin
def cumprod(input: Any, axis: Any = 0, reverse: bool = False) -> tensor:
    """Running products along `axis`; integers below 32 bits and bfloat16 multiply in 32."""
    value = widen_bfloat16(to_tensor(input))
    value = cast(value, sum_type(value.dtype, None))
    products: tensor = associative_scan(
        value, axis, lambda a, b: arithmetic.binary("mul", a, b), reverse
    )
    return products


# --- compositions --------------------------------------------------------------------------------


@builtin
def softmax(
    x: Any, dim: Any = None, keep_dims: bool = False, ieee_rounding: bool = False
) -> tensor:
    """exp(x) over its sum along `dim` (default 0)."""
    value: Any = to_tensor(x)
    place = 0 if dim is None else check_axis(dim, value.ndim, "dim")
    powers = elementwise.exp(value - max(value, place, keep_dims=True))
    return elementwise.fdiv(powers, sum(powers, place, keep_dims=True), ieee_rounding)


@builtin
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[tensor, tensor]:
    """Places in a size_i by size_j matrix, renumbered so that groups of size_g rows come together.

    Row-major numbers become column-major within each group.
    """
    number = i * size_j + j
    per_group = size_g * size_j
    first = number // per_group * size_g
    rows = elementwise.minimum(size_i - first, size_g)
    within = number % per_group
    return first + within % rows, within // rows


@constexpr_function
def _log2(n: int) -> int:
    return n.bit_length() - 1


def __getattr__(name: str) -> Any:
    """Triton's module of this name has more of the language's names."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(language, name)
