"""Cut reductions of many elements to few results in two, so that the first part runs in parallel.

Takes: any graph. Gives: no reduction that leaves the device's units idle, where an axis can be cut.
Keeps: integers, max, min, any, all exactly; floating sums and products up to their order, which
stays the same in every run. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.rewrite import Rule, rewrite
from lazyblock.shapes import size_of

_LEAST_ELEMENTS = 1 << 18  # below, one kernel is as fast as two
_LEAST_PIECE = 1 << 12  # elements that one program should reduce at least
_MOST_PARTS = 4096

_COMBINE = {
    ReduceKind.SUM: Op.ADD,
    ReduceKind.PROD: Op.MULTIPLY,
    ReduceKind.MAX: Op.MAXIMUM,
    ReduceKind.MIN: Op.MINIMUM,
    ReduceKind.ANY: Op.BITWISE_OR,
    ReduceKind.ALL: Op.BITWISE_AND,
}


def split_reductions(outputs: Sequence[Node], num_programs: int) -> list[Node]:
    """Cut reductions so that about `num_programs` programs share their work."""

    def split(node: Node) -> Node | None:
        return _split(node, num_programs)

    return rewrite(outputs, [Rule(Op.REDUCE, split, "the combine is associative")])


def _split(node: Node, num_programs: int) -> Node | None:
    (operand,) = node.inputs
    assert isinstance(node.attrs, ReduceAttrs)
    axes = node.attrs.axes
    combined = size_of([operand.shape[axis] for axis in axes])
    programs = max(node.size, 1)
    if operand.size < _LEAST_ELEMENTS or programs * 4 > num_programs:
        return None
    parts = min(num_programs // programs, combined // _LEAST_PIECE, _MOST_PARTS)
    if parts < 2:
        return None
    # the outermost: its pieces lie together in memory
    axis = next(axis for axis in axes if operand.shape[axis] > 1)
    if operand.shape[axis] <= parts:
        return _reduce_twice(node.attrs.kind, operand, axes, axis)
    return _cut_axis(node.attrs.kind, operand, axes, axis, parts)


def _reduce_twice(kind: ReduceKind, operand: Node, axes: tuple[int, ...], axis: int) -> Node | None:
    """Inner axes first, the outermost one after: it is as long as the parts wanted."""
    inner = tuple(other for other in axes if other != axis)
    if not inner:
        return None
    partial = build.reduce(kind, operand, inner)
    kept_before = sum(1 for other in range(axis) if other not in inner)
    return build.reduce(kind, partial, (kept_before,))


def _cut_axis(
    kind: ReduceKind, operand: Node, axes: tuple[int, ...], axis: int, parts: int
) -> Node:
    """Reduce `parts` equal pieces of the axis, then those; what is left over by itself."""
    extent = operand.shape[axis]
    parts = next((p for p in range(parts, parts // 2, -1) if extent % p == 0), parts)
    piece = extent // parts
    pieces = build.cut(_head(operand, axis, parts * piece), axis, piece)
    shifted = tuple(a if a < axis else a + 1 for a in axes)
    partial = build.reduce(kind, pieces, shifted)
    kept_before = sum(1 for other in range(axis) if other not in axes)
    total = build.reduce(kind, partial, (kept_before,))
    if parts * piece == extent:
        return total
    rest = build.reduce(kind, _tail(operand, axis, parts * piece), axes)
    return build.elementwise(_COMBINE[kind], total, rest)


def _head(operand: Node, axis: int, stop: int) -> Node:
    shape = (*operand.shape[:axis], stop, *operand.shape[axis + 1 :])
    return build.view(operand, index_map.identity(operand.ndim), shape)


def _tail(operand: Node, axis: int, start: int) -> Node:
    shape = list(operand.shape)
    shape[axis] -= start
    starts = [start if d == axis else 0 for d in range(operand.ndim)]
    return build.view(operand, index_map.slices(starts, [1] * operand.ndim), tuple(shape))
