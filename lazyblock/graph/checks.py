"""Positions of gathers that nobody has looked at: what finds those outside their axis.

Takes: any graph. Gives, for every axis of a checked gather, a node of one number: the least index
(as the user counts, negative ones from the end) that is out of bounds, or `NONE_OUTSIDE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import IndexingError
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import GatherAttrs, ViewAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.traverse import topological
from lazyblock.source import SourceLine

NONE_OUTSIDE = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class PositionCheck:
    """An axis along which a gather's positions are computed, and where the user recorded it."""

    axis: int
    extent: int
    line: SourceLine

    def raise_for(self, found: int) -> None:
        """Raises: IndexingError, unless nothing was found."""
        if found != NONE_OUTSIDE:
            raise IndexingError(
                f"index {found} is out of bounds for axis {self.axis} with size {self.extent}",
                note=f"the indices were computed; they were used at {self.line}.",
            )


def find_position_checks(outputs: Sequence[Node]) -> tuple[list[Node], tuple[PositionCheck, ...]]:
    """The nodes to compute beside `outputs`, and what to do with their values."""
    found: dict[tuple[Node, int], PositionCheck] = {}
    for node in topological(outputs):
        if isinstance(node.attrs, GatherAttrs) and node.attrs.is_checked and node.size:
            for axis, position in zip(node.attrs.axes, node.inputs[1:], strict=True):
                extent = node.inputs[0].shape[axis]
                found.setdefault(
                    (_without_repeats(position), extent), PositionCheck(axis, extent, node.line)
                )
    nodes = [_least_outside(position, extent) for position, extent in found]
    return nodes, tuple(found.values())


def _least_outside(position: Node, extent: int) -> Node:
    size, nothing = (build.fixed(n, dtypes.int64) for n in (extent, NONE_OUTSIDE))
    is_negative = build.elementwise(Op.LESS, position, build.fixed(0, dtypes.int64))
    counted = build.where(is_negative, build.elementwise(Op.SUBTRACT, position, size), position)
    outside = build.where(build.is_outside(position, extent), counted, nothing)
    return build.reduce(ReduceKind.MIN, outside, tuple(range(outside.ndim)))


def _without_repeats(position: Node) -> Node:
    """The same positions, once where a view repeats them along an axis."""
    if not isinstance(position.attrs, ViewAttrs):
        return position
    rows = position.attrs.map.coefficients
    shape = tuple(
        n if any(row[axis] for row in rows) else 1 for axis, n in enumerate(position.shape)
    )
    return build.view(position, index_map.identity(position.ndim), shape)
