"""Atomic updates of memory: each lane reads an element, combines it and writes, as if at once.

Lanes may meet on one element, in any order. Results are what lay there before (0 where a mask is
false). `sem` and `scope` as in ops/memory.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Effect, Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require
from lazyblock.tiler.ops.memory import check_mask, check_order, pointee_of
from lazyblock.tiler.types import BlockType, ScalarType

ORDERS = ("relaxed", "acquire", "release", "acq_rel")

# kind -> where it is defined: "f" floats, "i" integers
RMW_KINDS = {
    "add": "fi",  # integers wrap
    "max": "fi",  # floats in IEEE's total order: -0 below +0, NaN beyond infinity of its sign
    "min": "fi",
    "and": "i",
    "or": "i",
    "xor": "i",
    "xchg": "fi",
}


def _is_updatable(kind: str, scalar: ScalarType) -> bool:
    if scalar.is_half:
        return kind == "add"
    return scalar.bits in (32, 64) and ("f" if scalar.is_floating else "i") in RMW_KINDS[kind]


@dataclass(eq=False)
class AtomicRmw(Op):
    """Combine elements with `value` where mask holds; see RMW_KINDS."""

    name = "atomic_rmw"
    effect = Effect.ATOMIC
    kind: str = attribute()
    pointer: Value = operand()
    value: Value = operand()
    mask: Value | None = operand(optional=True)
    sem: str = attribute("acq_rel")
    scope: str = attribute("gpu")

    def infer(self) -> Sequence[BlockType]:
        require(self.kind in RMW_KINDS, f"unknown atomic kind '{self.kind}'")
        expected = pointee_of(self.pointer)
        require(self.value.type == expected, f"update of {expected} with {self.value.type}")
        scalar = expected.scalar
        require(_is_updatable(self.kind, scalar), f"atomic '{self.kind}' is not for {scalar}")
        check_mask(self.pointer, self.mask)
        check_order(self.sem, self.scope, ORDERS)
        return [expected]


@dataclass(eq=False)
class AtomicCas(Op):
    """Write `value` where the element has the bits of `compare`."""

    name = "atomic_cas"
    effect = Effect.ATOMIC
    pointer: Value = operand()
    compare: Value = operand()
    value: Value = operand()
    sem: str = attribute("acq_rel")
    scope: str = attribute("gpu")

    def infer(self) -> Sequence[BlockType]:
        expected = pointee_of(self.pointer)
        for given in (self.compare, self.value):
            require(given.type == expected, f"swap of {expected} with {given.type}")
        bits = expected.scalar.bits
        require(bits in (16, 32, 64), f"no compare and swap of {expected.scalar}")
        check_order(self.sem, self.scope, ORDERS)
        return [expected]
