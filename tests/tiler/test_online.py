"""Rows that no tile holds, on GPUs: maximum and sum, mean and variance in one walk."""

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.fusion.planner import plan_fusion
from lazyblock.graph.ops import Op
from lazyblock.graph.passes import GRAPH_PASSES
from lazyblock.target import cuda_target
from lazyblock.tiler.ir import walk
from lazyblock.tiler.lower.group import lower_group
from lazyblock.tiler.ops import For
from tests.helpers.expressions import apply, array, highest, mean, softmax, standardise, total
from tests.helpers.lowering import run_blocks

TARGET = cuda_target("sm_80", 132)
ROWS = 3
COLUMNS = 132_001  # more than a cluster holds


def exponentials(x):
    return apply(Op.EXP, apply(Op.SUBTRACT, x, highest(x, (1,))))


def logsumexp(x):
    return apply(Op.ADD, apply(Op.LOG, total(exponentials(x), (1,))), highest(x, (1,)))


def loops_of(outputs):
    for run in GRAPH_PASSES:
        outputs = run(outputs)
    plan = plan_fusion(outputs)
    stored = frozenset(node for group in plan.groups for node in group.stored)
    programs = [lower_group(group, stored, TARGET).program for group in plan.groups]
    return [sum(isinstance(op, For) for op in walk(program.body)) for program in programs]


def test_walks():
    x = array((ROWS, COLUMNS))
    assert loops_of([logsumexp(x)]) == [1]
    assert loops_of([softmax(x)]) == [2]
    assert loops_of([total(exponentials(x), (1,)), highest(x, (1,)), total(x, (1,))]) == [1]


def test_sums_of_something_else_take_a_walk_of_their_own():
    x = array((ROWS, COLUMNS))
    doubled = apply(Op.ADD, exponentials(x), exponentials(x))
    assert loops_of([total(doubled, (1,))]) == [2]
    half = array((ROWS, 2 * COLUMNS), dtypes.float16)
    assert loops_of([logsumexp(half)]) == [2]


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_values(dtype):
    x = array((ROWS, COLUMNS), dtype)
    rows = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(dtype) * 30
    outputs = [logsumexp(x), softmax(x), total(x, (1,))]
    actual = run_blocks(outputs, {x: rows}, TARGET)
    wide = rows.astype(np.float64)
    top = wide.max(1, keepdims=True)
    powers = np.exp(wide - top)
    sums = powers.sum(1, keepdims=True)
    tolerance = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(actual[0], np.log(sums) + top, tolerance)
    np.testing.assert_allclose(actual[1], powers / sums, 2 * tolerance, np.finfo(dtype).tiny)
    np.testing.assert_allclose(actual[2], wide.sum(1, keepdims=True), tolerance, 1e5 * tolerance)


def test_special_rows_are_numpys():
    x = array((6, COLUMNS))
    rows = np.zeros((6, COLUMNS), np.float32)
    rows[0] = -np.inf
    rows[1, :-1] = -np.inf
    rows[2, 7] = np.inf
    rows[3, 20_000] = np.nan
    rows[4, 9000:] = -np.inf
    rows[5] = -3e38
    rows[5, -1] = 3e38
    (actual,) = run_blocks([total(exponentials(x), (1,))], {x: rows}, TARGET)
    with np.errstate(all="ignore"):
        expected = np.exp(rows - rows.max(1, keepdims=True)).sum(1, dtype=np.float64, keepdims=True)
    np.testing.assert_allclose(actual, expected, 1e-5)


# --- distances from a value that is found in the same walk ---------------------------------------


def squares_of_distances(x, axes, divisor):
    centred = apply(Op.SUBTRACT, x, mean(x, axes, divisor))
    return total(apply(Op.MULTIPLY, centred, centred), axes), total(centred, axes)


def test_a_variance_takes_one_walk():
    x = array((COLUMNS, ROWS))
    squares, rest = squares_of_distances(x, (0,), COLUMNS)
    assert loops_of([squares]) == loops_of([squares, rest, mean(x, (0,))]) == [1]
    assert loops_of([standardise(x, (0,))]) == [2]
    assert loops_of([rest]) == [2]  # nothing to save: means of lanes would be all it takes


def test_distances_from_what_is_known_need_no_means():
    x, m = array((COLUMNS, ROWS)), array((1, ROWS))
    centred = apply(Op.SUBTRACT, x, m)
    assert loops_of([total(apply(Op.MULTIPLY, centred, centred), (0,))]) == [1]
    product = apply(Op.MULTIPLY, centred, apply(Op.SUBTRACT, x, mean(x, (0,))))
    assert loops_of([total(product, (0,))]) == [2]


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("rows", [257, 1000, 4099])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("is_mean", [True, False])
def test_squares_of_distances(dtype, rows, offset, is_mean):
    x = array((rows, 40), dtype)
    values = (np.random.default_rng(0).standard_normal((rows, 40)) + offset).astype(dtype)
    outputs = squares_of_distances(x, (0,), rows if is_mean else rows / 2)
    squares, rest = run_blocks(list(outputs), {x: values}, TARGET)
    wide = values.astype(np.float64)
    centre = values.sum(0, dtype=dtype, keepdims=True) / dtype.type(rows if is_mean else rows / 2)
    centred = wide - centre
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(squares, (centred**2).sum(0, keepdims=True), (64 + offset) * eps)
    slack = 64 * eps * (1 + abs(wide)).sum(0).max()
    np.testing.assert_allclose(rest, centred.sum(0, keepdims=True), 64 * eps, slack)


def test_squares_of_special_columns_are_numpys():
    x = array((1000, 6))
    values = np.ones((1000, 6), np.float32)
    values[3, 0], values[4, 1], values[999, 2] = np.inf, np.nan, -np.inf
    values[:, 3], values[0, 4], values[:, 5] = 3e38, 1e19, 0
    (actual,) = run_blocks([squares_of_distances(x, (0,), 1000.0)[0]], {x: values}, TARGET)
    with np.errstate(all="ignore"):
        centred = values - values.mean(0, keepdims=True)
        expected = (centred * centred).sum(0, keepdims=True)
    assert np.isnan(expected[0]).tolist() == [True, True, True, False, False, False]
    np.testing.assert_array_equal(actual[0, :4], expected[0, :4])
    wide = values[:, 4:].astype(np.float64)
    np.testing.assert_allclose(actual[0, 4:], wide.var(0) * 1000, 1e-6)
