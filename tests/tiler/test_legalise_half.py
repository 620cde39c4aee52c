"""Half arithmetic becomes float32 arithmetic and stays NumPy's, bit for bit."""

import bisect
from fractions import Fraction

import numpy as np
import pytest

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.math.fma import fma
from lazyblock.tiler.ops import Cast, Reduce, Select
from lazyblock.tiler.passes.expand_math import expand_math
from lazyblock.tiler.passes.legalise_half import legalise_half
from lazyblock.tiler.types import PointerType, bfloat16, float16, float32, int1, to_numpy
from tests.helpers.cpu import assert_same_bits, run_on_cpu

HALVES = [float16, bfloat16]
EVERY = 1 << 16

UNARY = {
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil},
    **{"trunc": np.trunc, "rint": np.rint},
}
BINARY = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide},
    **{"max": np.maximum, "min": np.minimum, "maxnum": np.fmax, "minnum": np.fmin},
}
COMPARE = {
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal},
}


def half_program(build, element, count, result=None, block=1024):
    """out[i] = build(b, x[i], ...), legalised; `count` inputs, whole blocks."""
    b = Builder("halves")
    inputs = [b.parameter(f"x{i}", PointerType(element)) for i in range(count)]
    out = b.parameter("out", PointerType(result or element))
    start = b.splat(b.mul(b.program_id(0), block), (block,))
    offsets = b.add(start, b.arange(0, block))
    value = build(b, *(b.load(b.add_pointer(pointer, offsets)) for pointer in inputs))
    b.store(b.add_pointer(out, offsets), value)
    return legalise_half(b.finish())


def run(program, dtype, *arguments):
    out = np.zeros(arguments[0].shape, dtype)
    run_on_cpu(program, [*arguments, out], (out.size // 1024, 1, 1))
    return out


@pytest.fixture(autouse=True)
def without_warnings():
    """NumPy warns of the NaNs among all halves, also where it only compares them."""
    with np.errstate(all="ignore"):
        yield


def every_half(element):
    return np.arange(EVERY, dtype=np.uint16).view(to_numpy(element))


def half_pairs(element):
    """Random bits, equal operands, and neighbours of each other's size."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, EVERY, (2, EVERY), dtype=np.uint16)
    near = (x[: EVERY // 4] + rng.integers(-2000, 2000, EVERY // 4)).astype(np.uint16)
    y[: EVERY // 4] = near
    y[EVERY // 4 : EVERY // 3] = x[EVERY // 4 : EVERY // 3]
    return x.view(to_numpy(element)), y.view(to_numpy(element))


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("kind", UNARY)
def test_unary_ops_on_all_halves(kind, element):
    x = every_half(element)
    program = half_program(lambda b, v: b.unary(kind, v), element, 1)
    assert_same_bits(run(program, x.dtype, x), UNARY[kind](x))


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("kind", BINARY)
def test_binary_ops_on_pairs(kind, element):
    x, y = half_pairs(element)
    program = half_program(lambda b, v, w: b.binary(kind, v, w), element, 2)
    expected = BINARY[kind](x, y)
    actual = run(program, x.dtype, x, y)
    if kind in ("max", "min", "maxnum", "minnum"):  # which zero NumPy takes is by chance
        actual[actual == 0] = expected[expected == 0] = 0
    assert_same_bits(actual, expected)


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_remainder_is_fmod(element):
    x, y = half_pairs(element)
    program = half_program(lambda b, v, w: b.rem(v, w), element, 2)
    expected = np.fmod(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)
    assert_same_bits(run(program, x.dtype, x, y), expected)


def nearest_half(exact, halves, numbers):
    """Of sorted halves the one nearest to a fraction, of two the even one; infinity beyond."""
    place = bisect.bisect_left(numbers, exact)
    if place in (0, len(numbers)):
        return halves[min(place, len(numbers) - 1)]
    below, above = exact - numbers[place - 1], numbers[place] - exact
    is_even = halves[place : place + 1].view(np.uint16)[0] % 2 == 0
    return halves[place if above < below or (above == below and is_even) else place - 1]


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_fma_rounds_once(element):
    """Products between two halves, and addends that are far too small to be seen beside them."""
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 4096)).astype(to_numpy(element))
    z[:1024] *= np.float32(2.0) ** rng.integers(-20, 12, 1024).astype(to_numpy(element))
    half = 2.0 ** (-11 if element == float16 else -8)
    x[1024:2048] = np.float32(1 + half * 2).astype(x.dtype) * y[1024:2048]
    y[1024:2048] = (1 + half * 4 * rng.integers(0, 9, 1024)).astype(x.dtype)
    x[2048:3072], y[2048:3072] = 1 + 16 * half, 1 + half * 2 ** rng.integers(1, 7, 1024)
    z[2048:3072] *= np.float32(2.0**-14)
    program = half_program(lambda b, u, v, w: b.fma(u, v, w), element, 3)
    halves = every_half(element)
    halves = np.sort(halves[np.isfinite(halves)].astype(np.float32)).astype(x.dtype)
    numbers = [Fraction(float(number)) for number in halves]
    exact = [
        Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        for a, b, c in zip(x, y, z, strict=True)
    ]
    expected = np.array([nearest_half(e, halves, numbers) for e in exact], x.dtype)
    assert_same_bits(run(program, x.dtype, x, y, z), expected)
    assert_same_bits(fma(x, y, z), expected)


def test_fma_of_special_halves():
    for element in HALVES:
        special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e4], np.float32)
        grid = np.meshgrid(special, special, special)
        x, y, z = (np.resize(part, 1024).astype(to_numpy(element)) for part in grid)
        program = half_program(lambda b, u, v, w: b.fma(u, v, w), element, 3)
        product = x.astype(np.float64) * y.astype(np.float64)
        expected = (product + z.astype(np.float64)).astype(x.dtype)
        assert_same_bits(run(program, x.dtype, x, y, z), expected)


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("kind", COMPARE)
def test_comparisons(kind, element):
    x, y = half_pairs(element)
    program = half_program(lambda b, v, w: b.compare(kind, v, w), element, 2, int1)
    assert_same_bits(run(program, np.bool_, x, y), COMPARE[kind](x, y))


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_the_interpreter_gives_the_same_before_and_after(element):
    x, y = (argument[:4096] for argument in half_pairs(element))

    def chain(b, v, w):
        return b.select(b.compare("lt", v, w), b.sub(b.mul(v, w), v), b.div(v, w))

    b = Builder("before")
    pointers = [b.parameter(name, PointerType(element)) for name in ("x", "y", "out")]
    offsets = b.arange(0, 4096)
    left, right = (b.load(b.add_pointer(pointer, offsets)) for pointer in pointers[:2])
    b.store(b.add_pointer(pointers[2], offsets), chain(b, left, right))
    before = b.finish()
    results = []
    for program in (before, legalise_half(before)):
        out = np.zeros_like(x)
        interpret(program, [x, y, out])
        results.append(out)
    assert_same_bits(*results)


def test_functions_of_halves_are_computed_in_float32():
    b = Builder()
    b.math("exp", b.constant(1.0, float16, (4,)))
    wide, function, narrow = legalise_half(b.finish()).body.ops[-3:]
    assert (wide.element, function.result.type.scalar, narrow.element) == ("f32", float32, "f16")


def test_reductions_are_legalised_inside_only():
    b = Builder()
    b.reduce_with("add", b.constant(1.0, bfloat16, (8,)), 0)
    (reduce,) = (op for op in legalise_half(b.finish()).body.ops if isinstance(op, Reduce))
    assert reduce.result.type.scalar == bfloat16
    assert [op.name for op in reduce.combine.ops] == ["cast", "cast", "binary", "cast", "yield"]


def test_selects_loads_and_other_types_stay():
    b = Builder()
    pointer = b.parameter("x", PointerType(float16))
    value = b.load(pointer)
    b.store(pointer, b.select(b.constant(True, int1), value, b.constant(1.0, float16)))
    b.add(b.constant(1.0, float32), 2.0)
    program = b.finish()
    assert legalise_half(program) is program
    assert any(isinstance(op, Select) for op in walk(program.body))
    assert not any(isinstance(op, Cast) for op in walk(program.body))


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_tanh_rounds_as_the_true_value_but_near_ties(element):
    dtype = to_numpy(element)
    x = every_half(element)
    program = half_program(lambda b, x: b.math("tanh", x), element, 1)
    actual = run(expand_math(program), dtype, x).astype(np.float64)
    expected = np.tanh(x.astype(np.float64))
    is_number = ~np.isnan(expected)
    assert np.array_equal(np.isnan(actual), ~is_number)
    step = np.abs(np.spacing(expected.astype(dtype)).astype(np.float64))
    assert (np.abs(actual - expected) <= 0.57 * step)[is_number].all()
    assert np.array_equal(np.signbit(actual)[is_number], np.signbit(expected)[is_number])
    mirrored = run(expand_math(program), dtype, -x).astype(np.float64)
    assert np.array_equal(mirrored[is_number], -actual[is_number])
