"""Access to global memory through pointers, element by element, under a mask.

An access with a `sem` is atomic: it may meet accesses of other program instances. "release" orders
all that the instance did before, "acquire" all that it does after; `scope` says for whom: "cta",
"gpu", "sys". Accesses without are taken to meet no others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Effect, Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require, require_same_shape
from lazyblock.tiler.types import BlockType, PointerType, int1

SCOPES = ("cta", "gpu", "sys")


def pointee_of(pointer: Value) -> BlockType:
    """Type of the elements that a block of pointers leads to."""
    element = pointer.type.element
    require(isinstance(element, PointerType), f"{pointer.type} is no pointer")
    assert isinstance(element, PointerType)
    return pointer.type.with_element(element.pointee)


def check_mask(pointer: Value, mask: Value | None) -> None:
    """Raise VerifyError unless `mask` is an i1 per pointer."""
    if mask is not None:
        require(mask.type.element == int1, "a mask is i1")
        require_same_shape(pointer, mask)


def check_order(sem: str, scope: str, allowed: Collection[str]) -> None:
    """Raise VerifyError unless an atomic access may have this order and scope."""
    require(sem in allowed, f"unknown order '{sem}', expected one of {', '.join(allowed)}")
    require(scope in SCOPES, f"unknown scope '{scope}', expected one of {', '.join(SCOPES)}")


def _check_plain_or_ordered(op: Load | Store, allowed: Collection[str]) -> None:
    if op.sem:
        check_order(op.sem, op.scope, allowed)
        require(not (op.cache or op.eviction), "an atomic access takes no cache hints")
    else:
        require(not op.scope, "a scope is for atomic accesses")


@dataclass(eq=False)
class Load(Op):
    """Read where mask holds; elsewhere `other`, or 0 without one. Masked lanes touch no memory."""

    name = "load"
    pointer: Value = operand()
    mask: Value | None = operand(optional=True)
    other: Value | None = operand(optional=True)
    cache: str = attribute("")
    eviction: str = attribute("")
    sem: str = attribute("")
    scope: str = attribute("")

    @property
    def effect(self) -> Effect:  # type: ignore[override]  # an order keeps it in its place
        return Effect.ATOMIC if self.sem else Effect.READ

    def infer(self) -> Sequence[BlockType]:
        result = pointee_of(self.pointer)
        _check_plain_or_ordered(self, ("relaxed", "acquire"))
        check_mask(self.pointer, self.mask)
        if self.other is not None:
            require(self.mask is not None, "'other' needs a mask")
            require(self.other.type == result, f"'other' is {self.other.type}, expected {result}")
        return [result]


@dataclass(eq=False)
class Store(Op):
    """Write where mask holds. Duplicate addresses: any one of the values stays."""

    name = "store"
    pointer: Value = operand()
    value: Value = operand()
    mask: Value | None = operand(optional=True)
    cache: str = attribute("")
    eviction: str = attribute("")
    sem: str = attribute("")
    scope: str = attribute("")

    @property
    def effect(self) -> Effect:  # type: ignore[override]  # as of a load
        return Effect.ATOMIC if self.sem else Effect.WRITE

    def infer(self) -> Sequence[BlockType]:
        expected = pointee_of(self.pointer)
        _check_plain_or_ordered(self, ("relaxed", "release"))
        require(self.value.type == expected, f"store of {self.value.type} to {self.pointer.type}")
        check_mask(self.pointer, self.mask)
        return []
