"""The verifier finds broken graphs, the printer shows graphs as they are."""

import pytest

from lazyblock import dtypes, errors
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import ReduceAttrs, ViewAttrs
from lazyblock.graph.infer import infer
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.printer import print_graph
from lazyblock.graph.verify import verify_graph
from lazyblock.source import UNKNOWN
from tests.helpers.graphs import new_input


def make_broken(op, inputs, attrs):
    """A node past the checks of `build.py`."""
    return Node(op, inputs, attrs, *infer(op, inputs, attrs), UNKNOWN)


def test_sound_graphs_pass():
    x = new_input((3, 4))
    verify_graph([build.reduce(ReduceKind.SUM, build.permute(x, (1, 0)), (0, 1)), x])


@pytest.mark.parametrize(
    ("map", "shape", "reach"),
    [
        (index_map.slices((1,), (1,)), (3,), "1..3 of an axis of 3"),
        (index_map.slices((1,), (-1,)), (3,), "-1..1 of an axis of 3"),
        (index_map.slices((0,), (2,)), (3,), "0..4 of an axis of 3"),
    ],
)
def test_views_that_leave_their_operand(map, shape, reach):
    broken = make_broken(Op.VIEW, (new_input((3,)),), ViewAttrs(map, shape))
    with pytest.raises(errors.VerifyError, match=f"the view reads {reach}"):
        verify_graph([build.elementwise(Op.EXP, broken)])


def test_empty_views_read_nothing():
    x = new_input((0,))
    verify_graph([make_broken(Op.VIEW, (x,), ViewAttrs(index_map.slices((5,), (1,)), (0,)))])


def test_axes_out_of_order():
    attrs = ReduceAttrs(ReduceKind.SUM, (1, 0))
    with pytest.raises(errors.VerifyError, match="not sorted"):
        verify_graph([make_broken(Op.REDUCE, (new_input((3, 4)),), attrs)])


def test_shape_or_dtype_changed_later():
    node = build.elementwise(Op.EXP, new_input((3,)))
    broken = make_broken(node.op, node.inputs, node.attrs)
    broken.shape = (4,)
    with pytest.raises(errors.VerifyError, match=r"after 'some_pass' at .*differ"):
        verify_graph([broken], "some_pass")


def test_printed_graph():
    x = new_input((2, 3), dtypes.float32)
    scaled = build.elementwise(Op.MULTIPLY, x, build.constant(-0.0, dtypes.float32))
    total = build.reduce(ReduceKind.SUM, build.permute(scaled, (1, 0)), (0,))
    assert print_graph([total, x]) == (
        "n0 = input() {strides=[3, 1], offset=0} : float32[2, 3]\n"
        "n1 = constant() {np.float32(-0.0)} : float32[]\n"
        "n2 = multiply(n0, n1) : float32[2, 3]\n"
        "n3 = view(n2) {map=(i1, i0)} : float32[3, 2]\n"
        "n4 = reduce(n3) {kind=sum, axes=(0,)} : float32[2]\n"
        "return n4, n0\n"
    )
