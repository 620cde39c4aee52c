"""Writes one function of the block language line by line; how ops look is in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lazyblock.errors import ShapeError, UnsupportedError
from lazyblock.language.unparse.names import TAKEN, TRANSPARENT, suggest_name, to_identifier
from lazyblock.language.unparse.text import Text, fits_float32, full, number, type_name
from lazyblock.shapes import broadcast_shapes
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Effect, Op, Parameter, Region, Value, walk
from lazyblock.tiler.types import BlockType, ScalarType, float32, int1, int32

LONGEST_INLINE = 60  # characters of an expression that may stand inside another


class Words(NamedTuple):
    """How ops are written: statements write lines, expressions give their text."""

    statements: Mapping[type[Op], Callable[[Writer, Any], None]]
    expressions: Mapping[type[Op], Callable[[Writer, Any], Text]]


class Writer:
    """Writes one function; `texts` says how every value is written, `lines` grow as ops come."""

    def __init__(self, body: Region, helpers: list[str], words: Words) -> None:
        self.words = words
        self.helpers = helpers
        self.lines: list[str] = []
        self.indent = ""
        self.texts: dict[Value, Text] = {}
        self.taken: set[str] = set(TAKEN)
        self.sites = _find_sites(body)

    def parameter(self, parameter: Parameter) -> str:
        name = self.name(parameter.value, parameter.name)
        element = parameter.value.type.element
        is_plain = not isinstance(element, ScalarType) or element in (int32, float32, int1)
        return name if is_plain else f"{name}: {type_name(parameter.value.type.scalar)}"

    def name(self, value: Value, wish: str = "") -> str:
        """Give `value` a name of its own."""
        wish = to_identifier(wish or value.hint or suggest_name(value))
        name, count = wish, 0
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self.taken.add(name)
        self.texts[value] = Text(name)
        return name

    def write(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.op(op, region)

    def op(self, op: Op, region: Region) -> None:
        statement = self.words.statements.get(type(op))
        if statement is not None:
            statement(self, op)
        elif type(op) not in self.words.expressions:
            raise UnsupportedError(f"the block language has no words for '{op.name}'.")
        elif not isinstance(op, (ops.Constant, *TRANSPARENT)):
            self._expression(op, region)

    def _expression(self, op: Op, region: Region) -> None:
        """Keep an expression for its only use, or assign it."""
        (result,) = op.results
        sites = self.sites.get(result, [])
        if not sites and op.effect is Effect.NONE:
            return
        text = self.words.expressions[type(op)](self, op)
        if not sites and op.effect is Effect.ATOMIC:
            self.write(text.source)
            return
        is_inline = len(sites) == 1 and sites[0] is region and op.effect is Effect.NONE
        if is_inline and not result.hint and len(text.source) <= LONGEST_INLINE:
            self.texts[result] = text
            return
        self.write(f"{self.name(result)} = {text.source}")

    # --- operands ----------------------------------------------------------------------------

    def text(self, value: Value) -> Text:
        """`value` with its type and shape."""
        owner = value.owner
        if isinstance(owner, ops.Constant):
            is_plain = value.type in (BlockType(int32), BlockType(int1))
            return number(owner.value) if is_plain else full(owner.value, owner.type)
        if isinstance(owner, TRANSPARENT):
            return self.words.expressions[type(owner)](self, owner)
        if value not in self.texts:
            raise UnsupportedError("a combine may not read values from outside.")
        return self.texts[value]

    def typed(self, value: Value) -> Text:
        """`value` as it must stand where a variable gets its type."""
        owner = value.owner
        if isinstance(owner, ops.Constant) and owner.type != BlockType(int32):
            return full(owner.value, owner.type)
        return self.text(value)

    def loose(self, value: Value) -> Text:
        """`value` where the surroundings convert and broadcast it, through float32 at worst."""
        owner = strip(value).owner
        if isinstance(owner, ops.Constant):
            constant = owner.value
            is_exact = not isinstance(constant, float) or fits_float32(constant)
            return number(constant) if is_exact else full(constant, owner.type)
        return self.text(strip(value))

    def together(self, shape: tuple[int, ...], *values: Value) -> list[Text]:
        """Operands of one op: constants as literals, broadcasts left out where they follow."""
        bare = [strip(value) for value in values]
        if all(isinstance(value.owner, ops.Constant) for value in bare):
            bare[0] = values[0]
            texts = [self.typed(bare[0]), *(self._literal(value) for value in bare[1:])]
            shapes = [bare[0].shape, *(() for _ in bare[1:])]
        else:
            texts = [self._literal(value) for value in bare]
            shapes = [() if is_constant(value) else value.shape for value in bare]
        for position, value in enumerate(values):
            if _broadcasts_to(shapes, shape):
                break
            if not is_constant(bare[position]):
                texts[position], shapes[position] = self.text(value), value.shape
        return texts

    def _literal(self, value: Value) -> Text:
        owner = value.owner
        return number(owner.value) if isinstance(owner, ops.Constant) else self.text(value)

    # --- blocks of lines ---------------------------------------------------------------------

    def nested(self, head: str, write_body: Callable[[], None]) -> None:
        self.write(head)
        before, self.indent = self.indent, self.indent + "    "
        count = len(self.lines)
        write_body()
        if len(self.lines) == count:
            self.write("pass")
        self.indent = before

    def assign(self, names: Sequence[str], values: Sequence[Value]) -> None:
        """All at once, since values may read the names."""
        texts = [self.typed(value).source for value in values]
        pairs = [(name, text) for name, text in zip(names, texts, strict=True) if name != text]
        if pairs:
            left, right = zip(*pairs, strict=True)
            self.write(f"{', '.join(left)} = {', '.join(right)}")


def strip(value: Value) -> Value:
    """What a splat or broadcast repeats."""
    owner = value.owner
    return strip(owner.value) if isinstance(owner, (ops.Splat, ops.Broadcast)) else value


def is_constant(value: Value) -> bool:
    """Whether an op of the program made `value` from a literal."""
    return isinstance(value.owner, ops.Constant)


def _broadcasts_to(shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> bool:
    try:
        return broadcast_shapes(*shapes) == shape
    except ShapeError:
        return False


def _find_sites(body: Region) -> dict[Value, list[Region]]:
    """For every value the regions it is written in, once per use; transparent ops pass uses on."""
    sites: dict[Value, list[Region]] = {}
    regions = [body, *(region for op in walk(body) for region in op.regions)]
    uses = [(region, op) for region in regions for op in region.ops]
    for region, op in reversed(uses):
        if isinstance(op, TRANSPARENT):
            continue
        for value in op.operands_flat:
            _add_site(sites, value, region)
    return sites


def _add_site(sites: dict[Value, list[Region]], value: Value, region: Region) -> None:
    sites.setdefault(value, []).append(region)
    if isinstance(value.owner, TRANSPARENT):
        _add_site(sites, value.owner.value, region)
