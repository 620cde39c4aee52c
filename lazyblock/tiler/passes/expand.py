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

Expansion = Callable[[Builder, Sequence[Value]], Value]


def expand_ops(program: Program, find: Callable[[Op], Expansion | None]) -> Program:
    """Replace every op that `find` gives an expansion for; the same object if there is none.

    An expansion builds the op's only result from its operands.
    """
    if not any(find(op) for op in walk(program.body)):
        return program
    return with_body(program, _copy(Builder(), program.body, find, {}))


def _copy(
    b: Builder,
    source: Region,
    find: Callable[[Op], Expansion | None],
    mapping: dict[Value, Value],
) -> Region:
    copy = Region()
    for argument in source.arguments:
        mapping[argument] = Value(argument.type, None, argument.hint)
        copy.arguments.append(mapping[argument])
    with b.open_region(copy):
        for op in source.ops:
            b.line = op.line
            expansion = find(op)
            if expansion:
                operands = [mapping.get(v, v) for v in op.operands_flat]
                mapping[op.result] = expansion(b, operands)
                continue
            values = map_operands(op, lambda v: mapping.get(v, v))
            for name in op.declared("region"):
                values[name] = _copy(b, getattr(op, name), find, mapping)
            new = make_op(type(op), op.line, **values)
            b.insert(new)
            for before, after in zip(op.results, new.results, strict=True):
                after.hint = before.hint
                mapping[before] = after
    return copy
