"""Text that `printer.print_program` wrote, back as a program.

Generic over the declared fields: positional items fill the required fields in order, `name=` the
others, `name {` the regions. `print_program(parse_program(text)) == text` for printed text; verify
what people edited. Raises ParseError, which names the line, also where ops reject their operands.
"""

from __future__ import annotations

import dataclasses
import json
import re
import struct
from collections.abc import Callable
from typing import Any, NoReturn

from lazyblock.errors import LazyBlockError, ParseError
from lazyblock.tiler.ir import Op, Parameter, Program, Region, Value, make_op
from lazyblock.tiler.ops import OPS
from lazyblock.tiler.printer import RESERVED_WORDS, is_positional
from lazyblock.tiler.types import BlockType, parse_type

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<value>%\w+)
      | (?P<type>!?(?:<[\dx]*\*?\w+>|\*\w+)|!\w+)
      | (?P<float>-?(?:inf|nan)(?![\w.(])|nan\([0-9a-f]{16}\)
          |-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))
      | (?P<int>-?\d+)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<word>[A-Za-z_][\w.]*)
      | (?P<sign>[(){}\[\],=:])
    )""",
    re.VERBOSE | re.ASCII,
)


def parse_program(text: str) -> Program:
    """The program that `text` describes. Raises: ParseError."""
    return _Parser(text).program()


class _Parser:
    """Reads token by token; `names` holds the values defined so far."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.tokens = self._tokenize()
        self.position = 0
        self.names: dict[str, Value] = {}

    # --- tokens ----------------------------------------------------------------------------------

    def _tokenize(self) -> list[tuple[str, str, int]]:
        tokens = []
        for number, line in enumerate(self.lines, 1):
            position, end = 0, len(line.rstrip())
            while position < end:
                match = _TOKEN.match(line, position)
                if match is None or match.lastgroup is None:
                    self._fail(f"cannot read {line[position:].strip()!r}", number)
                tokens.append((match.lastgroup, match[match.lastgroup], number))
                position = match.end()
        tokens.append(("end", "the end", max(len(self.lines), 1)))
        return tokens

    def _fail(self, message: str, number: int | None = None) -> NoReturn:
        number = number or self.tokens[self.position][2]
        shown = self.lines[number - 1].strip() if self.lines else ""
        raise ParseError(f"line {number}: {message}.\n    {shown}")

    def _peek(self, ahead: int = 0) -> str:
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)][1]

    def _kind(self) -> str:
        return self.tokens[self.position][0]

    def _take(self, kind: str) -> str:
        found, text, _ = self.tokens[self.position]
        if found != kind:
            self._fail(f"expected a {kind}, found {text!r}")
        self.position += 1
        return text

    def _accept(self, sign: str) -> bool:
        if self.tokens[self.position][:2] != ("sign", sign):
            return False
        self.position += 1
        return True

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            self._fail(f"expected {sign!r}, found {self._peek()!r}")

    # --- grammar ---------------------------------------------------------------------------------

    def program(self) -> Program:
        if self._take("word") != "program":
            self._fail("a program starts with 'program'")
        name = self._attribute()
        self._expect("(")
        parameters = self._list(")", self._parameter)
        settings: dict[str, Any] = {}
        while self._kind() == "word":
            key = self._take("word")
            self._expect("=")
            settings[key] = self._attribute()
        body = Region([], self._block())
        if self._kind() != "end":
            self._fail(f"{self._peek()!r} after the program's end")
        try:
            return Program(name, parameters, body, **settings)
        except TypeError as error:
            raise ParseError(f"line 1: {error}.") from error

    def _parameter(self) -> Parameter:
        value = self._argument()
        divisibility = 1
        if self._peek() == "divisibility":
            self._take("word")
            self._expect("=")
            divisibility = int(self._take("int"))
        return Parameter(value, value.hint, divisibility)

    def _argument(self) -> Value:
        name = self._take("value")[1:]
        self._expect(":")
        value = Value(self._type())
        self._define(name, value)
        return value

    def _block(self) -> list[Op]:
        """`{`, ops, `}`."""
        found: list[Op] = []
        self._expect("{")
        while not self._accept("}"):
            found.append(self._op())
        return found

    def _op(self) -> Op:
        line = self.tokens[self.position][2]
        results = self._results()
        name = self._take("word")
        if name not in OPS:
            self._fail(f"there is no op '{name}'", line)
        values = self._fields(OPS[name])
        types = self._types() if self._accept(":") else []
        try:
            op = make_op(OPS[name], **values)
        except (LazyBlockError, TypeError, KeyError, IndexError) as error:
            raise ParseError(
                f"line {line}: '{name}': {error}.\n    {self.lines[line - 1]}"
            ) from error
        inferred = [result.type for result in op.results]
        if types != inferred or len(results) != len(inferred):
            self._fail(f"results are {', '.join(map(str, inferred)) or 'none'}", line)
        for result, value in zip(results, op.results, strict=True):
            self._define(result, value)
        return op

    def _results(self) -> list[str]:
        names = []
        while self._kind() == "value":
            names.append(self._take("value")[1:])
            if not self._accept(","):
                self._expect("=")
        return names

    def _fields(self, op_type: type[Op]) -> dict[str, Any]:
        entries = [entry for entry in dataclasses.fields(op_type) if entry.metadata.get("role")]
        regions = op_type.declared("region")
        required = [e for e in entries if is_positional(e) and e.name not in regions]
        values: dict[str, Any] = {}
        while not self._at_end_of_items(regions):
            is_named = self._kind() == "word" and self._peek(1) == "="
            if not is_named and not required:
                self._fail(f"{self._peek()!r} is one too many for '{op_type.name}'")
            key = self._take("word") if is_named else required.pop(0).name
            if is_named:
                self._expect("=")
            values[key] = self._item()
            if not self._accept(","):
                break
        for _ in regions:
            key = self._take("word")
            values[key] = self._region()
        return values

    def _at_end_of_items(self, regions: tuple[str, ...]) -> bool:
        """Whether no item follows: the next op, the types, a region or a bracket does."""
        _, before, line = self.tokens[self.position - 1]
        is_next_op = before != "," and self.tokens[self.position][2] != line
        is_region = self._peek() in regions and self._peek(1) in ("(", "{")
        return is_next_op or is_region or self._peek() in (":", "}")

    def _region(self) -> Region:
        arguments = self._list(")", self._argument) if self._accept("(") else []
        return Region(arguments, self._block())

    def _item(self) -> Any:
        if self._kind() == "value":
            return self._value()
        if self._accept("("):
            return tuple(self._list(")", self._value))
        return self._attribute()

    def _value(self) -> Value:
        name = self._take("value")[1:]
        if name not in self.names:
            self._fail(f"%{name} is not defined", self.tokens[self.position - 1][2])
        return self.names[name]

    def _attribute(self) -> Any:
        if self._accept("["):
            return tuple(self._list("]", self._attribute))
        kind = self._kind()
        if kind not in _READERS:
            self._fail(f"expected a value, found {self._peek()!r}")
        return _READERS[kind](self._take(kind))

    def _list(self, end: str, read: Callable[[], Any]) -> list[Any]:
        """Items between commas up to `end`."""
        found: list[Any] = []
        while not self._accept(end):
            if found:
                self._expect(",")
            found.append(read())
        return found

    def _types(self) -> list[BlockType]:
        types = [self._type()]
        while self._accept(","):
            types.append(self._type())
        return types

    def _type(self) -> BlockType:
        text = self._take("word" if self._kind() == "word" else "type")
        try:
            return parse_type(text)
        except (KeyError, AttributeError):
            self._fail(f"'{text}' is no type")

    def _define(self, name: str, value: Value) -> None:
        if name in self.names:
            self._fail(f"%{name} is defined twice", self.tokens[self.position - 1][2])
        value.hint = "" if name.isdigit() else name
        self.names[name] = value


def _read_float(text: str) -> float:
    if not text.startswith("nan("):
        return float(text)
    (number,) = struct.unpack(">d", bytes.fromhex(text[4:-1]))
    return float(number)


_READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": _read_float,
    "string": json.loads,
    "word": lambda text: RESERVED_WORDS.get(text, text),
    "type": lambda text: parse_type(text.removeprefix("!")),
}
