"""Block programs for tests: a small zoo, and random ones.

Every program keeps to one contract, so that `make_arguments` fits all: a pointer may be followed
where the offset lies in [0, SIZE), and an integer parameter `n` says how much of that is data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Program, Value
from lazyblock.tiler.ops.arith import BINARY_KINDS, COMPARE_KINDS, UNARY_KINDS
from lazyblock.tiler.types import (
    SCALARS,
    PointerType,
    ScalarType,
    float32,
    int1,
    int32,
    int64,
    to_numpy,
)

COMPUTED = [scalar for scalar in SCALARS.values() if not scalar.is_float8]
SIZE = 64  # elements of every array argument
BLOCK = 16
GRID = (4, 1, 1)


def _pointers(builder: Builder, *names: str, element: ScalarType = float32) -> list[Value]:
    return [builder.parameter(name, PointerType(element), 16) for name in names]


def _offsets(builder: Builder, block: int = BLOCK) -> Value:
    start = builder.mul(builder.program_id(0), block)
    return builder.add(builder.splat(start, (block,)), builder.arange(0, block))


def _mask(builder: Builder, offsets: Value, n: Value) -> Value:
    return builder.compare("lt", offsets, builder.splat(n, offsets.shape))


def vector_add() -> Program:
    b = Builder("vector_add")
    x, y, out = _pointers(b, "x", "y", "out")
    n = b.parameter("n", int32)
    offsets = _offsets(b)
    mask = _mask(b, offsets, n)
    total = b.add(b.load(b.add_pointer(x, offsets), mask), b.load(b.add_pointer(y, offsets), mask))
    b.store(b.add_pointer(out, offsets), total, mask)
    return b.finish()


def row_softmax() -> Program:
    """Rows of 16; `n` columns are data."""
    b = Builder("row_softmax", num_warps=1)
    x, out = _pointers(b, "x", "out")
    n = b.parameter("n", int32)
    columns = b.arange(0, BLOCK)
    offsets = b.add(b.splat(b.mul(b.program_id(0), BLOCK), (BLOCK,)), columns)
    mask = _mask(b, columns, n)
    row = b.load(b.add_pointer(x, offsets), mask, -np.inf)
    shifted = b.sub(row, b.splat(b.reduce_with("max", row, 0), (BLOCK,)))
    power = b.math("exp", shifted)
    total = b.splat(b.reduce_with("add", power, 0), (BLOCK,))
    b.store(b.add_pointer(out, offsets), b.div(power, total), mask)
    return b.finish()


def loop_sum() -> Program:
    """Sum of n elements in steps of a block, masked, with a pointer carried along."""
    b = Builder("loop_sum")
    x, out = _pointers(b, "x", "out")
    n = b.parameter("n", int32)
    lanes = b.arange(0, BLOCK)
    zero = b.constant(0.0, float32, (BLOCK,))
    start = b.add_pointer(x, lanes)

    def body(i: Value, total: Value, pointer: Value) -> list[Value]:
        offsets = b.add(b.splat(i, (BLOCK,)), lanes)
        part = b.load(pointer, _mask(b, offsets, n))
        return [b.add(total, part), b.add_pointer(pointer, b.constant(BLOCK, int32, (BLOCK,)))]

    total, _ = b.for_(0, n, BLOCK, [zero, start], body)
    b.store(b.add_pointer(out, b.program_id(0)), b.reduce_with("add", total, 0))
    return b.finish()


def transpose_tile() -> Program:
    """An 8x8 tile written transposed, in 64-bit offsets."""
    b = Builder("transpose_tile")
    x, out = _pointers(b, "x", "out", element=int32)
    rows, columns = b.arange(0, 8), b.arange(0, 8)
    wide = b.broadcast_to(b.expand_dims(b.mul(rows, 8), 1), (8, 8))
    offsets = b.cast(b.add(wide, b.broadcast_to(b.expand_dims(columns, 0), (8, 8))), int64)
    tile = b.load(b.add_pointer(x, offsets))
    b.store(b.add_pointer(out, offsets), b.transpose(tile, (1, 0)))
    return b.finish()


def argmax() -> Program:
    """Largest of 16 elements and its first position: a reduction of two values."""
    b = Builder("argmax")
    (x,) = _pointers(b, "x")
    (best,) = _pointers(b, "best", element=int32)
    lanes = b.arange(0, BLOCK)

    def combine(value: Value, index: Value, other: Value, other_index: Value) -> list[Value]:
        is_equal = b.compare("eq", value, other)
        is_first = b.and_(is_equal, b.compare("lt", index, other_index))
        keep = b.or_(b.compare("gt", value, other), is_first)
        return [b.select(keep, value, other), b.select(keep, index, other_index)]

    row = b.load(b.add_pointer(x, _offsets(b)))
    _, index = b.reduce([row, lanes], 0, combine)
    b.store(b.add_pointer(best, b.program_id(0)), index)
    return b.finish()


def running_best() -> Program:
    """The largest element so far, and that with the highest bits from here on: where it is."""
    b = Builder("running_best")
    x, out = _pointers(b, "x", "out")
    (best,) = _pointers(b, "best", element=int32)
    row = b.load(b.add_pointer(x, _offsets(b)))
    b.store(b.add_pointer(out, _offsets(b)), b.scan_with("max", row, 0))

    def combine(value: Value, index: Value, other: Value, other_index: Value) -> list[Value]:
        keep = b.compare("gt", value, other)
        return [b.select(keep, value, other), b.select(keep, index, other_index)]

    bits = b.bitcast(row, int32)
    _, index = b.scan([bits, b.arange(0, BLOCK)], 0, combine, reverse=True)
    b.store(b.add_pointer(best, _offsets(b)), index)
    return b.finish()


def branch() -> Program:
    """Even instances double, odd ones negate and write a flag."""
    b = Builder("branch")
    x, out = _pointers(b, "x", "out")
    (flags,) = _pointers(b, "flags", element=int1)
    pid = b.program_id(0)
    row = b.load(b.add_pointer(x, _offsets(b)))

    def odd() -> list[Value]:
        b.store(b.add_pointer(flags, pid), b.constant(True, int1))
        return [b.neg(row)]

    is_even = b.compare("eq", b.rem(pid, 2), 0)
    (result,) = b.if_(is_even, lambda: [b.add(row, row)], odd)
    b.store(b.add_pointer(out, _offsets(b)), result)
    return b.finish()


def shuffled() -> Program:
    """Elements that change places: joined, split, exchanged, gathered, counted."""
    b = Builder("shuffled")
    x, out = _pointers(b, "x", "out", element=int32)
    (counts,) = _pointers(b, "counts", element=int32)
    row = b.load(b.add_pointer(x, _offsets(b)))
    left, right = b.split(b.reshape(row, (BLOCK // 2, 2)))
    pairs = b.reshape(b.join(b.exchange(right, 0, 3), b.exchange(left, 0, 7)), (BLOCK,))
    index = b.and_(row, BLOCK - 1)
    b.store(b.add_pointer(out, _offsets(b)), b.add(b.gather(pairs, index, 0), pairs))
    below = b.compare("lt", pairs, 7)
    own = b.add_pointer(counts, b.mul(b.program_id(0), BLOCK))
    b.store(b.add_pointer(own, b.arange(0, 8)), b.histogram(row, 8))
    b.store(b.add_pointer(own, b.arange(8, 16)), b.histogram(index, 8, below))
    return b.finish()


ZOO: dict[str, Callable[[], Program]] = {
    make.__name__: make
    for make in (
        *(vector_add, row_softmax, loop_sum, transpose_tile, argmax, running_best, branch),
        shuffled,
    )
}


# --- arguments -----------------------------------------------------------------------------------

SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e30, -1e-30, 3.0)


def random_array(rng: np.random.Generator, scalar: ScalarType, size: int = SIZE) -> Any:
    """Ordinary and special values of a type."""
    dtype = to_numpy(scalar)
    if scalar == int1:
        return rng.integers(0, 2, size).astype(dtype)
    if scalar.is_floating:
        ordinary = rng.normal(size=size) * 10.0 ** rng.integers(-2, 3)
        special = rng.choice(SPECIAL_FLOATS, size)
        with np.errstate(all="ignore"):
            return np.where(rng.random(size) < 0.3, special, ordinary).astype(dtype)
    limits = np.iinfo(dtype)
    large = rng.integers(limits.min, limits.max, size, dtype, endpoint=True)
    small = rng.integers(0, 8, size).astype(dtype)
    return np.where(rng.random(size) < 0.5, large, small)


def make_arguments(program: Program, rng: np.random.Generator, n: int = 13) -> list[Any]:
    """Fresh arguments of SIZE elements; integers are `n`, floats random."""
    arguments: list[Any] = []
    for parameter in program.parameters:
        element = parameter.value.type.element
        if isinstance(element, PointerType):
            arguments.append(random_array(rng, element.pointee))
        else:
            arguments.append(n if element.is_integer else rng.normal())
    return arguments


def copy_arguments(arguments: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


# --- random programs -----------------------------------------------------------------------------


class _Random:
    """Grows a program step by step; `pool` holds blocks of BLOCK elements by type."""

    def __init__(self, rng: np.random.Generator, scalars: list[ScalarType]) -> None:
        self.rng = rng
        self.b = Builder("random")
        self.scalars = scalars
        pointers = {t: self.b.parameter(f"x_{t}", PointerType(t), 16) for t in scalars}
        self.outputs = {t: self.b.parameter(f"out_{t}", PointerType(t), 16) for t in scalars}
        self.n = self.b.parameter("n", int32)
        self.offsets = _offsets(self.b)
        self.mask = _mask(self.b, self.offsets, self.n)
        self.pool: dict[ScalarType, list[Value]] = {int1: [self.mask]}
        self.pointers = pointers
        for scalar in scalars:
            self.pool.setdefault(scalar, []).append(self.load(scalar))

    def choose(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def any_type(self) -> ScalarType:
        return self.choose(list(self.pool))

    def any_value(self, scalar: ScalarType | None = None) -> Value:
        values = self.pool[scalar or self.any_type()]
        return self.choose(values[-6:])

    def load(self, scalar: ScalarType) -> Value:
        pointer = self.b.add_pointer(self.pointers[scalar], self.offsets)
        mask = self.choose([None, self.mask])
        other = None if mask is None else self.choose([None, 1, 0])
        return self.b.load(pointer, mask, other)

    def step(self) -> None:
        value = self.choose(self.STEPS)(self)
        self.pool.setdefault(value.type.scalar, []).append(value)

    def constant_like(self, value: Value) -> Value:
        return self.b.full_like(value, self.choose([0, 1, -1, 2, 3, 0.5, 8]))

    def binary(self) -> Value:
        a = self.any_value()
        domain = "f" if a.type.scalar.is_floating else "i"
        kinds = [kind for kind, where in BINARY_KINDS.items() if domain in where]
        if a.type.scalar.bits < 32:
            kinds = [kind for kind in kinds if kind != "mulhi"]  # the language has no word for it
        kind = self.choose(kinds)
        b = self.choose([self.any_value(a.type.scalar), self.constant_like(a)])
        return self.b.binary(kind, *self.choose([(a, b), (b, a)]))

    def unary(self) -> Value:
        a = self.any_value()
        domain = "f" if a.type.scalar.is_floating else "i"
        kind = self.choose([kind for kind, where in UNARY_KINDS.items() if domain in where])
        return self.b.unary(kind, a)

    def compare(self) -> Value:
        a = self.any_value()
        b = self.choose([self.any_value(a.type.scalar), self.constant_like(a)])
        return self.b.compare(self.choose(COMPARE_KINDS), a, b)

    def select(self) -> Value:
        a = self.any_value()
        condition = self.choose([self.any_value(int1), self.b.full_like(self.mask, True)])
        return self.b.select(condition, a, self.any_value(a.type.scalar))

    def cast(self) -> Value:
        return self.b.cast(self.any_value(), self.any_type())

    def bitcast(self) -> Value:
        a = self.any_value()
        same_width = [t for t in self.pool if t.bits == a.type.scalar.bits]
        return self.b.bitcast(a, self.choose(same_width))

    def fma(self) -> Value:
        wide = [t for t in self.pool if t.is_floating and t.bits > 16]
        if not wide:
            return self.any_value()
        scalar = self.choose(wide)
        return self.b.fma(*(self.any_value(scalar) for _ in range(3)))

    def reload(self) -> Value:
        return self.load(self.choose(self.scalars))

    def store(self) -> Value:
        scalar = self.choose(self.scalars)
        self.b.store(
            self.b.add_pointer(self.choose([self.outputs, self.pointers])[scalar], self.offsets),
            self.any_value(scalar),
            self.choose([None, self.mask]),
        )
        return self.load(scalar)

    def reduce(self) -> Value:
        value = self.any_value()
        tile = self.b.reshape(value, (4, 4))
        if self.rng.random() < 0.5:
            tile = self.b.transpose(tile, (1, 0))
        axis = int(self.rng.integers(2))
        row = self.b.reduce_with(self.choose(["add", "max", "min"]), tile, axis)
        wide = self.b.broadcast_to(self.b.expand_dims(row, axis), (4, 4))
        return self.b.reshape(wide, (BLOCK,))

    def scan(self) -> Value:
        tile = self.b.reshape(self.any_value(), (4, 4))
        axis, reverse = (int(self.rng.integers(2)) for _ in range(2))
        scanned = self.b.scan_with(self.choose(["max", "min"]), tile, axis, bool(reverse))
        return self.b.reshape(scanned, (BLOCK,))

    def if_(self) -> Value:
        scalar = self.any_type()
        condition = self.b.compare("lt", self.b.program_id(0), self.choose([1, 2, self.n]))

        def branch() -> list[Value]:
            return [self.inside(self.any_value(scalar))]

        return self.b.if_(condition, branch, branch)[0]

    def for_(self) -> Value:
        start = self.any_value()

        def body(i: Value, carried: Value) -> list[Value]:
            step = self.b.cast(self.b.splat(i, (BLOCK,)), carried.type.scalar)
            return [self.inside(self.b.binary("max", carried, step))]

        return self.b.for_(0, self.choose([0, 3, self.n]), 2, [start], body)[0]

    def inside(self, value: Value) -> Value:
        """Some steps on values of one type; what they make stays out of the pool."""
        for _ in range(int(self.rng.integers(1, 4))):
            other = self.choose([self.any_value(value.type.scalar), self.constant_like(value)])
            value = self.b.binary(self.choose(["max", "min"]), value, other)
        return value

    STEPS = (
        *(binary, binary, binary, unary, compare, select, cast, cast, bitcast),
        *(fma, reload, store, reduce, scan, if_, for_),
    )


def random_program(rng: np.random.Generator, steps: int = 20) -> Program:
    """A verified-by-construction program over three random types."""
    choices = [t for t in COMPUTED if t != int1]
    picked = [choices[i] for i in rng.choice(len(choices), 3, replace=False)]
    growth = _Random(rng, picked)
    for _ in range(steps):
        growth.step()
    for scalar in picked:
        pointer = growth.b.add_pointer(growth.outputs[scalar], growth.offsets)
        growth.b.store(pointer, growth.pool[scalar][-1])
    return growth.b.finish()
