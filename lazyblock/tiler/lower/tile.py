"""One program instance's tile: where it stands along every dimension, and what memory that means.

Positions are set along a dimension at a time, by the grid or by loops; accesses become pointers,
offsets and masks for them. Sizes, strides, pointers and numbers become parameters of the program
when they are first asked for, with one argument each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from lazyblock.graph.node import Node
from lazyblock.shapes import cdiv, size_of
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.walk import Access, Dimension
from lazyblock.tiler.lowered import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    LaunchNumberArgument,
    SizeArgument,
    WorkspaceArgument,
)
from lazyblock.tiler.tile_schedule import TileSchedule
from lazyblock.tiler.types import PointerType, ScalarType, from_numpy, int1, int8, int64, uint32


@dataclass(frozen=True)
class _Position:
    """Where the program stands along a dimension: an index or a block of them, and a mask."""

    index: Value
    mask: Value | None


class Tile:
    """A tile of a walk over `dimensions`, written with `b`; indices are of `index_type`."""

    def __init__(
        self,
        b: Builder,
        dimensions: Sequence[Dimension],
        schedule: TileSchedule,
        index_type: ScalarType,
    ) -> None:
        self.b = b
        self.dimensions = dimensions
        self.schedule = schedule
        self.index_type = index_type
        self.arguments: list[Argument] = []
        self.parameters: dict[object, Value] = {}
        self.positions: dict[int, _Position] = {}
        self.tile_numbers: dict[int, Value] = {}  # along the kept dimensions
        self.is_reverse = False  # of the scan along the cut dimension

    # --- where it stands ---

    def _zero(self) -> Value:
        return self.b.constant(0, self.index_type)

    def _place_grid(self) -> int:
        """Cut the linear program id into one tile number per kept dimension, the last fastest."""
        if self._kept():
            self._place_tiles(self.b.cast(self.b.program_id(0), self.index_type))
        return self._count_tiles()

    def _kept(self) -> list[int]:
        return [p for p, d in enumerate(self.dimensions) if not d.is_reduced]

    def _count_tiles(self) -> int:
        """How many tiles cover the kept dimensions."""
        blocks = self.schedule.blocks
        return size_of([cdiv(self.dimensions[p].extent, blocks[p]) for p in self._kept()])

    def _place_tiles(self, rest: Value) -> None:
        """Go to a tile by its number."""
        kept = self._kept()
        for number, position in enumerate(reversed(kept)):
            tile = rest
            if number < len(kept) - 1:
                count = self._num_tiles(position)
                tile, rest = self.b.rem(rest, count), self.b.div(rest, count)
            self.tile_numbers[position] = tile
            if self.dimensions[position].is_cut and self.is_reverse:
                tile = self.b.sub(self._num_tiles(position), self.b.add(tile, 1))
            block = self.schedule.blocks[position]
            self._place_block(position, self.b.mul(tile, block) if block > 1 else tile)

    def _num_tiles(self, position: int) -> Value:
        count = cdiv(self.dimensions[position].extent, self.schedule.blocks[position])
        return self._size(("tiles", position), f"tiles{position}", count)

    def _place_piece(self, position: int, number: int) -> None:
        """Set the indices along a dimension to those of a block at a known place."""
        block, extent = self.schedule.blocks[position], self.dimensions[position].extent
        start = self.b.constant(number * block, self.index_type)
        self._place_block(position, start, is_full=(number + 1) * block <= extent)

    def _place_block(self, position: int, start: Value, is_full: bool = False) -> None:
        """Set the indices along a dimension to start, start + 1, ...; mask those past its end.

        is_full: none is, at any size that the program serves.
        """
        block = self.schedule.blocks[position]
        if block == 1:
            self.positions[position] = _Position(start, None)
            return
        b = self.b
        steps = b.cast(b.arange(0, block), self.index_type)
        axis = self.schedule.order.index(position)
        for other in range(len(self.schedule.order)):
            if other != axis:
                steps = b.expand_dims(steps, other)
        index = steps
        if not _is_zero(start):
            index = b.add(b.splat(start, steps.shape), steps)
        index.hint = f"i{position}"
        mask = None
        if not is_full and not self._is_exact(position):
            mask = b.compare("lt", index, b.splat(self._extent(position), index.shape))
            mask.hint = f"mask{position}"
        self.positions[position] = _Position(index, mask)

    def _is_exact(self, position: int) -> bool:
        """A whole row that fills its block exactly: its size is in the program anyway."""
        dimension = self.dimensions[position]
        return dimension.is_reduced and dimension.extent == self.schedule.blocks[position]

    def _extent(self, position: int) -> Value:
        extent = self.dimensions[position].extent
        return self._size(("extent", position), f"n{position}", extent)

    # --- parameters ---

    def _size(self, key: object, name: str, value: int) -> Value:
        """An int parameter, of the class of its largest power-of-two divisor up to 16."""
        if key not in self.parameters:
            divisibility = math.gcd(value, 16)
            self.parameters[key] = self.b.parameter(name, self.index_type, divisibility)
            self.arguments.append(SizeArgument(value, self.index_type))
        return self.parameters[key]

    def _pointer(self, access: Access, is_written: bool) -> Value:
        key = ("pointer", access.base, access.offset, is_written)
        if key not in self.parameters:
            scalar = from_numpy(access.base.dtype)
            number = sum(isinstance(a, ArrayArgument) for a in self.arguments)
            name = f"{'out' if is_written else 'x'}{number}_ptr"
            divisibility = math.gcd(access.offset * scalar.nbytes, 16)
            self.parameters[key] = self.b.parameter(name, PointerType(scalar), divisibility)
            self.arguments.append(ArrayArgument(access.base, access.offset, is_written))
        return self.parameters[key]

    def _workspace(self, nbytes: int) -> Value:
        """Address of 64-bit words that only this kernel uses."""
        self.arguments.append(WorkspaceArgument(nbytes))
        return self.b.parameter("words_ptr", PointerType(int64), 16)

    def _launch_number(self) -> Value:
        self.arguments.append(LaunchNumberArgument())
        return self.b.parameter("launch", uint32)

    def _constant(self, node: Node) -> Value:
        key = ("constant", node)
        if key not in self.parameters:
            scalar = from_numpy(node.dtype)
            number = sum(isinstance(a, ConstantArgument) for a in self.arguments)
            name = f"c{number}"
            self.parameters[key] = self.b.parameter(name, int8 if scalar == int1 else scalar)
            self.arguments.append(ConstantArgument(node))
        value = self.parameters[key]
        is_bool = value.type.element == int8 and from_numpy(node.dtype) == int1
        return self.b.cast(value, int1) if is_bool else value

    def _stride(self, access: Access, position: int, name: str) -> Value | None:
        """The stride along a dimension; None for 1 (0 is the caller's business)."""
        stride = access.strides[self.dimensions[position].axes[-1]]
        if stride == 1:
            return None
        key = ("stride", access.base, access.strides, position)
        return self._size(key, f"{name}_stride{position}", stride)

    # --- memory ---

    def _offsets(self, access: Access, name: str) -> tuple[Value | None, list[Value], Value | None]:
        """Scalar part and block parts of the offset in elements, and the mask of the block parts.

        What runs through memory comes first of the block parts: a thread has few of its values.
        """
        b = self.b
        scalar: Value | None = None
        blocks: list[Value] = []
        mask: Value | None = None
        for position, dimension in enumerate(self.dimensions):
            axis = dimension.axes[-1]
            if access.strides[axis] == 0:
                continue
            here = self.positions[position]
            stride = self._stride(access, position, name)
            shift = access.shift[axis] if access.shift and stride is not None else 0
            index = b.add(here.index, shift) if shift else here.index
            if here.index.shape == ():
                term = index if stride is None else b.mul(index, stride)
                scalar = term if scalar is None else b.add(scalar, term)
                continue
            shape = here.index.shape
            term = index if stride is None else b.mul(index, b.splat(stride, shape))
            blocks.insert(0 if stride is None else len(blocks), term)
            mask = self._and(mask, here.mask)
        if access.start:
            start = self._size(("start", access), f"{name}_start", access.start)
            scalar = start if scalar is None else b.add(scalar, start)
        return scalar, blocks, mask

    def _contiguous_shift(self, access: Access) -> int:
        """The part of an access's shift that is a number of elements, the same at all sizes."""
        axes = (dimension.axes[-1] for dimension in self.dimensions)
        unit = (axis for axis in axes if access.strides[axis] == 1)
        return sum(access.shift[axis] for axis in unit) if access.shift else 0

    def _both(self, combine: Callable[..., Value], left: Value, right: Value) -> Value:
        """Combine two values after broadcasting them to a common shape."""
        return combine(*self._align([left, right]))

    def _align(self, values: Sequence[Value]) -> list[Value]:
        rank = max(len(value.shape) for value in values)
        shape = tuple(
            max(value.shape[axis] if value.shape else 1 for value in values) for axis in range(rank)
        )
        return [self.b.broadcast_to(value, shape) for value in values]

    def _and(self, left: Value | None, right: Value | None) -> Value | None:
        if left is None or right is None:
            return left or right
        return self._both(self.b.and_, left, right)

    def _address(self, access: Access, is_written: bool) -> tuple[Value, Value | None]:
        pointer = self._pointer(access, is_written)
        name = pointer.hint.removesuffix("_ptr")
        scalar, blocks, mask = self._offsets(access, name)
        mask = self._and(mask, self._is_inside(access, name, scalar, blocks))
        if scalar is not None:
            pointer = self.b.add_pointer(pointer, scalar)
        for block in blocks:
            pointer = self._both(self.b.add_pointer, pointer, block)
        shift = self._contiguous_shift(access)
        if shift:
            steps = self.b.constant(shift, self.index_type, pointer.shape)
            pointer = self.b.add_pointer(pointer, steps)
        if mask is not None:
            mask = self.b.broadcast_to(mask, pointer.shape)
        return pointer, mask

    def _is_inside(
        self, access: Access, name: str, scalar: Value | None, blocks: list[Value]
    ) -> Value | None:
        """Whether a read that may leave its array stays inside; None if all do."""
        if access.inside is None:
            return None
        place = self._sum(blocks if scalar is None else [scalar, *blocks])
        low, high = (
            self.b.splat(self._size((which, access), f"{name}_{which}", end), place.shape)
            for which, end in zip(("first", "last"), access.inside, strict=True)
        )
        return self.b.and_(self.b.compare("ge", place, low), self.b.compare("le", place, high))

    def _sum(self, terms: Sequence[Value]) -> Value:
        """The sum of offsets; 0 for none."""
        return reduce(partial(self._both, self.b.add), terms) if terms else self._zero()


def _is_zero(value: Value) -> bool:
    return getattr(value.owner, "value", None) == 0 and value.owner.name == "constant"  # type: ignore[union-attr]
