"""Ops whose elements go to or come from places that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require, require_same_shape
from lazyblock.tiler.types import BlockType, ScalarType, int1, int32


@dataclass(eq=False)
class Gather(Op):
    """The element at place p is the operand's at p with `index[p]` for its coordinate on `axis`.

    All extents but that of `axis` are equal. An index outside reads some element of the operand;
    the interpreter raises.
    """

    name = "gather"
    value: Value = operand()
    index: Value = operand()
    axis: int = attribute()

    def infer(self) -> Sequence[BlockType]:
        value, index = self.value.shape, self.index.shape
        require(_is_integer(self.index), "a gather's index is an integer")
        require(len(value) == len(index), f"gather of {value} by an index of {index}")
        require(0 <= self.axis < len(value), f"gather along axis {self.axis} of {value}")
        fits = (*value[: self.axis], index[self.axis], *value[self.axis + 1 :]) == index
        require(fits, f"gather of {value} by an index of {index}")
        return [self.value.type.with_shape(index)]


@dataclass(eq=False)
class Histogram(Op):
    """How many elements, of those where mask holds, have each value 0 ... num_bins - 1, as i32."""

    name = "histogram"
    value: Value = operand()
    num_bins: int = attribute()
    mask: Value | None = operand(optional=True)

    def infer(self) -> Sequence[BlockType]:
        require(len(self.value.shape) == 1, f"histogram of {self.value.shape}, expected one axis")
        require(_is_integer(self.value), "a histogram is of integers")
        require(self.value.type.scalar.bits == 32, "a histogram is of 32-bit integers")
        if self.mask is not None:
            require(self.mask.type.element == int1, "a mask is i1")
            require_same_shape(self.value, self.mask)
        return [BlockType(int32, (self.num_bins,))]


def _is_integer(value: Value) -> bool:
    element = value.type.element
    return isinstance(element, ScalarType) and element.is_integer and element != int1
