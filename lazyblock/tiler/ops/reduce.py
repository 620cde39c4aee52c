"""Reductions and scans along one axis with a combine region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Region, Value, attribute, operands, region
from lazyblock.tiler.ops.arith import Binary
from lazyblock.tiler.ops.checks import require, require_same_shape
from lazyblock.tiler.types import BlockType


@dataclass(eq=False)
class Combining(Op):
    """What reductions and scans share.

    n operands of one shape are combined together, along `axis`, by a region of 2n scalar arguments
    (left values, then right values) that yields n scalars; it must be associative. How elements are
    bracketed is unspecified but the same in every run.
    """

    axis: int = attribute()
    combine: Region = region()
    values: tuple[Value, ...] = operands()

    @property
    def kind(self) -> str:
        """The Binary kind if the combine is that one op on one value, else ""."""
        ops = self.combine.ops
        if len(ops) == 2 and len(self.values) == 1 and isinstance(ops[0], Binary):
            return ops[0].kind
        return ""

    def checked_shape(self) -> tuple[int, ...]:
        """Shape of the operands; raises VerifyError when they do not fit."""
        require_same_shape(*self.values)
        shape = self.values[0].shape
        require(0 <= self.axis < len(shape), f"{self.name} over axis {self.axis} of {shape}")
        require(len(self.combine.arguments) == 2 * len(self.values), "combine has 2n arguments")
        return shape


@dataclass(eq=False)
class Reduce(Combining):
    """Combine all elements along `axis`, which disappears from the shape."""

    name = "reduce"

    def infer(self) -> Sequence[BlockType]:
        shape = self.checked_shape()
        remaining = shape[: self.axis] + shape[self.axis + 1 :]
        return [value.type.with_shape(remaining) for value in self.values]


@dataclass(eq=False)
class Scan(Combining):
    """Each element combined with all before it along `axis` (inclusive).

    reverse: with all behind it, the last element first: as if flipped before and after.
    """

    name = "scan"
    reverse: bool = attribute(False)

    def infer(self) -> Sequence[BlockType]:
        shape = self.checked_shape()
        return [value.type.with_shape(shape) for value in self.values]
