"""Walks along the rows of a fusion group: reductions level by level, then what spans whole rows.

A walk is a loop, or goes through a few pieces of the row, which stay known: what one walk has
computed of a piece serves the next. What is the same in all tiles is computed before a walk.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence

from lazyblock.fusion.reads import is_per_row, walk_reads
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.group_distances import GroupDistances
from lazyblock.tiler.lower.group_values import Read
from lazyblock.tiler.lower.online import (
    continue_online,
    finish_online,
    rescale,
)
from lazyblock.tiler.lower.reduction import (
    combine_kind,
    identity_block,
    start_from_zero,
)
from lazyblock.tiler.lower.scan import (
    continue_scan,
    is_reverse,
)


class GroupWalks(GroupDistances):
    """Computes roots. online: sums relative to a maximum of the same walk, with that maximum."""

    online: dict[Node, Node]
    pieces: list[dict[Read, Value]]

    def _compute(self, roots: Iterable[Node]) -> None:
        """Compute roots whose operands are at hand; reductions and scans combine one tile."""
        for root in roots:
            at = self.group.maps[root]
            if (root, at) in self.memo:
                continue
            if isinstance(root.attrs, ReduceAttrs):
                total = self._reduce_tile(root, self._masked_operand(root))
                self.memo[root, at] = start_from_zero(self.b, root.attrs.kind, total)
            elif isinstance(root.attrs, ScanAttrs):
                known = self.scanned if root is self.cut else None
                value, start = known or self._scan_tile(root), self._start_of_rows(root)
                if root is self.cut:
                    start = self._before_tile(value)
                if start is not None:
                    value = continue_scan(self.b, root, *self._align([start, value]))
                self.memo[root, at] = value
            else:
                self._value(root, at)

    def _reduce_tile(self, root: Node, value: Value) -> Value:
        """Combine along the block's reduced axis, which stays with extent 1."""
        assert isinstance(root.attrs, ReduceAttrs)
        self.b.line = root.line
        for axis, position in enumerate(self.schedule.order):
            if self.dimensions[position].is_reduced:
                rank = len(value.shape)
                value = self.b.reduce_with(combine_kind(root.attrs.kind, value), value, axis)
                if rank > 1:
                    value = self.b.expand_dims(value, axis)
        return value

    # --- levels ---

    def _walk_rows(self) -> None:
        for level in self._levels():
            self._hoist(r for r in level if r not in self.online)
            self._reduce_level([r for r in level if isinstance(r.attrs, ReduceAttrs)])
        per_row = [n for n in self.group.stored if self._is_per_row(n)]
        whole = [n for n in self.group.stored if not self._is_per_row(n)]
        self._compute(n for n in per_row if not isinstance(n.attrs, ReduceAttrs))
        self._store(per_row)
        if whole:
            self._hoist(whole)
            scans = self._scans_below(whole)

            def body(*carried: Value) -> list[Value]:
                following = self._continue_scans(scans, carried)
                self._compute(whole)
                self._store(whole)
                return following

            self._walk(body, list(map(self._start_scan, scans)))

    def _num_walks(self) -> int:
        """How often loops would walk along a row."""
        return len(self._levels()) + any(not self._is_per_row(n) for n in self.group.stored)

    def _levels(self) -> list[list[Node]]:
        """Reductions by how many reductions they need one after the other."""
        level: dict[Node, int] = {}
        for root in self.group.roots:
            reads = walk_reads(root, self.group.maps[root], self.space, self._is_boundary)
            below = max((level[n] for n, _ in reads if n in self.own), default=0)
            is_new = isinstance(root.attrs, ReduceAttrs) and root not in self.online
            level[root] = below + is_new
            if root in self.distances:
                below_x = [
                    level[n] for n in self._roots_below(self.distances[root].x) if n in level
                ]
                level[root] = max(below, max(below_x, default=0) + 1)
        reductions = [r for r in self.group.roots if isinstance(r.attrs, ReduceAttrs)]
        count = max((level[r] for r in reductions), default=0)
        return [[r for r in reductions if level[r] == n] for n in range(1, count + 1)]

    def _reduce_level(self, reductions: list[Node]) -> None:
        """One walk over the reduced dimensions that accumulates `reductions` tile by tile."""
        shape, scans = self._tile_shape(), self._scans_below(reductions)
        sums = [identity_block(self.b, r, shape) for r in reductions]
        means = self._start_means(reductions, shape)
        initial = [*sums, *means.values(), *map(self._start_scan, scans)]

        def split(carried: Sequence[Value]) -> tuple[dict[Node, Value], dict[Read, Value]]:
            totals = dict(zip(reductions, carried, strict=False))
            return totals, dict(zip(means, carried[len(reductions) :], strict=False))

        def body(*carried: Value) -> list[Value]:
            following = self._continue_scans(scans, carried[len(reductions) + len(means) :])
            totals, seen = split(carried)
            self._accumulate(totals, seen, shape)
            return [*totals.values(), *seen.values(), *following]

        self._finish_reductions(*split(self._walk(body, initial, self.schedule.unroll)))

    def _accumulate(
        self, totals: dict[Node, Value], means: dict[Read, Value], shape: tuple[int, ...]
    ) -> None:
        """Combine the tiles at hand with `totals`."""
        online = {self.online[root]: root for root in totals if root in self.online}
        tiles: dict[Node, list[Value]] = {root: [] for root in online}
        for number in self._tiles():
            self._accumulate_distances(totals, means, number)
            for root, before in totals.items():
                if root in self.online or root in self.distances:
                    continue
                value = self.b.broadcast_to(self._masked_operand(root), shape)
                if root in tiles:
                    tiles[root].append(value)
                else:
                    kind = combine_kind(root.attrs.kind, value)  # type: ignore[union-attr]
                    totals[root] = self.b.binary(kind, before, value)
        for highest, total in online.items():
            totals[highest], totals[total] = continue_online(
                self.b, totals[highest], totals[total], tiles[highest]
            )

    def _tiles(self) -> Iterator[int]:
        """Go from tile to tile of an iteration, the first of which is in place."""
        yield 0
        outer, positions = self.memo, dict(self.positions)
        for number in range(1, self.schedule.unroll):
            (position,) = (p for p, d in enumerate(self.dimensions) if d.is_reduced)
            self.memo = ChainMap({}, outer.maps[1])  # type: ignore[attr-defined]
            distance = number * self.schedule.blocks[position]
            self._place_block(position, self.b.add(self.walked, distance))
            yield number
        self.memo, self.positions = outer, positions

    def _finish_reductions(self, totals: dict[Node, Value], means: dict[Read, Value]) -> None:
        """Combine the elements of accumulators."""
        at = self.group.maps
        for root in (r for r in totals if r not in self.online and r not in self.distances):
            self.memo[root, at[root]] = self._reduce_tile(root, totals[root])
        for root in (r for r in totals if r in self.online):
            highest = self.online[root]
            overall = self.memo[highest, at[highest]]
            lanes = rescale(self.b, totals[root], *self._align([totals[highest], overall]))
            total = self._reduce_tile(root, lanes)
            self.memo[root, at[root]] = finish_online(self.b, total, overall)
        for root in (r for r in totals if r in self.distances):
            lanes = self._finish_distance(root, totals[root], means[self.distances[root].x])
            self.memo[root, at[root]] = self._reduce_tile(root, lanes)

    # --- before a walk ---

    def _hoist(self, roots: Iterable[Node]) -> None:
        """Compute, before a loop, what `roots` need that is the same in every iteration."""
        stack: list[Read] = []
        for root in roots:
            if root in self.distances:
                stack.append(self.distances[root].x)
            elif isinstance(root.attrs, (ReduceAttrs, ScanAttrs)):
                stack.append(self._operand_read(root))
            else:
                stack.append((root, self.group.maps[root]))
        seen = set(stack)
        while stack:
            node, at = stack.pop()
            if (node, at) in self.memo:
                continue
            if is_per_row(at, self.space):
                self._value(node, at)
                continue
            for read in self._needs((node, at)):
                if read not in seen:
                    seen.add(read)
                    stack.append(read)
        self._declare_parameters(seen)

    def _declare_parameters(self, reads: Iterable[Read]) -> None:
        """Bool constants are cast once, before the loop."""
        for node, at in reads:
            if node.op is Op.CONSTANT:
                self._value(node, at)

    # --- from tile to tile ---

    def _walk(
        self, body: Callable[..., object], initial: Sequence[Value] = (), unroll: int = 1
    ) -> Sequence[Value]:
        """Go from tile to tile of the rows with `body(*carried)`."""
        if self.schedule.pieces == 1:
            return self._loop(body, initial, unroll)
        (position,) = (p for p, d in enumerate(self.dimensions) if d.is_reduced)
        outer, carried = self.memo, initial
        for number, known in enumerate(self.pieces):
            self.memo = ChainMap(known, outer)
            self._place_piece(position, number)
            carried = body(*carried) or ()  # type: ignore[assignment]
        self.memo = outer
        return carried

    def _loop(
        self, body: Callable[..., object], initial: Sequence[Value] = (), unroll: int = 1
    ) -> Sequence[Value]:
        """Nest one loop per reduced dimension around `body(*carried)`; memoise inside only.

        unroll: how many tiles the body takes at once; more than 1 for a single dimension only.
        """
        reduced = [p for p, d in enumerate(self.dimensions) if d.is_reduced]
        outer_memo = self.memo

        def nest(depth: int, carried: Sequence[Value]) -> Sequence[Value]:
            if depth == len(reduced):
                return body(*carried) or ()  # type: ignore[return-value]
            position = reduced[depth]

            def iteration(index: Value, *inside: Value) -> Sequence[Value]:
                self.walked = self._walked_from(position, index)
                self._place_block(position, self.walked)
                return nest(depth + 1, inside)

            step = self.schedule.blocks[position] * unroll
            return self.b.for_(self._zero(), self._extent(position), step, carried, iteration)

        self.memo = ChainMap({}, outer_memo)
        try:
            return nest(0, initial)
        finally:
            self.memo = outer_memo

    def _walked_from(self, position: int, index: Value) -> Value:
        """Where the tile starts that a loop comes to at `index`."""
        if not any(map(is_reverse, self.group.roots)):
            return index
        block = self.schedule.blocks[position]
        last = (self.dimensions[position].extent - 1) // block * block
        return self.b.sub(self._size(("last", position), f"last{position}", last), index)
