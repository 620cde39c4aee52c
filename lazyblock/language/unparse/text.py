"""Pieces of source text: expressions that know how strongly they bind, literals, calls."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

from lazyblock.tiler.types import BlockType, ScalarType

# binding strength of Python's operators
COMPARISON, OR, XOR, AND, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = range(9)


class Text(NamedTuple):
    """An expression: its source and how strongly it binds."""

    source: str
    strength: int = PRIMARY

    def at(self, strength: int) -> str:
        """The source, in parentheses if it binds less than `strength`."""
        return self.source if self.strength >= strength else f"({self.source})"


def function_text(name: str, parameters: Sequence[str], lines: Sequence[str]) -> str:
    """A kernel or a combine, with the lines of its body."""
    body = [f"    {line}" for line in lines] or ["    pass"]
    return "\n".join(["@lb.jit", f"def {name}({', '.join(parameters)}):", *body, ""])


_WORDS = {"i": "int", "u": "uint", "f": "float"}
_TYPE_NAMES = {"i1": "int1", "bf16": "bfloat16", "f8e5m2": "float8e5", "f8e4m3": "float8e4nv"}


def type_name(scalar: ScalarType) -> str:
    """A scalar type in the language's words."""
    name = _TYPE_NAMES.get(scalar.name)
    return f"tl.{name or _WORDS[scalar.kind] + scalar.name[1:]}"


def number(value: bool | int | float) -> Text:
    """A number that takes its type from where it stands."""
    if isinstance(value, float) and not math.isfinite(value):
        sign = "-" if math.copysign(1.0, value) < 0 else ""
        return Text(f'float("{sign}{str(value).lstrip("-")}")')
    source = repr(value)
    return Text(source, UNARY if source.startswith("-") else PRIMARY)


def full(value: bool | int | float, type: BlockType) -> Text:
    """A constant with its type."""
    name = type_name(type.scalar)
    is_zero = value == 0 and math.copysign(1.0, value) > 0
    if is_zero and type.shape:
        return Text(f"tl.zeros({tuple_text(type.shape)}, {name})")
    return Text(f"tl.full({tuple_text(type.shape)}, {number(value).source}, {name})")


def tuple_text(shape: Sequence[int]) -> str:
    """A tuple of integers."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def fits_float32(value: float) -> bool:
    """Whether a literal means the same number as a float32."""
    if not math.isfinite(value):
        return True
    try:
        (back,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return False
    return bool(back == value)


def cast_to(text: Text, scalar: ScalarType, option: str = "") -> Text:
    """Text with a conversion behind it."""
    return Text(f"{text.at(PRIMARY)}.to({type_name(scalar)}{option})")


def call(function: str, *texts: Text | str) -> Text:
    """A call of a function."""
    sources = (text if isinstance(text, str) else text.source for text in texts)
    return Text(f"{function}({', '.join(sources)})")


def infix(sign: str, strength: int, left: Text, right: Text) -> Text:
    """Two operands and a sign between; comparisons do not chain."""
    first = strength + 1 if strength == COMPARISON else strength
    return Text(f"{left.at(first)} {sign} {right.at(strength + 1)}", strength)
