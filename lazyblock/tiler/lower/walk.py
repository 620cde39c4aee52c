"""The iteration space as the kernel walks it: few dimensions, strided accesses.

Axes of extent 1 disappear and neighbours that every access crosses in one stride merge, so that
most kernels see one or two dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.fusion.plan import IterationSpace
from lazyblock.graph.node import Node


@dataclass(frozen=True)
class Access:
    """Where one read or write goes: element offset + sum(strides[axis] * index[axis]) of `base`.

    inside: where the space leads outside the operand, the lowest and the highest element, counted
    like the sum, that may be touched; and what the sum starts from.
    """

    base: Node
    offset: int
    strides: tuple[int, ...]
    start: int = 0
    inside: tuple[int, int] | None = None

    def reach(self, extents: Sequence[int]) -> int:
        """Largest distance from the first element touched, in elements."""
        return sum(abs(s) * max(n - 1, 0) for s, n in zip(self.strides, extents, strict=True))


@dataclass(frozen=True)
class Dimension:
    """One or several merged axes (of the iteration space, outermost first)."""

    axes: tuple[int, ...]
    extent: int
    is_reduced: bool


def merge_axes(space: IterationSpace, accesses: Sequence[Access]) -> tuple[Dimension, ...]:
    """Dimensions of `space`, outermost first."""
    dimensions: list[Dimension] = []
    for axis, extent in enumerate(space.shape):
        if extent == 1:
            continue
        dimension = Dimension((axis,), extent, axis in space.reduced)
        if dimensions and _can_merge(dimensions[-1], dimension, accesses):
            before = dimensions.pop()
            extent = before.extent * extent
            dimension = Dimension((*before.axes, axis), extent, dimension.is_reduced)
        dimensions.append(dimension)
    return tuple(dimensions)


def _can_merge(outer: Dimension, inner: Dimension, accesses: Sequence[Access]) -> bool:
    return outer.is_reduced == inner.is_reduced and all(
        access.strides[outer.axes[-1]] == access.strides[inner.axes[0]] * inner.extent
        for access in accesses
    )
