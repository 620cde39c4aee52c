"""Where a block's elements lie in shared memory: linear over GF(2), free of bank conflicts.

A place is a number whose bits select basis vectors of the elements' space: the lowest those of a
vector that a thread moves at once, then those that tell the banks apart, then the rest. Two threads
disturb each other when they differ by the rest alone; so the rest is chosen to have nothing in
common with what the threads of a wavefront hold, in the layout of the writers and of the readers.

Source: "Linear Layouts: Robust Code Generation of Efficient Tensor Computation", arXiv 2505.23819.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lazyblock.backend.llvm.layout import LANE_BITS, LinearLayout, bit_count

VECTOR_BYTES = 16
BANK_BYTES = 4
ROW_BYTES = 128  # all banks once


@dataclass(frozen=True)
class SharedLayout:
    """Placement of a block of elements of `nbytes`; `places` holds one number per index bit.

    vector: the basis vectors of the lowest places, which some layout has in its registers.
    """

    nbytes: int
    vector: tuple[int, ...]
    places: tuple[int, ...]

    def place(self, index: int) -> int:
        """Number of the place of the element at a row-major index."""
        total = 0
        for bit, place in enumerate(self.places):
            total ^= place if index >> bit & 1 else 0
        return total

    def vector_positions(self, layout: LinearLayout) -> tuple[int, ...]:
        """Register bits of `layout` that step through the elements of one access."""
        flat = [layout.flatten(basis) for basis in layout.register]
        found = itertools.takewhile(flat.__contains__, self.vector)
        return tuple(flat.index(vector) for vector in found)

    def is_aligned_for(self, layout: LinearLayout) -> bool:
        """Whether the vectors of a thread's registers start at places that allow vectors."""
        vector = self.vector[: len(self.vector_positions(layout))]
        others = (basis for basis in map(layout.flatten, layout.bases) if basis not in vector)
        return not any(self.place(basis) & (1 << len(vector)) - 1 for basis in others)

    def cost(self, layout: LinearLayout) -> int:
        """Instructions and cycles of a thread's accesses."""
        width = 1 << len(self.vector_positions(layout))
        cycles = self.wavefronts(layout) * max(self.nbytes * width // BANK_BYTES, 1)
        return layout.num_registers // width * (1 + cycles)

    def wavefronts(self, layout: LinearLayout) -> int:
        """How often memory is asked for one access of a warp, at the worst; 1 has no conflicts."""
        width = self.nbytes << len(self.vector_positions(layout))
        lanes = layout.lane[: _wavefront_bits(width)]
        words: dict[int, set[int]] = {}
        for number in range(1 << len(lanes)):
            start = self.place(layout.flatten(layout.coordinates(0, number))) * self.nbytes
            for word in range(start // BANK_BYTES, -(-(start + width) // BANK_BYTES)):
                words.setdefault(word % (ROW_BYTES // BANK_BYTES), set()).add(word)
        return max(map(len, words.values()))


@lru_cache(maxsize=256)
def choose_layout(source: LinearLayout, target: LinearLayout, nbytes: int) -> SharedLayout:
    """A placement for threads that write as in `source` and read as in `target`: the cheapest."""
    drafts = [_place(source, target, nbytes, v) for v in _find_vectors(source, target, nbytes)]
    fitting = [d for d in drafts if d.is_aligned_for(source) and d.is_aligned_for(target)]
    return min(fitting, key=lambda draft: draft.cost(source) + draft.cost(target))


def _find_vectors(
    source: LinearLayout, target: LinearLayout, nbytes: int
) -> Iterator[tuple[int, ...]]:
    """What both have in registers, alone or before what one of them has; nothing."""
    most = bit_count(max(VECTOR_BYTES // nbytes, 1))
    writer, reader = (
        [basis for basis in map(layout.flatten, layout.register) if basis]
        for layout in (source, target)
    )
    common = [basis for basis in writer if basis in reader]
    yield tuple(common[:most])
    for own in (writer, reader):
        yield tuple(dict.fromkeys((*common, *own)))[:most]
    yield ()


def _place(
    source: LinearLayout, target: LinearLayout, nbytes: int, vector: tuple[int, ...]
) -> SharedLayout:
    num_bits = sum(map(bit_count, source.shape))
    vector = _fill_word(vector, source, nbytes)
    draft = SharedLayout(nbytes, vector, ())
    spans = [_Span(_wavefront(draft, layout)) for layout in (source, target)]
    row_bits = min(bit_count(ROW_BYTES // nbytes), num_bits)
    bases = dict.fromkeys(layout.flatten(b) for layout in (source, target) for b in layout.bases)
    free = [basis for basis in bases if basis not in vector]
    rest = _choose_rest(spans, free, num_bits - row_bits, vector)
    taken = _Span((*vector, *rest))
    units = (1 << bit for bit in range(num_bits))
    banks = [basis for basis in (*free, *units) if taken.add(basis)]
    return SharedLayout(nbytes, vector, _invert([*vector, *banks, *rest]))


def _fill_word(vector: tuple[int, ...], layout: LinearLayout, nbytes: int) -> tuple[int, ...]:
    """Small elements share a word of a bank, also those of different threads."""
    span = _Span(())
    chosen = [basis for basis in vector if span.add(basis)]
    for basis in map(layout.flatten, layout.lane):
        if nbytes << len(chosen) < BANK_BYTES and span.add(basis):
            chosen.append(basis)
    return tuple(chosen)


def _wavefront_bits(width: int) -> int:
    """Lane bits of the threads that memory serves at once, for accesses of `width` bytes."""
    return LANE_BITS - bit_count(max(width // BANK_BYTES, 1))


def _wavefront(draft: SharedLayout, layout: LinearLayout) -> Iterator[int]:
    """What the threads that memory serves at once hold, or share a word with."""
    positions = draft.vector_positions(layout)
    word_bits = bit_count(max(BANK_BYTES // draft.nbytes, 1))
    yield from draft.vector[: max(len(positions), word_bits)]
    lanes = layout.lane[: _wavefront_bits(draft.nbytes << len(positions))]
    yield from map(layout.flatten, lanes)


def _choose_rest(
    spans: Sequence[_Span], bases: Sequence[int], count: int, vector: tuple[int, ...]
) -> list[int]:
    """`count` vectors, independent of each other and `vector`; if it can be, of all `spans`."""
    own = _Span(vector)
    pairs = (left ^ right for left, right in itertools.combinations(bases, 2))
    chosen: list[int] = []
    for candidate in itertools.chain(bases, pairs):
        is_apart = all(span.lacks(candidate) for span in spans) and own.lacks(candidate)
        if len(chosen) < count and is_apart:
            chosen.append(candidate)
            for span in (*spans, own):
                span.add(candidate)
    for basis in bases:
        if len(chosen) < count and own.add(basis):
            chosen.append(basis)
    return chosen


class _Span:
    """A subspace, by vectors of which each has a leading bit of its own."""

    def __init__(self, vectors: Iterable[int]) -> None:
        self._pivots: list[int] = []
        for vector in vectors:
            self.add(vector)

    def _rest(self, vector: int) -> int:
        for pivot in self._pivots:
            vector = min(vector, vector ^ pivot)
        return vector

    def lacks(self, vector: int) -> bool:
        return self._rest(vector) != 0

    def add(self, vector: int) -> bool:
        """Add a vector; whether it made the space larger."""
        rest = self._rest(vector)
        self._pivots.extend([rest] if rest else [])
        return rest != 0


def _invert(basis: Sequence[int]) -> tuple[int, ...]:
    """For each bit, the combination of `basis` vectors (as a number) that gives it alone."""
    rows = [(vector, 1 << number) for number, vector in enumerate(basis)]
    for bit in range(len(basis)):
        pivot = next(row for row in rows[bit:] if row[0] >> bit & 1)
        rows.remove(pivot)
        rows = [
            (row[0] ^ pivot[0], row[1] ^ pivot[1]) if row[0] >> bit & 1 else row for row in rows
        ]
        rows.insert(bit, pivot)
    return tuple(combination for _, combination in rows)
