"""Sums of (x - m)^2 and x - m in the walk that finds m, a value of the row: variances.

Every lane keeps the mean of what it has seen and the sum of squared distances from that (Welford's
steps). When m is known, whatever it is, lanes add what lies between their mean and m:

    sum (x - m)^2 = sum over lanes of squares + count * (mean - m)^2

Nothing cancels, so a variance is as exact as from two walks, one of which is saved.
Source: B. P. Welford, Note on a method for calculating corrected sums of squares and products,
Technometrics 4(3), 1962.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lazyblock.fusion.reads import is_per_row, walk_reads
from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.group_scans import GroupScans
from lazyblock.tiler.lower.group_values import Read
from lazyblock.tiler.types import from_numpy


class Distance(NamedTuple):
    """A sum of x - m, or of its square, over a row. m is one value per row."""

    x: Read
    m: Read
    is_squared: bool


class GroupDistances(GroupScans):
    """Sums of distances. distances: those that are computed before their m is known."""

    distances: Mapping[Node, Distance]
    walked: Value

    def _find_distances(self) -> dict[Node, Distance]:
        """Sums of distances from values that are found in a walk over the same rows."""
        found: dict[Node, Distance] = {}
        for root in self.group.roots:
            distance = self._as_distance(root)
            if distance and any(node in self.own for node in self._roots_below(distance.m)):
                found[root] = distance
        squared = {distance.x for distance in found.values() if distance.is_squared}
        return {root: distance for root, distance in found.items() if distance.x in squared}

    def _as_distance(self, root: Node) -> Distance | None:
        is_sum = isinstance(root.attrs, ReduceAttrs) and root.attrs.kind is ReduceKind.SUM
        if not is_sum or root.dtype.kind != "f" or from_numpy(root.dtype).is_half:
            return None
        read = self._operand_read(root)
        is_squared = read[0].op is Op.MULTIPLY and len(set(read[0].inputs)) == 1
        if is_squared and not self._is_known(read):
            read = self._needs(read)[0]
        if read[0].op is not Op.SUBTRACT or self._is_known(read):
            return None
        x, m = self._needs(read)
        while m[0].op is Op.VIEW and not self._is_known(m):
            (m,) = self._needs(m)
        if is_per_row(x[1], self.space) or not is_per_row(m[1], self.space):
            return None
        return Distance(x, m, is_squared)

    def _is_known(self, read: Read) -> bool:
        return read in self.accesses or read[0] in self.own

    def _roots_below(self, read: Read) -> list[Node]:
        """Roots of the group that `read` is, or is computed from."""
        if self._is_boundary(read[0]):
            return [read[0]]
        return [node for node, _ in walk_reads(*read, self.space, self._is_boundary)]

    # --- in the walk ---

    def _start_means(self, roots: Iterable[Node], shape: tuple[int, ...]) -> dict[Read, Value]:
        """A mean of nothing for every x."""
        reads = dict.fromkeys(self.distances[root].x for root in roots if root in self.distances)
        return {read: self.b.constant(0.0, from_numpy(read[0].dtype), shape) for read in reads}

    def _accumulate_distances(
        self, totals: dict[Node, Value], means: dict[Read, Value], number: int
    ) -> None:
        """Take the tile at hand, the `number`-th of an iteration, into means and squares."""
        if not means:
            return
        b = self.b
        (position,) = (p for p, d in enumerate(self.dimensions) if d.is_reduced)
        count = b.add(b.div(self.walked, self.schedule.blocks[position]), number + 1)
        for read, mean in means.items():
            value, mask = self._over_tile(read)
            value = b.broadcast_to(value, mean.shape)
            share = b.splat(b.div(1.0, b.cast(count, mean.type.scalar)), mean.shape)
            delta = b.sub(value, mean)
            raised = b.add(mean, b.mul(delta, share))
            squares = b.mul(delta, b.sub(value, raised))
            means[read] = raised if mask is None else b.select(mask, raised, mean)
            if mask is not None:
                squares = b.select(mask, squares, 0.0)
            for root, total in totals.items():
                distance = self.distances.get(root)
                if distance and distance.is_squared and distance.x == read:
                    totals[root] = b.add(total, squares)

    # --- after it ---

    def _finish_distance(self, root: Node, squares: Value, mean: Value) -> Value:
        """The sums of the lanes, m being known."""
        b, distance = self.b, self.distances[root]
        count = b.broadcast_to(b.cast(self._count_of_lanes(), mean.type.scalar), mean.shape)
        centre = b.broadcast_to(self._align([self._value(*distance.m), mean])[0], mean.shape)
        rest = b.sub(mean, centre)
        if not distance.is_squared:
            return b.mul(count, rest)
        return b.add(squares, b.mul(count, b.mul(rest, rest)))

    def _count_of_lanes(self) -> Value:
        """How many tiles hold an element for each lane of the reduced axis."""
        b = self.b
        (position,) = (p for p, d in enumerate(self.dimensions) if d.is_reduced)
        self._place_block(position, self._zero())
        index, block = self.positions[position].index, self.schedule.blocks[position]
        most = b.add(self._extent(position), block - 1)
        if not index.shape:
            return b.div(b.sub(most, index), block)
        return b.div(b.sub(b.splat(most, index.shape), index), block)
