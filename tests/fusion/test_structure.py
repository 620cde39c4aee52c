"""Keys of what lowering depends on: equal for groups that one program serves."""

import pytest

from lazyblock import dtypes
from lazyblock.fusion.planner import plan_fusion
from lazyblock.fusion.structure import structure_of
from lazyblock.graph import build
from lazyblock.graph.attrs import Placeholder
from lazyblock.graph.ops import Op, ReduceKind


def new_input(shape=(6,), dtype=dtypes.float32, **layout):
    return build.input_array(Placeholder(), shape, dtype, **layout)


def scaled(x, factor=2.0):
    product = build.elementwise(Op.MULTIPLY, x, build.constant(factor, x.dtype))
    return build.elementwise(Op.ADD, product, x)


def describe(*outputs):
    plan = plan_fusion(outputs)
    (group,) = plan.groups
    return structure_of(group, frozenset(group.stored))


def test_other_arrays_and_numbers_have_the_same_structure():
    x, y = new_input(), new_input()
    key, nodes = describe(scaled(x))
    other_key, other_nodes = describe(scaled(y, 3.0))
    assert key == other_key
    assert nodes.index(x) == other_nodes.index(y)
    assert len(nodes) == len(other_nodes) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda x: scaled(new_input((7,))),
        lambda x: scaled(new_input(dtype=dtypes.float64)),
        lambda x: scaled(new_input(strides=(2,))),
        lambda x: scaled(new_input(offset=1)),
        lambda x: build.elementwise(Op.ADD, scaled(x), x),
        lambda x: build.elementwise(Op.ADD, build.elementwise(Op.MULTIPLY, x, x), x),
        lambda x: build.elementwise(
            Op.ADD,
            build.elementwise(Op.MULTIPLY, x, build.constant(2.0, x.dtype)),
            new_input(),
        ),
        lambda x: build.reduce(ReduceKind.SUM, scaled(x), (0,)),
    ],
    ids=["extent", "dtype", "strides", "offset", "more", "no_number", "two_arrays", "reduced"],
)
def test_whatever_changes_the_program_changes_the_key(make):
    x = new_input()
    assert describe(make(x))[0] != describe(scaled(x))[0]


def test_what_is_kept_counts():
    x = new_input()
    inner = scaled(x)
    outer = build.elementwise(Op.SQRT, inner)
    assert describe(outer)[0] != describe(outer, inner)[0]
