"""The graph interpreter against NumPy."""

import math

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError
from lazyblock.graph import build, index_map
from lazyblock.graph.interpret import interpret
from lazyblock.graph.networkx_view import to_networkx
from lazyblock.graph.ops import ELEMENTWISE, Op, ReduceKind, kind_of, reduce_identity
from tests.helpers.graphs import new_input

FLOATS = np.array([0.0, -0.0, 0.5, -1.5, 2.0, np.inf, -np.inf, np.nan])


def value_of(output, inputs):
    return interpret([output], inputs)[0]


NUMPY_OPS = [op for op in ELEMENTWISE if hasattr(np, op.value) and op is not Op.WHERE]


@pytest.mark.parametrize("op", NUMPY_OPS, ids=lambda op: op.value)
def test_elementwise_op_is_numpys_function(op):
    info = ELEMENTWISE[op]
    for dtype in (dtypes.bool_, dtypes.int32, dtypes.uint8, dtypes.float32, dtypes.float64):
        if kind_of(dtype) not in info.domain:
            continue
        values = np.nan_to_num(np.abs(FLOATS), posinf=3).astype(dtype)
        operands = [new_input((8,), dtype) for _ in range(info.arity)]
        arrays = dict(zip(operands, (values, values[::-1]), strict=False))
        with np.errstate(all="ignore"):
            expected = getattr(np, op.value)(*arrays.values())
        result = value_of(build.elementwise(op, *operands), arrays)
        assert result.dtype == (np.bool if info.to_bool else dtype)
        np.testing.assert_array_equal(result, expected)


def test_half_arithmetic_rounds_once():
    x = new_input((2,), dtypes.bfloat16)
    values = np.array([1.0, 256.0]).astype(dtypes.bfloat16)
    result = value_of(build.elementwise(Op.ADD, x, build.constant(1, x.dtype)), {x: values})
    assert result.dtype == dtypes.bfloat16 and result.astype(float).tolist() == [2.0, 256.0]


@pytest.mark.parametrize(
    ("op", "function"), [(Op.ERF, math.erf), (Op.ERFC, math.erfc), (Op.LGAMMA, math.lgamma)]
)
def test_functions_numpy_has_not(op, function):
    x = new_input((3,))
    values = np.array([0.25, 1.5, 3.0])
    result = value_of(build.elementwise(op, x), {x: values})
    assert result.tolist() == [function(value) for value in values]


@pytest.mark.parametrize("kind", ReduceKind, ids=lambda kind: kind.value)
def test_reductions(kind):
    dtype = dtypes.bool_ if kind in (ReduceKind.ANY, ReduceKind.ALL) else dtypes.float64
    x = new_input((2, 3), dtype)
    values = np.array([[1, 0, 2], [3, 4, 5]]).astype(dtype)
    result = value_of(build.reduce(kind, x, (1,)), {x: values})
    np.testing.assert_array_equal(result, getattr(np, kind.value)(values, axis=1))


@pytest.mark.parametrize(
    "kind", [k for k in ReduceKind if k not in (ReduceKind.MAX, ReduceKind.MIN)]
)
def test_reductions_of_nothing_give_the_identity(kind):
    dtype = dtypes.bool_ if kind in (ReduceKind.ANY, ReduceKind.ALL) else dtypes.int64
    x = new_input((0, 2), dtype)
    result = value_of(build.reduce(kind, x, (0,)), {x: np.zeros((0, 2), dtype)})
    assert result.tolist() == [reduce_identity(kind, dtype)] * 2


def test_structure():
    x = new_input((2, 3))
    values = np.arange(6.0).reshape(2, 3)
    inputs = {x: values}
    rows = build.view(x, index_map.slices((1, 2), (-1, -2)), (2, 2))
    np.testing.assert_array_equal(value_of(rows, inputs), values[::-1, ::-2])
    np.testing.assert_array_equal(value_of(build.reshape(x, (3, 2)), inputs), values.reshape(3, 2))
    np.testing.assert_array_equal(value_of(build.iota(3, dtypes.int8), {}), np.arange(3))
    np.testing.assert_array_equal(
        value_of(build.where(build.elementwise(Op.ISNAN, x), x, build.cast(x, x.dtype)), inputs),
        values,
    )
    assert value_of(build.cast(x, dtypes.int8), inputs).dtype == np.int8


def test_networkx_view_keeps_operand_order():
    x, y = new_input((3,)), new_input((3,))
    graph = to_networkx([build.elementwise(Op.SUBTRACT, y, x)])
    edges = sorted(graph.edges(data="position"), key=lambda edge: edge[2])
    assert [graph.nodes[source]["node"] for source, _, _ in edges] == [y, x]


@pytest.mark.parametrize("kind", ReduceKind, ids=lambda kind: kind.value)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(kind, reverse):
    dtype = dtypes.bool_ if kind in (ReduceKind.ANY, ReduceKind.ALL) else dtypes.float64
    values = np.random.default_rng(0).integers(0, 3, (3, 4)).astype(dtype)
    x, start = new_input((3, 4), dtype), new_input((3,), dtype)
    node = build.scan(kind, x, 1, reverse, start)
    actual = value_of(node, {x: values, start: values[:, 3]})
    order = slice(None, None, -1 if reverse else 1)
    rows = values[:, order]
    for place in range(4):
        seen = np.column_stack([values[:, 3], rows[:, : place + 1]])
        expected = value_of(build.reduce(kind, y := new_input(seen.shape, dtype), (1,)), {y: seen})
        np.testing.assert_array_equal(actual[:, order][:, place], expected)


def test_operands_of_scans_are_checked():
    x = new_input((3, 4))
    with pytest.raises(ShapeError, match=r"Cannot scan axis 2 of \(3, 4\)"):
        build.scan(ReduceKind.SUM, x, 2)
    with pytest.raises(ShapeError, match=r"A scan of \(3, 4\) starts from \(4,\) of float64"):
        build.scan(ReduceKind.SUM, x, 0, start=new_input((3,)))
    with pytest.raises(DTypeError, match="'any' reduces bool"):
        build.scan(ReduceKind.ANY, x, 0)


@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 0), (0, 3), (1, 2)])
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 0)])
def test_padding_is_numpys(shape, before, after):
    x, values = new_input(shape), np.random.default_rng(0).normal(size=shape)
    for axis in (0, 1):
        widths = [(before, after) if d == axis else (0, 0) for d in range(2)]
        padded = value_of(build.pad(x, axis, before, after, 7.0), {x: values})
        np.testing.assert_array_equal(padded, np.pad(values, widths, constant_values=7.0))
