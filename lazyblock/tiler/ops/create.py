"""Ops that make values from nothing: program ids, ranges, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require
from lazyblock.tiler.types import BlockType, int32


@dataclass(eq=False)
class ProgramId(Op):
    """Coordinate of this instance in the grid along `axis`; int32."""

    name = "program_id"
    axis: int = attribute()

    def infer(self) -> Sequence[BlockType]:
        require(self.axis in (0, 1, 2), f"program_id axis {self.axis} is not 0, 1 or 2")
        return [BlockType(int32)]


@dataclass(eq=False)
class NumPrograms(Op):
    """Extent of the grid along `axis`; int32."""

    name = "num_programs"
    axis: int = attribute()

    def infer(self) -> Sequence[BlockType]:
        require(self.axis in (0, 1, 2), f"num_programs axis {self.axis} is not 0, 1 or 2")
        return [BlockType(int32)]


@dataclass(eq=False)
class Arange(Op):
    """start, start + 1, ..., end - 1 as int32, shape (end - start,)."""

    name = "arange"
    start: int = attribute()
    end: int = attribute()

    def infer(self) -> Sequence[BlockType]:
        extent = self.end - self.start
        require(extent > 0, f"arange of {extent} elements")
        return [BlockType(int32, (extent,))]


@dataclass(eq=False)
class Constant(Op):
    """A number in every element of `type` (bool for i1, int for integers, float for floats)."""

    name = "constant"
    value: bool | int | float = attribute()
    type: BlockType = attribute()

    def infer(self) -> Sequence[BlockType]:
        require(not self.type.is_pointer, "constant pointers do not exist")
        return [self.type]


@dataclass(eq=False)
class Splat(Op):
    """A scalar in every element of a block of `shape`."""

    name = "splat"
    value: Value = operand()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> Sequence[BlockType]:
        require(self.value.shape == (), "splat takes a scalar")
        return [self.value.type.with_shape(self.shape)]
