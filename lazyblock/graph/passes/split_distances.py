"""Sums of x - m and (x - m)^2 in pieces, m being found from the same elements: variances.

Every piece takes its distances from a mean of its own, so that one walk finds both:

    sum (x - m)^2 = sum over pieces of sum (x - mean)^2 + (mean - m) (count (mean - m) + 2 rest)

rest being the sum of x - mean, which is 0 but for the rounding of the mean.

Nothing cancels, so that a variance is as exact as from a second walk.
Source: T. F. Chan, G. H. Golub and R. J. LeVeque, Updating formulae and a pairwise algorithm for
computing sample variances, COMPSTAT 1982.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import ReduceAttrs, ViewAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.passes.cuts import Cut
from lazyblock.shapes import Shape, size_of

Walk = tuple[Shape, tuple[int, ...]]  # shape of what is reduced, and along which axes


def walk_of(node: Node) -> Walk:
    """What a reduction walks along."""
    assert isinstance(node.attrs, ReduceAttrs)
    return node.inputs[0].shape, node.attrs.axes


class Distance(NamedTuple):
    """A sum of x - centre, or of its square; centre is the same all along the walk."""

    x: Node
    centre: Node
    is_squared: bool


@dataclass(frozen=True)
class Distances:
    """Sums of distances from what a walk along the same elements finds, among reductions.

    walks_below: the walks whose results a node is computed from.
    """

    found: Mapping[Node, Distance]
    walks_below: Mapping[Node, frozenset[Walk]]

    def is_relative(self, node: Node) -> bool:
        """Whether a reduction needs a second walk along what it reduces."""
        is_known = node not in self.found
        return is_known and walk_of(node) in self.walks_below[node.inputs[0]]


def find_distances(order: Sequence[Node], least_elements: int) -> Distances:
    """Those of at least so many elements."""
    found: dict[Node, Distance] = {}
    below: dict[Node, frozenset[Walk]] = {}
    for node in order:
        sets = {below[operand] for operand in node.inputs}
        below[node] = frozenset().union(*sets) if len(sets) != 1 else sets.pop()
        if not isinstance(node.attrs, ReduceAttrs) or node.inputs[0].size < least_elements:
            continue
        walk = walk_of(node)
        distance = _as_distance(node, node.attrs)
        if distance and walk in below[distance.centre] and walk not in below[distance.x]:
            found[node] = distance
        if walk not in below[node]:
            below[node] |= {walk}
    return Distances(found, below)


def _as_distance(node: Node, attrs: ReduceAttrs) -> Distance | None:
    (operand,) = node.inputs
    is_exact_count = dtypes.is_floating(node.dtype) and not dtypes.is_half(node.dtype)
    if attrs.kind is not ReduceKind.SUM or not is_exact_count:
        return None
    is_squared = operand.op is Op.MULTIPLY and operand.inputs[0] is operand.inputs[1]
    if is_squared:
        operand = operand.inputs[0]
    if operand.op is not Op.SUBTRACT:
        return None
    x, centre = operand.inputs
    if x.shape != operand.shape or not _is_same_along(centre, attrs.axes):
        return None
    return Distance(x, centre, is_squared)


def _is_same_along(node: Node, axes: Sequence[int]) -> bool:
    """Whether a node does not change along `axes`."""
    if node.shape == ():
        return True
    if not isinstance(node.attrs, ViewAttrs):
        return False
    return not any(row[axis] for row in node.attrs.map.coefficients for axis in axes)


def sum_distances(x: Node, centre: Node, is_squared: bool, cut: Cut) -> Node:
    """The sum over all pieces of a cut."""
    pieces = cut.pieces(x)
    count = build.constant(size_of([pieces.shape[axis] for axis in cut.axes]), x.dtype)
    mean = _apply(Op.DIVIDE, _sum(pieces, cut.axes), count)
    distance = _apply(
        Op.SUBTRACT,
        pieces,
        build.broadcast_to(build.expand_dims(mean, cut.axes), pieces.shape),
    )
    rest = _sum(distance, cut.axes)  # 0 but for the rounding of the mean
    between = _apply(Op.SUBTRACT, mean, _first_along(centre, cut))
    shift = _apply(Op.MULTIPLY, between, count)
    if not is_squared:
        return _sum(_apply(Op.ADD, rest, shift), (cut.across,))
    within = _sum(_apply(Op.MULTIPLY, distance, distance), cut.axes)
    twice = _apply(Op.ADD, _apply(Op.ADD, rest, rest), shift)
    return _sum(_apply(Op.ADD, within, _apply(Op.MULTIPLY, between, twice)), (cut.across,))


def _apply(op: Op, left: Node, right: Node) -> Node:
    return build.elementwise(op, left, right)


def _sum(node: Node, axes: tuple[int, ...]) -> Node:
    return build.reduce(ReduceKind.SUM, node, axes)


def _first_along(node: Node, cut: Cut) -> Node:
    """One element for all of a piece's row, that do not differ."""
    if node.shape == ():
        return node
    pieces = cut.pieces(node)
    shape = tuple(n for axis, n in enumerate(pieces.shape) if axis not in cut.axes)
    first = index_map.removed_axes(pieces.ndim, cut.axes, [0] * len(cut.axes))
    return build.view(pieces, first, shape)
