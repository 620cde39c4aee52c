"""Ops that rearrange elements without computing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require, require_same_type
from lazyblock.tiler.types import BlockType


@dataclass(eq=False)
class Broadcast(Op):
    """Repeat along axes of extent 1 up to `shape` of the same rank."""

    name = "broadcast"
    value: Value = operand()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> Sequence[BlockType]:
        before = self.value.shape
        fits = len(before) == len(self.shape) and all(
            b in (1, s) for b, s in zip(before, self.shape, strict=True)
        )
        require(fits, f"cannot broadcast {before} to {self.shape}")
        return [self.value.type.with_shape(self.shape)]


@dataclass(eq=False)
class ExpandDims(Op):
    """Insert an axis of extent 1 before position `axis`."""

    name = "expand_dims"
    value: Value = operand()
    axis: int = attribute()

    def infer(self) -> Sequence[BlockType]:
        shape = self.value.shape
        require(0 <= self.axis <= len(shape), f"expand_dims at {self.axis} of {shape}")
        return [self.value.type.with_shape((*shape[: self.axis], 1, *shape[self.axis :]))]


@dataclass(eq=False)
class Reshape(Op):
    """The same elements in row-major order under another shape."""

    name = "reshape"
    value: Value = operand()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> Sequence[BlockType]:
        require(math.prod(self.shape) == self.value.type.size, "reshape keeps the element count")
        return [self.value.type.with_shape(self.shape)]


@dataclass(eq=False)
class Transpose(Op):
    """Permute axes: result axis i is operand axis `permutation[i]`."""

    name = "transpose"
    value: Value = operand()
    permutation: tuple[int, ...] = attribute()

    def infer(self) -> Sequence[BlockType]:
        shape = self.value.shape
        require(sorted(self.permutation) == list(range(len(shape))), "not a permutation")
        return [self.value.type.with_shape(tuple(shape[axis] for axis in self.permutation))]


@dataclass(eq=False)
class Join(Op):
    """Two blocks along a new last axis of extent 2."""

    name = "join"
    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require_same_type(self.lhs, self.rhs)
        return [self.lhs.type.with_shape((*self.lhs.shape, 2))]


@dataclass(eq=False)
class Split(Op):
    """The inverse of a join: both halves of a last axis of extent 2."""

    name = "split"
    value: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        shape = self.value.shape
        require(shape[-1:] == (2,), f"split of {shape}, whose last axis is not of extent 2")
        return [self.value.type.with_shape(shape[:-1])] * 2


@dataclass(eq=False)
class ExchangeBits(Op):
    """The element at i along `axis` is the operand's at i ^ mask; mask = extent - 1 flips."""

    name = "exchange_bits"
    value: Value = operand()
    axis: int = attribute()
    mask: int = attribute()

    def infer(self) -> Sequence[BlockType]:
        shape = self.value.shape
        require(0 <= self.axis < len(shape), f"exchange along axis {self.axis} of {shape}")
        require(0 <= self.mask < shape[self.axis], f"mask {self.mask} of {shape[self.axis]} places")
        return [self.value.type]
