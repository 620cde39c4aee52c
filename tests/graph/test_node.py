"""Interning, recorded lines, and graphs that are deep."""

import gc
import sys

import numpy as np
import pytest

from lazyblock import dtypes, errors
from lazyblock.graph import build, node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.traverse import topological, users
from tests.helpers.graphs import new_input


def test_equal_nodes_are_one_object():
    x = new_input((3,))
    assert build.elementwise(Op.EXP, x) is build.elementwise(Op.EXP, x)
    assert build.constant(1, dtypes.float32) is build.constant(1.0, dtypes.float32)


@pytest.mark.parametrize(("left", "right"), [(0.0, -0.0), (1.0, 2.0), (float("nan"), float("inf"))])
def test_constants_are_told_apart_by_their_bits(left, right):
    nodes = [build.constant(value, dtypes.float64) for value in (left, right)]
    assert nodes[0] is not nodes[1]


def test_inputs_are_equal_to_themselves_alone():
    x = new_input((3,))
    before = len(node._table)
    same = build.input_array(x.attrs.storage, (3,), dtypes.float64)
    assert same is not x and same.attrs.layout == x.attrs.layout
    assert len(node._table) == before
    assert build.elementwise(Op.EXP, same) is not build.elementwise(Op.EXP, x)


def test_nodes_name_the_line_that_recorded_them():
    line = sys._getframe().f_lineno + 1
    x = build.elementwise(Op.EXP, new_input((3,)))
    assert (x.line.file, x.line.line) == (__file__, line)


def test_dead_nodes_leave_the_table():
    x = new_input((3,))
    gc.collect()
    before = len(node._table)
    y = build.elementwise(Op.EXP, build.elementwise(Op.SIN, x))
    assert len(node._table) == before + 2
    del y
    assert len(node._table) == before


def test_deep_graphs_neither_recurse_nor_stay():
    x = new_input((3,))
    y = x
    for _ in range(100_000):
        y = build.elementwise(Op.NEGATIVE, y)
    assert len(topological([y])) == 100_001
    del y
    assert build.elementwise(Op.NEGATIVE, x).op is Op.NEGATIVE


def test_walk_and_users():
    x = new_input((3,))
    square = build.elementwise(Op.MULTIPLY, x, x)
    total = build.elementwise(Op.ADD, square, x)
    order = topological([total, square])
    assert order == [x, square, total]
    assert users(order) == {x: [square, total], square: [total], total: []}


def test_operands_are_checked():
    x, y = new_input((3,)), new_input((4,))
    with pytest.raises(errors.ShapeError, match=r"\(3,\) with \(4,\) in 'add'"):
        build.elementwise(Op.ADD, x, y)
    with pytest.raises(errors.DTypeError, match="have dtypes"):
        build.elementwise(Op.ADD, x, build.cast(x, dtypes.float32))
    with pytest.raises(errors.DTypeError, match="not supported for dtype int32"):
        build.elementwise(Op.EXP, build.cast(x, dtypes.int32))
    with pytest.raises(errors.DTypeError, match="reduces bool"):
        build.reduce(ReduceKind.ANY, x, (0,))
    with pytest.raises(errors.ShapeError, match="Cannot reshape"):
        build.reshape(x, (2,))


def test_scalars_stand_beside_arrays_without_a_view():
    x, one = new_input((3,)), build.constant(1, dtypes.float64)
    for operands in ((x, one), (one, x)):
        result = build.elementwise(Op.ADD, *operands)
        assert result.inputs == operands and result.shape == (3,)
    assert build.elementwise(Op.ADD, one, one).shape == ()
    assert np.dtype(result.dtype) == np.float64
