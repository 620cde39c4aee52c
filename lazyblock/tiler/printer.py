"""Programs as text: one op a line, regions indented, result types at the end.

    program double(%x: *f32 divisibility=16) num_warps=4 num_ctas=1 num_stages=1 {
      %i = arange 0, 128 : <128xi32>
      %0 = splat %x, [128] : <128x*f32>
      ...
      %s = for %lower, %upper, %step, (%zero) body (%j: i32, %sum: f32) {
        yield (%sum)
      } : f32
    }

Fields are written in the order of their declaration, regions last; a field with a default is
written `name=` and left out where it has its default. Floats are written shortest with all their
bits. The text is the same in every process, and `parser.parse_program` reads it back.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lazyblock.tiler.ir import Op, Program, Region, Value, walk
from lazyblock.tiler.types import BlockType

RESERVED_WORDS = {"true": True, "false": False, "none": None}
FLOAT_WORDS = ("inf", "nan")
_CANONICAL_NAN = struct.pack("<d", math.nan)

Names = Mapping[Value, str]


def print_program(program: Program) -> str:
    """`program` as text; see the module's header."""
    names = name_values(program)
    settings = "".join(f" {key}={write_attribute(value)}" for key, value in settings_of(program))
    parameters = ", ".join(
        f"{_typed(parameter.value, names)} divisibility={parameter.divisibility}"
        if parameter.divisibility != 1
        else _typed(parameter.value, names)
        for parameter in program.parameters
    )
    head = f"program {write_attribute(program.name)}({parameters}){settings} {{"
    return "\n".join([head, *_body(program.body, names, 1), "}", ""])


def print_op(op: Op, names: Names) -> str:
    """One op on one line, regions as `{...}`; values without a name are written `%?`."""
    regions = "".join(f" {field} {{...}}" for field in op.declared("region"))
    return f"{_head(op, names)}{regions}{_result_types(op)}"


def name_values(program: Program) -> dict[Value, str]:
    """A unique name for every value: its hint, numbered where taken, else a number."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    numbered = 0
    for value, wish in _all_values(program):
        hint = re.sub(r"\W", "_", wish, flags=re.ASCII)
        if not hint or hint.isdigit():
            name, numbered = str(numbered), numbered + 1
        else:
            name = _free_name(hint, taken)
        taken.add(name)
        names[value] = name
    return names


def settings_of(program: Program) -> list[tuple[str, Any]]:
    """The fields of a program that are plain settings, in order of declaration."""
    apart = ("name", "parameters", "body")
    entries = (entry.name for entry in dataclasses.fields(program))
    return [(name, getattr(program, name)) for name in entries if name not in apart]


def _all_values(program: Program) -> Iterator[tuple[Value, str]]:
    """Every value with the name it would like, in order of definition."""
    yield from ((parameter.value, parameter.name) for parameter in program.parameters)
    yield from ((value, value.hint) for value in program.body.arguments)
    for op in walk(program.body):
        yield from ((value, value.hint) for value in op.results)
        for region in op.regions:
            yield from ((value, value.hint) for value in region.arguments)


def _free_name(hint: str, taken: set[str]) -> str:
    name, count = hint, 0
    while name in taken:
        count += 1
        name = f"{hint}_{count}"
    return name


# --- lines ---------------------------------------------------------------------------------------


def _body(region: Region, names: Names, depth: int) -> Iterator[str]:
    for op in region.ops:
        yield from _op_lines(op, names, depth)


def _op_lines(op: Op, names: Names, depth: int) -> Iterator[str]:
    indent = "  " * depth
    line = indent + _head(op, names)
    for field in op.declared("region"):
        region: Region = getattr(op, field)
        arguments = ", ".join(_typed(argument, names) for argument in region.arguments)
        yield f"{line} {field} ({arguments}) {{" if arguments else f"{line} {field} {{"
        yield from _body(region, names, depth + 1)
        line = f"{indent}}}"
    yield line + _result_types(op)


def _head(op: Op, names: Names) -> str:
    results = ", ".join(_reference(value, names) for value in op.results)
    start = f"{results} = {op.name}" if results else op.name
    items = ", ".join(_items(op, names))
    return f"{start} {items}" if items else start


def _items(op: Op, names: Names) -> Iterator[str]:
    for entry in dataclasses.fields(op):
        role, value = entry.metadata.get("role"), getattr(op, entry.name)
        if role not in ("operand", "operands", "attribute"):
            continue
        text = write_attribute(value) if role == "attribute" else _operand(value, names)
        if is_positional(entry):
            yield text
        elif value != entry.default:
            yield f"{entry.name}={text}"


def is_positional(entry: dataclasses.Field[Any]) -> bool:
    """Whether a field is written without its name: it must be given, or is a tuple of operands."""
    return entry.default is dataclasses.MISSING or entry.metadata.get("role") == "operands"


def _result_types(op: Op) -> str:
    return " : " + ", ".join(str(value.type) for value in op.results) if op.results else ""


# --- words ---------------------------------------------------------------------------------------


def _typed(value: Value, names: Names) -> str:
    return f"{_reference(value, names)}: {value.type}"


def _reference(value: Value, names: Names) -> str:
    return f"%{names.get(value, '?')}"


def _operand(value: Value | Sequence[Value] | None, names: Names) -> str:
    if isinstance(value, Value):
        return _reference(value, names)
    return "none" if value is None else f"({', '.join(_reference(v, names) for v in value)})"


def write_attribute(value: Any) -> str:
    """An attribute as a word that the parser reads back; different values give different words."""
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return str(write(value))
    raise AssertionError(f"no attribute: {value!r}")


def _write_string(text: str) -> str:
    is_word = re.fullmatch(r"[A-Za-z_][\w.]*", text, flags=re.ASCII)
    is_free = text not in RESERVED_WORDS and text not in FLOAT_WORDS
    return text if is_word and is_free else json.dumps(text)


def _write_float(number: float) -> str:
    if not math.isnan(number):
        return repr(number)
    bits = struct.pack("<d", number)
    return "nan" if bits == _CANONICAL_NAN else f"nan({bits[::-1].hex()})"


_WRITERS: tuple[tuple[Any, Any], ...] = (  # bool before int, of which it is a kind
    ((bool, type(None)), lambda value: {v: k for k, v in RESERVED_WORDS.items()}[value]),
    (int, str),
    (float, _write_float),
    (str, _write_string),
    (tuple, lambda value: f"[{', '.join(map(write_attribute, value))}]"),
    (BlockType, lambda value: f"!{value}"),
)
