"""Keys of what lowering depends on: equal for groups that one program serves."""

import pytest

from lazyblock import dtypes
from lazyblock.fusion.planner import plan_fusion
from lazyblock.fusion.structure import structure_of
from lazyblock.graph import build, index_map
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
    key, given = describe(scaled(x))
    other_key, others = describe(scaled(y, 3.0))
    assert key == other_key
    assert given.index((x, 0)) == others.index((y, 0))
    assert len(given) == len(others) == 3


def test_rows_of_arrays_have_the_same_structure():
    def difference(row):
        rows = [x_view(row), x_view(row + 1)]
        return build.elementwise(Op.SUBTRACT, *rows)

    def x_view(row):
        return build.view(x, index_map.removed_axes(2, [0], [row]), (6,))

    x = new_input((9, 6))
    (key, given), (other_key, others) = (describe(difference(row)) for row in (1, 5))
    assert key == other_key
    assert (x, 6) in given and (x, 30) in others
    assert key != describe(difference(2))[0]  # less aligned
    assert key != describe(build.elementwise(Op.SUBTRACT, x_view(1), x_view(3)))[0]


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


def test_a_stored_view_is_read_as_it_lies():
    x = new_input()
    product = build.elementwise(Op.MULTIPLY, x, x)
    view = build.view(product, index_map.slices([1], [1]), (5,))
    (group,) = plan_fusion([scaled(view)]).groups
    _, given = structure_of(group, frozenset([*group.stored, view]))
    assert (view, 0) in given and x not in dict(given)
