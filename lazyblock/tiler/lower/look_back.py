"""What comes before a tile of a scan, from the programs that have the tiles before it.

Each program writes the total of its tile as soon as it has it, then waits until those before it are
there. Tiles form groups of GROUP. A program reads at once the totals of its own group and what came
before the group, which the first program behind a group passes on. So programs wait for
earlier ones only, all totals are combined in one order, and results are the same in every run.

A total and the number of the launch share a 64-bit word, which is written and read whole: no order
of memory is needed, and nothing has to be cleared between launches. Totals of 64 bits take two.
Source (of the idea): D. Merrill, M. Garland, Single-pass parallel prefix scan with decoupled
look-back, NVR-2016-002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from lazyblock.shapes import cdiv
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import (
    ScalarType,
    float32,
    int32,
    int64,
    uint32,
    uint64,
)

GROUP = 255  # tiles: with what comes before them they fill a block of a power of two
_WORD_BYTES = 8


def workspace_bytes(num_rows: int, num_tiles: int, element: ScalarType) -> int:
    """Bytes of the words that scans of rows of `num_tiles` tiles need."""
    words = num_tiles + cdiv(num_tiles, GROUP)
    return max(num_rows * words, 1) * _words_of(element) * _WORD_BYTES


def _words_of(element: ScalarType) -> int:
    return 2 if element.bits == 64 else 1


@dataclass(frozen=True)
class LookBack:
    """words: address of the workspace; launch: the number of this launch, an i64.

    tile, row: which one this program has, num_tiles: of a row, num_rows: all as i32. combine takes
    what comes before on its left; identity leaves it as it is.
    """

    b: Builder
    words: Value
    launch: Value
    tile: Value
    row: Value
    num_tiles: Value
    num_rows: Value
    combine: Callable[[Value, Value], Value]
    identity: bool | int | float

    def at(self, tile: Value, row: Value) -> LookBack:
        """The same for another tile."""
        return replace(self, tile=tile, row=row)

    def publish(self, total: Value) -> None:
        """Let others know the total of the tile."""
        self._publish(self._place(self.tile), total)

    def before(self, element: ScalarType) -> Value:
        """What comes before the tile; the identity at first."""
        b = self.b

        def look() -> list[Value]:
            return [self._look(element)]

        def start() -> list[Value]:
            return [b.constant(self.identity, element)]

        (before,) = b.if_(b.compare("gt", self.tile, 0), look, start)
        return before

    def _look(self, element: ScalarType) -> Value:
        """What comes before this tile, from the totals of its group and of what is before that."""
        b = self.b
        group = b.div(b.sub(self.tile, 1), GROUP)
        first = b.mul(group, GROUP)
        lanes = b.arange(0, GROUP + 1)
        tiles = b.add(b.splat(b.sub(first, 1), lanes.shape), lanes)
        is_group = b.compare("eq", lanes, 0)
        place_of_group = b.splat(self._place_of_group(group), lanes.shape)
        places = b.select(is_group, place_of_group, self._place(tiles))
        has_group = b.splat(b.compare("gt", group, 0), lanes.shape)
        is_before = b.compare("lt", tiles, b.splat(self.tile, lanes.shape))
        is_needed = b.or_(b.and_(is_group, has_group), b.and_(b.not_(is_group), is_before))
        before = self._await(places, is_needed, element)
        is_first = b.compare("eq", b.rem(self.tile, GROUP), 0)

        def pass_on() -> list[Value]:
            self._publish(self._place_of_group(b.add(group, 1)), before)
            return []

        b.if_(is_first, pass_on, list)
        return before

    # --- words ---

    def _place(self, tile: Value) -> Value:
        """Number of the word of a tile (or a block of them) of this row."""
        return self._both("add", self.b.mul(self.row, self.num_tiles), tile)

    def _place_of_group(self, group: Value) -> Value:
        b = self.b
        groups = b.div(b.add(self.num_tiles, GROUP - 1), GROUP)
        tiles = b.mul(self.num_rows, self.num_tiles)
        return b.add(tiles, b.add(b.mul(self.row, groups), group))

    def _both(self, kind: str, scalar: Value, value: Value) -> Value:
        return self.b.binary(kind, self.b.splat(scalar, value.shape), value)

    def _pointers(self, place: Value, element: ScalarType) -> list[Value]:
        b, count = self.b, _words_of(element)
        first = b.add_pointer(self.words, b.mul(place, count))
        steps = (b.constant(step, int32, place.shape) for step in range(1, count))
        return [first, *(b.add_pointer(first, step) for step in steps)]

    def _publish(self, place: Value, total: Value) -> None:
        element = total.type.scalar
        tag = self.b.shl(self.launch, 32)
        parts = _to_words(self.b, total)
        for pointer, part in zip(self._pointers(place, element), parts, strict=True):
            self.b.store(pointer, self.b.or_(tag, part), sem="relaxed", scope="gpu")

    def _await(self, place: Value, mask: Value, element: ScalarType) -> Value:
        """All totals at these places in one, when all that `mask` asks for are there."""
        b, pointers = self.b, self._pointers(place, element)
        identities = b.constant(self.identity, element, place.shape)

        def ask(wanted: Value) -> list[Value]:
            return [b.load(p, wanted, sem="relaxed", scope="gpu") for p in pointers]

        def missing(words: Sequence[Value]) -> Value:
            found = [b.compare("ne", self._tag(word), self._launch(word)) for word in words]
            return b.and_(reduce(b.or_, found), mask)

        def sum_up(words: list[Value]) -> list[Value]:
            """The words, whether some are missing, and their total."""
            totals = b.select(mask, _from_words(b, words, element), identities)
            return [*words, *b.reduce([missing(words), totals], 0, self._join)]

        def ask_again(*carried: Value) -> list[Value]:
            words = carried[: len(pointers)]
            wanted = missing(words)  # only: everybody asks for the same few words
            pairs = zip(ask(wanted), words, strict=True)
            return sum_up([b.select(wanted, *pair) for pair in pairs])

        *_, total = b.while_(sum_up(ask(mask)), lambda *carried: carried[-2], ask_again)
        return total

    def _join(self, is_missing: Value, total: Value, *others: Value) -> list[Value]:
        return [self.b.or_(is_missing, others[0]), self.combine(total, others[1])]

    def _tag(self, word: Value) -> Value:
        return self.b.shr(self.b.bitcast(word, uint64), 32)

    def _launch(self, word: Value) -> Value:
        return self.b.splat(self.b.bitcast(self.launch, uint64), word.shape)


def _carrier(element: ScalarType) -> ScalarType:
    """The type of 32 or 64 bits that holds an element exactly."""
    if element.bits >= 32:
        return element
    return float32 if element.is_floating else int32


def _to_words(b: Builder, value: Value) -> list[Value]:
    """The bits of a number as i64 words of which the upper halves are zero, lowest first."""
    element = value.type.scalar
    wide = b.cast(value, _carrier(element))
    if element.bits != 64:
        return [b.cast(b.bitcast(wide, uint32), int64)]
    bits = b.bitcast(wide, uint64)
    low, high = b.and_(bits, 0xFFFFFFFF), b.shr(bits, 32)
    return [b.bitcast(low, int64), b.bitcast(high, int64)]


def _from_words(b: Builder, words: Sequence[Value], element: ScalarType) -> Value:
    parts = [b.cast(word, uint32) for word in words]
    carrier = _carrier(element)
    if len(parts) == 1:
        return b.cast(b.bitcast(parts[0], carrier), element)
    low, high = (b.cast(part, uint64) for part in parts)
    return b.bitcast(b.or_(low, b.shl(high, 32)), carrier)
