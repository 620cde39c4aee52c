"""Reductions and scans of the language: types, values, axes, indices."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, evaluate
from tests.language.rules import FLOATS, INTEGERS, NAMES, NUMPY, convert, exactly, sample, wrap

# in which type sums and products are, and extremes without indices
SUMS = {
    **{"int1": "uint32", "int8": "int32", "int16": "int32", "int32": "int32", "int64": "int64"},
    **{"uint8": "uint32", "uint16": "uint32", "uint32": "uint32", "uint64": "uint64"},
    **{"fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "fp64": "fp64"},
}
SCANS = {**SUMS, "bf16": "fp32"}
EXTREMES = {
    **{"int1": "int32", "int8": "int32", "int16": "int32", "int32": "int32", "int64": "int64"},
    **{"uint8": "int32", "uint16": "int32", "uint32": "uint32", "uint64": "uint64"},
    **{"fp16": "fp32", "bf16": "fp32", "fp32": "fp32", "fp64": "fp64"},
}
WITH_INDEX = {**{name: name for name in NAMES}, "bf16": "fp32"}
AXES = [0, 1, -1, None]


def block(name, seed=0):
    """Four rows of eight; sums are exact in every float type."""
    values = sample(name, 32, seed)
    values = np.trunc(values / 4) + 0 if name in FLOATS else values  # without -0.0
    return values.astype(NUMPY[name]).reshape(4, 8)


def total(array, axis, name):
    if name in INTEGERS:
        return wrap(np.sum(exactly(array), axis=axis), name)
    return np.sum(array.astype(np.float64), axis=axis).astype(NUMPY[name])


def assert_result(result, name, expected):
    assert result.type == name
    assert_same_bits(result.data, np.asarray(expected, NUMPY[name]))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", NAMES)
def test_sums(name, axis):
    a = block(name)
    result = evaluate(lambda x: tl.sum(x, axis), a)
    assert_result(result, SUMS[name], total(a, axis, SUMS[name]))


@pytest.mark.parametrize("name", NAMES)
def test_sums_in_a_given_type(name):
    a = block(name)
    result = evaluate(lambda x: tl.sum(x, 1, dtype=tl.float64), a)
    assert_result(result, "fp64", total(convert(a, "fp64"), 1, "fp64"))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", NAMES)
def test_extremes(name, axis):
    a = block(name)
    results = evaluate(lambda x: [tl.max(x, axis), tl.min(x, axis)], a)
    for result, function in zip(results, (np.max, np.min), strict=True):
        assert_result(result, EXTREMES[name], function(convert(a, EXTREMES[name]), axis=axis))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", NAMES)
def test_extremes_with_indices(name, axis):
    a = block(name)
    results = evaluate(
        lambda x: [
            *tl.max(x, axis, return_indices=True),
            *tl.min(x, axis, return_indices=True, return_indices_tie_break_left=False),
            tl.argmax(x, axis),
            tl.argmin(x, axis),
        ],
        a,
    )
    wide = WITH_INDEX[name]
    assert_result(results[0], wide, np.max(convert(a, wide), axis=axis))
    assert_result(results[2], wide, np.min(convert(a, wide), axis=axis))
    for place in (1, 4):
        assert_result(results[place], "int32", np.argmax(convert(a, wide), axis=axis))
    assert_result(results[3], "int32", np.argmin(convert(a, wide), axis=axis))
    assert_result(results[5], "int32", np.argmin(convert(a, wide), axis=axis))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("function", ["sum", "max", "min", "xor_sum", "reduce_or", "argmax"])
def test_keep_dims(function, axis):
    a = block("int32")
    result = evaluate(lambda x: getattr(tl, function)(x, axis, keep_dims=True), a)
    shapes = {0: (1, 8), 1: (4, 1), -1: (4, 1), None: (1, 1)}
    assert result.data.shape == shapes[axis]
    plain = evaluate(lambda x: getattr(tl, function)(x, axis), a)
    assert_same_bits(result.data.reshape(-1), plain.data.reshape(-1))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", INTEGERS)
def test_reductions_of_bits_keep_the_type(name, axis):
    a = block(name)
    results = evaluate(lambda x: [tl.xor_sum(x, axis), tl.reduce_or(x, axis)], a)
    assert_result(results[0], name, np.bitwise_xor.reduce(a, axis=axis))
    assert_result(results[1], name, np.bitwise_or.reduce(a, axis=axis))


@pytest.mark.parametrize("function", ["xor_sum", "reduce_or"])
def test_reductions_of_bits_are_of_integers(function):
    with pytest.raises(SemanticError, match=f"tl.{function} is of integers"):
        evaluate(lambda x: getattr(tl, function)(x, 0), block("fp32"))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", NAMES)
def test_cumsum(name, axis, reverse):
    a = block(name)
    result = evaluate(lambda x: tl.cumsum(x, axis, reverse), a)
    flipped = np.flip(a, axis) if reverse else a
    wide = SCANS[name]
    exact = exactly(flipped) if name in INTEGERS else flipped.astype(np.float64)
    sums = np.add.accumulate(exact, axis=axis)
    sums = wrap(sums, wide) if name in INTEGERS else sums.astype(NUMPY[wide])
    assert_result(result, wide, np.flip(sums, axis) if reverse else sums)


@pytest.mark.parametrize("name", NAMES)
def test_cumprod(name):
    a = np.where(np.arange(32) % 5 == 0, 2, 1).astype(NUMPY[name]).reshape(4, 8)
    result = evaluate(lambda x: tl.cumprod(x), a)
    products = np.multiply.accumulate(exactly(a), axis=0)
    wide = SCANS[name]
    assert_result(result, wide, wrap(products, wide) if name in INTEGERS else products)


def test_scans_run_along_the_first_axis_by_default():
    a = block("int32")
    assert_same_bits(evaluate(tl.cumsum, a).data, np.cumsum(a, axis=0, dtype=np.int32))


# --- NaN and ties --------------------------------------------------------------------------------


def test_extremes_pass_over_nan():
    a = np.array([3.0, np.nan, -1.0, np.nan, 7.0, 7.0, np.nan, 0.0], np.float32)
    results = evaluate(
        lambda x: [
            tl.max(x, 0),
            tl.min(x, 0),
            *tl.max(x, 0, return_indices=True),
            tl.argmin(x, 0),
            tl.max(x, 0, propagate_nan=tl.PropagateNan.ALL),
            tl.min(x, 0, propagate_nan=tl.PropagateNan.ALL),
        ],
        a,
        ways=ALL,
    )
    assert [r.data.item() for r in results[:5]] == [7.0, -1.0, 7.0, 4, 2]
    assert np.isnan(results[5].data) and np.isnan(results[6].data)


def test_extremes_of_nan_alone_are_nan():
    a = np.full(8, np.nan, np.float32)
    results = evaluate(lambda x: [tl.max(x, 0), *tl.min(x, 0, return_indices=True)], a, ways=ALL)
    assert np.isnan(results[0].data) and np.isnan(results[1].data) and results[2].data == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_of_equal_extremes_the_first_counts(axis):
    a = np.random.default_rng(0).integers(0, 3, (8, 16)).astype(np.int32)
    results = evaluate(lambda x: [tl.argmax(x, axis), tl.argmin(x, axis)], a, ways=ALL)
    assert_result(results[0], "int32", np.argmax(a, axis))
    assert_result(results[1], "int32", np.argmin(a, axis))


# --- any combine function ------------------------------------------------------------------------


def test_reduce_with_any_function():
    a = block("int32")
    result = evaluate(lambda x: tl.reduce(x, 1, lambda a, b: a * 3 ^ b * 3), a[:, :2])
    assert_result(result, "int32", a[:, 0] * 3 ^ a[:, 1] * 3)


def test_reduce_of_a_tuple():
    a, b = block("fp32", 1), block("int32", 2)

    def larger(x, i, y, j):
        keep = x > y
        return tl.where(keep, x, y), tl.where(keep, i, j)

    results = evaluate(lambda x, i: tl.reduce((x, i), 1, larger), a[:, :2], b[:, :2], ways=DEVICES)
    keep = a[:, 0] > a[:, 1]
    assert_result(results[0], "fp32", np.where(keep, a[:, 0], a[:, 1]))
    assert_result(results[1], "int32", np.where(keep, b[:, 0], b[:, 1]))


def test_what_a_combine_gives_is_converted():
    """Halves divide in float32, and the result is of the operand's type."""
    a = np.array([[8.0, 2.0]], np.float16)
    result = evaluate(lambda x: tl.reduce(x, 1, lambda a, b: a / b), a)
    assert_result(result, "fp16", [4.0])


@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_of_a_tuple(reverse):
    """Affine functions composed in order: associative, not commutative."""
    factor = np.random.default_rng(1).integers(-3, 4, 16).astype(np.int32)
    offset = np.random.default_rng(2).integers(-9, 9, 16).astype(np.int32)

    def compose(f, o, g, p):
        return f * g, o * g + p

    results = evaluate(
        lambda f, o: tl.associative_scan((f, o), 0, compose, reverse), factor, offset, ways=ALL
    )
    pairs = list(zip(factor.tolist(), offset.tolist(), strict=True))
    pairs = pairs[::-1] if reverse else pairs
    found = [pairs[0]]
    for g, p in pairs[1:]:
        f, o = found[-1]
        found.append((f * g, o * g + p))
    found = found[::-1] if reverse else found
    assert_same_bits(results[0].data, wrap([f for f, _ in found], "int32"))
    assert_same_bits(results[1].data, wrap([o for _, o in found], "int32"))


def test_wrong_combines_and_operands_are_refused():
    a = block("int32")
    with pytest.raises(SemanticError, match="gives 2 values for 1 operands"):
        evaluate(lambda x: tl.reduce(x, 0, lambda a, b: (a, b)), a)
    with pytest.raises(SemanticError, match="axis 2 is outside a block of 2 axes"):
        evaluate(lambda x: tl.sum(x, 2), a)
    with pytest.raises(SemanticError, match=r"tl.reduce needs a block, got a scalar of int32"):
        evaluate(lambda x: tl.sum(tl.sum(x), 0), a)


@pytest.mark.parametrize("name", ["int8", "uint64", "fp16", "bf16", "int1"])
def test_devices_fold_as_the_interpreter_does(name):
    a = block(name)
    evaluate(
        lambda x: [
            *(tl.sum(x, 0), tl.sum(x), tl.max(x, 1), tl.min(x), tl.cumsum(x, 1)),
            *tl.max(x, 1, return_indices=True),
        ],
        a,
        ways=ALL,
    )


# --- compositions --------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("name", ["fp32", "fp16", "fp64", "bf16"])
def test_softmax(name, dim):
    a = np.random.default_rng(3).normal(size=(4, 8)).astype(NUMPY[name])
    result = evaluate(lambda x: tl.softmax(x, dim), a)
    wide = np.exp(a.astype(np.float64) - a.astype(np.float64).max(dim or 0, keepdims=True))
    assert result.type == ("fp64" if name == "fp64" else "fp32")
    expected = wide / wide.sum(dim or 0, keepdims=True)
    np.testing.assert_allclose(result.data, expected, rtol=1e-6 if name != "fp64" else 1e-14)


def test_sigmoid():
    a = np.linspace(-20, 20, 16).astype(np.float32)
    result = evaluate(tl.sigmoid, a, ways=DEVICES)
    np.testing.assert_allclose(result.data, 1 / (1 + np.exp(-a.astype(float))), rtol=3e-7)


@pytest.mark.parametrize(
    ("size_i", "size_j", "size_g"), [(4, 4, 2), (5, 7, 2), (3, 5, 4), (8, 1, 3)]
)
def test_swizzle2d_visits_groups_of_rows_column_by_column(size_i, size_j, size_g):
    count = size_i * size_j
    numbers = np.arange(64, dtype=np.int32)

    def body(x):
        return tl.swizzle2d(x // size_j, x % size_j, size_i, size_j, size_g)

    rows, columns = (r.data[:count].tolist() for r in evaluate(body, numbers))
    expected = [
        (row, column)
        for group in range(0, size_i, size_g)
        for column in range(size_j)
        for row in range(group, min(group + size_g, size_i))
    ]
    assert list(zip(rows, columns, strict=True)) == expected
