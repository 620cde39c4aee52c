"""What a kernel reads to compute a root: nodes at index maps of its iteration space."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lazyblock.fusion.plan import IterationSpace
from lazyblock.graph import index_map
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs, ViewAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

Read = tuple[Node, IndexMap]


def operand_maps(node: Node, map: IndexMap, shape: tuple[int, ...]) -> Iterator[Read]:
    """The reads that computing `node` at `map` needs, as maps from the space `shape`.

    What a gather takes its elements from is none of them: no map leads there.
    """
    for number, operand in enumerate(node.inputs):
        if node.op is Op.GATHER and not number:
            continue
        if isinstance(node.attrs, ScanAttrs) and number:
            composed = map.without(node.attrs.axis)
        elif node.op is Op.VIEW:
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
    for node, at in _walk(root, map, space, is_boundary):
        if is_boundary(node) or not node.inputs:
            yield node, at


def walk_gathers(
    root: Node, map: IndexMap, space: IterationSpace, is_boundary: Callable[[Node], bool]
) -> Iterator[Read]:
    """Every (gather, map) that the kernel of `root` computes for it, itself included."""
    if root.op is Op.GATHER:
        yield root, map
    for node, at in _walk(root, map, space, is_boundary):
        if node.op is Op.GATHER and not is_boundary(node):
            yield node, at


def _walk(
    root: Node, map: IndexMap, space: IterationSpace, is_boundary: Callable[[Node], bool]
) -> Iterator[Read]:
    """All that is read or computed for `root`, down to boundaries and leaves."""
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
        yield node, at
        if is_boundary(node) or not node.inputs:
            continue
        for read in operand_maps(node, at, space.shape):
            if read not in seen:
                seen.add(read)
                stack.append(read)


def is_per_row(map: IndexMap, space: IterationSpace) -> bool:
    """Whether a map ignores the reduced axes: the value is one per row."""
    return not any(row[axis] for row in map.coefficients for axis in space.reduced)
