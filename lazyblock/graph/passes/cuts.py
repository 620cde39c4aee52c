"""How a reduction is cut: pieces of an axis that are reduced first, and then across."""

from __future__ import annotations

from dataclasses import dataclass

from lazyblock.graph import build, index_map
from lazyblock.graph.node import Node
from lazyblock.shapes import Shape


@dataclass(frozen=True)
class Cut:
    """`axes` of the pieces are reduced first, then axis `across` of the result.

    axis, piece, stop: pieces of so many elements of an axis, up to `stop`; piece 0 if the axis is
    not cut, its elements being the pieces.
    """

    axes: tuple[int, ...]
    across: int
    axis: int
    piece: int = 0
    stop: int = 0

    def pieces(self, node: Node) -> Node:
        """What is reduced first, for an operand."""
        if not self.piece:
            return node
        shape = (*node.shape[: self.axis], self.stop, *node.shape[self.axis + 1 :])
        head = build.view(node, index_map.identity(node.ndim), shape)
        return build.cut(head, self.axis, self.piece)

    def rest(self, node: Node) -> Node | None:
        """What equal pieces leave over of an operand."""
        left = node.shape[self.axis] - self.stop
        if not self.piece or not left:
            return None
        shape = (*node.shape[: self.axis], left, *node.shape[self.axis + 1 :])
        starts = [self.stop if d == self.axis else 0 for d in range(node.ndim)]
        return build.view(node, index_map.slices(starts, [1] * node.ndim), shape)


def cut_axis(shape: Shape, axes: tuple[int, ...], axis: int, parts: int) -> Cut:
    """`parts` equal pieces of an axis, or rather fewer if those leave nothing over."""
    extent = shape[axis]
    parts = next((p for p in range(parts, parts // 2, -1) if extent % p == 0), parts)
    shifted = tuple(a if a < axis else a + 1 for a in axes)
    across = sum(1 for other in range(axis) if other not in axes)
    return Cut(shifted, across, axis, extent // parts, extent // parts * parts)


def pass_over(axes: tuple[int, ...], axis: int) -> Cut:
    """Inner axes first, `axis` after: it is as long as the parts wanted."""
    inner = tuple(other for other in axes if other != axis)
    return Cut(inner, sum(1 for other in range(axis) if other not in inner), axis)
