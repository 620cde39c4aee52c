"""Check that a graph keeps its rules; a pass that breaks them is found at once."""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.errors import LazyBlockError, VerifyError
from lazyblock.graph.attrs import GatherAttrs, ReduceAttrs, UpdateAttrs, ViewAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.infer import infer
from lazyblock.graph.node import Node
from lazyblock.graph.traverse import topological
from lazyblock.shapes import Shape, size_of


def verify_graph(outputs: Sequence[Node], after: str = "") -> None:
    """Raises: VerifyError naming the node (and the pass `after` which it was found)."""
    for node in topological(outputs):
        try:
            fault = _fault(node)
        except LazyBlockError as error:
            fault = str(error)
        if fault:
            where = f" after '{after}'" if after else ""
            raise VerifyError(f"Graph is broken{where} at {node!r} with {node.inputs}: {fault}")


def _fault(node: Node) -> str:
    if infer(node.op, node.inputs, node.attrs) != (node.shape, node.dtype):
        return "shape or dtype differ from what is inferred."
    if isinstance(node.attrs, ReduceAttrs) and list(node.attrs.axes) != sorted(
        set(node.attrs.axes)
    ):
        return "axes are not sorted and distinct."
    is_bound = isinstance(node.attrs, ViewAttrs) and not node.attrs.may_leave
    if node.size and (is_bound or isinstance(node.attrs, GatherAttrs)):
        return _map_fault(node.attrs.map, node.shape, node.inputs[0].shape)  # type: ignore[union-attr]
    if isinstance(node.attrs, UpdateAttrs) and size_of(node.attrs.shape):
        return _map_fault(node.attrs.map, node.attrs.shape, node.shape)
    return ""


def _map_fault(map: IndexMap, shape: Shape, operand_shape: Shape) -> str:
    """A view may not leave its operand unless it says so."""
    for extent, (low, high) in zip(operand_shape, map.reach(shape), strict=True):
        if low < 0 or high >= extent:
            return f"the view reads {low}..{high} of an axis of {extent}."
    return ""
