"""Lower a fusion group to a block program.

Every program instance owns one tile of the kept dimensions. A map group computes and stores its
tile. A rows group walks the reduced dimensions: in one tile when a whole row fits the block, else
once per level of reductions (those of a level need only earlier levels) and once more for the
outputs that span whole rows. A walk is a loop, or goes through a few pieces of the row, which stay
known: what one walk has computed of a piece serves the next. A scan is computed anew in every loop
that needs it, which carries what came before the tile.

Values are pulled: a node is computed at an index map when a root needs it, once per map. What does
not depend on the reduced dimensions is computed before their loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.fusion.plan import FusionGroup
from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import size_of
from lazyblock.target import Target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.figures import count_bytes, count_flops, name_kernel
from lazyblock.tiler.lower.group_scans import is_cut_scan, is_scan
from lazyblock.tiler.lower.group_turns import GroupTurns
from lazyblock.tiler.lower.group_values import Memo, Read
from lazyblock.tiler.lower.online import find_online_sums
from lazyblock.tiler.lower.scan import is_reverse
from lazyblock.tiler.lower.walk import Access, merge_axes, share_origins
from lazyblock.tiler.lowered import LoweredKernel
from lazyblock.tiler.schedule import RowWork, TileSchedule, default_schedule
from lazyblock.tiler.types import int32, int64

_SMALL_INDEX = 2**31 - 2**20  # offsets below are computed in int32, with room for partial tiles


def lower_group(
    group: FusionGroup,
    stored: frozenset[Node],
    target: Target,
    schedule: TileSchedule | None = None,
) -> LoweredKernel:
    """Lower `group` for `target`.

    Parameters: stored, every node some group keeps in memory; schedule, how tiles are cut (None =
    the default for the target).
    """
    return _GroupLowering(group, stored, target, schedule).lower()


class _GroupLowering(GroupTurns):
    def __init__(
        self,
        group: FusionGroup,
        stored: frozenset[Node],
        target: Target,
        schedule: TileSchedule | None,
    ) -> None:
        self.group = group
        self.space = group.space
        self.own = frozenset(group.roots)
        self.stored = stored
        self.accesses = self._find_accesses()
        reads = [a for a in self.accesses.values()]
        outputs = [self._output_access(node) for node in group.stored]
        self.cut = next((root for root in group.roots if is_cut_scan(root)), None)
        axis = self.cut.attrs.axis if self.cut else None  # type: ignore[union-attr]
        self.dimensions = merge_axes(self.space, [*reads, *outputs], axis)
        self.accesses = share_origins(self.accesses, self.dimensions)
        reads = [a for a in self.accesses.values()]
        reductions = [root for root in group.roots if isinstance(root.attrs, ReduceAttrs)]
        self.online = find_online_sums(self.own) if target.is_gpu else {}
        self.distances = self._find_distances() if target.is_gpu else {}
        self.schedule = schedule or default_schedule(
            self.dimensions,
            [a for a in (*reads, *outputs) if a.base.op is not Op.IOTA],
            target,
            RowWork(
                self._num_walks(),
                sum(max(root.dtype.itemsize, 4) for root in reductions),
                any(map(is_scan, self.own)),
                bool(self.online),
            ),
        )
        if self.schedule.unroll == 1:
            self.online = {}
        if self.schedule.pieces > 1 or len(self.space.reduced) > 1:
            self.distances = {}
        extents = self.space.shape
        reach = max((_largest_index(a, extents) for a in (*reads, *outputs)), default=0)
        is_small = max(reach, size_of(extents)) < _SMALL_INDEX
        name = name_kernel(group, self._is_boundary)
        builder = Builder(name, self.schedule.num_warps, num_ctas=self.schedule.num_ctas)
        builder.program.max_registers = self.schedule.max_registers
        builder.program.noalias = builder.program.writes_once = True
        super().__init__(builder, self.dimensions, self.schedule, int32 if is_small else int64)
        self.is_reverse = self.cut is not None and is_reverse(self.cut)
        self.memo: Memo = {}
        self.pieces: list[dict[Read, Value]] = [{} for _ in range(self.schedule.pieces)]

    def lower(self) -> LoweredKernel:
        if self.schedule.num_programs:
            return self._finish(self._scan_by_turns())
        grid = self._place_grid()
        if self.space.reduced and not self._is_one_tile():
            self._walk_rows()
        else:
            for position, dimension in enumerate(self.dimensions):
                if dimension.is_reduced:
                    self._place_piece(position, 0)
            self._compute(self.group.roots)
            self._store(self.group.stored)
        return self._finish(grid)

    def _finish(self, grid: int) -> LoweredKernel:
        return LoweredKernel(
            self.b.finish(),
            tuple(self.arguments),
            (grid, 1, 1),
            size_of(self.space.shape),
            count_bytes(self.group, self.accesses.values()),
            count_flops(self.group, self.stored),
        )

    def _is_one_tile(self) -> bool:
        """Whether a row fits the block; an empty row is left to a loop that does not run."""
        return all(
            self.schedule.blocks[position] >= dimension.extent > 0
            for position, dimension in enumerate(self.dimensions)
            if dimension.is_reduced
        )


def _largest_index(access: Access, extents: Sequence[int]) -> int:
    """The largest number that reading `access` computes.

    Where memory begins is a pointer's business; an iota counts from its own start.
    """
    start = abs(access.offset) if access.base.op is Op.IOTA else 0
    return start + access.reach(extents)
