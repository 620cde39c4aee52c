"""Operators between every two types: the type of the result, and its values."""

import operator

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import KernelWarning, SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, WAYS, evaluate
from tests.language.rules import (
    FLOATS,
    INTEGERS,
    MEETING,
    NAMES,
    NUMPY,
    SIGNED,
    c_quotient,
    convert,
    divides_in,
    exactly,
    has_sign,
    sample,
    wrap,
)

PAIRS = [(left, right) for left in NAMES for right in NAMES]
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
BITWISE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def operands(left, right):
    return sample(left, seed=1), sample(right, seed=2)


def assert_result(result, name, expected):
    assert result.type == name
    assert_same_bits(result.data, np.asarray(expected, NUMPY[name]))


def compute(function, a, b, name):
    """In the integers and wrapped, or in the float type."""
    if name in INTEGERS:
        return wrap(function(exactly(convert(a, name)), exactly(convert(b, name))), name)
    with np.errstate(all="ignore"):
        return function(convert(a, name), convert(b, name)).astype(NUMPY[name])


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_arithmetic_meets_in_the_table(left, right):
    a, b = operands(left, right)
    name = MEETING[left, right]
    results = evaluate(lambda x, y: [f(x, y) for f in ARITHMETIC.values()], a, b)
    for result, function in zip(results, ARITHMETIC.values(), strict=True):
        assert_result(result, name, compute(function, a, b, name))


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_division_gives_float32_at_least(left, right):
    a, b = operands(left, right)
    b = np.where(b == 0, np.ones_like(b), b)
    meeting = divides_in(left, right)
    if meeting is None:
        with pytest.raises(SemanticError, match="only one has a sign"):
            evaluate(operator.truediv, a, b)
        return
    name = "fp32" if meeting in INTEGERS else meeting
    met = [convert(convert(v, meeting), name) for v in (a, b)]
    assert_result(evaluate(operator.truediv, a, b), name, met[0] / met[1])


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_floor_division_truncates_integers(left, right):
    a, b = operands(left, right)
    b = np.where(b == 0, np.ones_like(b), b)
    name = divides_in(left, right)
    if name not in INTEGERS:
        message = "only one has a sign" if name is None else "'//' is of integers"
        with pytest.raises(SemanticError, match=message):
            evaluate(operator.floordiv, a, b)
        return
    expected = wrap(c_quotient(*(convert(v, name) for v in (a, b))), name)
    assert_result(evaluate(operator.floordiv, a, b), name, expected)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_remainder_has_the_sign_of_the_dividend(left, right):
    a, b = operands(left, right)
    b = np.where(b == 0, np.ones_like(b), b)
    name = divides_in(left, right)
    if name is None:
        with pytest.raises(SemanticError, match="only one has a sign"):
            evaluate(operator.mod, a, b)
        return
    a_met, b_met = (convert(v, name) for v in (a, b))
    if name in INTEGERS:
        exact_a, exact_b = exactly(a_met), exactly(b_met)
        expected = wrap(exact_a - c_quotient(a_met, b_met) * exact_b, name)
    else:
        expected = np.fmod(a_met.astype(np.float64), b_met.astype(np.float64)).astype(NUMPY[name])
    assert_result(evaluate(operator.mod, a, b), name, expected)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_comparisons_are_of_what_the_operands_meet_in(left, right):
    a, b = operands(left, right)
    b[8:] = convert(a[8:], right)
    met = [convert(v, MEETING[left, right]) for v in (a, b)]
    functions = [getattr(operator, name) for name in COMPARISONS]
    results = evaluate(lambda x, y: [f(x, y) for f in functions], a, b)
    for result, function in zip(results, functions, strict=True):
        assert_result(result, "int1", function(*met))


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_bitwise_operators_are_of_integers(left, right):
    a, b = operands(left, right)
    if left in FLOATS or right in FLOATS:
        for function in BITWISE.values():
            with pytest.raises(SemanticError, match="of integers"):
                evaluate(function, a, b)
        return
    name = MEETING[left, right]
    met = [convert(v, name) for v in (a, b)]
    results = evaluate(lambda x, y: [f(x, y) for f in BITWISE.values()], a, b)
    for result, function in zip(results, BITWISE.values(), strict=True):
        assert_result(result, name, function(*met))


@pytest.mark.parametrize("left", INTEGERS[1:])
@pytest.mark.parametrize("right", INTEGERS[1:])
def test_shifts_keep_the_sign_of_a_signed_left_side(left, right):
    a = sample(left, seed=1)
    name = MEETING[left, right]
    count = np.arange(16).astype(NUMPY[right]) % (NUMPY[name].itemsize * 8)
    results = evaluate(lambda x, y: [x << y, x >> y], a, count)
    met = convert(a, name)
    shifted_left = [v << int(n) for v, n in zip(exactly(met), count, strict=True)]
    assert_result(results[0], name, wrap(shifted_left, name))
    as_seen = wrap(exactly(met), name.removeprefix("u") if has_sign(left) else unsigned(name))
    shifted_right = [v >> int(n) for v, n in zip(exactly(as_seen), count, strict=True)]
    assert_result(results[1], name, wrap(shifted_right, name))


@pytest.mark.parametrize("way", WAYS)
def test_known_counts_that_shift_all_bits_out_are_warned_of(way):
    a = np.array([-5, 9], np.int32)
    with pytest.warns(KernelWarning, match="'<<' by 32 leaves nothing of the 32 bits of int32"):
        result = evaluate(lambda x: x << 32, a, ways=[way])
    assert_same_bits(result.data, np.zeros(2, np.int32))
    with pytest.warns(KernelWarning, match="'>>' by 40 leaves nothing"):
        result = evaluate(lambda x: x >> 40, a, ways=[way])
    assert_same_bits(result.data, np.array([-1, 0], np.int32))


def unsigned(name):
    return name if name.startswith("u") else f"u{name}"


@pytest.mark.parametrize("left", NAMES)
@pytest.mark.parametrize("right", NAMES)
def test_where_promotes_its_alternatives(left, right):
    a, b = operands(left, right)
    chosen = np.arange(16) % 3 == 0
    name = MEETING[left, right]
    expected = np.where(chosen, convert(a, name), convert(b, name))
    assert_result(evaluate(tl.where, chosen, a, b), name, expected)


@pytest.mark.parametrize("left", NAMES)
@pytest.mark.parametrize("right", NAMES)
def test_extremes_compute_bfloat16_in_float32(left, right):
    a, b = operands(left, right)
    wide = ["fp32" if name == "bf16" else name for name in (left, right)]
    name = MEETING[tuple(wide)]
    results = evaluate(lambda x, y: [tl.maximum(x, y), tl.minimum(x, y)], a, b)
    for result, function in zip(results, (np.maximum, np.minimum), strict=True):
        assert_result(result, name, function(convert(a, name), convert(b, name)))


@pytest.mark.parametrize("name", NAMES)
def test_unary_operators(name):
    a = sample(name)
    negated = wrap(-exactly(a), name) if name in INTEGERS else -a
    assert_result(evaluate(operator.neg, a), name, negated)
    assert_result(evaluate(operator.pos, a), name, a)
    size = a if name == "int1" else wrap(abs(exactly(a)), name) if name in INTEGERS else np.abs(a)
    assert_result(evaluate(tl.abs, a), name, size)
    if name in INTEGERS:
        assert_result(evaluate(operator.invert, a), name, ~a)
    else:
        with pytest.raises(SemanticError, match="'~' is of integers"):
            evaluate(operator.invert, a)


@pytest.mark.parametrize("name", FLOATS)
def test_minus_zero_is_negative(name):
    result = evaluate(operator.neg, np.zeros(4, NUMPY[name]), ways=ALL)
    assert np.signbit(result.data.astype(np.float64)).all()


@pytest.mark.parametrize("name", NAMES)
def test_logic_is_of_what_differs_from_zero(name):
    a, b = sample(name, seed=3), sample(name, seed=4)
    results = evaluate(lambda x, y: [x.logical_and(y), x.logical_or(y)], a, b)
    assert_result(results[0], "int1", (a != 0) & (b != 0))
    assert_result(results[1], "int1", (a != 0) | (b != 0))


@pytest.mark.parametrize("name", FLOATS)
def test_comparisons_with_nan_are_false_save_not_equal(name):
    a = np.array([np.nan, 1.0, np.nan, 2.0], NUMPY[name])
    b = np.array([np.nan, np.nan, 0.0, 2.0], NUMPY[name])
    functions = [getattr(operator, comparison) for comparison in COMPARISONS]
    results = evaluate(lambda x, y: [f(x, y) for f in functions], a, b)
    holds = {
        "eq": [False, False, False, True],
        "ne": [True, True, True, False],
        "lt": [False] * 4,
        "le": [False, False, False, True],
        "gt": [False] * 4,
        "ge": [False, False, False, True],
    }
    for result, comparison in zip(results, COMPARISONS, strict=True):
        assert result.data.tolist() == holds[comparison]


@pytest.mark.parametrize("name", FLOATS)
def test_extremes_pass_over_nan_unless_it_propagates(name):
    a = np.array([np.nan, 1.0, np.nan, 3.0], NUMPY[name])
    b = np.array([np.nan, np.nan, 0.0, 2.0], NUMPY[name])
    everywhere = tl.PropagateNan.ALL
    results = evaluate(
        lambda x, y: [
            tl.maximum(x, y),
            tl.minimum(x, y),
            tl.maximum(x, y, propagate_nan=everywhere),
            tl.minimum(x, y, propagate_nan=everywhere),
            tl.clamp(x, 0.5, 2.5),
            tl.clamp(x, 0.5, 2.5, propagate_nan=everywhere),
        ],
        a,
        b,
    )
    expected = [
        [np.nan, 1, 0, 3],
        [np.nan, 1, 0, 2],
        [np.nan, np.nan, np.nan, 3],
        [np.nan, np.nan, np.nan, 2],
        [0.5, 1, 0.5, 2.5],
        [np.nan, 1, np.nan, 2.5],
    ]
    for result, values in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.data.astype(np.float64), values)


SAMPLE_PAIRS = [("int8", "uint8"), ("int1", "int1"), ("bf16", "int32"), ("fp16", "bf16")]
SAMPLE_PAIRS += [("uint32", "int64"), ("fp64", "int64"), ("int16", "uint8"), ("bf16", "bf16")]


@pytest.mark.parametrize(("left", "right"), SAMPLE_PAIRS)
def test_devices_compute_what_the_interpreter_does(left, right):
    a, b = operands(left, right)
    b = np.where(b == 0, np.ones_like(b), b)

    def every(x, y):
        results = [x + y, x - y, x * y, x < y, x == y, tl.where(x > y, x, y), tl.maximum(x, y)]
        if left in INTEGERS and right in INTEGERS:
            results += [x & y, x | y, x ^ y, x >> (y & 7), x << (y & 7)]
        if divides_in(left, right) is not None:
            results += [x / y, x % y]
        return results

    evaluate(every, a, b, ways=ALL)


# --- integers at their limits --------------------------------------------------------------------


@pytest.mark.parametrize("name", INTEGERS[1:])
def test_integers_wrap(name):
    limits = np.iinfo(NUMPY[name])
    a = np.array([limits.max, limits.min], NUMPY[name])
    results = evaluate(lambda x: [x + 1, x - 1, x * 2], a)
    low, high = limits.min, limits.max
    assert results[0].data.tolist() == [low, low + 1]
    assert results[1].data.tolist() == [high - 1, high]
    assert_result(results[2], name, wrap([high * 2, low * 2], name))


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"), [(7, -2, -3, 1), (-7, 2, -3, -1), (-7, -2, 3, -1), (6, 3, 2, 0)]
)
def test_signed_division_is_cs(name, a, b, quotient, rest):
    x, y = (np.full(2, v, NUMPY[name]) for v in (a, b))
    results = evaluate(lambda x, y: [x // y, x % y], x, y, ways=WAYS)
    assert [r.data.tolist() for r in results] == [[quotient] * 2, [rest] * 2]
