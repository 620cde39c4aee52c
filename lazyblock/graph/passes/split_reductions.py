"""Cut reductions of many elements to few results in two, so that the first part runs in parallel.

Variances need not wait for their mean: every piece is taken about a mean of its own, in the walk
that finds it, and what lies between the means is added after (`split_distances`).

Takes: any graph. Gives: no reduction that leaves the device's units idle, where an axis can be cut.
Keeps: integers, max, min, any, all exactly; floating sums and products up to their order, which
stays the same in every run. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.graph import build
from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.passes.cuts import Cut, cut_axis, pass_over
from lazyblock.graph.passes.split_distances import (
    Distances,
    Walk,
    find_distances,
    sum_distances,
    walk_of,
)
from lazyblock.graph.rewrite import with_inputs
from lazyblock.graph.traverse import topological
from lazyblock.shapes import cdiv, size_of

_LEAST_ELEMENTS = 1 << 18  # below, one kernel is as fast as two
_LEAST_PIECE = 1 << 12  # elements that one program should reduce at least
_MOST_PARTS = 4096
_COLUMNS = 32  # of a tile that reduces columns
_LEAST_PROGRAMS = 4  # times as many are wanted as there are: then it is worth cutting
_LEAST_CHAINS = 128  # the same for chains of reductions, which lose more; one program is cut always
_CACHED_BYTES = 1 << 25  # of an operand that a device's last cache may hold
_HELD_ROW_BYTES = 1 << 21  # of a row that registers may hold while it is walked along again

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
    distances = find_distances(order, _LEAST_ELEMENTS)
    chained = _find_chains(order, distances, num_programs)
    new: dict[Node, Node] = {}
    for node in order:
        new[node] = with_inputs(node, [new[operand] for operand in node.inputs])
        if not isinstance(node.attrs, ReduceAttrs) or walk_of(node) in chained:
            continue
        cut = _find_cut(node, num_programs)
        if cut and node in distances.found:
            x, centre, is_squared = distances.found[node]
            total = sum_distances(new[x], new[centre], is_squared, cut)
            new[node] = _with_rest(new[node], total, cut)
        elif cut:
            partial = build.reduce(node.attrs.kind, cut.pieces(new[node.inputs[0]]), cut.axes)
            total = build.reduce(node.attrs.kind, partial, (cut.across,))
            new[node] = _with_rest(new[node], total, cut)
    return [new[node] for node in outputs]


def _find_chains(order: Sequence[Node], distances: Distances, num_programs: int) -> set[Walk]:
    """What chains of reductions walk along, and whatever else does so in the same kernel.

    They lose more than others when they are cut, as long as there are programs enough: what one
    walk finds is read again from a cache, or was held.
    """
    is_read_back = _find_read_back(order)
    reductions = [n for n in order if isinstance(n.attrs, ReduceAttrs) and is_read_back[n]]
    relative = {walk_of(n) for n in reductions if distances.is_relative(n)}
    few = max(num_programs // _LEAST_CHAINS, 1)
    return {
        walk_of(n)
        for n in reductions
        if _num_programs(n) > few and (walk_of(n) in relative or _is_kept(n))
    }


def _is_kept(node: Node) -> bool:
    """Whether the operand of a reduction, or a row of it, stays close by for a second walk."""
    (operand,) = node.inputs
    is_row_held = not _reduces_columns(node) and operand.nbytes <= _HELD_ROW_BYTES * node.size
    return operand.nbytes <= _CACHED_BYTES or is_row_held


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
    return cdiv(node.size, _COLUMNS) if _reduces_columns(node) else node.size


def _reduces_columns(node: Node) -> bool:
    assert isinstance(node.attrs, ReduceAttrs)
    return node.inputs[0].ndim - 1 not in node.attrs.axes


def _find_cut(node: Node, num_programs: int) -> Cut | None:
    """How to share the work of a reduction between more programs, if that pays."""
    (operand,) = node.inputs
    assert isinstance(node.attrs, ReduceAttrs)
    axes, programs = node.attrs.axes, max(_num_programs(node), 1)
    if operand.size < _LEAST_ELEMENTS or programs * _LEAST_PROGRAMS > num_programs:
        return None
    parts = min(num_programs // programs, operand.size // programs // _LEAST_PIECE, _MOST_PARTS)
    parts = min(parts, size_of([operand.shape[axis] for axis in axes]))
    if parts < 2:
        return None
    # the outermost: its pieces lie together in memory
    axis = next(axis for axis in axes if operand.shape[axis] > 1)
    if operand.shape[axis] > parts:
        return cut_axis(operand.shape, axes, axis, parts)
    return pass_over(axes, axis) if len(axes) > 1 else None


def _with_rest(node: Node, total: Node, cut: Cut) -> Node:
    """`total` of equal pieces, and of what they leave over."""
    (operand,) = node.inputs
    assert isinstance(node.attrs, ReduceAttrs)
    rest = cut.rest(operand)
    if rest is None:
        return total
    return build.elementwise(
        _COMBINE[node.attrs.kind], total, build.reduce(node.attrs.kind, rest, node.attrs.axes)
    )
