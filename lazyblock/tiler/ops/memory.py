"""Access to global memory through pointers, element by element, under a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Effect, Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require, require_same_shape
from lazyblock.tiler.types import BlockType, PointerType, int1


def _pointee(pointer: Value) -> BlockType:
    element = pointer.type.element
    require(isinstance(element, PointerType), f"{pointer.type} is no pointer")
    assert isinstance(element, PointerType)
    return pointer.type.with_element(element.pointee)


def _check_mask(pointer: Value, mask: Value | None) -> None:
    if mask is not None:
        require(mask.type.element == int1, "a mask is i1")
        require_same_shape(pointer, mask)


@dataclass(eq=False)
class Load(Op):
    """Read where mask holds; elsewhere `other`, or 0 without one. Masked lanes touch no memory."""

    name = "load"
    effect = Effect.READ
    pointer: Value = operand()
    mask: Value | None = operand(optional=True)
    other: Value | None = operand(optional=True)
    cache: str = attribute("")
    eviction: str = attribute("")

    def infer(self) -> Sequence[BlockType]:
        result = _pointee(self.pointer)
        _check_mask(self.pointer, self.mask)
        if self.other is not None:
            require(self.mask is not None, "'other' needs a mask")
            require(self.other.type == result, f"'other' is {self.other.type}, expected {result}")
        return [result]


@dataclass(eq=False)
class Store(Op):
    """Write where mask holds. Duplicate addresses: any one of the values stays."""

    name = "store"
    effect = Effect.WRITE
    pointer: Value = operand()
    value: Value = operand()
    mask: Value | None = operand(optional=True)
    cache: str = attribute("")
    eviction: str = attribute("")

    def infer(self) -> Sequence[BlockType]:
        expected = _pointee(self.pointer)
        require(self.value.type == expected, f"store of {self.value.type} to {self.pointer.type}")
        _check_mask(self.pointer, self.mask)
        return []
