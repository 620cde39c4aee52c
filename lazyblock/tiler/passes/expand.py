"""What passes that write single ops out as several share: a copy of a program with expansions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import (
    Op,
    Program,
    Region,
    Value,
    make_op,
    map_operands,
    walk,
    with_body,
)

Expansion = Callable[[Builder, Sequence[Value]], Value | None]


def expand_ops(program: Program, find: Callable[[Op], Expansion | None]) -> Program:
    """Replace every op that `find` gives an expansion for; the same object if there is none.

    An expansion builds the op's only result from its operands; one that gives None leaves the op.
    """
    if not any(find(op) for op in walk(program.body)):
        return program
    copier = _Copier(find)
    body = copier.copy(program.body)
    return with_body(program, body) if copier.has_changed else program


class _Copier:
    """Copies regions op by op, expanding on the way."""

    def __init__(self, find: Callable[[Op], Expansion | None]) -> None:
        self._find = find
        self._builder = Builder()
        self._mapping: dict[Value, Value] = {}
        self.has_changed = False

    def copy(self, source: Region) -> Region:
        copy = Region()
        for argument in source.arguments:
            self._mapping[argument] = Value(argument.type, None, argument.hint)
            copy.arguments.append(self._mapping[argument])
        with self._builder.open_region(copy):
            for op in source.ops:
                self._builder.line = op.line
                result = self._expand(op)
                if result is None:
                    self._copy_op(op)
                else:
                    self.has_changed = True
                    self._mapping[op.result] = result
        return copy

    def _new(self, value: Value) -> Value:
        return self._mapping.get(value, value)

    def _expand(self, op: Op) -> Value | None:
        expansion = self._find(op)
        if expansion is None:
            return None
        return expansion(self._builder, [self._new(value) for value in op.operands_flat])

    def _copy_op(self, op: Op) -> None:
        values = map_operands(op, self._new)
        for name in op.declared("region"):
            values[name] = self.copy(getattr(op, name))
        new = make_op(type(op), op.line, **values)
        self._builder.insert(new)
        for before, after in zip(op.results, new.results, strict=True):
            after.hint = before.hint
            self._mapping[before] = after
