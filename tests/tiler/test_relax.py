"""The passes of numerics="fast": what they change, what they leave, and what it means."""

import numpy as np
import pytest

from lazyblock import pipeline
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.passes.contract import contract
from lazyblock.tiler.passes.keep_precision import keep_precision
from lazyblock.tiler.passes.legalise_half import legalise_half
from lazyblock.tiler.passes.relax_arithmetic import relax_arithmetic
from lazyblock.tiler.types import (
    PointerType,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
    to_numpy,
)
from lazyblock.tiler.verify import verify_program

SIZE = 64


def program_of(build, element, count=3):
    """out[i] = build(b, x0[i], x1[i], ...), tidy."""
    b = Builder("f")
    pointers = [b.parameter(f"x{i}", PointerType(element)) for i in range(count)]
    out = b.parameter("out", PointerType(element))
    offsets = b.arange(0, SIZE)
    values = [b.load(b.add_pointer(pointer, offsets)) for pointer in pointers]
    b.store(b.add_pointer(out, offsets), build(b, *values))
    return tidy(b.finish())


def tidy(program):
    for run in pipeline.TIDY_PASSES:
        program = run(program)
    verify_program(program)
    return program


def run(program, *arrays):
    out = np.zeros_like(arrays[0])
    interpret(program, [*arrays, out])
    return out


def arithmetic(program):
    """What is computed, in order, by name and kind."""
    computed = (ops.Unary, ops.Binary, ops.Fma, ops.Math, ops.Approximate, ops.Cast, ops.Select)
    found = [op for op in walk(program.body) if isinstance(op, computed)]
    return [next(iter(op.attributes.values()), op.name) for op in found]


def inputs(element, count=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 2, SIZE).astype(to_numpy(element)) for _ in range(count)]


# --- contraction ---------------------------------------------------------------------------------

CONTRACTED = {
    "x * y + z": (lambda b, x, y, z: b.add(b.mul(x, y), z), ["fma"]),
    "z + x * y": (lambda b, x, y, z: b.add(z, b.mul(x, y)), ["fma"]),
    "x * y - z": (lambda b, x, y, z: b.sub(b.mul(x, y), z), ["neg", "fma"]),
    "z - x * y": (lambda b, x, y, z: b.sub(z, b.mul(x, y)), ["neg", "fma"]),
    "x x + y y": (lambda b, x, y, z: b.add(b.mul(x, x), b.mul(y, y)), ["mul", "fma"]),
    "x x + y y + z z": (
        lambda b, x, y, z: b.add(b.add(b.mul(x, x), b.mul(y, y)), b.mul(z, z)),
        ["mul", "fma", "fma"],
    ),
    "z - (-x) y": (lambda b, x, y, z: b.sub(z, b.mul(b.neg(x), y)), ["fma"]),
    "z + -(x y)": (lambda b, x, y, z: b.add(z, b.neg(b.mul(x, y))), ["neg", "fma"]),
    "(-x)(-y) + z": (lambda b, x, y, z: b.add(b.mul(b.neg(x), b.neg(y)), z), ["fma"]),
}


@pytest.mark.parametrize("element", [float32, float64], ids=str)
@pytest.mark.parametrize("name", CONTRACTED)
def test_products_go_into_sums(name, element):
    build, expected = CONTRACTED[name]
    given = program_of(build, element)
    actual = tidy(contract(relax_arithmetic(given)))
    assert arithmetic(actual) == expected
    arrays = inputs(element)
    tolerance = 8 * np.finfo(to_numpy(element)).eps
    np.testing.assert_allclose(run(actual, *arrays), run(given, *arrays), 0, tolerance)


def test_a_product_is_rounded_once_with_its_sum():
    x = np.full(SIZE, 1 + 2.0**-12, np.float32)
    residue = np.full(SIZE, -(1 + 2.0**-11), np.float32)
    given = program_of(CONTRACTED["x * y + z"][0], float32)
    assert (run(given, x, x, residue) == 0).all()
    assert (run(contract(given), x, x, residue) == 2.0**-24).all()


def test_of_two_products_the_one_used_once_goes():
    def build(b, x, y, z):
        shared = b.mul(x, y)
        return b.mul(b.add(shared, b.mul(y, z)), shared)

    assert arithmetic(tidy(contract(program_of(build, float32)))) == ["mul", "fma", "mul"]


@pytest.mark.parametrize("element", [float16, int32], ids=str)
def test_other_types_are_not_contracted(element):
    program = program_of(CONTRACTED["x * y + z"][0], element)
    assert contract(program) is program
    assert relax_arithmetic(program) is program


def test_sums_without_products_stay_the_same_object():
    program = program_of(lambda b, x, y, z: b.sub(b.add(x, y), z), float32)
    assert contract(program) is program
    assert relax_arithmetic(program) is program


# --- divisions, roots, signs ---------------------------------------------------------------------

RELAXED = {
    "x / y": (lambda b, x, y: b.div(x, y), ["reciprocal", "mul"]),
    "1 / y": (lambda b, x, y: b.div(1.0, y), ["reciprocal"]),
    "sqrt x": (lambda b, x, y: b.unary("sqrt", x), ["sqrt"]),
    "1 / sqrt x": (lambda b, x, y: b.div(1.0, b.unary("sqrt", x)), ["rsqrt"]),
    "y / sqrt x": (lambda b, x, y: b.div(y, b.unary("sqrt", x)), ["rsqrt", "mul"]),
    "rsqrt x": (lambda b, x, y: b.math("rsqrt", x), ["rsqrt"]),
    "x / y + 1 / y": (
        lambda b, x, y: b.add(b.div(x, y), b.div(1.0, y)),
        ["reciprocal", "fma"],
    ),
    "x + -y": (lambda b, x, y: b.add(x, b.neg(y)), ["sub"]),
    "-x + y": (lambda b, x, y: b.add(b.neg(x), y), ["sub"]),
    "|-x / y|": (lambda b, x, y: b.abs(b.div(b.neg(x), y)), ["reciprocal", "mul", "abs"]),
    "erf -x + erf x": (
        lambda b, x, y: b.add(y, b.add(b.math("erf", b.neg(x)), b.math("erf", x))),
        ["erf", "sub", "add"],
    ),
    "x / -y": (lambda b, x, y: b.div(x, b.neg(y)), ["reciprocal", "mul", "neg"]),
}


@pytest.mark.parametrize("name", RELAXED)
def test_divisions_roots_and_signs(name):
    build, expected = RELAXED[name]
    given = program_of(build, float32, 2)
    actual = tidy(contract(tidy(relax_arithmetic(given))))
    assert arithmetic(actual) == expected
    arrays = inputs(float32, 2)
    np.testing.assert_allclose(run(actual, *arrays), run(given, *arrays), rtol=3e-7)


@pytest.mark.parametrize("name", ["x / y", "1 / y", "sqrt x", "1 / sqrt x", "rsqrt x"])
def test_float64_divides_exactly(name):
    program = program_of(RELAXED[name][0], float64, 2)
    assert relax_arithmetic(program) is program


def test_masked_terms_are_added_under_the_mask():
    def build(b, total, x, y):
        mask = b.compare("lt", x, y)
        return b.add(total, b.select(mask, b.mul(x, y), 0.0))

    given = program_of(build, float32)
    actual = tidy(contract(relax_arithmetic(given)))
    assert [kind for kind in arithmetic(actual) if kind != "select"] == ["fma"]
    arrays = inputs(float32)
    np.testing.assert_allclose(run(actual, *arrays), run(given, *arrays), rtol=3e-7)


# --- halves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", [float16, bfloat16], ids=str)
def test_chains_of_halves_round_once(element):
    def build(b, x, y, z):
        product = b.mul(b.add(x, y), z)
        return b.select(b.compare("lt", x, y), product, b.div(product, y))

    legal = legalise_half(program_of(build, element))
    actual = tidy(keep_precision(legal))
    halves = [
        op for op in walk(actual.body) if isinstance(op, ops.Cast) and op.element == str(element)
    ]
    assert len(halves) == 1
    x, y, z = inputs(element)
    wide = [value.astype(np.float32) for value in (x, y, z)]
    product = (wide[0] + wide[1]) * wide[2]
    expected = np.where(x < y, product, product / wide[1]).astype(x.dtype)
    np.testing.assert_array_equal(run(actual, x, y, z), expected)
    assert (run(legal, x, y, z) != expected).any()


def test_a_half_that_is_stored_is_rounded():
    program = legalise_half(program_of(lambda b, x: b.add(x, x), float16, 1))
    assert keep_precision(program) is program
