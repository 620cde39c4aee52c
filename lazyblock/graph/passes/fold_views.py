"""Merge chains of views, move reshapes to the leaves.

Takes: any graph. Gives: no view of a view, no reshape of a reshape; reshapes stand on inputs,
reductions, scans and views only. Keeps: values bit by bit. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import InputAttrs, ReshapeAttrs, ViewAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node, make_node
from lazyblock.graph.ops import ELEMENTWISE, Op
from lazyblock.graph.rewrite import Rule, rewrite
from lazyblock.shapes import Shape, contiguous_strides, reshape_strides


def fold_views(outputs: Sequence[Node]) -> list[Node]:
    """Run the pass; see the module's header."""
    return rewrite(outputs, _RULES)


def _compose(node: Node) -> Node | None:
    (inner,) = node.inputs
    if inner.op is not Op.VIEW:
        return None
    assert isinstance(node.attrs, ViewAttrs) and isinstance(inner.attrs, ViewAttrs)
    may_leave = node.attrs.may_leave or inner.attrs.may_leave
    composed = inner.attrs.map.compose(node.attrs.map)
    return build.view(inner.inputs[0], composed, node.shape, may_leave)


def _view_of_nothing_new(node: Node) -> Node | None:
    assert isinstance(node.attrs, ViewAttrs)
    (operand,) = node.inputs
    same = node.shape == operand.shape and node.attrs.map == _identity_over(node.shape)
    return operand if same else None


def _identity_over(shape: Shape) -> IndexMap:
    return index_map.over_all(shape)


def _reshape_of_reshape(node: Node) -> Node | None:
    (inner,) = node.inputs
    return build.reshape(inner.inputs[0], node.shape) if inner.op is Op.RESHAPE else None


def _reshape_through_elementwise(node: Node) -> Node | None:
    """Worth it only if no operand is blocked by a view below that a reshape cannot pass."""
    (inner,) = node.inputs
    if inner.op not in ELEMENTWISE or not all(_reshapes_freely(o) for o in inner.inputs):
        return None
    moved = [o if o.shape == () else build.reshape(o, node.shape) for o in inner.inputs]
    return make_node(inner.op, tuple(moved), inner.attrs, inner.line)


def _reshapes_freely(node: Node) -> bool:
    if node.shape == () or node.op in (Op.RESHAPE, Op.IOTA):
        return True
    return is_contiguous_input(node)


def is_contiguous_input(node: Node) -> bool:
    """An INPUT whose elements lie in C order."""
    attrs = node.attrs
    return isinstance(attrs, InputAttrs) and attrs.strides == contiguous_strides(attrs.shape)


def _unit_axes(node: Node) -> Node | None:
    """A reshape that only adds or removes axes of extent 1 is an affine view."""
    assert isinstance(node.attrs, ReshapeAttrs)
    (operand,) = node.inputs
    before = [axis for axis, n in enumerate(operand.shape) if n != 1]
    after = [axis for axis, n in enumerate(node.shape) if n != 1]
    if [operand.shape[a] for a in before] != [node.shape[a] for a in after]:
        return None
    axes: list[int | None] = [None] * operand.ndim
    for source, target in zip(before, after, strict=True):
        axes[source] = target
    return build.view(operand, index_map.from_axes(axes, node.ndim), node.shape)


def _copy_of_input(node: Node) -> Node | None:
    """An input whose layout a reshape cannot look through gets memory in C order."""
    (operand,) = node.inputs
    attrs = operand.attrs
    if not isinstance(attrs, InputAttrs):
        return None
    if reshape_strides(attrs.shape, attrs.strides, node.shape) is not None:
        return None
    return build.reshape(build.copy(operand), node.shape)


def _reshape_of_iota(node: Node) -> Node | None:
    (line,) = node.inputs
    if line.op is not Op.IOTA:
        return None
    row = contiguous_strides(node.shape)
    return build.view(line, IndexMap((0,), (row,), node.ndim), node.shape)


_RULES = (
    Rule(Op.VIEW, _compose, "affine maps compose exactly"),
    Rule(Op.VIEW, _view_of_nothing_new, "the map is the identity"),
    Rule(Op.RESHAPE, _reshape_of_reshape, "only the last shape counts"),
    Rule(Op.RESHAPE, _copy_of_input, "a copy has the elements of its operand"),
    Rule(Op.RESHAPE, _unit_axes, "unit axes do not move elements"),
    Rule(Op.RESHAPE, _reshape_of_iota, "a number in C order is affine in the index"),
    Rule(
        Op.RESHAPE, _reshape_through_elementwise, "each element is computed from its own operands"
    ),
)
