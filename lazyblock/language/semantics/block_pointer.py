"""Block pointers and tensor descriptors: a strided array, and where in it a block lies.

Both are composites over masked loads and stores; offsets and addresses are computed in 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, constexpr
from lazyblock.language.dtypes import block_type, int64, pointer_type
from lazyblock.language.semantics import arithmetic
from lazyblock.language.semantics.convert import cast, to_tensor
from lazyblock.language.semantics.create import arange
from lazyblock.language.semantics.memory import atomic, check_choice, load_where, store_where
from lazyblock.language.semantics.shapes import (
    Shape,
    check_axis,
    check_shape,
    check_static_int,
    expand_dims,
    reshape,
    stretch,
)
from lazyblock.language.tensor import composite, describe, tensor

PADDINGS = ("", "zero", "nan")
_NO_HINTS = {"cache": "", "eviction": ""}


@dataclass(frozen=True, eq=False)
class Strided(composite):
    """An array in memory: a pointer to its first element, extents and strides in elements."""

    base: tensor
    shape_values: tuple[tensor, ...]
    stride_values: tuple[tensor, ...]
    block: Shape

    @property
    def rank(self) -> int:
        return len(self.block)

    @property
    def element_ty(self) -> Any:
        return self.base.dtype.element_ty

    @property
    def block_shape(self) -> tuple[int, ...]:
        return self.block

    @property
    def block_type(self) -> Any:
        return block_type(self.element_ty, self.block)

    def leaves(self) -> tuple[tensor, ...]:
        return (self.base, *self.shape_values, *self.stride_values)

    def with_leaves(self, leaves: Sequence[tensor]) -> Strided:
        base, *rest = leaves
        shapes, strides = rest[: self.rank], rest[self.rank : 2 * self.rank]
        return replace(self, base=base, shape_values=tuple(shapes), stride_values=tuple(strides))

    # --- places ----------------------------------------------------------------------------------

    def indices(self, offsets: Sequence[tensor]) -> list[tensor]:
        """Along each axis the block's coordinates in the array, spread over the other axes."""
        found = []
        for axis, (offset, extent) in enumerate(zip(offsets, self.block, strict=True)):
            index = arithmetic.add(cast(offset, int64), cast(arange(0, extent), int64))
            found.append(self.along(index, axis))
        return found

    def along(self, index: tensor, axis: int) -> tensor:
        """A row of coordinates as a block of this rank."""
        others = [place for place in range(self.rank) if place != axis]
        return expand_dims(index, others) if others else index

    def pointers(self, indices: Sequence[tensor], shape: Shape) -> tensor:
        terms = [
            arithmetic.mul(index, stride, sanitize_overflow=False)
            for index, stride in zip(indices, self.stride_values, strict=True)
        ]
        return stretch(arithmetic.move(self.base, _sum(terms), "add"), shape)

    def inside(self, indices: Sequence[tensor], axes: Sequence[int], shape: Shape) -> Any:
        """Which elements lie within the array along `axes`; None: all do."""
        tests = []
        for axis in axes:
            index, extent = indices[axis], self.shape_values[axis]
            is_low = arithmetic.compare("ge", index, 0)
            tests.append(arithmetic.logical_and(is_low, arithmetic.compare("lt", index, extent)))
        return stretch(reduce(arithmetic.logical_and, tests), shape) if tests else None

    def padding(self, option: str) -> Any:
        """What elements outside read as."""
        if option != "nan":
            return None
        type = self.element_ty
        if not type.is_floating():
            raise SemanticError(f"Padding with NaN is for floats, got elements of {type}.")
        return float("nan")


def _sum(terms: Sequence[tensor]) -> tensor:
    return reduce(lambda a, b: arithmetic.add(a, b, sanitize_overflow=False), terms)


def _int64s(values: Any, count: int, name: str) -> tuple[tensor, ...]:
    items = values if isinstance(values, (tuple, list)) else (values,)
    if len(items) != count:
        raise SemanticError(f"'{name}' has {len(items)} entries, expected {count}.")
    found = []
    for item in items:
        value = to_tensor(item)
        if value.ndim or not value.dtype.is_int():
            raise SemanticError(f"'{name}' takes integer scalars, got {describe(value)}.")
        found.append(cast(value, int64))
    return tuple(found)


def _base(base: Any, function: str) -> tensor:
    if not isinstance(base, tensor) or not base.dtype.is_ptr() or base.ndim:
        raise SemanticError(f"{function} needs a scalar pointer, got {describe(base)}.")
    return base


# --- block pointers ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockPointer(Strided):
    """A block at `offset_values` of a strided array."""

    offset_values: tuple[tensor, ...] = ()
    order: tuple[int, ...] = ()

    @property
    def type(self) -> Any:
        """A pointer to a block."""
        return pointer_type(self.block_type)

    dtype = type

    @property
    def shape(self) -> tuple[constexpr, ...]:
        return tuple(constexpr(extent) for extent in self.block)

    def leaves(self) -> tuple[tensor, ...]:
        return (*super().leaves(), *self.offset_values)

    def with_leaves(self, leaves: Sequence[tensor]) -> BlockPointer:
        moved = super().with_leaves(leaves)
        assert isinstance(moved, BlockPointer)
        return replace(moved, offset_values=tuple(leaves[-self.rank :]))

    def advance(self, offsets: Any) -> BlockPointer:
        """The block moved by `offsets`, in elements along each axis."""
        steps = _int64s(offsets, self.rank, "offsets")
        total = zip(self.offset_values, steps, strict=True)
        return replace(self, offset_values=tuple(arithmetic.add(a, b) for a, b in total))

    def load_block(self, boundary_check: Any, padding: str, hints: dict[str, str]) -> tensor:
        check_choice(padding or "", PADDINGS, "padding_option")
        indices = self.indices(self.offset_values)
        mask = self.inside(indices, self._axes(boundary_check), self.block)
        other = self.padding(padding) if mask is not None else None
        return load_where(self.pointers(indices, self.block), mask, other, hints)

    def store_block(self, value: tensor, boundary_check: Any, hints: dict[str, str]) -> None:
        indices = self.indices(self.offset_values)
        mask = self.inside(indices, self._axes(boundary_check), self.block)
        store_where(self.pointers(indices, self.block), value, mask, hints)

    def _axes(self, boundary_check: Any) -> list[int]:
        axes = boundary_check if isinstance(boundary_check, (tuple, list)) else (boundary_check,)
        found = [check_axis(axis, self.rank, "boundary_check axis") for axis in axes]
        if len(set(found)) != len(found):
            raise SemanticError(f"boundary_check names an axis twice: {tuple(axes)}.")
        return found


@builtin
def make_block_ptr(
    base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> BlockPointer:
    """A pointer to the block of `block_shape` at `offsets` of an array.

    base, shape, strides: the array's first element, extents, strides in elements. order: axes from
    the one with neighbouring elements on, a hint.
    """
    block = check_shape(block_shape)
    rank = len(block)
    axes = tuple(check_axis(axis, rank, "order's axis") for axis in order)
    if sorted(axes) != list(range(rank)):
        raise SemanticError(f"'order' {tuple(order)} is no order of {rank} axes.")
    return BlockPointer(
        _base(base, "tl.make_block_ptr"),
        _int64s(shape, rank, "shape"),
        _int64s(strides, rank, "strides"),
        block,
        _int64s(offsets, rank, "offsets"),
        axes,
    )


@builtin
def advance(base: Any, offsets: Any) -> BlockPointer:
    """The block pointer moved by `offsets`, in elements along each axis."""
    if not isinstance(base, BlockPointer):
        raise SemanticError(
            f"tl.advance moves block pointers, got {describe(base)}.", hint="add to other pointers."
        )
    return base.advance(offsets)


# --- descriptors ---------------------------------------------------------------------------------

_MOST_AXES = 5
_FEWEST_BYTES = 16  # of a block's rows


@dataclass(frozen=True, eq=False)
class tensor_descriptor(Strided):
    """An array that blocks of one shape are read from and written to; outside lies padding."""

    padding_option: str = "zero"

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.element_ty

    @property
    def shape(self) -> tuple[tensor, ...]:
        return self.shape_values

    @property
    def strides(self) -> tuple[tensor, ...]:
        return self.stride_values

    def _place(self, offsets: Any) -> tuple[tensor, Any]:
        indices = self.indices(_int64s(offsets, self.rank, "offsets"))
        mask = self.inside(indices, range(self.rank), self.block)
        return self.pointers(indices, self.block), mask

    def _value(self, value: Any) -> tensor:
        given = to_tensor(value)
        if given.handle.type.size == math.prod(self.block) and given.ndim:
            given = reshape(given, self.block)
        return given

    @builtin
    def load(self, offsets: Any) -> tensor:
        """The block at `offsets`; padding where it leaves the array."""
        pointers, mask = self._place(offsets)
        return load_where(pointers, mask, self.padding(self.padding_option), _NO_HINTS)

    @builtin
    def store(self, offsets: Any, value: Any) -> None:
        """Write a block at `offsets`; what leaves the array is dropped."""
        pointers, mask = self._place(offsets)
        store_where(pointers, self._value(value), mask, _NO_HINTS)

    def _rows(self, x_offsets: Any, y_offset: Any) -> tuple[tensor, Any]:
        rows = to_tensor(x_offsets)
        if self.rank != 2 or self.block[0] != 1 or rows.ndim != 1:
            raise SemanticError(
                "gather and scatter are of descriptors of blocks (1, N), at a block of rows; got"
                f" blocks {self.block} and {describe(rows)}."
            )
        columns = arithmetic.add(
            cast(to_tensor(y_offset), int64), cast(arange(0, self.block[1]), int64)
        )
        indices = [self.along(cast(rows, int64), 0), self.along(columns, 1)]
        shape = (rows.handle.shape[0], self.block[1])
        return self.pointers(indices, shape), self.inside(indices, (0, 1), shape)

    @builtin
    def gather(self, x_offsets: Any, y_offset: Any) -> tensor:
        """Rows `x_offsets`, from column `y_offset` on."""
        pointers, mask = self._rows(x_offsets, y_offset)
        return load_where(pointers, mask, self.padding(self.padding_option), _NO_HINTS)

    @builtin
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Write rows `x_offsets`, from column `y_offset` on."""
        pointers, mask = self._rows(x_offsets, y_offset)
        store_where(pointers, to_tensor(value), mask, _NO_HINTS)

    def _atomic(self, name: str, offsets: Any, value: Any) -> None:
        pointers, mask = self._place(offsets)
        atomic(name, pointers, self._value(value), mask)

    @builtin
    def atomic_add(self, offsets: Any, value: Any) -> None:
        """Add a block to memory."""
        self._atomic("add", offsets, value)

    @builtin
    def atomic_min(self, offsets: Any, value: Any) -> None:
        """Keep the smaller of memory and a block."""
        self._atomic("min", offsets, value)

    @builtin
    def atomic_max(self, offsets: Any, value: Any) -> None:
        """Keep the larger of memory and a block."""
        self._atomic("max", offsets, value)

    @builtin
    def atomic_and(self, offsets: Any, value: Any) -> None:
        """Keep the bits that memory and a block share."""
        self._atomic("and", offsets, value)

    @builtin
    def atomic_or(self, offsets: Any, value: Any) -> None:
        """Set bits in memory."""
        self._atomic("or", offsets, value)

    @builtin
    def atomic_xor(self, offsets: Any, value: Any) -> None:
        """Flip bits in memory."""
        self._atomic("xor", offsets, value)


@builtin
def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: str = "zero"
) -> tensor_descriptor:
    """Describe an array of 1 to 5 axes of which blocks of `block_shape` are read and written.

    strides: in elements, the last one 1 (one that is not known is taken as it is).
    padding_option: "zero" or "nan".
    """
    block = check_shape(block_shape)
    rank = len(block)
    place = _base(base, "tl.make_tensor_descriptor")
    if not 1 <= rank <= _MOST_AXES:
        raise SemanticError(f"Descriptors have 1 to {_MOST_AXES} axes, got {rank}.")
    check_choice(padding_option or "zero", PADDINGS, "padding_option")
    last = strides[-1]
    if not isinstance(last, tensor) and check_static_int(last, "the last stride") != 1:
        raise SemanticError(
            f"The last stride of a descriptor is 1, got {describe(last)}.",
            hint="describe the transposed array and transpose its blocks.",
        )
    nbytes = block[-1] * place.dtype.element_ty.itemsize
    if nbytes < _FEWEST_BYTES:
        raise SemanticError(
            f"Rows of a descriptor's blocks have {_FEWEST_BYTES} bytes at least, got {nbytes}."
        )
    shapes, steps = _int64s(shape, rank, "shape"), _int64s(strides, rank, "strides")
    return tensor_descriptor(place, shapes, steps, block, padding_option or "zero")


@builtin
def load_tensor_descriptor(desc: Any, offsets: Any) -> tensor:
    """desc.load(offsets)."""
    found: tensor = desc.load(offsets)
    return found


@builtin
def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """desc.store(offsets, value)."""
    desc.store(offsets, value)
