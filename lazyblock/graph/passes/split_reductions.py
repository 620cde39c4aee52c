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
from lazyblock.graph.rewrite import with_inputs
from lazyblock.graph.traverse import topological
from lazyblock.shapes import Shape, cdiv, size_of

_LEAST_ELEMENTS = 1 << 18  # below, one kernel is as fast as two
_LEAST_PIECE = 1 << 12  # elements that one program should reduce at least
_MOST_PARTS = 4096
_COLUMNS = 32  # of a tile that reduces columns
_LEAST_PROGRAMS = 4  # times as many are wanted as there are: then it is worth cutting
_LEAST_CHAINS = 128  # the same for chains of reductions, which lose more; one program is cut always

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
    order = topological(outputs)
    chained = _find_chains(order, num_programs)
    new: dict[Node, Node] = {}
    for node in order:
        new[node] = with_inputs(node, [new[operand] for operand in node.inputs])
        if isinstance(node.attrs, ReduceAttrs) and _walk_of(node) not in chained:
            new[node] = _split(new[node], max(_num_programs(node), 1), num_programs) or new[node]
    return [new[node] for node in outputs]


def _find_chains(order: Sequence[Node], num_programs: int) -> set[tuple[Shape, tuple[int, ...]]]:
    """What chains of reductions walk along, and whatever else does so in the same kernel.

    They lose more than others when they are cut, as long as there are programs enough.
    """
    is_read_back = _find_read_back(order)
    reductions = (n for n in order if isinstance(n.attrs, ReduceAttrs) and is_read_back[n])
    few = max(num_programs // _LEAST_CHAINS, 1)
    return {_walk_of(n) for n in reductions if _num_programs(n) > few}


def _walk_of(node: Node) -> tuple[Shape, tuple[int, ...]]:
    assert isinstance(node.attrs, ReduceAttrs)
    return node.inputs[0].shape, node.attrs.axes


def _find_read_back(order: Sequence[Node]) -> dict[Node, bool]:
    """Whether something as large as a reduction's operand is computed from its result.

    Such a chain is best left in one kernel, which reads its operand from a cache again.
    """
    largest: dict[Node, int] = {}  # size of what is computed from a node
    for node in reversed(order):
        size = max(largest.setdefault(node, 0), node.size)
        for operand in node.inputs:
            largest[operand] = max(largest.get(operand, 0), size)
    return {node: bool(node.inputs) and largest[node] >= node.inputs[0].size for node in order}


def _num_programs(node: Node) -> int:
    """How many programs compute a reduction; one takes several neighbouring columns."""
    assert isinstance(node.attrs, ReduceAttrs)
    reduces_columns = node.inputs[0].ndim - 1 not in node.attrs.axes
    return cdiv(node.size, _COLUMNS) if reduces_columns else node.size


def _split(node: Node, programs: int, num_programs: int) -> Node | None:
    (operand,) = node.inputs
    assert isinstance(node.attrs, ReduceAttrs)
    axes = node.attrs.axes
    combined = size_of([operand.shape[axis] for axis in axes])
    if operand.size < _LEAST_ELEMENTS or programs * _LEAST_PROGRAMS > num_programs:
        return None
    parts = min(num_programs // programs, operand.size // programs // _LEAST_PIECE, _MOST_PARTS)
    parts = min(parts, combined)
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
