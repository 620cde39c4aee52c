"""Claims of the analysis, checked by running address programs on many parameter values."""

import numpy as np
import pytest

from lazyblock.tiler.analysis.axis_info import analyse, vector_width
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret.memory import Addresses
from lazyblock.tiler.interpret.run import Interpreted
from lazyblock.tiler.types import (
    PointerType,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint32,
)


def info_of(build):
    b = Builder()
    value = build(b)
    return analyse(b.finish())[value]


def offsets_of(b, block=128):
    return b.add(b.splat(b.mul(b.program_id(0), block), (block,)), b.arange(0, block))


def facts(info):
    return info.contiguity, info.divisibility, info.constancy


# --- what is found -------------------------------------------------------------------------------


def test_arange_is_one_run():
    assert facts(info_of(lambda b: b.arange(8, 24))) == ((16,), (8,), (1,))


def test_splat_repeats():
    info = info_of(lambda b: b.splat(b.parameter("n", int32, 16), (32,)))
    assert facts(info) == ((1,), (16,), (32,))


def test_block_offsets_are_an_aligned_run():
    assert facts(info_of(offsets_of)) == ((128,), (128,), (1,))


@pytest.mark.parametrize("divisibility, constancy", [(16, 16), (4, 4), (1, 1), (1024, 128)])
def test_a_mask_is_constant_over_what_divides_its_bound(divisibility, constancy):
    def build(b):
        n = b.parameter("n", int32, divisibility)
        return b.compare("lt", offsets_of(b), b.splat(n, (128,)))

    assert info_of(build).constancy == (constancy,)


@pytest.mark.parametrize("kind, constancy", [("lt", 32), ("ge", 32), ("le", 1), ("gt", 1)])
def test_which_comparisons_split_at_multiples(kind, constancy):
    info = info_of(lambda b: b.compare(kind, b.arange(0, 128), 96))
    assert info.constancy == (constancy,)


def test_a_mask_written_the_other_way_round():
    info = info_of(lambda b: b.compare("gt", 64, b.arange(0, 128)))
    assert info.constancy == (64,)


@pytest.mark.parametrize(
    ("nbytes", "element", "divisor"), [(16, float32, 4), (16, float64, 2), (1, float32, 1)]
)
def test_pointers_count_elements(nbytes, element, divisor):
    info = info_of(lambda b: b.parameter("p", PointerType(element), nbytes))
    assert info.divisibility == (divisor,)


def test_rows_of_a_matrix_run_along_the_last_axis():
    b = Builder()
    pointer = b.parameter("x", PointerType(float32), 16)
    stride = b.parameter("stride", int32, 8)
    rows = b.mul(b.expand_dims(b.arange(0, 16), 1), b.splat(stride, (16, 1)))
    columns = b.expand_dims(b.arange(0, 32), 0)
    offsets = b.add(b.broadcast_to(rows, (16, 32)), b.broadcast_to(columns, (16, 32)))
    address = b.add_pointer(pointer, offsets)
    turned = b.transpose(address, (1, 0))
    infos = analyse(b.finish())
    assert facts(infos[address]) == ((1, 32), (1, 4), (1, 1))
    assert vector_width(address, None, infos, 1) == 4
    assert vector_width(address, None, infos, 0) == 1
    assert vector_width(turned, None, infos, 0) == 4


def test_vector_width_is_cut_by_the_mask():
    b = Builder()
    pointer = b.parameter("x", PointerType(float32), 64)
    n = b.parameter("n", int32, 2)
    offsets = offsets_of(b)
    address = b.add_pointer(pointer, offsets)
    mask = b.compare("lt", offsets, b.splat(n, (128,)))
    infos = analyse(b.finish())
    assert vector_width(address, None, infos, 0) == 16
    assert vector_width(address, mask, infos, 0) == 2


def test_loops_keep_what_every_round_keeps():
    b = Builder()
    pointer = b.parameter("x", PointerType(float32), 16)
    n = b.parameter("n", int32)
    start = b.add_pointer(pointer, b.arange(0, 64))
    seen = []

    def body(i, address, odd):
        seen.extend([i, address, odd])
        step = b.constant(64, int32, (64,))
        return [b.add_pointer(address, step), b.add(odd, 3)]

    b.for_(0, n, 64, [start, b.splat(b.parameter("k", int32, 16), (64,))], body)
    infos = analyse(b.finish())
    index, address, odd = (infos[value] for value in seen)
    assert index.divisibility == (64,)
    assert facts(address) == ((64,), (4,), (1,))
    assert facts(odd) == ((1,), (1,), (64,))


def test_a_loop_that_does_not_settle_counts_as_unknown():
    b = Builder()
    n = b.parameter("n", int32)
    names = [b.splat(b.parameter(f"k{i}", int32, 1 << i), (8,)) for i in range(20, 0, -1)]

    def body(i, *carried):
        return [*carried[1:], b.add(carried[0], b.splat(i, (8,)))]

    results = b.for_(1, n, 1, names, body)
    infos = analyse(b.finish())
    assert all(infos[result].divisibility == (1,) for result in results)


def test_branches_join():
    b = Builder()
    n = b.parameter("n", int32)
    wide, narrow = (lambda: [b.mul(n, 16)]), (lambda: [b.mul(n, 4)])
    (result,) = b.if_(b.compare("lt", n, 3), wide, narrow)
    assert analyse(b.finish())[result].divisibility == (4,)


def test_quotients_of_runs_repeat_and_remainders_run():
    b = Builder()
    offsets = offsets_of(b)
    quotient, remainder = b.div(offsets, 32), b.rem(offsets, 32)
    infos = analyse(b.finish())
    assert facts(infos[quotient]) == ((1,), (4,), (32,)) or infos[quotient].constancy == (32,)
    assert facts(infos[remainder]) == ((32,), (32,), (1,))


def test_quotients_of_possibly_negative_runs_do_not_repeat():
    b = Builder()
    start = b.parameter("start", int32, 32)
    offsets = b.add(b.splat(start, (64,)), b.arange(0, 64))
    quotient, shifted = b.div(offsets, 32), b.shr(offsets, 5)
    infos = analyse(b.finish())
    assert infos[quotient].constancy == (1,)
    assert infos[shifted].constancy == (32,)


def test_exchanged_bits_cut_runs_and_keep_repetition():
    assert info_of(lambda b: b.exchange(b.arange(0, 64), 0, 8 + 32)).contiguity == (8,)
    pairs = lambda b: b.exchange(b.div(b.arange(0, 64), 4), 0, 3)  # noqa: E731
    assert info_of(pairs).constancy == (4,)


def test_reshape_splits_and_joins_runs():
    b = Builder()
    tile = b.reshape(b.arange(0, 64), (4, 16))
    back = b.reshape(tile, (64,))
    rows = b.broadcast_to(b.expand_dims(b.arange(0, 4), 1), (4, 16))
    flat = b.reshape(rows, (64,))
    infos = analyse(b.finish())
    assert facts(infos[tile]) == ((1, 16), (1, 16), (1, 1))
    assert facts(infos[back]) == ((16,), (16,), (1,))
    assert facts(infos[flat]) == ((1,), (1,), (16,))


# --- that it is true -----------------------------------------------------------------------------


class AddressProgram:
    """A random program over integers and pointers, with values to draw for its parameters."""

    EXTENT = 32

    def __init__(self, rng):
        self.rng = rng
        self.b = b = Builder()
        self.divisors = {}
        self.pool = {int32: [], int64: [], uint8: [], int8: [], uint32: []}
        pointer = b.parameter("p", PointerType(float32), int(rng.choice([1, 4, 16, 64])))
        self.pointers = [b.splat(pointer, (self.EXTENT,))]
        self.masks = []
        for number in range(3):
            divisor = int(rng.choice([1, 2, 8, 16, 32]))
            b.parameter(f"n{number}", int32, divisor)
        for parameter in b.program.parameters[1:]:
            self.pool[int32].append(b.splat(parameter.value, (self.EXTENT,)))
        self.pool[int32].append(b.arange(0, self.EXTENT))
        self.pool[int32].append(offsets_of(b, self.EXTENT))
        for _ in range(14):
            self.STEPS[rng.integers(len(self.STEPS))](self)
        self.program = b.finish()

    def value(self, scalar=None):
        options = [t for t, values in self.pool.items() if values]
        scalar = scalar or options[self.rng.integers(len(options))]
        values = self.pool[scalar]
        return values[self.rng.integers(len(values))]

    def keep(self, value):
        self.pool[value.type.scalar].append(value)

    def binary(self):
        a = self.value()
        kind = str(self.rng.choice(["add", "add", "add", "sub", "mul", "min", "max", "or", "xor"]))
        self.keep(self.b.binary(kind, a, self.value(a.type.scalar)))

    def by_constant(self):
        kind = str(self.rng.choice(["add", "mul", "div", "rem", "shl", "shr", "and", "sub"]))
        number = int(self.rng.choice([1, 2, 3, 4, 5, 7, 15, 16, 24, 32, 48]))
        number = number % 6 if kind in ("shl", "shr") else number
        self.keep(self.b.binary(kind, self.value(), number))

    def by_parameter(self):
        kind = str(self.rng.choice(["div", "rem", "mul", "add"]))
        self.keep(self.b.binary(kind, self.value(int32), self.pool[int32][self.rng.integers(3)]))

    def cast(self):
        targets = [int32, int64, uint8, int8, uint32]
        self.keep(self.b.cast(self.value(), targets[self.rng.integers(5)]))

    def compare(self):
        a = self.value()
        kind = str(self.rng.choice(["lt", "le", "gt", "ge", "eq"]))
        other = [self.value(a.type.scalar), 16, 15, 31][self.rng.integers(4)]
        self.masks.append(self.b.compare(kind, a, other))

    def select(self):
        if self.masks:
            a = self.value()
            mask = self.masks[self.rng.integers(len(self.masks))]
            self.keep(self.b.select(mask, a, self.value(a.type.scalar)))

    def fold(self):
        shape = [(4, 8), (8, 4), (2, 16), (1, 32), (2, 4, 4)][self.rng.integers(5)]
        tile = self.b.reshape(self.value(), shape)
        order = tuple(int(axis) for axis in self.rng.permutation(len(shape)))
        self.keep(self.b.reshape(self.b.transpose(tile, order), (32,)))

    def exchange(self):
        shape = [(32,), (4, 8), (2, 4, 4)][self.rng.integers(3)]
        axis = int(self.rng.integers(len(shape)))
        mask = int(self.rng.integers(shape[axis]))
        tile = self.b.reshape(self.value(), shape)
        self.keep(self.b.reshape(self.b.exchange(tile, axis, mask), (32,)))

    def spread(self):
        row = self.b.reshape(self.value(), (4, 8))
        half = self.b.reduce_with("min", row, int(self.rng.integers(2)))
        axis = 1 if half.shape == (4,) else 0
        wide = self.b.broadcast_to(self.b.expand_dims(half, axis), (4, 8))
        self.keep(self.b.reshape(wide, (32,)))

    def address(self):
        pointer = self.pointers[self.rng.integers(len(self.pointers))]
        scalar = [int32, int64][self.rng.integers(2)]
        if self.pool[scalar]:
            self.pointers.append(self.b.add_pointer(pointer, self.value(scalar)))

    STEPS = (
        *(binary, binary, by_constant, by_constant, by_constant, by_parameter, cast),
        *(compare, compare, select, fold, exchange, spread, address),
    )

    def run(self, grid_place):
        """All values for random parameters that keep their promises and do not overflow."""
        values = {}
        unit = max(self.program.parameters[0].divisibility // 4, 1)
        start = unit * int(self.rng.integers(0, 8))
        values[self.program.parameters[0].value] = Addresses(np.asarray(0), np.asarray(start))
        for parameter in self.program.parameters[1:]:
            number = parameter.divisibility * int(self.rng.integers(1, 6))
            number = -number if self.rng.random() < 0.3 else number
            values[parameter.value] = np.asarray(number, np.int32)
        instance = Interpreted(values, [], grid_place, (9, 1, 1))
        with np.errstate(all="ignore"):
            instance.run(self.program.body)
        return instance.values


def assert_facts_hold(info, array):
    array = np.atleast_1d(array)
    for axis in range(array.ndim):
        rows = np.moveaxis(array, axis, -1)
        same = info.constancy[axis]
        blocks = rows.reshape(*rows.shape[:-1], -1, same)
        assert (blocks == blocks[..., :1]).all(), "constancy"
        if array.dtype == bool or array.dtype.kind == "f":
            continue
        exact = rows.astype(object)
        firsts = exact[..., :: info.contiguity[axis]]
        assert all(first % info.divisibility[axis] == 0 for first in firsts.flat), "divisibility"
        run = info.aligned_run(axis)
        runs = exact.reshape(*rows.shape[:-1], -1, run)
        assert (runs - runs[..., :1] == np.arange(run).astype(object)).all(), "contiguity"
        if info.nonnegative:
            assert (exact >= 0).all(), "nonnegative"
    if info.constant is not None:
        assert (array == info.constant).all()


@pytest.mark.parametrize("seed", range(150))
def test_facts_hold_on_random_programs(seed):
    rng = np.random.default_rng(seed)
    drawn = AddressProgram(rng)
    infos = analyse(drawn.program)
    for _ in range(6):
        values = drawn.run((int(rng.integers(9)), 0, 0))
        if has_overflow(drawn, values):
            continue
        for value, datum in values.items():
            array = datum.offset if isinstance(datum, Addresses) else datum
            if array.shape == value.shape:  # not the scalars of a combine, run on whole blocks
                assert_facts_hold(infos[value], array)


def has_overflow(drawn, values):
    """Whether a signed value left its range: there the analysis promises nothing."""
    for op in drawn.program.body.ops:
        if op.name != "binary" or not op.lhs.type.scalar.is_signed:
            continue
        a, b = (np.atleast_1d(values[v]).astype(object) for v in (op.lhs, op.rhs))
        limits = np.iinfo(values[op.lhs].dtype)
        exact = {"add": a + b, "sub": a - b, "mul": a * b}.get(op.kind)
        if op.kind == "shl":
            exact = a * 2 ** int(b[0])
        if op.kind in ("div", "rem") and (b == 0).any():
            return True
        if exact is not None and ((exact < limits.min) | (exact > limits.max)).any():
            return True
    return False
