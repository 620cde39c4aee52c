"""The NumPy interpreter: what each op documents, and the checks it makes."""

import math

import numpy as np
import pytest

from lazyblock.errors import DTypeError, LaunchError
from lazyblock.tiler import types
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import evaluate, interpret
from lazyblock.tiler.interpret.exact_integers import ExactIntegers
from lazyblock.tiler.ir import walk
from lazyblock.tiler.ops.arith import MATH_FUNCTIONS
from lazyblock.tiler.types import (
    PointerType,
    bfloat16,
    float16,
    float32,
    float64,
    from_numpy,
    int1,
    int8,
    int32,
    int64,
    to_numpy,
    uint8,
    uint64,
)
from tests.helpers.programs import GRID, ZOO, make_arguments

NAN, INF = math.nan, math.inf


def compute(build, *arrays, result=None):
    """Run `build(builder, *blocks)` on arrays of one power-of-two length."""
    b = Builder()
    length = len(arrays[0])
    lanes = b.arange(0, length)
    blocks = []
    for number, array in enumerate(arrays):
        pointer = b.parameter(f"x{number}", PointerType(from_numpy(array.dtype)))
        blocks.append(b.load(b.add_pointer(pointer, lanes)))
    value = build(b, *blocks)
    out = b.parameter("out", PointerType(value.type.scalar))
    b.store(b.add_pointer(out, lanes), value)
    result = np.zeros(length, to_numpy(value.type.scalar))
    interpret(b.finish(), [*arrays, result])
    return result


def binary(kind, left, right, scalar):
    dtype = to_numpy(scalar)
    left, right = np.array(left, dtype), np.array(right, dtype)
    return compute(lambda b, x, y: b.binary(kind, x, y), left, right)


def cast(values, before, after):
    return compute(lambda b, x: b.cast(x, after), np.array(values, to_numpy(before)))


def assert_same(actual, expected):
    """Equal with NaN equal to NaN and zeros of one sign."""
    expected = np.asarray(expected, actual.dtype)
    if actual.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
    else:
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_array_equal(actual, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[numbers]), np.signbit(expected[numbers]))


# --- integers ------------------------------------------------------------------------------------

LOW = -(2**31)


@pytest.mark.parametrize(
    "kind, left, right, expected",
    [
        ("div", [7, -7, 7, -7], [2, 2, -2, 0], [3, -3, -3, 0]),
        ("div", [LOW, LOW, 0, 5], [-1, 0, 0, 1], [LOW, 0, 0, 5]),
        ("rem", [7, -7, 7, -7], [2, 2, -2, 0], [1, -1, 1, 0]),
        ("rem", [LOW, LOW, 9, -9], [-1, 3, 4, 4], [0, -2, 1, -1]),
        ("shl", [1, 1, 1, -1], [31, 32, 33, 4], [LOW, 0, 0, -16]),
        ("shr", [-8, -8, 8, 8], [1, 40, 40, 2], [-4, -1, 0, 2]),
        ("add", [2**31 - 1, LOW, 1, 2], [1, -1, 1, 2], [LOW, 2**31 - 1, 2, 4]),
        ("max", [1, -1, LOW, 0], [0, 0, 0, -5], [1, 0, 0, 0]),
    ],
)
def test_integers(kind, left, right, expected):
    assert_same(binary(kind, left, right, int32), expected)


def test_unsigned_shift_is_logical():
    assert_same(binary("shr", [200, 200], [1, 8], uint8), [100, 0])


@pytest.mark.parametrize(
    "kind, table",
    [
        *(("add", [0, 1, 1, 0]), ("sub", [0, 1, 1, 0]), ("mul", [0, 0, 0, 1])),
        *(("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0])),
        *(("max", [0, 1, 1, 1]), ("min", [0, 0, 0, 1]), ("div", [0, 0, 0, 1])),
        *(("rem", [0, 0, 0, 0]), ("shl", [0, 0, 1, 0]), ("shr", [0, 0, 1, 0])),
    ],
)
def test_bools_compute_in_one_bit(kind, table):
    assert_same(binary(kind, [0, 0, 1, 1], [0, 1, 0, 1], int1), [bool(t) for t in table])


@pytest.mark.parametrize("kind, expected", [("not", [1, 0]), ("neg", [0, 1]), ("abs", [0, 1])])
def test_unary_bools(kind, expected):
    result = compute(lambda b, x: b.unary(kind, x), np.array([False, True]))
    assert_same(result, [bool(e) for e in expected])


# --- floats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", [float16, bfloat16, float32, float64])
@pytest.mark.parametrize(
    "kind, left, right, expected",
    [
        ("max", [NAN, 1, -0.0, 0.0], [1, NAN, 0.0, -0.0], [NAN, NAN, 0.0, 0.0]),
        ("min", [NAN, 1, -0.0, 0.0], [1, NAN, 0.0, -0.0], [NAN, NAN, -0.0, -0.0]),
        ("maxnum", [NAN, 1, NAN, 2], [1, NAN, NAN, 3], [1, 1, NAN, 3]),
        ("minnum", [NAN, 1, NAN, 2], [1, NAN, NAN, 3], [1, 1, NAN, 2]),
        ("rem", [7.5, -7.5, INF, 1], [2, 2, 2, INF], [1.5, -1.5, NAN, 1]),
        ("div", [1, -1, 0, 1], [0, 0, 0, -INF], [INF, -INF, NAN, -0.0]),
    ],
)
def test_floats(kind, left, right, expected, scalar):
    assert_same(binary(kind, left, right, scalar), expected)


@pytest.mark.parametrize("scalar", [float16, bfloat16])
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_half_arithmetic_rounds_once(kind, scalar):
    rng = np.random.default_rng(0)
    dtype = to_numpy(scalar)
    left, right = rng.normal(size=(2, 256)).astype(dtype)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[kind]
    exact = function(left.astype(np.float64), right.astype(np.float64))
    assert_same(binary(kind, left, right, scalar), exact.astype(np.float32).astype(dtype))


def test_fma_rounds_once():
    x = np.array([1 + 2.0**-23, 1 + 2.0**-23], np.float32)
    minus = np.array([-(1 + 2.0**-22), 0.0], np.float32)
    result = compute(lambda b, a, c: b.fma(a, a, c), x, minus)
    assert_same(result, [2.0**-46, 1 + 2.0**-22])


@pytest.mark.parametrize("kind", ["sqrt", "floor", "ceil", "trunc", "rint", "neg", "abs"])
def test_unary_floats_are_numpys(kind):
    x = np.array([0.5, -0.5, 1.5, 2.5, -0.0, NAN, INF, -INF], np.float32)
    function = {"neg": np.negative, "abs": np.abs}.get(kind) or getattr(np, kind)
    with np.errstate(all="ignore"):
        assert_same(compute(lambda b, v: b.unary(kind, v), x), function(x))


def test_nan_differs_from_itself_and_orders_with_nothing():
    x = np.array([NAN, 1.0], np.float32)
    for kind, expected in [("ne", [1, 0]), ("eq", [0, 1]), ("lt", [0, 0]), ("ge", [0, 1])]:
        assert_same(
            compute(lambda b, v, k=kind: b.compare(k, v, v), x), [bool(e) for e in expected]
        )


@pytest.mark.parametrize("function, arity", MATH_FUNCTIONS.items())
@pytest.mark.parametrize("scalar", [float32, float64, float16, bfloat16])
def test_functions_raise_and_warn_nothing(function, arity, scalar):
    values = [0.5, 1.5, -1.0, -0.0, 0.0, NAN, INF, -INF]
    x = np.array(values, to_numpy(scalar))
    with np.errstate(all="raise"):
        result = compute(lambda b, *v: b.math(function, *v), *[x] * arity)
    assert result.dtype == x.dtype


def test_gamma_at_its_poles():
    x = np.array([0.0, -0.0, -1.0, 200.0, -INF, INF, 5.0, NAN])
    assert_same(
        compute(lambda b, v: b.math("tgamma", v), x), [INF, -INF, NAN, INF, NAN, INF, 24.0, NAN]
    )
    assert_same(
        compute(lambda b, v: b.math("lgamma", v), x)[[0, 1, 2, 4, 5]], [INF, INF, INF, INF, INF]
    )


# --- casts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "after, expected",
    [
        (int8, [127, -128, 0, 1, -1, 127, -128, 0]),
        (uint8, [255, 0, 0, 1, 0, 255, 0, 0]),
        (int32, [300, -300, 0, 1, -1, 2**31 - 1, -(2**31), 0]),
        (int64, [300, -300, 0, 1, -1, 2**63 - 1, -(2**63), 0]),
        (uint64, [300, 0, 0, 1, 0, 2**64 - 1, 0, 0]),
        (int1, [True, True, True, True, True, True, True, False]),
    ],
)
def test_floats_to_integers_saturate(after, expected):
    values = [300.5, -300.5, NAN, 1.9, -1.9, INF, -1e30, 0.0]
    assert cast(values, float64, after).tolist() == expected


def test_integers_wrap():
    assert cast([300, -1, 127, 128], int32, int8).tolist() == [44, -1, 127, -128]
    assert cast([-1, 1], int8, uint64).tolist() == [2**64 - 1, 1]


def test_float64_to_bfloat16_goes_through_float32():
    value = 1 + 2.0**-8 + 2.0**-30  # above half way, but on it after float32
    assert cast([value, -0.0], float64, bfloat16).tolist() == [1.0, -0.0]


def test_bitcast_keeps_bits():
    x = np.array([-0.0, 1.0], np.float32)
    assert compute(lambda b, v: b.bitcast(v, int32), x).tolist() == [LOW, 0x3F800000]


# --- memory --------------------------------------------------------------------------------------


def test_masked_lanes_give_other_or_zero_and_touch_nothing():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    out = b.parameter("out", PointerType(float32))
    lanes = b.arange(0, 8)
    mask = b.compare("lt", lanes, 3)
    with_other = b.load(b.add_pointer(x, lanes), mask, 9.0)
    without = b.load(b.add_pointer(x, lanes), mask)
    b.store(b.add_pointer(out, lanes), with_other)
    b.store(b.add_pointer(out, b.add(lanes, 8)), without)
    result = np.zeros(16, np.float32)
    interpret(b.finish(), [np.arange(1, 4, dtype=np.float32), result])
    assert result.tolist() == [1, 2, 3, 9, 9, 9, 9, 9, 1, 2, 3, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("size", [15, 3, 0])
def test_an_access_outside_names_array_element_and_lane(size):
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    b.load(b.add_pointer(x, b.arange(0, 16)))
    message = rf"'load'.* element {size} of 'x', which has {size}; .*lane \({size},\)"
    with pytest.raises(LaunchError, match=message):
        interpret(b.finish(), [np.zeros(size, np.float32)])


def test_stores_below_an_array_are_caught():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    b.store(b.add_pointer(x, b.constant(-1, int32)), b.constant(1.0, float32))
    with pytest.raises(LaunchError, match="element -1 of 'x'"):
        interpret(b.finish(), [np.zeros(4, np.float32)])


def test_strided_arrays_are_seen_in_memory_order():
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    view = base[::-1, ::2].T  # its first element lies at offset 18
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    offsets = b.mul(b.arange(0, 4), -6)
    b.store(b.add_pointer(x, offsets), b.constant(-1, int32, (4,)))
    interpret(b.finish(), [view])
    assert base[:, 0].tolist() == [-1] * 4
    assert base[:, 1:].min() == 1


def test_pointers_of_two_arrays_can_be_selected():
    b = Builder()
    left, right = (b.parameter(name, PointerType(int32)) for name in ("left", "right"))
    lanes = b.arange(0, 4)
    pointer = b.select(
        b.compare("lt", lanes, 2), b.add_pointer(left, lanes), b.add_pointer(right, lanes)
    )
    b.store(pointer, b.add(b.load(pointer), 10))
    arrays = [np.zeros(4, np.int32), np.ones(4, np.int32)]
    interpret(b.finish(), arrays)
    assert [array.tolist() for array in arrays] == [[10, 10, 0, 0], [1, 1, 11, 11]]


def test_wrong_arguments_are_refused():
    program = ZOO["transpose_tile"]()
    with pytest.raises(LaunchError, match="takes 2 arguments, got 1"):
        interpret(program, [np.zeros(64, np.int32)])
    with pytest.raises(DTypeError, match="argument 'x' is float64, expected an array of int32"):
        interpret(program, [np.zeros(64), np.zeros(64, np.int32)])


# --- control and whole programs ------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 5])
def test_loops_run_over_a_range(count):
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    n = b.parameter("n", int32)
    zero = b.constant(0, int32)
    last, total = b.for_(2, n, 3, [zero, zero], lambda i, last, total: [i, b.add(total, i)])
    b.store(out, last)
    b.store(b.add_pointer(out, b.constant(1, int32)), total)
    result = np.zeros(2, np.int32)
    interpret(b.finish(), [result, 2 + 3 * count])
    rounds = range(2, 2 + 3 * count, 3)
    assert result.tolist() == [rounds[-1] if rounds else 0, sum(rounds)]


def test_a_loop_that_does_not_advance_is_refused():
    b = Builder()
    b.for_(0, 4, b.parameter("step", int32), [], lambda i: [])
    with pytest.raises(LaunchError, match="step 0"):
        interpret(b.finish(), [0])


def test_instances_know_their_place():
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    x, y, z = (b.program_id(axis) for axis in range(3))
    place = b.add(x, b.mul(b.num_programs(0), b.add(y, b.mul(b.num_programs(1), z))))
    b.store(b.add_pointer(out, place), place)
    result = np.zeros(24, np.int32)
    interpret(b.finish(), [result], (2, 3, 4))
    assert result.tolist() == list(range(24))


def test_reductions_keep_the_order_of_operands():
    """Combine x, y = x: associative, not commutative; the first element stays."""
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    tile = b.reshape(b.arange(0, 32), (4, 8))
    (first,) = b.reduce([tile], 1, lambda left, right: [left])
    b.store(b.add_pointer(out, b.arange(0, 4)), first)
    result = np.zeros(4, np.int32)
    interpret(b.finish(), [result])
    assert result.tolist() == [0, 8, 16, 24]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["add", "mul", "max"])
def test_scans_are_numpys(kind, axis):
    b = Builder()
    shape = (4, 8, 2)
    x, out, back = (b.parameter(name, PointerType(int32)) for name in ("x", "out", "back"))
    offsets = b.reshape(b.arange(0, 64), shape)
    tile = b.load(b.add_pointer(x, offsets))
    b.store(b.add_pointer(out, offsets), b.scan_with(kind, tile, axis))
    b.store(b.add_pointer(back, offsets), b.scan_with(kind, tile, axis, reverse=True))
    data = np.random.default_rng(0).integers(-3, 4, shape).astype(np.int32)
    results = [np.zeros(shape, np.int32) for _ in range(2)]
    interpret(b.finish(), [data, *results])
    accumulate = {"add": np.add, "mul": np.multiply, "max": np.maximum}[kind].accumulate
    np.testing.assert_array_equal(results[0], accumulate(data, axis))
    flipped = np.flip(accumulate(np.flip(data, axis), axis), axis)
    np.testing.assert_array_equal(results[1], flipped)


@pytest.mark.parametrize(("reverse", "stays"), [(False, 0), (True, 7)])
def test_scans_keep_the_order_of_operands(reverse, stays):
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    lanes = b.arange(0, 8)
    (first,) = b.scan([lanes], 0, lambda left, right: [left], reverse)
    b.store(b.add_pointer(out, lanes), first)
    result = np.zeros(8, np.int32)
    interpret(b.finish(), [result])
    assert result.tolist() == [stays] * 8


def test_combines_may_branch():
    b = Builder()
    out = b.parameter("out", PointerType(int32))

    def combine(left, right):
        return b.if_(b.compare("gt", left, right), lambda: [left], lambda: [right])

    b.store(out, b.reduce([b.arange(0, 16)], 0, combine)[0])
    result = np.zeros(1, np.int32)
    interpret(b.finish(), [result])
    assert result[0] == 15


@pytest.mark.parametrize("n", [0, 1, 13, 32, 64])
def test_vector_add_is_numpys(n):
    program = ZOO["vector_add"]()
    x, y, out, _ = make_arguments(program, np.random.default_rng(n))
    expected = out.copy()
    with np.errstate(all="ignore"):
        expected[:n] = x[:n] + y[:n]
    interpret(program, [x, y, out, n], GRID)
    np.testing.assert_array_equal(out, expected)


def test_argmax_finds_the_first():
    x = np.array([[1, 5, 5, 0] * 4, [0] * 15 + [2]] * 2, np.float32).reshape(-1)
    best = np.full(64, -1, np.int32)
    interpret(ZOO["argmax"](), [x, best], GRID)
    assert best[:4].tolist() == [1, 15, 1, 15]


def test_softmax_rows_sum_to_one():
    x = np.random.default_rng(1).normal(size=64).astype(np.float32)
    out = np.zeros(64, np.float32)
    interpret(ZOO["row_softmax"](), [x, out, 13], GRID)
    rows = x.reshape(4, 16)[:, :13]
    expected = np.exp(rows - rows.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(out.reshape(4, 16)[:, :13], expected, rtol=16 * 2.0**-23)


def test_every_number_type_can_be_stored():
    for scalar in types.SCALARS.values():
        result = compute(lambda b, v, s=scalar: b.constant(1, s, (2,)), np.zeros(2, np.int8))
        assert types.decode(result, scalar).tolist() == [1, 1]


def test_wrapped_integers_are_forgotten_with_their_arrays():
    integers = ExactIntegers(evaluate)
    builder = Builder("wraps")
    total = builder.add(builder.constant(2**31 - 1, int32), builder.constant(1, int32))
    (op,) = (op for op in walk(builder.finish().body) if op.results == (total,))
    one, most, wrapped = (np.asarray(v, np.int32) for v in (1, 2**31 - 1, -(2**31)))
    integers.follow(op, [most, one], [wrapped])
    assert integers.find(wrapped).exact == 2**31 and integers.find(wrapped).op is op
    assert len(integers) == 1 and integers.find(one) is None
    del wrapped
    assert len(integers) == 0
