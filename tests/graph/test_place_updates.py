"""Writes into parts of arrays: a few fuse, many are done in place by NumPy; both mean the same."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.backend.host_step import HostStep
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op
from lazyblock.graph.passes.place_updates import MOST_FUSED, place_updates
from lazyblock.graph.traverse import topological
from lazyblock.graph.verify import verify_graph
from tests.helpers.arrays import assert_equal_values, assert_kernel_count, assert_same_as_numpy
from tests.helpers.graphs import new_input

LONG = MOST_FUSED + 4  # rows


def sweep(x):
    """Every row from the one before it, columns backwards, single elements."""
    x = x.copy()
    for row in range(1, len(x)):
        x[row] = x[row] + x[row - 1]
        x[::-2, row] = x[::2, row - 1][: len(x[::-2, row])]
        x[row, 0] = row
    return x


def written(rows):
    """A graph that writes so many rows of a matrix, one after another."""
    base = new_input((30, 7), dtypes.int64)
    x = lb.asarray(np.zeros((30, 7), np.int64), device="cpu")
    x._cell.node = base
    for row in range(rows):
        x[row, 1:6:2] = x[row + 1, 2:5] + row
    return base, x._cell.node


@pytest.mark.parametrize("rows", [MOST_FUSED, MOST_FUSED + 1])
@pytest.mark.parametrize("on_host", [False, True])
def test_updates_mean_the_same_wherever_they_are_placed(rows, on_host):
    base, node = written(rows)
    verify_graph([node])
    (placed,) = place_updates([node], on_host)
    verify_graph([placed])
    ops = {n.op for n in topological([placed])}
    assert Op.UPDATE not in ops
    assert (Op.HOST in ops) == (on_host and rows > MOST_FUSED)
    values = {base: np.random.default_rng(0).integers(0, 99, (30, 7))}
    assert_equal_values(*interpret([placed, node], values))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.complex64])
@pytest.mark.parametrize("rows", [5, LONG])
def test_loops_over_rows_are_numpys(dtype, rows):
    x = np.random.default_rng(1).integers(0, 9, (rows, rows)).astype(dtype)
    assert_same_as_numpy(sweep, x)


def test_many_writes_copy_the_array_once():
    x = lb.asarray(np.zeros((LONG, 3)), device="cpu")
    before = x + 0
    for row in range(LONG):
        x[row] = row
    between = x * 2
    x[0] = 7
    lb.eval(before, between, x)
    steps = x.node.attrs.maker.executable.steps
    writes = [step.write is not None for step in steps if isinstance(step, HostStep)]
    assert writes.count(False) == 1 and len(writes) == LONG + 1
    assert_equal_values(before.numpy(), np.zeros((LONG, 3)))
    assert_equal_values(between.numpy(), np.repeat(np.arange(LONG) * 2.0, 3).reshape(LONG, 3))
    assert x[0, 0] == 7


def test_a_transposed_base_is_copied_before_it_is_written():
    def write(x):
        y = (x + 1).T.copy()
        for row in range(LONG):
            y[row] = y[:, row]
        return y

    x = np.random.default_rng(2).random((LONG, LONG))
    assert_same_as_numpy(write, x)
    assert_same_as_numpy(lambda x: write(x[::-1].T).T, x)


def test_a_few_writes_share_a_kernel():
    x = lb.asarray(np.zeros((LONG, LONG)), device="cpu")
    x[1:-1, 1:-1] = x[:-2, 1:-1] + 1
    x[0] = x[-1] = 2
    assert_kernel_count(x * 2, 1)
