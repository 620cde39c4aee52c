"""Elementary functions: errors within their limits, NumPy's special values, the same everywhere."""

import math
from fractions import Fraction

import numpy as np
import pytest

import lazyblock as lb
from benchmarks.accuracy import SPECIFICATIONS, draw, errors_of
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import walk
from lazyblock.tiler.math import EXPANSIONS, FAST_EXPANSIONS
from lazyblock.tiler.math.fma import fma
from lazyblock.tiler.ops import Bitcast, Constant, Math
from lazyblock.tiler.ops.arith import MATH_FUNCTIONS
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.expand_math import expand_math
from lazyblock.tiler.types import PointerType, float32, float64, int32, to_numpy
from tests.helpers.cpu import assert_same_bits, run_on_cpu
from tests.helpers.ptxas import assemble
from tests.helpers.targets import assert_same_as_interpreter

BLOCK = 256
FORMATS = [float32, float64]
NAMES = sorted(MATH_FUNCTIONS)
TINIEST = {float32: 1e-45, float64: 5e-324}


def math_program(name, element, block=BLOCK):
    """out[i] = name(x[i], ...) for i < n."""
    b = Builder(name)
    inputs = [b.parameter(f"x{i}", PointerType(element)) for i in range(MATH_FUNCTIONS[name])]
    out, n = b.parameter("out", PointerType(element)), b.parameter("n", int32)
    start = b.splat(b.mul(b.program_id(0), block), (block,))
    offsets = b.add(start, b.arange(0, block))
    mask = b.compare("lt", offsets, b.splat(n, (block,)))
    values = [b.load(b.add_pointer(pointer, offsets), mask, 1.0) for pointer in inputs]
    b.store(b.add_pointer(out, offsets), b.math(name, *values), mask)
    return expand_math(b.finish())


def evaluate(name, element, *arguments):
    """Run the function on the CPU device."""
    arrays = [np.array(argument, to_numpy(element)) for argument in arguments]
    out = np.empty_like(arrays[0])
    grid = (-(-out.size // BLOCK), 1, 1)
    run_on_cpu(math_program(name, element), [*arrays, out, out.size], grid)
    return out


def numpy_function(name):
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"}
    names |= {"acosh": "arccosh", "atanh": "arctanh", "pow": "power", "atan2": "arctan2"}
    return getattr(np, names.get(name, name), None)


# --- accuracy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_within_their_limits(name, element):
    arguments = draw(name, to_numpy(element), 400, seed=1)
    errors = errors_of(name, evaluate(name, element, *arguments), arguments)
    worst = int(errors.argmax())
    where = [argument[worst] for argument in arguments]
    assert errors[worst] <= SPECIFICATIONS[name].limits[element == float64], where


@pytest.mark.parametrize("element", FORMATS, ids=str)
def test_trigonometric_functions_of_hard_arguments(element):
    """Large ones, and some that come as near to multiples of pi/2 as numbers do."""
    hard = [1e22, 1e30, -1e30, 3.4e38, 11 * math.pi / 2, 16367173.0 * 2.0**72, 2.0**53, 1e15]
    if element == float64:
        hard += [6381956970095103 * 2.0**797, 1e300, 1.7976931348623157e308, 2.0**107, 2.0**108]
    arguments = [np.array(hard, to_numpy(element))]
    for name in ("sin", "cos", "tan"):
        errors = errors_of(name, evaluate(name, element, *arguments), arguments)
        assert errors.max() <= SPECIFICATIONS[name].limits[element == float64], name


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_float32_next_to_multiples_of_half_pi(name):
    """All of them, on both sides of where the reduction changes; float64 is exact enough here."""
    nearest = (np.arange(1, 80_000) * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([nearest, np.nextafter(nearest, np.float32(0)), nearest + nearest / 2**20])
    true = getattr(np, name)(x.astype(np.float64))
    unit = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
    errors = np.abs(evaluate(name, float32, x) - true) / unit
    assert errors.max() <= SPECIFICATIONS[name].limits[0], x[errors.argmax()]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_float64_next_to_multiples_of_half_pi(name):
    turns = np.random.default_rng(0).integers(1, 2**24, 100)
    arguments = [np.concatenate([turns, turns[:20] % 100]) * (np.pi / 2)]
    errors = errors_of(name, evaluate(name, float64, *arguments), arguments)
    assert errors.max() <= SPECIFICATIONS[name].limits[1], arguments[0][errors.argmax()]


@pytest.mark.parametrize("element", FORMATS, ids=str)
def test_exact_results(element):
    powers = np.arange(-20, 21)
    assert_equal(evaluate("log2", element, 2.0**powers), powers)
    assert_equal(evaluate("exp2", element, powers), 2.0**powers)
    assert_equal(evaluate("log10", element, 10.0 ** np.arange(11)), np.arange(11))
    assert_equal(evaluate("cbrt", element, powers**3), powers)
    assert_equal(evaluate("hypot", element, [3, 5e-30, 5e30], [4, 12e-30, 12e30])[:1], [5])
    assert_equal(evaluate("pow", element, np.full(11, 10), np.arange(11)), 10.0 ** np.arange(11))
    assert_equal(evaluate("tgamma", element, np.arange(1, 8)), [1, 1, 2, 6, 24, 120, 720])


def assert_equal(actual, expected):
    np.testing.assert_array_equal(actual, np.asarray(expected, actual.dtype))


# --- special values ------------------------------------------------------------------------------

COMMON = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 0.5, -0.5, 1e30, -1e30]


@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize("name", [n for n in NAMES if numpy_function(n)])
def test_special_values_are_numpys(name, element):
    tiny, large = TINIEST[element], np.finfo(to_numpy(element)).max
    values = np.array([*COMMON, tiny, -tiny, large, -large, 3, -3, 1.5, -1.5], to_numpy(element))
    arguments = [values]
    if MATH_FUNCTIONS[name] == 2:
        arguments = [grid.ravel() for grid in np.meshgrid(values, values)]
    if name in ("sin", "cos", "tan"):
        arguments = [values[np.abs(values) < 10]]  # NumPy's own float32 forms are no oracle beyond
    with np.errstate(all="ignore"):
        expected = numpy_function(name)(*arguments)
    actual = evaluate(name, element, *arguments)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=0)
    signs = np.isnan(expected) | (np.signbit(actual) == np.signbit(expected))
    assert signs.all(), [argument[~signs] for argument in arguments]


@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize(
    ("name", "arguments", "results"),
    [
        ("rsqrt", [0.0, -0.0, math.inf, -1.0, 4.0], [math.inf, -math.inf, 0.0, math.nan, 0.5]),
        ("erf", [0.0, -0.0, math.inf, -math.inf, 7.0], [0.0, -0.0, 1.0, -1.0, 1.0]),
        ("erfc", [0.0, -0.0, math.inf, -math.inf, 40.0, -7.0], [1.0, 1.0, 0.0, 2.0, 0.0, 2.0]),
        ("tgamma", [0.0, -0.0, math.inf, 200.0], [math.inf, -math.inf, math.inf, math.inf]),
        ("tgamma", [-1.0, -50.0, -math.inf, -1e30, -200.5], [math.nan] * 4 + [-0.0]),
        ("lgamma", [0.0, -0.0, 1.0, 2.0, math.inf], [math.inf, math.inf, 0.0, 0.0, math.inf]),
        ("lgamma", [-1.0, -50.0, -math.inf, -1e30], [math.inf] * 4),
        *((name, [math.nan], [math.nan]) for name in ("rsqrt", "erf", "erfc", "tgamma", "lgamma")),
    ],
)
def test_special_values_of_functions_numpy_lacks(name, element, arguments, results):
    actual = evaluate(name, element, arguments)
    assert_equal(actual, results)
    assert (np.isnan(actual) | (np.signbit(actual) == np.signbit(results))).all()


@pytest.mark.parametrize("element", FORMATS, ids=str)
def test_tiny_arguments_are_exact(element):
    smallest = TINIEST[element]
    x = np.array([smallest, 3 * smallest, 2.0**-126, 2.0**-100], to_numpy(element))
    x = np.concatenate([x, -x])
    odd = "sin tan asin atan sinh tanh asinh atanh expm1 log1p"
    for name in odd.split():
        np.testing.assert_array_equal(evaluate(name, element, x), x, name)


# --- shape near thresholds -----------------------------------------------------------------------

# function, points where its formula changes, and the bounds results must keep
THRESHOLDS = [
    ("exp", [0.3465736, 88.72283, -87.3, -103.97, 709.7, -745.1], (0.0, math.inf)),
    ("tanh", [0.55, 0.34, 9.0, 10.0, 22.0], (-1.0, 1.0)),
    ("erf", [1.0, 3.92, 6.0], (-1.0, 1.0)),
    ("asin", [0.5, 1.0], (-np.pi / 2, np.pi / 2)),
    ("atan", [1.0, 1e10], (-np.pi / 2, np.pi / 2)),
    ("sinh", [0.34, 0.3465736, 1.0397], (-math.inf, math.inf)),
    ("asinh", [1e-4, 2.0**27, 2.0**56], (-math.inf, math.inf)),
    ("log", [1.0, math.sqrt(0.5), math.sqrt(2), 2.0**-126], (-math.inf, math.inf)),
    ("log1p", [1e-8, 1e-16, math.sqrt(2) - 1], (-math.inf, math.inf)),
    ("cbrt", [2.0**-126, 1.0], (-math.inf, math.inf)),
    ("lgamma", [2.5, 8.0], (-math.inf, math.inf)),
]


@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize(("name", "points", "bounds"), THRESHOLDS, ids=[t[0] for t in THRESHOLDS])
def test_rises_where_formulas_meet(name, element, points, bounds):
    kind = to_numpy(element)
    bits = f"i{kind.itemsize}"
    steps = np.arange(-60, 60)
    for point in np.array(points, kind):
        x = np.sort((point.view(bits) + steps).astype(bits).view(kind))
        x = x[np.abs(x) <= 1] if name == "asin" else x
        y = evaluate(name, element, x)
        with np.errstate(invalid="ignore"):  # infinity follows infinity
            falls = np.diff(y) / np.spacing(np.abs(y[1:]))
        limit = SPECIFICATIONS[name].limits[element == float64]
        assert np.nanmin(falls, initial=0.0) >= -2 * limit, point
        assert (y >= kind.type(bounds[0])).all() and (y <= kind.type(bounds[1])).all(), point


# --- the program ---------------------------------------------------------------------------------


def test_every_function_has_an_expansion():
    assert set(EXPANSIONS) == set(MATH_FUNCTIONS) == set(SPECIFICATIONS)


@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_interpreter_and_targets_agree_bit_for_bit(name, element):
    arguments = [argument[:100] for argument in draw(name, to_numpy(element), 100, seed=2)]
    special = np.array([*COMMON, TINIEST[element]], to_numpy(element))
    arguments = [np.concatenate([argument, special]) for argument in arguments]
    out = np.zeros_like(arguments[0])
    assert_same_as_interpreter(math_program(name, element), [*arguments, out, out.size])


@pytest.mark.parametrize(
    ("name", "most"), [("exp", 18), ("exp2", 17), ("log", 28), ("tanh", 25), ("erf", 30)]
)
def test_hot_functions_are_short_and_single(name, most):
    b = Builder()
    b.math(name, b.constant(0.5, float32, (4,)))
    expanded = [op for op in walk(expand_math(b.finish()).body) if not isinstance(op, Constant)]
    assert sum(not isinstance(op, Bitcast) for op in expanded) <= most
    assert all(op.result.type.scalar != float64 for op in expanded)


@pytest.mark.parametrize(
    ("name", "most"),
    [("exp", 9), ("log", 19), ("tanh", 17), ("erf", 25), ("erfc", 34), ("sin", 24)],
)
def test_fast_forms_are_shorter(name, most):
    b = Builder()
    x = b.approximate("sqrt", b.constant(0.5, float32, (4,)))
    b.math(name, x)
    program = eliminate_common(expand_math(b.finish(), FAST_EXPANSIONS))
    counted = [op for op in walk(program.body) if not isinstance(op, (Constant, Bitcast))]
    assert len(counted) - 1 <= most


@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_ptx_keeps_in_registers_and_approximates_nothing(name, element, tmp_path):
    target = cuda_target("sm_90a")
    ptx = to_ptx(emit_nvptx(math_program(name, element), target).llvm, target)
    usage = assemble(ptx, "sm_90a", tmp_path)
    assert (usage.spill_bytes, usage.stack_bytes) == (0, 0)
    exact = ptx.replace("rcp.approx.ftz.f32", "")  # where div_normal starts; it rounds correctly
    assert "approx" not in exact and "ftz" not in exact


@pytest.mark.gpu
@pytest.mark.parametrize("element", FORMATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_gpu_and_cpu_agree_bit_for_bit(name, element):
    special = np.array([*COMMON, TINIEST[element]], to_numpy(element))
    drawn = draw(name, to_numpy(element), 100_000, seed=3)
    arguments = [np.concatenate([argument, special]) for argument in drawn]
    results = [
        getattr(lb, name)(*(lb.asarray(argument, device=device) for argument in arguments)).numpy()
        for device in ("cpu", "cuda")
    ]
    assert_same_bits(*results)


def test_a_program_without_functions_stays_the_same_object():
    b = Builder()
    b.add(b.arange(0, 4), 1)
    program = b.finish()
    assert expand_math(program) is program


def test_functions_inside_regions_are_written_out():
    b = Builder()
    x = b.constant(2.0, float32, (4,))

    def body(i, total):
        return [b.add(total, b.math("exp", total))]

    (total,) = b.for_(b.constant(0, int32), 3, 1, [x], body)
    b.reduce([total], 0, lambda left, right: [b.math("hypot", left, right)])
    program = expand_math(b.finish())
    assert not any(isinstance(op, Math) for op in walk(program.body))


# --- fma on arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_rounds_once(dtype):
    rng = np.random.default_rng(3)
    kind = np.dtype(dtype)
    anything = [
        rng.integers(0, 1 << 8 * kind.itemsize, 3000, dtype=f"u{kind.itemsize}").view(kind)
        for _ in range(3)
    ]
    a, b = rng.standard_normal((2, 3000)).astype(kind)
    nudge = 1 + rng.integers(-3, 4, 3000) * np.finfo(kind).eps
    cancelling = [a, b, (-(a * b) * nudge).astype(kind)]
    tiny = [a * np.finfo(kind).tiny, b, np.full_like(a, np.finfo(kind).smallest_subnormal)]
    for arguments in (anything, cancelling, tiny):
        with np.errstate(all="ignore"):
            finite = np.isfinite(sum(np.abs(argument) for argument in arguments))
        arguments = [argument[finite] for argument in arguments]
        triples = zip(*(argument.tolist() for argument in arguments), strict=True)
        assert_equal(fma(*arguments), [_fma_exactly(kind, *triple) for triple in triples])


def _fma_exactly(kind, a, b, c):
    """The number nearest to a * b + c, ties to even, by comparing exactly."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    with np.errstate(all="ignore"):
        try:
            guess = kind.type(exact.numerator / exact.denominator)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
        if not np.isfinite(guess):
            return guess
        near = [np.nextafter(guess, kind.type(side)) for side in (-np.inf, np.inf)]
    bits = f"u{kind.itemsize}"
    candidates = [value for value in (guess, *near) if np.isfinite(value)]
    return min(candidates, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(bits)) & 1))


def test_fma_of_special_values():
    inf, nan, large = np.inf, np.nan, np.finfo(np.float64).max
    a = np.array([inf, 0.0, large, large, -0.0, 0.0, nan, 1.0])
    b = np.array([1.0, inf, 2.0, 2.0, 1.0, -1.0, 1.0, 1.0])
    c = np.array([-inf, 1.0, -inf, 0.0, -0.0, 0.0, 1.0, nan])
    expected = [nan, nan, -inf, inf, -0.0, 0.0, nan, nan]
    np.testing.assert_array_equal(fma(a, b, c), expected)
    assert np.signbit(fma(a, b, c)[4]) and not np.signbit(fma(a, b, c)[5])
