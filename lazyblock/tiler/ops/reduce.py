"""Reductions over one axis with a combine region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Region, Value, attribute, operands, region
from lazyblock.tiler.ops.arith import Binary
from lazyblock.tiler.ops.checks import require, require_same_shape
from lazyblock.tiler.types import BlockType


@dataclass(eq=False)
class Reduce(Op):
    """Combine all elements along `axis`, which disappears from the shape.

    n operands of one shape are reduced together by a region of 2n scalar arguments (left values,
    then right values) that yields n scalars; it must be associative. The order is unspecified but
    the same in every run.
    """

    name = "reduce"
    axis: int = attribute()
    combine: Region = region()
    values: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        require_same_shape(*self.values)
        shape = self.values[0].shape
        require(0 <= self.axis < len(shape), f"reduce over axis {self.axis} of {shape}")
        require(len(self.combine.arguments) == 2 * len(self.values), "combine has 2n arguments")
        remaining = shape[: self.axis] + shape[self.axis + 1 :]
        return [value.type.with_shape(remaining) for value in self.values]

    @property
    def kind(self) -> str:
        """The Binary kind if the combine is that one op on one value, else ""."""
        ops = self.combine.ops
        if len(ops) == 2 and len(self.values) == 1 and isinstance(ops[0], Binary):
            return ops[0].kind
        return ""
