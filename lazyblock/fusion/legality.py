"""May a root join a group? Pure predicates; how much it would bring is `cost.py`'s question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from lazyblock.fusion.plan import IterationSpace, Reason
from lazyblock.graph import index_map
from lazyblock.graph.attrs import ReduceAttrs, ViewAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

Read = tuple[Node, IndexMap]


def operand_maps(node: Node, map: IndexMap, shape: tuple[int, ...]) -> Iterator[Read]:
    """The reads that computing an inlined `node` at `map` needs, as maps from the space `shape`."""
    for operand in node.inputs:
        if node.op is Op.VIEW:
            assert isinstance(node.attrs, ViewAttrs)
            composed = node.attrs.map.compose(map)
        elif operand.shape == ():
            composed = IndexMap((), (), map.rank)
        else:
            composed = map
        yield operand, composed.normalized(shape, operand.shape)


def walk_reads(
    root: Node, map: IndexMap, space: IterationSpace, is_boundary: Callable[[Node], bool]
) -> Iterator[Read]:
    """Every (node, map) below `root` where the kernel of `root` reads a boundary node or a leaf.

    A reduction reads its operand over the whole space, whatever its own map.
    """
    if isinstance(root.attrs, ReduceAttrs):
        start = [(root.inputs[0], index_map.identity(len(space.shape)))]
        stack = [(n, m.normalized(space.shape, n.shape)) for n, m in start]
    elif root.inputs:
        stack = list(operand_maps(root, map, space.shape))
    else:
        stack = []
    seen = set(stack)
    while stack:
        node, at = stack.pop()
        if is_boundary(node) or not node.inputs:
            yield node, at
            continue
        for read in operand_maps(node, at, space.shape):
            if read not in seen:
                seen.add(read)
                stack.append(read)


def placements(node: Node, space: IterationSpace) -> Iterator[IndexMap]:
    """The maps at which `node` can live in `space`: over all of it, or once per row."""
    rank = len(space.shape)
    if isinstance(node.attrs, ReduceAttrs):
        operand = node.inputs[0]
        if operand.shape == space.shape and node.attrs.axes == space.reduced:
            yield index_map.from_axes(space.kept, rank).normalized(space.shape, node.shape)
        return
    if node.shape == space.shape:
        yield index_map.identity(rank).normalized(space.shape, node.shape)
    if not space.reduced:
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
    """May `node`, living at `map`, join a group with `members` over `space`?

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


def is_per_row(map: IndexMap, space: IterationSpace) -> bool:
    """Whether a map ignores the reduced axes: the value is one per row."""
    return not any(row[axis] for row in map.coefficients for axis in space.reduced)
