"""Long scans by programs that stay and take tile after tile, all of which run at once."""

from __future__ import annotations

from collections.abc import Mapping

from lazyblock.graph.node import Node
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.group_values import Read
from lazyblock.tiler.lower.group_walks import GroupWalks
from lazyblock.tiler.lower.scan import last_of_scan


class GroupTurns(GroupWalks):
    """Goes from tile to tile of a scan whose rows are cut among programs."""

    def _scan_by_turns(self) -> int:
        """Programs stay, and take every so many-th tile. Gives the grid's extent.

        A program scans one tile and lets others know its total before it waits for what comes
        before the tile it scanned last; meanwhile the loads of the next are under way.
        """
        assert self.cut is not None
        b, cut, count = self.b, self.cut, self._count_tiles()
        num_tiles = self._size("tiles", "tiles", count)
        step = b.cast(b.num_programs(0), self.index_type)
        self.look_back = self._make_look_back(cut)

        def load(tile: Value) -> dict[Read, Value]:
            self._go_to(tile, num_tiles)
            self._value(*self._operand_read(cut))
            return {read: value for read, value in self.memo.items() if read in self.accesses}

        def scan(tile: Value, loads: Mapping[Read, Value]) -> Value:
            self._go_to(tile, num_tiles)
            self.memo.update(loads)
            scanned = self._scan_tile(cut)
            self._publish(cut, scanned, b.compare("lt", tile, num_tiles))
            return scanned

        def body(tile: Value, scanned: Value, *carried: Value) -> list[Value]:
            following = b.add(tile, step)
            scanned_next = scan(following, dict(zip(loads, carried, strict=True)))
            coming = load(b.add(following, step))
            self._go_to(tile, num_tiles)
            self.scanned = scanned
            self._compute(self.group.roots)
            self._store(self.group.stored)
            return [following, scanned_next, *coming.values()]

        first = b.cast(b.program_id(0), self.index_type)
        scanned = scan(first, load(first))
        loads = load(b.add(first, step))
        initial = [first, scanned, *loads.values()]
        b.while_(initial, lambda tile, *carried: b.compare("lt", tile, num_tiles), body)
        b.program.is_cooperative = self.schedule.num_programs < count
        return self.schedule.num_programs

    def _go_to(self, tile: Value, num_tiles: Value) -> None:
        """Go to a tile, or to the last one, with nothing known of it."""
        self.memo = {}
        self._place_tiles(self.b.binary("min", tile, self.b.sub(num_tiles, 1)))

    def _publish(self, root: Node, scanned: Value, is_tile: Value) -> None:
        look_back = self._here()

        def publish() -> list[Value]:
            look_back.publish(last_of_scan(self.b, root, scanned))
            return []

        self.b.if_(is_tile, publish, list)
