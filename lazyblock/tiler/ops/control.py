"""Structured control flow. Values leave regions through `yield`; loops carry values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Effect, Op, Region, Trait, Value, operand, operands, region
from lazyblock.tiler.ops.checks import require, require_same_type
from lazyblock.tiler.types import BlockType, int1


@dataclass(eq=False)
class Yield(Op):
    """Hand values to the op that owns the region."""

    name = "yield"
    traits = frozenset({Trait.TERMINATOR})
    values: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        return []


@dataclass(eq=False)
class For(Op):
    """for i in range(lower, upper, step): carried = body(i, *carried).

    Bounds are i32 or i64 scalars. Body arguments: the induction variable, then the carried values.
    Results: the carried values after the last iteration (the initial ones if there is none).
    step > 0.
    """

    name = "for"
    lower: Value = operand()
    upper: Value = operand()
    step: Value = operand()
    body: Region = region()
    initial: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        require_same_type(self.lower, self.upper, self.step)
        require(self.lower.shape == (), "loop bounds are scalars")
        types = [value.type for value in self.initial]
        inside = [argument.type for argument in self.body.arguments[1:]]
        require(inside == types, f"body carries {inside}, loop starts with {types}")
        return types


@dataclass(eq=False)
class While(Op):
    """while condition(*carried): carried = body(*carried).

    Both regions take the carried values; condition yields one scalar i1, the same for all threads
    of an instance, and may read memory. Results: the carried values when it is false.
    """

    name = "while"
    condition: Region = region()
    body: Region = region()
    initial: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        types = [value.type for value in self.initial]
        for inside in (self.condition, self.body):
            taken = [argument.type for argument in inside.arguments]
            require(taken == types, f"a region carries {taken}, loop starts with {types}")
        return types


@dataclass(eq=False)
class Barrier(Op):
    """What the instance did to memory before comes before what any part of it does after."""

    name = "barrier"
    effect = Effect.BARRIER

    def infer(self) -> Sequence[BlockType]:
        return []


@dataclass(eq=False)
class If(Op):
    """Run one of two regions by a scalar condition; both yield the results."""

    name = "if"
    condition: Value = operand()
    then: Region = region()
    otherwise: Region = region()

    def infer(self) -> Sequence[BlockType]:
        require(self.condition.type == BlockType(int1), "an if needs a scalar i1")
        types = [value.type for value in self.then.terminator.operands_flat]
        other = [value.type for value in self.otherwise.terminator.operands_flat]
        require(types == other, f"branches yield {types} and {other}")
        return types
