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

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

from lazyblock.fusion.plan import FusionGroup
from lazyblock.fusion.reads import is_per_row, operand_maps, walk_reads
from lazyblock.fusion.storage import find_storage
from lazyblock.graph import index_map
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import CATEGORY, Category, Op, scan_identity
from lazyblock.shapes import cdiv, contiguous_strides, size_of
from lazyblock.target import Target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.elementwise import lower_elementwise
from lazyblock.tiler.lower.figures import count_bytes, count_flops, name_kernel
from lazyblock.tiler.lower.look_back import LookBack, workspace_bytes
from lazyblock.tiler.lower.online import (
    continue_online,
    find_online_sums,
    finish_online,
    rescale,
)
from lazyblock.tiler.lower.reduction import (
    combine_kind,
    fill_identity,
    identity_block,
    start_from_zero,
)
from lazyblock.tiler.lower.scan import (
    continue_scan,
    end_of_scan,
    fill_before,
    is_reverse,
    last_of_scan,
    scan_tile,
    start_of_scan,
)
from lazyblock.tiler.lower.tile import Tile
from lazyblock.tiler.lower.walk import Access, merge_axes, share_origins
from lazyblock.tiler.lowered import (
    LoweredKernel,
)
from lazyblock.tiler.schedule import RowWork, TileSchedule, default_schedule
from lazyblock.tiler.types import from_numpy, int32, int64

Read = tuple[Node, IndexMap]
Memo = MutableMapping[Read, Value]

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


class _GroupLowering(Tile):
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
        # a group never reads its own results from memory
        self.stored = stored - self.own
        self.accesses = self._find_accesses()
        reads = [a for a in self.accesses.values()]
        outputs = [self._output_access(node) for node in group.stored]
        self.cut = next((root for root in group.roots if _is_cut_scan(root)), None)
        axis = self.cut.attrs.axis if self.cut else None  # type: ignore[union-attr]
        self.dimensions = merge_axes(self.space, [*reads, *outputs], axis)
        self.accesses = share_origins(self.accesses, self.dimensions)
        reads = [a for a in self.accesses.values()]
        reductions = [root for root in group.roots if isinstance(root.attrs, ReduceAttrs)]
        self.online = find_online_sums(self.own) if target.is_gpu else {}
        self.schedule = schedule or default_schedule(
            self.dimensions,
            [a for a in (*reads, *outputs) if a.base.op is not Op.IOTA],
            target,
            RowWork(
                self._num_walks(),
                sum(max(root.dtype.itemsize, 4) for root in reductions),
                any(map(_is_scan, self.own)),
                bool(self.online),
            ),
        )
        if self.schedule.unroll == 1:
            self.online = {}
        extents = self.space.shape
        reach = max((a.reach(extents) for a in (*reads, *outputs)), default=0)
        is_small = max(reach, size_of(extents)) < _SMALL_INDEX
        name = name_kernel(group, self._is_boundary)
        builder = Builder(name, self.schedule.num_warps, num_ctas=self.schedule.num_ctas)
        builder.program.max_registers = self.schedule.max_registers
        builder.program.noalias = builder.program.writes_once = True
        super().__init__(builder, self.dimensions, self.schedule, int32 if is_small else int64)
        self.is_active: Value | None = None  # whether the program has a tile to store
        self.is_reverse = self.cut is not None and is_reverse(self.cut)
        self.memo: Memo = {}
        self.pieces: list[dict[Read, Value]] = [{} for _ in range(self.schedule.pieces)]

    # --- what is read and written ---

    def _is_boundary(self, node: Node) -> bool:
        return node in self.own or node in self.stored or node.op is Op.RESHAPE

    def _find_accesses(self) -> dict[Read, Access]:
        accesses: dict[Read, Access] = {}
        for root in self.group.roots:
            for node, at in walk_reads(root, self.group.maps[root], self.space, self._is_boundary):
                if node not in self.own and node.op is not Op.CONSTANT:
                    accesses[node, at] = self._access(node, at)
        return accesses

    def _access(self, node: Node, at: IndexMap) -> Access:
        if node.op is Op.IOTA:
            base, offset = node, 0
            strides: tuple[int, ...] = (1,)
        else:
            storage = find_storage(node, self.stored)
            assert storage is not None, f"{node!r} is not in memory"
            base, offset, strides = storage.base, storage.offset, storage.strides
        start, steps = at.strides(strides)
        if node.op is Op.IOTA or not at.leaves(self.space.shape, node.shape):
            return Access(base, offset + start, steps)
        ends = [s * (n - 1) for s, n in zip(strides, node.shape, strict=True)]
        inside = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
        return Access(base, offset, steps, start=start, inside=inside)

    def _output_access(self, node: Node) -> Access:
        # the map goes from space to node, so an output is strided by the node's own layout
        start, steps = self.group.maps[node].strides(contiguous_strides(node.shape))
        return Access(node, start, steps)

    # --- the program ---

    def lower(self) -> LoweredKernel:
        grid = self._place_grid() if not self.schedule.ahead else self._scan_ahead()
        if self.space.reduced and not self._is_one_tile():
            self._walk_rows()
        else:
            for position, dimension in enumerate(self.dimensions):
                if dimension.is_reduced:
                    self._place_piece(position, 0)
            self._compute(self.group.roots)
            self._store(self.group.stored)
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

    def _tile_shape(self) -> tuple[int, ...]:
        return tuple(self.schedule.blocks[position] for position in self.schedule.order)

    # --- memory ---

    def _load(self, read: Read) -> Value:
        node, _ = read
        access = self.accesses[read]
        if node.op is Op.IOTA:
            return self._iota(node, access)
        pointer, mask = self._address(access, False)
        return self.b.load(pointer, mask)

    def _iota(self, node: Node, access: Access) -> Value:
        scalar, blocks, _ = self._offsets(access, "iota")
        value = self._sum(blocks if scalar is None else [scalar, *blocks])
        if access.offset:
            value = self._both(self.b.add, value, self._size(access, "start", access.offset))
        return self.b.cast(value, from_numpy(node.dtype))

    def _store(self, nodes: Iterable[Node]) -> None:
        b = self.b
        for node in nodes:
            access = self._output_access(node)
            pointer, mask = self._address(access, True)
            if self.is_active is not None:
                mask = self._and(mask, b.broadcast_to(self.is_active, pointer.shape))
            value = self.memo[node, self.group.maps[node]]
            if len(pointer.shape) < len(
                value.shape
            ):  # one row: the block is of extent 1 throughout
                value = self.b.reshape(value, pointer.shape)
            self.b.store(pointer, self.b.broadcast_to(value, pointer.shape), mask)

    # --- values ---

    def _value(self, node: Node, at: IndexMap) -> Value:
        """The value of a node at a map, computed with all it needs; no recursion."""
        stack: list[Read] = [(node, at)]
        while stack:
            read = stack[-1]
            if read in self.memo:
                stack.pop()
                continue
            missing = [r for r in self._needs(read) if r not in self.memo]
            if missing:
                stack.extend(reversed(missing))
                continue
            self.memo[read] = self._emit(read)
            stack.pop()
        return self.memo[node, at]

    def _needs(self, read: Read) -> list[Read]:
        """The reads whose values computing `read` takes."""
        node, at = read
        if read in self.accesses or node.op is Op.CONSTANT:
            return []
        return list(operand_maps(node, at, self.space.shape))

    def _emit(self, read: Read) -> Value:
        node, _ = read
        if read in self.accesses:
            return self._load(read)
        if node.op is Op.CONSTANT:
            return self._constant(node)
        operands = [self.memo[operand] for operand in self._needs(read)]
        if CATEGORY[node.op] is Category.VIEW:
            return operands[0]
        self.b.line = node.line
        return lower_elementwise(self.b, node, self._align(operands))

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
                value, start = self._scan_tile(root), self._start_of_rows(root)
                if root is self.cut:
                    start = self._before_tile(root, value)
                if start is not None:
                    value = continue_scan(self.b, root, *self._align([start, value]))
                self.memo[root, at] = value
            else:
                self._value(root, at)

    # --- reductions ---

    def _operand_read(self, root: Node) -> Read:
        at = index_map.identity(len(self.space.shape))
        return root.inputs[0], at.normalized(self.space.shape, root.inputs[0].shape)

    def _masked_operand(self, root: Node) -> Value:
        """The operand over the tile, with identities past the end of the row."""
        full, mask = self._whole_operand(root)
        if isinstance(root.attrs, ReduceAttrs):
            return fill_identity(self.b, root.attrs.kind, root.dtype, full, mask)
        return fill_before(self.b, root, full, mask)

    def _whole_operand(self, root: Node) -> tuple[Value, Value | None]:
        """The operand over the tile, and where it is inside the row."""
        value = self._value(*self._operand_read(root))
        mask: Value | None = None
        full = value
        for position, dimension in enumerate(self.dimensions):
            here = self.positions[position]
            if (dimension.is_reduced or dimension.is_cut) and here.index.shape:
                full = self._align([full, here.index])[0]
                mask = self._and(mask, here.mask)
        return full, None if mask is None else self.b.broadcast_to(mask, full.shape)

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

    # --- scans ---

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

    def _scan_ahead(self) -> int:
        """Programs take the total of one tile and scan another, the total of which is long known.

        So none waits; the tile is read again, from a cache. The first programs have no tile to scan
        and the last ones none to take the total of: they do one again. Gives the grid's extent.
        """
        assert self.cut is not None
        b, count, ahead = self.b, self._count_tiles(), self.schedule.ahead
        pid = b.cast(b.program_id(0), self.index_type)
        distance = self._size("ahead", "ahead", ahead)
        self._place_tiles(b.binary("min", pid, b.sub(self._size("tiles", "tiles", count), 1)))
        operand, place = self._masked_operand(self.cut), dict(self.tile_numbers)
        self.memo = {}
        self._place_tiles(b.binary("max", b.sub(pid, distance), 0))
        self._value(*self._operand_read(self.cut))  # loads come before anything waits
        self.is_active = b.compare("ge", pid, distance)
        self.look_back = self._make_look_back(self.cut)
        total = self._reduce_in_order(operand)
        self.look_back.at(*self._place_in_row(place)).publish(total)
        return count + ahead

    def _reduce_in_order(self, value: Value) -> Value:
        assert isinstance(self.cut, Node)
        assert isinstance(self.cut.attrs, ScanAttrs)
        return self.b.reduce_with(combine_kind(self.cut.attrs.kind, value), value, 0)

    def _before_tile(self, root: Node, scanned: Value) -> Value:
        """What comes before a tile of a row that is cut among programs."""
        if not self.schedule.ahead:
            self.look_back = self._make_look_back(root)
        look_back = self.look_back.at(*self._place_in_row(self.tile_numbers))
        if not self.schedule.ahead:
            look_back.publish(last_of_scan(self.b, root, scanned))
        return look_back.before(scanned.type.scalar)

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
        return [root for root in self.group.roots if root in found and _is_scan(root)]

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

    # --- rows of several tiles ---

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

    def _is_per_row(self, node: Node) -> bool:
        return is_per_row(self.group.maps[node], self.space)

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
        reductions = [r for r in self.group.roots if isinstance(r.attrs, ReduceAttrs)]
        count = max((level[r] for r in reductions), default=0)
        return [[r for r in reductions if level[r] == n] for n in range(1, count + 1)]

    def _hoist(self, roots: Iterable[Node]) -> None:
        """Compute, before a loop, what `roots` need that is the same in every iteration."""
        stack: list[Read] = []
        for root in roots:
            if isinstance(root.attrs, (ReduceAttrs, ScanAttrs)):
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

    def _reduce_level(self, reductions: list[Node]) -> None:
        """One walk over the reduced dimensions that accumulates `reductions` tile by tile."""
        shape, scans = self._tile_shape(), self._scans_below(reductions)
        initial = [identity_block(self.b, r, shape) for r in reductions]
        initial += map(self._start_scan, scans)

        def body(*carried: Value) -> list[Value]:
            following = self._continue_scans(scans, carried[len(reductions) :])
            totals = dict(zip(reductions, carried, strict=False))
            self._accumulate(totals, shape)
            return [*totals.values(), *following]

        results = self._walk(body, initial, self.schedule.unroll)
        self._finish_reductions(dict(zip(reductions, results, strict=False)))

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

    def _accumulate(self, totals: dict[Node, Value], shape: tuple[int, ...]) -> None:
        """Combine the tiles at hand with `totals`."""
        online = {self.online[root]: root for root in totals if root in self.online}
        tiles: dict[Node, list[Value]] = {root: [] for root in online}
        for _ in self._tiles():
            for root, before in totals.items():
                if root in self.online:
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

    def _tiles(self) -> Iterator[None]:
        """Go from tile to tile of an iteration, the first of which is in place."""
        yield
        outer, positions = self.memo, dict(self.positions)
        for number in range(1, self.schedule.unroll):
            (position,) = (p for p, d in enumerate(self.dimensions) if d.is_reduced)
            self.memo = ChainMap({}, outer.maps[1])  # type: ignore[attr-defined]
            distance = number * self.schedule.blocks[position]
            self._place_block(position, self.b.add(self.walked, distance))
            yield
        self.memo, self.positions = outer, positions

    def _finish_reductions(self, totals: dict[Node, Value]) -> None:
        """Combine the elements of accumulators."""
        at = self.group.maps
        for root in (r for r in totals if r not in self.online):
            self.memo[root, at[root]] = self._reduce_tile(root, totals[root])
        for root in (r for r in totals if r in self.online):
            highest = self.online[root]
            overall = self.memo[highest, at[highest]]
            lanes = rescale(self.b, totals[root], *self._align([totals[highest], overall]))
            total = self._reduce_tile(root, lanes)
            self.memo[root, at[root]] = finish_online(self.b, total, overall)

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


def _is_cut_scan(node: Node) -> bool:
    return isinstance(node.attrs, ScanAttrs) and node.attrs.is_cut


def _is_scan(node: Node) -> bool:
    return isinstance(node.attrs, ScanAttrs)
