"""May a root join a group? Pure predicates; how much it would bring is `cost.py`'s question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from lazyblock.fusion.plan import IterationSpace, Reason
from lazyblock.fusion.reads import walk_reads
from lazyblock.graph import index_map
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node


def placements(node: Node, space: IterationSpace) -> Iterator[IndexMap]:
    """The maps at which `node` can live in `space`: over all of it, or once per row."""
    rank = len(space.shape)
    if isinstance(node.attrs, ReduceAttrs):
        operand = node.inputs[0]
        if operand.shape == space.shape and node.attrs.axes == space.reduced:
            yield index_map.from_axes(space.kept, rank).normalized(space.shape, node.shape)
        return
    if isinstance(node.attrs, ScanAttrs) and space.reduced != node.attrs.walked:
        return
    if node.shape == space.shape:
        yield index_map.identity(rank).normalized(space.shape, node.shape)
    if not space.reduced or isinstance(node.attrs, ScanAttrs):
        return
    kept = tuple(space.shape[axis] for axis in space.kept)
    unit = tuple(1 if axis in space.reduced else n for axis, n in enumerate(space.shape))
    if node.shape == kept:
        yield index_map.from_axes(space.kept, rank).normalized(space.shape, node.shape)
    elif node.shape == unit:
        yield index_map.identity(rank).normalized(space.shape, node.shape)


def check_placement(
    node: Node,
    map: IndexMap,
    space: IterationSpace,
    members: Mapping[Node, IndexMap],
    is_root: Callable[[Node], bool],
) -> tuple[Reason, Collection[Node]]:
    """Tell whether `node`, living at `map`, may join a group with `members` over `space`.

    Gives FUSED or the reason why not, and the members it reads. A member may only be read where it
    lives: its value is in registers there and nowhere else.
    """
    touched: dict[Node, None] = {}
    for read, at in walk_reads(node, map, space, is_root):
        if read not in members:
            continue
        touched[read] = None
        if at != members[read]:
            return Reason.POSITION, touched
    return Reason.FUSED, touched
