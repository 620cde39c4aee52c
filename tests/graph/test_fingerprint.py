"""Fingerprints: what one plan serves is equal, what it does not serve differs."""

import pytest

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.fingerprint import fingerprint
from lazyblock.graph.ops import Op, ReduceKind
from tests.helpers.graphs import new_input


def key_of(*outputs):
    return fingerprint(outputs)[0]


def scaled(x, factor=2.0):
    return build.elementwise(Op.MULTIPLY, x, build.constant(factor, x.dtype))


def test_other_data_and_other_scalars_are_equal():
    assert key_of(scaled(new_input((3,)))) == key_of(scaled(new_input((3,))))
    assert key_of(scaled(new_input((3,)), 2.0)) == key_of(scaled(new_input((3,)), 5.0))


def test_sharing_is_told_apart():
    x, y = new_input((3,)), new_input((3,))
    assert key_of(build.elementwise(Op.ADD, x, x)) != key_of(build.elementwise(Op.ADD, x, y))
    one = build.constant(1, dtypes.float64)
    two = build.constant(2, dtypes.float64)
    same = build.elementwise(Op.ADD, build.elementwise(Op.MULTIPLY, x, one), one)
    other = build.elementwise(Op.ADD, build.elementwise(Op.MULTIPLY, x, one), two)
    assert key_of(same) != key_of(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: scaled(new_input((4,))),
        lambda x: scaled(new_input((3,), dtypes.float32)),
        lambda x: build.elementwise(Op.ADD, x, build.constant(2.0, x.dtype)),
        lambda x: scaled(build.input_array(x.attrs.storage, (3,), x.dtype, (2,))),
        lambda x: scaled(build.input_array(x.attrs.storage, (3,), x.dtype, (1,), 1)),
    ],
)
def test_shape_dtype_op_and_layout_count(change):
    x = new_input((3,))
    assert key_of(scaled(x)) != key_of(change(x))


def test_settings_count():
    x = new_input((3, 3))
    keys = {
        key_of(build.reduce(k, x, (a,))) for k in (ReduceKind.SUM, ReduceKind.MAX) for a in (0, 1)
    }
    assert len(keys) == 4
    assert key_of(build.permute(x, (1, 0))) != key_of(x)


def test_outputs_count():
    x = new_input((3,))
    y = scaled(x)
    assert len({key_of(y), key_of(y, x), key_of(x, y), key_of(y, y)}) == 4


def test_leaves_of_equal_expressions_correspond():
    def leaves_of(a, b, number):
        output = build.elementwise(Op.SUBTRACT, build.elementwise(Op.MULTIPLY, b, number), a)
        return [(a, b, number).index(leaf) for leaf in fingerprint([output])[1]]

    orders = [
        leaves_of(new_input((3,)), new_input((3,)), build.constant(value, dtypes.float64))
        for value in (2.0, 3.0)
    ]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == [0, 1, 2]
