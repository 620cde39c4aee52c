"""Ops that tell the person who runs a program what happens in it. They keep their order.

Lines are written as C's printf does, from a format and values. Of an assertion a text is kept that
names the kernel and the line; the instance and the number of an element in row-major order make a
sentence of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Effect, Op, Value, attribute, operand, operands
from lazyblock.tiler.ops.checks import require, require_same_shape
from lazyblock.tiler.types import BlockType, Element, PointerType, int1


@dataclass(eq=False)
class Print(Op):
    """Write a line for every element of every value, or one without values."""

    name = "print"
    effect = Effect.OUTPUT
    prefix: str = attribute()
    hex: bool = attribute(False)
    values: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        return []

    @property
    def lines(self) -> list[str]:
        """Format of the lines of each value; of the only line where there is no value.

        They take the three coordinates of the instance, those of the element, and the element.
        """
        if not self.values:
            return [f"pid (%u, %u, %u) {_escape(self.prefix)}\n"]
        return [self._line_of(number) for number in range(len(self.values))]

    def _line_of(self, number: int) -> str:
        type = self.values[number].type
        place = ", ".join(f"%{len(str(extent - 1))}u" for extent in type.shape)
        prefix = _escape(self.prefix).removesuffix(" ").removesuffix(":")
        which = f"(operand {number}) " if len(self.values) > 1 else ""
        value = _printed_format(type.element, self.hex)
        return f"pid (%u, %u, %u) idx ({place}) {prefix.strip()}: {which}{value}\n"


CONVERSION = re.compile(r"%\d*(ll)?([uixf])|%%")


def format_line(line: str, values: Sequence[int | float]) -> str:
    """A line with its values."""
    plain = CONVERSION.sub(lambda match: match[0].replace("ll", ""), line)
    return plain % tuple(values)


def _escape(text: str) -> str:
    return text.replace("%", "%%")


def _printed_format(element: Element, hex: bool) -> str:
    """How an element is printed: floats as double, integers in 32 bits or 64."""
    if isinstance(element, PointerType):
        return "0x%016llx"
    if element.is_floating:
        return "%f"
    wide = "ll" if element.bits == 64 else ""
    if hex:
        return f"0x%0{max(element.bits // 4, 1)}{wide}x"
    return f"%{wide}{'i' if element.is_signed else 'u'}"


@dataclass(eq=False)
class Assert(Op):
    """Where mask holds, condition must: else the instance ends, and the launch fails.

    where: the line to name.
    """

    name = "assert"
    effect = Effect.OUTPUT
    condition: Value = operand()
    message: str = attribute()
    where: str = attribute("")
    mask: Value | None = operand(optional=True)

    def infer(self) -> Sequence[BlockType]:
        require(self.condition.type.element == int1, "an assertion needs an i1 condition")
        if self.mask is not None:
            require(self.mask.type.element == int1, "a mask is i1")
            require_same_shape(self.condition, self.mask)
        return []

    def text(self, kernel: str) -> str:
        """What a kernel's code keeps; one line."""
        shape = "x".join(map(str, self.condition.shape))
        where = f" at {self.where}" if self.where else ""
        what = f"assertion '{self.message}'" if self.message else "an assertion"
        text = f"{shape}|Kernel '{kernel}': {what} failed{where}"
        return text.replace("\n", " ").replace("\0", " ")


def describe_failure(text: str, place: Sequence[int], element: int) -> str:
    """The sentence for the text of an assertion, an instance and an element."""
    shape, _, sentence = text.partition("|")
    lane: list[int] = []
    for extent in reversed([int(extent) for extent in shape.split("x") if extent]):
        lane.insert(0, element % extent)
        element //= extent
    return f"{sentence}; program {tuple(place)}{f', lane {tuple(lane)}' if lane else ''}."
