"""The code of dots on GPUs, by the method that nvptx_dot chooses.

Operands come through shared memory in the layouts of dot_layouts, both written before one barrier,
and are read step by step along K, just before they are multiplied. Places are coordinates along
batch, rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from lazyblock.backend.llvm.conversions import emit_cast
from lazyblock.backend.llvm.dot_layouts import VECTOR_BYTES, DotLayouts, sums_of
from lazyblock.backend.llvm.layout import Basis, LinearLayout, bit_count
from lazyblock.backend.llvm.nvptx_blocks import BlockCode
from lazyblock.backend.llvm.nvptx_convert import Exchanged, Moved, Rounds
from lazyblock.backend.llvm.nvptx_dot import Method, choose_method
from lazyblock.backend.llvm.nvptx_mma import Mma
from lazyblock.backend.llvm.nvptx_shuffle import WORD_BYTES
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter
from lazyblock.backend.llvm.site import Site
from lazyblock.backend.llvm.types import llvm_scalar
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value, walk
from lazyblock.tiler.types import SCALARS, ScalarType, bfloat16, float32

_MOST_STEADY_WORDS = 64  # registers that an operand may take throughout a loop
_MOST_OPERANDS = 128  # that a thread reads in a round of a loop: more would wait in registers


def emit_dot(code: BlockCode, op: ops.Dot) -> None:
    """Emit `op`, its result in the accumulator's layout."""
    layouts, method = code.plan.dots[op], choose_method(op, code.target)
    narrow = op.acc.type.scalar
    before = Site(code.emitter, code.target, narrow, 1)
    site = before.of(float32 if narrow.is_half else narrow)
    started = [_cast(before, name, site.scalar) for name in code.demand(op.acc, layouts.acc)]
    sums = _Sums(_Numbers(layouts.acc), started)
    wanted = ((op.a, layouts.a), (op.b, layouts.b))
    a, b = (
        _Operand(before.of(value.type.element), layout, moved)
        for (value, layout), moved in zip(wanted, code.move(wanted), strict=True)
    )
    a.moved.publish()
    b.moved.publish()
    if method is None:
        _multiply_add(site, layouts, a, b, sums)
    else:
        _Matrices(code.emitter, layouts, method, a, b, sums).multiply()
    code.hold(op.result, layouts.acc, [_cast(site, name, narrow) for name in sums.registers])


def demand_steady_operands(code: BlockCode, loop: ops.For | ops.While) -> None:
    """Before a loop: bring the operands that its dots take anew in every round to registers."""
    repeated = [op for region in loop.regions for op in walk(region)]
    inside = {result for op in repeated for result in op.results}
    inside.update(value for op in (loop, *repeated) for r in op.regions for value in r.arguments)
    for op in repeated:
        if isinstance(op, ops.Dot):
            layouts = code.plan.dots[op]
            for value, layout in ((op.a, layouts.a), (op.b, layouts.b)):
                if value not in inside and _count_words(value, layout) <= _MOST_STEADY_WORDS:
                    code.demand(value, layout)


def _count_words(value: Value, layout: LinearLayout) -> int:
    return layout.num_registers * value.type.scalar.nbytes // WORD_BYTES


def _cast(site: Site, name: str, to: ScalarType) -> str:
    return name if site.element == to else emit_cast(site, name, to)


# --- blocks --------------------------------------------------------------------------------------


class _Numbers:
    """Which register of a layout holds the element at a place, which steps by which bit."""

    def __init__(self, layout: LinearLayout) -> None:
        self._layout = layout
        registers = reversed(range(layout.num_registers))
        self._numbers = {layout.coordinates(number): number for number in registers}

    def find(self, *place: int) -> int:
        return self._numbers[self._with_rank(place)]

    def position(self, *step: int) -> int:
        return self._layout.register.index(self._with_rank(step))

    def _with_rank(self, place: Basis) -> Basis:
        """Without the batch if there is none."""
        return place[-len(self._layout.shape) :]


@dataclass
class _Sums:
    """The accumulator's registers."""

    numbers: _Numbers
    registers: list[str]


@dataclass
class _Operand:
    """A or B, whose elements are read when they are first asked for; `site` is of its type."""

    site: Site
    layout: LinearLayout
    moved: Moved

    def __post_init__(self) -> None:
        self._numbers = _Numbers(self.layout)

    def element(self, *place: int) -> str:
        return self.moved.register(self._numbers.find(*place))

    def can_count(self, *step: int) -> bool:
        """Whether a loop may read the block in rounds that are this step apart."""
        position = self._numbers.position(*step)
        return isinstance(self.moved, Exchanged) and not self.moved.is_within_access(position)

    def during(self, index: str, steps: Iterable[Basis]) -> _Operand:
        """The same in a loop whose index has a bit for each of these steps."""
        assert isinstance(self.moved, Exchanged)
        positions = tuple(self._numbers.position(*step) for step in steps)
        return replace(self, moved=self.moved.during(Rounds(index, positions)))


# --- fused multiply-adds -------------------------------------------------------------------------


def _multiply_add(site: Site, layouts: DotLayouts, a: _Operand, b: _Operand, sums: _Sums) -> None:
    """Outer products in each thread, along K: in a loop where they are many."""
    low, high = _split_depth(layouts, a, b)
    if not high:
        return _add_outer_products(site, layouts, a, b, sums, low)
    carried = [(site.type, total) for total in sums.registers]
    with site.emitter.loop("i32", "0", str(1 << len(high)), "1", carried) as loop:
        sums.registers = list(loop.carried)
        here = a.during(loop.index, ((0, 0, k) for k in high))
        there = b.during(loop.index, ((0, k, 0) for k in high))
        _add_outer_products(site, layouts, here, there, sums, low)
        loop.following = sums.registers
    sums.registers = list(loop.carried)


def _split_depth(layouts: DotLayouts, a: _Operand, b: _Operand) -> tuple[list[int], list[int]]:
    """The bits of K that a round covers, and those that count the rounds."""
    width = (1 << len(layouts.m.register)) + (1 << len(layouts.n.register))
    most = max(_MOST_OPERANDS // width, VECTOR_BYTES // a.site.scalar.nbytes)
    bits = layouts.k.register
    num_rounds = max(len(bits) - most.bit_length() + 1, 0)
    free = [k for k in bits if a.can_count(0, 0, k) and b.can_count(0, k, 0)]
    rounds = free[max(len(free) - num_rounds, 0) :]
    return [k for k in bits if k not in rounds], rounds


def _add_outer_products(
    site: Site, layouts: DotLayouts, a: _Operand, b: _Operand, sums: _Sums, depth: Sequence[int]
) -> None:
    rows, columns = sums_of(layouts.m.register), sums_of(layouts.n.register)
    registers = sums.registers
    for batch, k in product(sums_of(layouts.batch.register), sums_of(depth)):
        left = [(m, _cast(a.site, a.element(batch, m, k), site.scalar)) for m in rows]
        right = [(n, _cast(b.site, b.element(batch, k, n), site.scalar)) for n in columns]
        for (m, x), (n, y) in product(left, right):
            number = sums.numbers.find(batch, m, n)
            registers[number] = _add_product(site, x, y, registers[number])


def _add_product(site: Site, x: str, y: str, total: str) -> str:
    if site.scalar.is_floating:
        return site.call("fma", x, y, total)
    return site.do("add", site.do("mul", x, y), total)


# --- instructions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fragments:
    """How an instruction's registers count: coordinates along each axis, in its order."""

    upper: list[int]  # rows of a group of lanes
    tiles: list[int]  # rows of further instructions
    columns: list[int]  # of further instructions
    pair: list[int]  # neighbours in C
    word: list[int]  # elements of a word along K
    halves: list[int]  # words along K
    steps: list[int]  # of further instructions along K


def _fragments(mma: Mma, layouts: DotLayouts) -> _Fragments:
    m, k = layouts.m.register, layouts.k.register
    upper = (m[:1] or (0,)) if mma.has_upper_rows else ()
    of_word = bit_count(mma.per_word)
    of_step = of_word + bit_count(mma.num_halves)
    return _Fragments(
        upper=sums_of(upper),
        tiles=sums_of(m[len(upper) :]),
        columns=sums_of(layouts.n.register),
        pair=sums_of(layouts.n.lane[:1]),
        word=sums_of(k[:of_word]),
        halves=sums_of(k[of_word:of_step]),
        steps=sums_of(k[of_step:]),
    )


Words = list[tuple[str, ...]]  # registers of a fragment, once per part of its numbers


@dataclass
class _Matrices:
    """Products of fragments, step by step along K."""

    emitter: ThreadEmitter
    layouts: DotLayouts
    method: Method
    a: _Operand
    b: _Operand
    sums: _Sums

    def multiply(self) -> None:
        parts = self.parts = _fragments(self.method.mma, self.layouts)
        for batch, step in product(sums_of(self.layouts.batch.register), parts.steps):
            right = [self._words_of_b(batch, step, column) for column in parts.columns]
            for tile in parts.tiles:
                left = self._words_of_a(batch, step, tile)
                for column, words in zip(parts.columns, right, strict=True):
                    places = product(parts.upper, parts.pair)
                    self._add(left, words, [(batch, tile + m, column + n) for m, n in places])

    def _add(self, left: Words, right: Words, places: Sequence[Basis]) -> None:
        numbers = [self.sums.numbers.find(*place) for place in places]
        totals = [self.sums.registers[number] for number in numbers]
        for a, b in self.method.terms:
            totals = self.emitter.mma(self.method.mma, left[a], right[b], totals)
        for number, total in zip(numbers, totals, strict=True):
            self.sums.registers[number] = total

    def _words_of_a(self, batch: int, step: int, tile: int) -> Words:
        places = product(self.parts.halves, self.parts.upper)
        rows = (
            [self.a.element(batch, tile + m, step + half + k) for k in self.parts.word]
            for half, m in places
        )
        return self._words(self.a.site, rows)

    def _words_of_b(self, batch: int, step: int, column: int) -> Words:
        rows = (
            [self.b.element(batch, step + half + k, column) for k in self.parts.word]
            for half in self.parts.halves
        )
        return self._words(self.b.site, rows)

    def _words(self, site: Site, rows: Iterable[Sequence[str]]) -> Words:
        """Registers, each of a row of neighbours along K."""
        if site.element != float32:
            return [tuple(_pack(site, row) for row in rows)]
        coarse = bfloat16 if self.method.mma.name == "bf16" else float32
        packed = []
        for row in rows:
            parts = zip(*(_split(site, n, coarse, self.method.num_parts) for n in row), strict=True)
            packed.append([_pack(site.of(coarse), part) for part in parts])
        return list(zip(*packed, strict=True))


def _pack(site: Site, names: Sequence[str]) -> str:
    """Small numbers in one word."""
    if len(names) == 1:
        return names[0]
    scalar = llvm_scalar(site.scalar)
    vector, whole = f"<{len(names)} x {scalar}>", "poison"
    for number, name in enumerate(names):
        text = f"insertelement {vector} {whole}, {scalar} {name}, i32 {number}"
        whole = site.emitter.value(text)
    return site.emitter.value(f"bitcast {vector} {whole} to i32")


# --- parts of a number ---------------------------------------------------------------------------


def _split(site: Site, name: str, coarse: ScalarType, count: int) -> Iterator[str]:
    """Coarse numbers that add up to an f32: itself rounded, that again, and what is left of it.

    What is multiplied with a rest is 0 where the number is infinite or none: inf * 0 is no number.
    """
    word, value = _round(site, name, coarse)
    yield word
    if count > 1:
        bits = site.of(SCALARS[f"u{coarse.bits}"])
        yield bits.select(_is_finite(site, value), word, bits.constant(0))
    for _ in range(count - 1):
        rest = site.do("fsub", name, value)
        name = site.select(_is_finite(site, rest), rest, site.constant(0.0))
        word, value = _round(site, name, coarse)
        yield word


def _round(site: Site, name: str, coarse: ScalarType) -> tuple[str, str]:
    """The bits of a coarse number, and it as an f32."""
    if coarse.is_half:
        half = emit_cast(site, name, coarse)
        return half, emit_cast(site.of(coarse), half, float32)
    assert isinstance(site.emitter, ThreadEmitter)
    word = site.emitter.round_tf32(name)
    return word, site.emitter.value(f"bitcast i32 {word} to float")


def _is_finite(site: Site, name: str) -> str:
    size = site.call("fabs", name)
    return site.emitter.value(f"fcmp olt float {size}, 0x7FF0000000000000")
