"""What passes that drop or merge ops share: a copy of a program without them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from lazyblock.tiler.ir import Op, Program, Region, Value, make_op, map_operands, with_body


def copy_without(
    program: Program, dropped: Collection[Op], replaced: Mapping[Value, Value] | None = None
) -> Program:
    """A copy of `program` without `dropped` ops; uses of a key of `replaced` read its value.

    The same object if there is nothing to drop. A replacement must be defined before its uses and
    be kept itself.
    """
    if not dropped:
        return program
    mapping: dict[Value, Value] = {}
    return with_body(program, _copy(program.body, dropped, replaced or {}, mapping))


def _copy(
    source: Region,
    dropped: Collection[Op],
    replaced: Mapping[Value, Value],
    mapping: dict[Value, Value],
) -> Region:
    copy = Region()
    for argument in source.arguments:
        mapping[argument] = Value(argument.type, None, argument.hint)
        copy.arguments.append(mapping[argument])

    def find(value: Value) -> Value:
        value = replaced.get(value, value)
        return mapping.get(value, value)

    for op in source.ops:
        if op in dropped:
            continue
        values = map_operands(op, find)
        for name in op.declared("region"):
            values[name] = _copy(getattr(op, name), dropped, replaced, mapping)
        new = make_op(type(op), op.line, **values)
        for before, after in zip(op.results, new.results, strict=True):
            after.hint = before.hint
            mapping[before] = after
        copy.ops.append(new)
    return copy
