"""The iteration space as the kernel walks it: few dimensions, strided accesses.

Axes of extent 1 disappear and neighbours that every access crosses in one stride merge, so that
most kernels see one or two dimensions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lazyblock.fusion.plan import IterationSpace
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

Key = TypeVar("Key", bound=Hashable)

_MOST_STEPS = 64  # between the taps of one stencil, along each dimension


@dataclass(frozen=True)
class Access:
    """Where one read or write goes in `base`.

    Element offset + sum(strides[axis] * (index[axis] + shift[axis])); no shift means 0 everywhere.
    inside: where the space leads outside the operand, the lowest and the highest element, counted
    like the sum, that may be touched; and what the sum starts from. gathered: strides and extents
    of the axes along which positions are computed.
    """

    base: Node
    offset: int
    strides: tuple[int, ...]
    shift: tuple[int, ...] = ()
    start: int = 0
    inside: tuple[int, int] | None = None
    gathered: tuple[tuple[int, int], ...] = ()

    def reach(self, extents: Sequence[int]) -> int:
        """Largest distance from element `offset`, in elements."""
        shift = self.shift or (0,) * len(self.strides)
        steps = zip(self.strides, shift, extents, strict=True)
        ahead = sum(abs(stride) * max(extent - 1, 0) for stride, extent in self.gathered)
        return ahead + sum(abs(s) * (k + max(n - 1, 0)) for s, k, n in steps)


@dataclass(frozen=True)
class Dimension:
    """One or several merged axes (of the iteration space, outermost first).

    is_cut: a scan runs along it, from program to program.
    """

    axes: tuple[int, ...]
    extent: int
    is_reduced: bool
    is_cut: bool = False


def merge_axes(
    space: IterationSpace, accesses: Sequence[Access], cut_axis: int | None = None
) -> tuple[Dimension, ...]:
    """Dimensions of `space`, outermost first; `cut_axis`: of a scan whose rows are cut."""
    dimensions: list[Dimension] = []
    for axis, extent in enumerate(space.shape):
        if extent == 1:
            continue
        dimension = Dimension((axis,), extent, axis in space.reduced, axis == cut_axis)
        if dimensions and _can_merge(dimensions[-1], dimension, accesses):
            before = dimensions.pop()
            extent = before.extent * extent
            dimension = Dimension((*before.axes, axis), extent, dimension.is_reduced)
        dimensions.append(dimension)
    return tuple(dimensions)


def _can_merge(outer: Dimension, inner: Dimension, accesses: Sequence[Access]) -> bool:
    if outer.is_cut or inner.is_cut or outer.is_reduced != inner.is_reduced:
        return False
    return all(
        access.strides[outer.axes[-1]] == access.strides[inner.axes[0]] * inner.extent
        for access in accesses
    )


def share_origins(
    accesses: Mapping[Key, Access], dimensions: Sequence[Dimension]
) -> dict[Key, Access]:
    """Write the taps of a stencil as shifted indices from one origin.

    Neighbouring elements then have addresses that are equal by form, so that a value which several
    taps of a thread need is loaded once.
    """
    taps: dict[tuple[Node, tuple[int, ...]], dict[Access, None]] = {}
    for access in accesses.values():
        is_plain = access.inside is None and not access.gathered
        if access.base.op is not Op.IOTA and is_plain:
            taps.setdefault((access.base, access.strides), {})[access] = None
    moved: dict[Access, Access] = {}
    for together in taps.values():
        moved |= _share_origin(list(together), dimensions)
    return {key: moved.get(access, access) for key, access in accesses.items()}


def _share_origin(taps: Sequence[Access], dimensions: Sequence[Dimension]) -> dict[Access, Access]:
    """The taps as shifts from one origin; {} if there is none or they are many steps apart."""
    first, *others = taps
    steps = [(0,) * len(first.strides)]
    for tap in others:
        found = _to_steps(tap.offset - first.offset, first.strides, dimensions)
        if found is None:
            return {}
        steps.append(found)
    least = [min(along_axis) for along_axis in zip(*steps, strict=True)]
    origin = first.offset + sum(k * s for k, s in zip(least, first.strides, strict=True))
    if not 0 <= origin <= max(tap.offset for tap in taps):
        return {}  # outside of the array
    return {
        tap: replace(
            tap, offset=origin, shift=tuple(k - m for k, m in zip(own, least, strict=True))
        )
        for tap, own in zip(taps, steps, strict=True)
        if others
    }


def _to_steps(
    distance: int, strides: Sequence[int], dimensions: Sequence[Dimension]
) -> tuple[int, ...] | None:
    """A distance in elements as a few steps along each dimension, if it is that."""
    steps = [0] * len(strides)
    moving = [d.axes[-1] for d in dimensions if strides[d.axes[-1]]]
    for axis in sorted(moving, key=lambda axis: -abs(strides[axis])):
        steps[axis] = round(distance / strides[axis])
        distance -= steps[axis] * strides[axis]
    is_near = distance == 0 and all(abs(k) <= _MOST_STEPS for k in steps)
    return tuple(steps) if is_near else None
