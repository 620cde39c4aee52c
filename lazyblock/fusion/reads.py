"""What a kernel reads to compute a root: nodes at index maps of its iteration space."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lazyblock.fusion.plan import IterationSpace
from lazyblock.graph import index_map
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs, ViewAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape

Read = tuple[Node, IndexMap]


def operand_maps(node: Node, map: IndexMap, shape: Shape) -> list[Read]:
    """The reads that computing `node` at `map` needs, as maps from the space `shape`.

    Maps are normalized. What a gather takes its elements from is no read: no map leads there.
    """
    if isinstance(node.attrs, ViewAttrs):
        (operand,) = node.inputs
        return [(operand, node.attrs.map.compose(map).normalized(shape, operand.shape))]
    operands = node.inputs[1:] if node.op is Op.GATHER else node.inputs
    return [(x, map if x.shape == node.shape else _of_smaller(node, map, x)) for x in operands]


def _of_smaller(node: Node, map: IndexMap, operand: Node) -> IndexMap:
    """The map to a scalar, or to what the rows of a scan start from."""
    if isinstance(node.attrs, ScanAttrs):
        return map.without(node.attrs.axis)
    assert operand.shape == ()
    return index_map.nowhere(map.rank)


def walk_reads(
    root: Node, map: IndexMap, space: IterationSpace, is_boundary: Callable[[Node], bool]
) -> Iterator[Read]:
    """Every (node, map) below `root` where the kernel of `root` reads a boundary node or a leaf.

    A reduction reads its operand over the whole space, whatever its own map.
    """
    for node, at in walk(root, map, space, is_boundary):
        if is_boundary(node) or not node.inputs:
            yield node, at


def walk_gathers(
    root: Node, map: IndexMap, space: IterationSpace, is_boundary: Callable[[Node], bool]
) -> Iterator[Read]:
    """Every (gather, map) that the kernel of `root` computes for it, itself included."""
    if root.op is Op.GATHER:
        yield root, map
    for node, at in walk(root, map, space, is_boundary):
        if node.op is Op.GATHER and not is_boundary(node):
            yield node, at


def walk(
    root: Node, map: IndexMap, space: IterationSpace, is_boundary: Callable[[Node], bool]
) -> Iterator[Read]:
    """All that is read or computed for `root`, down to boundaries and leaves."""
    if isinstance(root.attrs, ReduceAttrs):
        stack = [(root.inputs[0], index_map.over_all(space.shape))]
    else:
        stack = operand_maps(root, map, space.shape)
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
