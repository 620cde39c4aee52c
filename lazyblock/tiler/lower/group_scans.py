"""Scans of a fusion group: of a tile, of rows walked tile by tile, of rows cut among programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lazyblock.fusion.reads import operand_maps, walk_reads
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import scan_identity
from lazyblock.shapes import cdiv
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.group_values import GroupValues
from lazyblock.tiler.lower.look_back import LookBack, workspace_bytes
from lazyblock.tiler.lower.scan import (
    continue_scan,
    end_of_scan,
    scan_tile,
    start_of_scan,
)
from lazyblock.tiler.types import from_numpy, int32, int64


class GroupScans(GroupValues):
    """What scans need. cut: the scan whose rows are cut among programs, if there is one."""

    cut: Node | None
    look_back: LookBack
    scanned: Value | None = None  # of the tile at hand, where it is known before

    def _scanned_axis(self) -> int | None:
        """The axis of the block that scans run along; None if the grid or a loop walks it."""
        axes = enumerate(self.schedule.order)
        walked = (a for a, p in axes if self.dimensions[p].is_reduced or self.dimensions[p].is_cut)
        return next(walked, None)

    def _scan_tile(self, root: Node) -> Value:
        value, axis = self._masked_operand(root), self._scanned_axis()
        self.b.line = root.line
        return value if axis is None else scan_tile(self.b, root, value, axis)

    def _start_of_rows(self, root: Node) -> Value | None:
        """What the rows of a scan start from, if it says so."""
        starts = list(operand_maps(root, self.group.maps[root], self.space.shape))[1:]
        return self._value(*starts[0]) if starts else None

    # --- rows that are walked tile by tile ---

    def _scans_below(self, roots: Iterable[Node]) -> list[Node]:
        """Scans that `roots` need in every tile, themselves included; operands first."""
        found: set[Node] = set()
        stack = list(roots)
        while stack:
            root = stack.pop()
            if root not in found:
                found.add(root)
                reads = walk_reads(root, self.group.maps[root], self.space, self._is_boundary)
                below = (n for n, _ in reads if n in self.own)
                stack += [n for n in below if not isinstance(n.attrs, ReduceAttrs)]
        return [root for root in self.group.roots if root in found and is_scan(root)]

    def _start_scan(self, root: Node) -> Value:
        """What the first tile of a row carries."""
        shape, axis = self._tile_shape(), self._scanned_axis()
        if axis is not None:
            shape = (*shape[:axis], 1, *shape[axis + 1 :]) if len(shape) > 1 else ()
        start = self._start_of_rows(root)
        if start is None:
            return start_of_scan(self.b, root, shape)
        return self.b.broadcast_to(start, shape)

    def _continue_scans(self, scans: Sequence[Node], carried: Sequence[Value]) -> list[Value]:
        """Scan the tile at hand; gives what the next one carries."""
        following, axis = [], self._scanned_axis()
        for root, before in zip(scans, carried, strict=True):
            value = self.b.broadcast_to(self._scan_tile(root), self._tile_shape())
            scanned = continue_scan(self.b, root, before, value)
            self.memo[root, self.group.maps[root]] = scanned
            if axis is None:
                following.append(scanned)
                continue
            end = end_of_scan(self.b, root, scanned, axis)
            following.append(self.b.expand_dims(end, axis) if len(scanned.shape) > 1 else end)
        return following

    # --- rows that are cut among programs ---

    def _here(self) -> LookBack:
        return self.look_back.at(*self._place_in_row(self.tile_numbers))

    def _before_tile(self, scanned: Value) -> Value:
        """What comes before a tile of a row that is cut among programs."""
        return self._here().before(scanned.type.scalar)

    def _make_look_back(self, root: Node) -> LookBack:
        assert isinstance(root.attrs, ScanAttrs)
        b, element = self.b, from_numpy(root.dtype)
        (position,) = (p for p, d in enumerate(self.dimensions) if d.is_cut)
        num_tiles = cdiv(self.dimensions[position].extent, self.schedule.blocks[position])
        num_rows = self._count_tiles() // num_tiles
        words = self._workspace(workspace_bytes(num_rows, num_tiles, element))
        zero = b.constant(0, int32)
        return LookBack(
            b,
            words,
            b.cast(self._launch_number(), int64),
            zero,
            zero,
            b.cast(self._num_tiles(position), int32),
            b.cast(self._size("num_rows", "num_rows", num_rows), int32),
            lambda left, right: continue_scan(b, root, left, right),
            scan_identity(root.attrs.kind, root.dtype),
        )

    def _place_in_row(self, numbers: Mapping[int, Value]) -> tuple[Value, Value]:
        """The number of a tile in its row, and that of the row across other dimensions, as i32."""
        b, row = self.b, self.b.constant(0, int32)
        (position,) = (p for p, d in enumerate(self.dimensions) if d.is_cut)
        for other, number in sorted(numbers.items()):
            if other != position:
                extent = b.cast(self._extent(other), int32)
                row = b.add(b.mul(row, extent), b.cast(number, int32))
        return b.cast(numbers[position], int32), row


def is_cut_scan(node: Node) -> bool:
    """Whether `node` is a scan whose rows are cut among programs."""
    return isinstance(node.attrs, ScanAttrs) and node.attrs.is_cut


def is_scan(node: Node) -> bool:
    """Whether `node` is a scan."""
    return isinstance(node.attrs, ScanAttrs)
