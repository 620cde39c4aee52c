"""Ops that are statements of their own: stores, control flow, checks, several results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lazyblock.language.unparse.combines import write_combining
from lazyblock.language.unparse.memory import memory_options
from lazyblock.language.unparse.writer import Writer
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op, Region


def _store(w: Writer, op: ops.Store) -> None:
    parts = [w.text(op.pointer).source, w.loose(op.value).source, *memory_options(w, op)]
    w.write(f"tl.{'atomic_' * bool(op.sem)}store({', '.join(parts)})")


def _for(w: Writer, op: ops.For) -> None:
    index, *carried = op.body.arguments
    names = [w.name(value, result.hint) for value, result in zip(carried, op.results, strict=True)]
    w.assign(names, op.initial)
    for result, argument in zip(op.results, carried, strict=True):
        w.texts[result] = w.texts[argument]
    bounds = [w.text(op.lower), w.text(op.upper)]
    if not (isinstance(op.step.owner, ops.Constant) and op.step.owner.value == 1):
        bounds.append(w.text(op.step))
    head = f"for {w.name(index)} in range({', '.join(bound.source for bound in bounds)}):"

    def write_body() -> None:
        w.region(op.body)
        w.assign(names, op.body.terminator.operands_flat)

    w.nested(head, write_body)


def _while(w: Writer, op: ops.While) -> None:
    """A condition of several statements is written before the loop and at each round's end."""
    rows = zip(op.body.arguments, op.results, strict=True)
    names = [w.name(value, result.hint) for value, result in rows]
    w.assign(names, op.initial)
    carried = zip(op.condition.arguments, op.results, op.body.arguments, strict=True)
    for argument, result, written in carried:
        w.texts[argument] = w.texts[result] = w.texts[written]
    (condition,) = op.condition.terminator.operands_flat
    count = len(w.lines)
    w.region(op.condition)
    text, is_expression = w.text(condition).source, len(w.lines) == count
    if not is_expression:
        flag = w.name(condition, "goes_on")
        w.write(f"{flag} = {text}")
        text = flag

    def write_body() -> None:
        w.region(op.body)
        w.assign(names, op.body.terminator.operands_flat)
        if not is_expression:
            w.region(op.condition)
            w.write(f"{text} = {w.text(condition).source}")

    w.nested(f"while {text}:", write_body)


def _if(w: Writer, op: ops.If) -> None:
    names = [w.name(result) for result in op.results]

    def write_branch(region: Region) -> Callable[[], None]:
        def write_body() -> None:
            w.region(region)
            w.assign(names, region.terminator.operands_flat)

        return write_body

    w.nested(f"if {w.text(op.condition).source}:", write_branch(op.then))
    if len(op.otherwise.ops) > 1 or names:
        w.nested("else:", write_branch(op.otherwise))


def _split(w: Writer, op: ops.Split) -> None:
    value = w.typed(op.value).source
    w.write(f"{', '.join(w.name(result) for result in op.results)} = tl.split({value})")


def _print(w: Writer, op: ops.Print) -> None:
    values = [w.typed(value).source for value in op.values]
    options = ["hex=True"] if op.hex else []
    w.write(f"tl.device_print({', '.join([_quoted(op.prefix), *values, *options])})")


def _assert(w: Writer, op: ops.Assert) -> None:
    options = [] if op.mask is None else [f"mask={w.typed(op.mask).source}"]
    parts = [w.typed(op.condition).source, _quoted(op.message), *options]
    w.write(f"tl.device_assert({', '.join(parts)})")


def _quoted(text: str) -> str:
    return json.dumps(text)


STATEMENTS: dict[type[Op], Callable[[Writer, Any], None]] = {
    ops.Store: _store,
    ops.For: _for,
    ops.While: _while,
    ops.Barrier: lambda w, op: w.write("tl.debug_barrier()"),
    ops.If: _if,
    ops.Reduce: write_combining,
    ops.Scan: write_combining,
    ops.Split: _split,
    ops.Print: _print,
    ops.Assert: _assert,
    ops.Yield: lambda w, op: None,  # written by the op around it
}
