"""Common subexpression elimination.

Takes: a verified program. Gives: the program in which equal pure ops are computed once.
Keeps: order of all effects. An op may use the result of an equal op before it in its own region or,
unless that is isolated, in one around it. Loads merge while nothing was written between them.
A loop or branch that holds another is compared with nothing: the key would be long at each depth.
Cost: one walk and one copy; a table lookup per op.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Hashable, Mapping

from lazyblock.tiler.ir import Effect, Op, Program, Region, Trait, Value
from lazyblock.tiler.ops import Binary, For, If, While
from lazyblock.tiler.ops.arith import COMMUTATIVE_KINDS
from lazyblock.tiler.passes.rewrite import copy_without
from lazyblock.tiler.printer import write_attribute

_CONTROL = (For, If, While)
_WRITES = frozenset({Effect.WRITE, Effect.ATOMIC, Effect.BARRIER})


def eliminate_common(program: Program) -> Program:
    """Compute equal pure values once."""
    merger = _Merger()
    merger.visit(program.body, ChainMap())
    return copy_without(program, merger.dropped, merger.replaced)


class _Merger:
    """Finds which values repeat an earlier one; `epoch` counts writes to memory."""

    def __init__(self) -> None:
        self.replaced: dict[Value, Value] = {}
        self.dropped: set[Op] = set()
        self.numbers: dict[Value, int] = {}
        self.effects: dict[Op, frozenset[Effect]] = {}
        self.epoch = 0

    def visit(self, region: Region, known: ChainMap[Hashable, Op]) -> None:
        for op in region.ops:
            self._visit_op(op, known)

    def _visit_op(self, op: Op, known: ChainMap[Hashable, Op]) -> None:
        writes = not _WRITES.isdisjoint(self._effects_of(op))
        stays = writes or Effect.OUTPUT in self._effects_of(op) or op.has(Trait.TERMINATOR)
        if not stays and not _is_deep(op):
            first = known.setdefault(self._key(op), op)
            if first is not op:
                self.dropped.add(op)
                self.replaced.update(zip(op.results, first.results, strict=True))
                return
        self.epoch += writes  # a loop's body also sees what its last round wrote
        for region in op.regions:
            self.visit(region, ChainMap() if op.has(Trait.ISOLATED) else known.new_child())
        self.epoch += writes

    def _key(self, op: Op) -> Hashable:
        epoch = self.epoch if Effect.READ in self._effects_of(op) else 0
        return epoch, self._structure(op, {})

    def _structure(self, op: Op, local: Mapping[Value, int]) -> Hashable:
        """What an op computes: kind, settings, operands, regions with their values numbered."""

        def number(value: Value) -> int:
            return local[value] if value in local else self._number(value)

        operands = [_numbered(getattr(op, name), number) for name in op.declared("operand")]
        if isinstance(op, Binary) and op.kind in COMMUTATIVE_KINDS:
            operands.sort()
        lists = [tuple(map(number, getattr(op, name))) for name in op.declared("operands")]
        settings = map(write_attribute, op.attributes.values())
        inside = (self._region_structure(region, local) for region in op.regions)
        return op.name, *settings, *operands, *lists, *inside

    def _region_structure(self, region: Region, outer: Mapping[Value, int]) -> Hashable:
        local = dict(outer)
        for argument in region.arguments:
            local[argument] = -1 - len(local)
        structures = []
        for op in region.ops:
            structures.append(self._structure(op, local))
            for result in op.results:
                local[result] = -1 - len(local)
        return tuple(str(argument.type) for argument in region.arguments), tuple(structures)

    def _effects_of(self, op: Op) -> frozenset[Effect]:
        """Its own, and those of the ops inside."""
        known = self.effects.get(op)
        if known is None:
            inside = (self._effects_of(inner) for region in op.regions for inner in region.ops)
            known = self.effects[op] = frozenset({op.effect}).union(*inside)
        return known

    def _number(self, value: Value) -> int:
        value = self.replaced.get(value, value)
        return self.numbers.setdefault(value, len(self.numbers))


def _numbered(value: Value | None, number: Callable[[Value], int]) -> int:
    """An operand as a number; one that is left out is far from all others."""
    return -1 << 62 if value is None else number(value)


def _is_deep(op: Op) -> bool:
    """A loop or branch around a loop or branch."""
    inside = (inner for region in op.regions for inner in region.ops)
    return any(isinstance(inner, _CONTROL) for inner in inside)
