"""Block programs as LLVM IR for the CPU: loops over vector chunks, no vector of a block's size.

Takes: a verified program without Math ops and half arithmetic. Gives: the text of a module with
`void @<name>(ptr %slots, i64 %begin, i64 %end)`, which runs program instances begin..end-1 (pid0
varies fastest); slots as in runtime/device.py. Every root (host_sharing.py) becomes a loop nest
whose body pulls its operands (host_body.py). Code size does not depend on block shapes. Blocks
that must outlive a nest live in tiles on the stack; beyond MAX_STACK bytes, on the heap, taken
once per call. Masks are tested once per chunk: a body without them, and one for chunks they cut.
Assumed: different pointer parameters hold equal or disjoint memory (host_sharing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from lazyblock.backend.llvm.atomics import AtomicOp, is_atomic
from lazyblock.backend.llvm.emit import Emitter, Typed
from lazyblock.backend.llvm.host_atomics import emit_atomic_element
from lazyblock.backend.llvm.host_body import Body, Key, Scope, Tile
from lazyblock.backend.llvm.host_coordinates import Coordinate, Coordinates
from lazyblock.backend.llvm.host_memory import from_memory
from lazyblock.backend.llvm.host_scan import LaneScan, repeat_last_lane, scan_lanes
from lazyblock.backend.llvm.host_sharing import (
    SHAPE_OPS,
    base_of,
    find_shared,
    has_effects,
    is_clobbered_within,
    is_deferred,
    is_root,
    is_same_pattern,
    may_overlap,
    op_cost,
    orders_memory,
    reached_values,
    roots_inside,
)
from lazyblock.backend.llvm.rules import emit_elementwise
from lazyblock.backend.llvm.types import (
    constant_text,
    element_nbytes,
    llvm_scalar,
    llvm_type,
    memory_type,
)
from lazyblock.errors import UnsupportedError
from lazyblock.shapes import size_of
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_info import analyse
from lazyblock.tiler.ir import Op, Program, Region, Trait, Value, walk
from lazyblock.tiler.types import BlockType, PointerType, ScalarType

MAX_STACK = 256 * 1024  # bytes of tiles; thread stacks are a few MiB
_WIDTHS = ((6, 4), (24, 2))  # (work of a body, vector registers of each value in it); else 1


def emit_host(program: Program, target: Target) -> str:
    """LLVM IR of `program` for the processor `target`.

    Raises: UnsupportedError for an op that the CPU does not have.
    """
    return _Function(program, target).emit()


class _Function:
    """Writes one program."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.emitter = Emitter()
        self.scope = Scope(self.emitter, target, analyse(program))
        self.shared = find_shared(program.body)
        self._used = {value for op in walk(program.body) for value in op.operands_flat}
        self._pending: list[ops.Store] = []
        self._passed: dict[Value, None] = {}  # deferred values whose place in the program is behind
        self._open: list[_OpenRegion] = []
        self._tile_bytes = 0
        self._heap_tiles: list[str] = []

    # --- frame -----------------------------------------------------------------------------------

    def emit(self) -> str:
        emitter, scope = self.emitter, self.scope
        emitter.branch("start")
        emitter.begin("start")
        for number, parameter in enumerate(self.program.parameters):
            scope.scalars[parameter.value] = self._read_slot(number, parameter.value.type.element)
        count = len(self.program.parameters)
        self._grid = [self._read_slot_number(count + axis) for axis in range(3)]
        with emitter.loop("i64", "%begin", "%end", "1") as loop:
            self._program_ids = self._split_program_id(loop.index)
            self._region(self.program.body)
        self._free_heap()
        emitter.line("ret void")
        signature = f"void @{self.program.name}(ptr noalias readonly %slots, i64 %begin, i64 %end)"
        text = emitter.function(signature, "nounwind ")
        return f"{text}\n{emitter.surroundings()}"

    def _read_slot(self, number: int, element: PointerType | ScalarType) -> str:
        emitter = self.emitter
        place = emitter.value(f"getelementptr i64, ptr %slots, i64 {number}")
        raw = emitter.value(f"load {memory_type(element)}, ptr {place}, align 8")
        return from_memory(emitter, element, raw, 1)

    def _read_slot_number(self, number: int) -> str:
        place = self.emitter.value(f"getelementptr i64, ptr %slots, i64 {number}")
        return self.emitter.value(f"load i64, ptr {place}, align 8")

    def _split_program_id(self, index: str) -> list[str]:
        emitter = self.emitter
        first = emitter.value(f"urem i64 {index}, {self._grid[0]}")
        rest = emitter.value(f"udiv i64 {index}, {self._grid[0]}")
        second = emitter.value(f"urem i64 {rest}, {self._grid[1]}")
        third = emitter.value(f"udiv i64 {rest}, {self._grid[1]}")
        return [first, second, third]

    # --- tiles -----------------------------------------------------------------------------------

    def _new_tile(self, type: BlockType) -> Tile:
        """Memory for a block; uninitialised."""
        nbytes = type.size * element_nbytes(type.element)
        self._tile_bytes += nbytes
        if self._tile_bytes <= MAX_STACK:
            pointer = self.emitter.alloca(memory_type(type.element), type.size)
        else:
            pointer = self._allocate_heap(nbytes)
        return Tile(pointer, type.element, type.shape)

    def _allocate_heap(self, nbytes: int) -> str:
        if not self._heap_tiles:
            self.emitter.declare("noalias ptr @malloc(i64)")
            self.emitter.declare("void @free(ptr)")
        pointer = self.emitter.name()
        self.emitter.at_entry(f"{pointer} = call ptr @malloc(i64 {nbytes})")
        self._heap_tiles.append(pointer)
        return pointer

    def _free_heap(self) -> None:
        for pointer in self._heap_tiles:
            self.emitter.line(f"call void @free(ptr {pointer})")

    # --- regions ---------------------------------------------------------------------------------

    def _region(self, region: Region, is_loop: bool = False) -> None:
        """Write the ops of a region; what is in tiles inside is forgotten behind it."""
        outer = dict(self.scope.tiles)
        frame = _OpenRegion(region, frozenset(self._passed) if is_loop else None)
        self._open.append(frame)
        for op in region.ops:
            if isinstance(op, (ops.Load, ops.Yield)) or op.regions or orders_memory(op):
                self._flush()
            frame.following += 1
            self._op(op)
        self._flush()
        self._open.pop()
        self._tiles_inside = self.scope.tiles
        self.scope.tiles = outer

    def _op(self, op: Op) -> None:
        match op:
            case ops.Load() | ops.Store() | ops.AtomicRmw() | ops.AtomicCas() if is_atomic(op):
                self._materialise_loads_before(op)
                self._atomic(op)
            case ops.Barrier():
                self._materialise_loads_before(op)
            case ops.Store():
                self._pending.append(op)
            case ops.Reduce():
                self._reduce(op)
            case ops.Scan():
                self._scan(op)
            case ops.For():
                self._before_regions(op)
                self._for(op)
            case ops.While():
                self._before_regions(op)
                self._while(op)
            case ops.If():
                self._before_regions(op)
                self._if(op)
            case ops.Yield():
                pass
            case _ if is_deferred(op.result):
                self._passed[op.result] = None
            case _:
                self._scalar(op)

    def _scalar(self, op: Op) -> None:
        """An op on scalars, written where it stands."""
        scalars = self.scope.scalars
        match op:
            case ops.ProgramId():
                text = self.emitter.value(f"trunc i64 {self._program_ids[op.axis]} to i32")
            case ops.NumPrograms():
                text = self.emitter.value(f"trunc i64 {self._grid[op.axis]} to i32")
            case ops.Constant():
                text = constant_text(op.value, op.result.type.scalar)
            case ops.Load() | ops.AddPointer():
                text = self._body(1).scalar(op)
            case _ if op.has(Trait.ELEMENTWISE):
                operands = [scalars[operand] for operand in op.operands_flat]
                text = emit_elementwise(self.emitter, op, operands, 1, self.target)
            case _ if isinstance(op, SHAPE_OPS):
                (value,) = op.operands_flat
                text = self._body(1).pull(value, (Coordinate(),) * len(value.shape)).text
            case _:
                raise UnsupportedError(f"op '{op.name}' is not supported on the CPU.")
        scalars[op.result] = text

    # --- stores ----------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Write the stores met since the last load or region, those of one shape together."""
        pending, self._pending = self._pending, []
        groups: list[list[ops.Store]] = []
        for store in pending:
            group = _find_group(store, groups)
            if group is None:
                groups.append([store])
            else:
                group.append(store)
        if _have_distinct_bases(pending):
            groups.sort(key=lambda group: -group[0].pointer.type.size)
        for number, group in enumerate(groups):
            later = [store for other in groups[number + 1 :] for store in other]
            self._store_group(group, later)

    def _store_group(self, group: Sequence[ops.Store], later: Sequence[Op]) -> None:
        for load in self._clobbered_loads(later, group):
            self._materialise(load.result)
        for load, is_same in self._loads_reached(_root_values(group)).items():
            if any(self._is_clobbered_within(load, is_same, store) for store in group):
                self._materialise(load.result)

        def write(body: Body) -> list[str]:
            values = [body.pull_stored(store) for store in group]
            for store, value in zip(group, values, strict=True):
                body.store(store, value)
            return []

        stored = [store.value for store in group]
        others = [v for store in group for v in (store.pointer, store.mask) if v is not None]
        with self._nest(group[0].pointer.shape, stored, others) as body:
            keys = [(value, body.home) for value in stored]
            keys += [body.address_of(store) for store in group]
            masks = [store.mask for store in group if store.mask is not None]
            self._in_branches(body, keys, masks, [], write)

    def _is_clobbered_within(self, load: ops.Load, is_same: bool, store: ops.Store) -> bool:
        may = may_overlap(load, store, self.program.noalias)
        return may and is_clobbered_within(load, is_same, store)

    # --- what must be in tiles before memory changes ---------------------------------------------

    def _before_regions(self, op: Op) -> None:
        """Keep what the regions of a loop or branch read, and what their stores clobber."""
        inside = roots_inside(op)
        for value in self._reached(_root_values(inside)):
            if value in self.shared:
                self._materialise(value)
        if has_effects(op):
            stores = [o for o in inside if isinstance(o, ops.Store) or orders_memory(o)]
            for load in self._clobbered_loads(inside, stores):
                self._materialise(load.result)

    def _materialise_loads_before(self, op: Op) -> None:
        """Read what is yet to be read of what stands before an op that orders memory."""
        for load in self._clobbered_loads([op], [op]):
            self._materialise(load.result)

    def _clobbered_loads(self, roots: Sequence[Op], stores: Sequence[Op]) -> list[ops.Load]:
        """Loads behind us that `roots`, or roots still to be written, read after `stores`.

        Further rounds of a loop make their own loads anew: of them only outer loads count.
        """
        found = dict.fromkeys(self._loads_reached(_root_values(roots)))
        for frame in self._open:
            found.update(dict.fromkeys(self._loads_reached(_root_values(frame.roots_ahead()))))
            if frame.passed_before is not None:
                again = self._loads_reached(_root_values(_roots_of(frame.region.ops)))
                found.update((load, None) for load in again if load.result in frame.passed_before)
        noalias = self.program.noalias
        return [load for load in found if any(may_overlap(load, s, noalias) for s in stores)]

    def _reached(self, values: Sequence[Value], through_memory: bool = True) -> dict[Value, bool]:
        """Deferred values behind us, not in tiles, that computing `values` computes."""
        tiles = self.scope.tiles
        reached = reached_values(values, tiles.__contains__, through_memory)
        return {v: same for v, same in reached.items() if v not in tiles and v in self._passed}

    def _loads_reached(self, values: Sequence[Value]) -> dict[ops.Load, bool]:
        reached = self._reached(values).items()
        return {v.owner: same for v, same in reached if isinstance(v.owner, ops.Load)}

    def _materialise(self, value: Value) -> Tile:
        """Compute a block into a tile now, if it is not in one."""
        if value not in self.scope.tiles:
            tile = self._new_tile(value.type)
            self._fill([(value, tile)])
            self.scope.tiles[value] = tile  # not before: it would be read while it is computed
        return self.scope.tiles[value]

    def _fill(self, pairs: Sequence[tuple[Value, Tile]]) -> None:
        """Compute blocks of one shape into tiles, in one nest."""
        values = [value for value, _ in pairs]

        def write(body: Body) -> list[str]:
            texts = [body.pull_wide(value, body.home) for value in values]
            for (_, tile), text in zip(pairs, texts, strict=True):
                body.write_tile(tile, body.home, text)
            return []

        with self._nest(values[0].shape, values, excluded=values) as body:
            self._in_branches(body, [(value, body.home) for value in values], [], [], write)

    # --- nests -----------------------------------------------------------------------------------

    def _body(self, width: int) -> Body:
        return Body(self.scope, width)

    def _prepare(
        self,
        shape: tuple[int, ...],
        values: Sequence[Value],
        others: Sequence[Value] = (),
        excluded: Sequence[Value] = (),
    ) -> dict[Value, Tile]:
        """Tiles for the shared values that a nest over `shape` will compute on its way.

        Shared values behind `others`, addresses and masks may be read at other coordinates: they
        are computed first.
        """
        spills: dict[Value, Tile] = {}
        reached = self._reached(others) | self._reached(values, through_memory=False)
        elsewhere = dict.fromkeys(self._reached(others), False)
        for value, is_same in (reached | elsewhere).items():
            if value not in self.shared or value in excluded:
                continue
            if is_same and value.shape == shape:
                spills[value] = self._new_tile(value.type)
            else:
                self._materialise(value)
        return {value: tile for value, tile in spills.items() if value not in self.scope.tiles}

    @contextmanager
    def _nest(
        self,
        shape: tuple[int, ...],
        values: Sequence[Value],
        others: Sequence[Value] = (),
        excluded: Sequence[Value] = (),
    ) -> Iterator[Body]:
        """Loops over a block to compute `values`; inside, a body that stands at its `home`."""
        spills = self._prepare(shape, values, others, excluded)
        axis = _vector_axis(shape)
        width = self._choose_width(shape, axis, values)
        with self._loops(shape, axis, width) as home:
            yield Body(self.scope, width, home, spills)
        self.scope.tiles.update(spills)

    @contextmanager
    def _loops(
        self, shape: tuple[int, ...], axis: int, width: int, skipped: int = -1
    ) -> Iterator[Coordinates]:
        """A loop per axis (but `skipped`), outermost first; `axis` runs in chunks of `width`."""
        place: list[Coordinate] = []
        with ExitStack() as stack:
            for number, extent in enumerate(shape):
                step = width if number == axis else 1
                base = "0"
                if extent > step and number != skipped:
                    loop = self.emitter.loop("i64", "0", str(extent), str(step))
                    base = stack.enter_context(loop).index
                place.append(Coordinate(base, int(number == axis and width > 1)))
            yield tuple(place)

    def _choose_width(self, shape: tuple[int, ...], axis: int, values: Sequence[Value]) -> int:
        """Lanes of a chunk: a few registers of the widest number, fewer the more is to be done."""
        if axis < 0:
            return 1
        data = self._data_reached(values)
        bits = max((_data_bits(value) for value in data), default=32)
        work = sum(op_cost(value.owner) for value in data if value.owner is not None)
        registers = next((count for limit, count in _WIDTHS if work <= limit), 1)
        return min(shape[axis], max(registers * self.target.vector_bytes * 8 // bits, 1))

    def _data_reached(self, values: Sequence[Value]) -> list[Value]:
        """Values computed in vectors: all but addresses and what only they need."""
        tiles = self.scope.tiles
        found: dict[Value, None] = {}
        stack = [value for value in values if not value.type.is_pointer]
        while stack:
            value = stack.pop()
            if value in found:
                continue
            found[value] = None
            op = value.owner
            if is_deferred(value) and value not in tiles and not isinstance(op, ops.Load):
                assert op is not None
                stack.extend(o for o in op.operands_flat if not o.type.is_pointer)
        return list(found)

    def _in_branches(
        self,
        body: Body,
        keys: Sequence[Key],
        masks: Sequence[Value],
        types: Sequence[str],
        write: Callable[[Body], list[str]],
    ) -> list[str]:
        """Call `write` in a branch where all masks are true, and in one for the other chunks.

        `keys` is what it pulls, besides `masks`. Gives the merged results, which have `types`.
        """
        emitter = self.emitter
        met = [*((mask, body.home) for mask in masks), *body.masks_met(keys)]
        is_full = "true"
        for mask, place in dict.fromkeys(met):
            is_full = body.both(is_full, body.are_all_true(mask, place))
        if is_full == "true":
            return write(body.fork(True))
        full, cut, done = (emitter.fresh_label(hint) for hint in ("full", "cut", "done"))
        emitter.branch_if(is_full, full, cut)
        merged: list[tuple[list[str], str]] = []
        for label, is_whole in ((full, True), (cut, False)):
            emitter.begin(label)
            merged.append((write(body.fork(is_whole)), emitter.label))
            emitter.branch(done)
        emitter.begin(done)
        (left, from_left), (right, from_right) = merged
        return [
            emitter.phi(type, (a, from_left), (b, from_right))
            for type, a, b in zip(types, left, right, strict=True)
        ]

    # --- atomic accesses -------------------------------------------------------------------------

    def _atomic(self, op: AtomicOp) -> None:
        """One element after the other, into a tile."""
        shape = op.pointer.shape
        if not shape:
            found = emit_atomic_element(self._body(1), op)
            self.scope.scalars.update(dict.fromkeys(op.results, found))
            return
        spills = self._prepare(shape, op.operands_flat)
        used = [result for result in op.results if result in self._used]
        tiles = {result: self._new_tile(result.type) for result in used}
        with self._loops(shape, -1, 1) as home:
            body = Body(self.scope, 1, home, spills)
            found = emit_atomic_element(body, op)
            for tile in tiles.values():
                body.write_tile(tile, home, found)
        self.scope.tiles.update(spills | tiles)

    # --- reductions ------------------------------------------------------------------------------

    def _reduce(self, op: ops.Reduce) -> None:
        shape = op.values[0].shape
        axis = _vector_axis(shape)
        spills = self._prepare(shape, op.values)
        width = self._choose_width(shape, axis, op.values)
        tiles = [self._new_tile(result.type) for result in op.results if result.shape != ()]
        with self._loops(shape, axis, width, skipped=op.axis) as outside:
            totals = self._accumulate(op, outside, axis, width, spills)
            kept = outside[: op.axis] + outside[op.axis + 1 :]
            lanes = width
            if op.axis == axis:
                totals, lanes = self._fold_lanes(op, totals, width), 1
            if not tiles:
                self.scope.scalars.update(zip(op.results, totals, strict=True))
            for tile, total in zip(tiles, totals, strict=False):
                Body(self.scope, lanes).write_tile(tile, kept, total)
        self.scope.tiles.update(zip(op.results, tiles, strict=False))
        self.scope.tiles.update(spills)

    def _accumulate(
        self,
        op: ops.Reduce,
        outside: Coordinates,
        axis: int,
        width: int,
        spills: dict[Value, Tile],
    ) -> list[str]:
        """Vectors that combine all chunks along the reduced axis; the first chunk starts them."""
        emitter = self.emitter
        extent = op.values[0].shape[op.axis]
        step = width if op.axis == axis else 1
        types = [llvm_type(value.type.element, width) for value in op.values]

        if extent <= step:
            return self._take_chunk(op, outside, "0", width, spills)[0]
        zeros = [_zero(type) for type in types]
        carried = list(zip(types, zeros, strict=True))
        with emitter.loop("i64", "0", str(extent), str(step), carried) as loop:
            taken, _ = self._take_chunk(op, outside, loop.index, width, spills)
            combined = self._combine(op, [*loop.carried, *taken], width)
            is_first = emitter.value(f"icmp eq i64 {loop.index}, 0")
            loop.following = [
                emitter.value(f"select i1 {is_first}, {type} {new}, {type} {total}")
                for type, new, total in zip(types, taken, combined, strict=True)
            ]
        return loop.carried

    def _fold_lanes(self, op: ops.Reduce, totals: list[str], width: int) -> list[str]:
        """Combine the lanes of vectors by halves, down to scalars."""
        while width > 1:
            half = width // 2
            low = [
                self._lanes_of(v, t, width, 0, half) for v, t in zip(op.values, totals, strict=True)
            ]
            high = [
                self._lanes_of(v, t, width, half, half)
                for v, t in zip(op.values, totals, strict=True)
            ]
            totals = self._combine(op, [*low, *high], half)
            width = half
        return totals

    def _lanes_of(self, value: Value, vector: str, width: int, first: int, count: int) -> str:
        type = llvm_type(value.type.element, width)
        if count == 1:
            return self.emitter.value(f"extractelement {type} {vector}, i64 {first}")
        lanes = ", ".join(f"i32 {lane}" for lane in range(first, first + count))
        return self.emitter.value(
            f"shufflevector {type} {vector}, {type} poison, <{count} x i32> <{lanes}>"
        )

    # --- scans -----------------------------------------------------------------------------------

    def _scan(self, op: ops.Scan) -> None:
        """A loop along the scanned axis that carries the totals, into tiles."""
        shape = op.values[0].shape
        axis = _vector_axis(shape)
        spills = self._prepare(shape, op.values)
        width = self._choose_width(shape, axis, op.values)
        tiles = [self._new_tile(result.type) for result in op.results]
        step = width if op.axis == axis else 1
        last = shape[op.axis] - step
        types = [llvm_type(value.type.element, width) for value in op.values]
        carried = [(type, _zero(type)) for type in types]
        with (
            self._loops(shape, axis, width, skipped=op.axis) as outside,
            self.emitter.loop("i64", "0", str(shape[op.axis]), str(step), carried) as loop,
        ):
            base = loop.index
            if op.reverse:
                base = self.emitter.value(f"sub i64 {last}, {loop.index}")
            taken, home = self._take_chunk(op, outside, base, width, spills)
            if op.axis == axis:
                taken = scan_lanes(self._lanes(op, width), taken)
            combined = self._combine(op, [*loop.carried, *taken], width)
            is_first = self.emitter.value(f"icmp eq i64 {loop.index}, 0")
            scanned = [
                self.emitter.value(f"select i1 {is_first}, {type} {new}, {type} {total}")
                for type, new, total in zip(types, taken, combined, strict=True)
            ]
            for tile, text in zip(tiles, scanned, strict=True):
                Body(self.scope, width).write_tile(tile, home, text)
            loop.following = scanned
            if op.axis == axis:
                loop.following = repeat_last_lane(self._lanes(op, width), scanned)
        self.scope.tiles.update(zip(op.results, tiles, strict=True))
        self.scope.tiles.update(spills)

    def _lanes(self, op: ops.Scan, width: int) -> LaneScan:
        types = tuple(llvm_type(value.type.element, width) for value in op.values)

        def combine(left: list[str], right: list[str]) -> list[str]:
            return self._combine(op, [*left, *right], width)

        return LaneScan(self.emitter, types, width, op.reverse, combine)

    # --- combines --------------------------------------------------------------------------------

    def _take_chunk(
        self,
        op: ops.Combining,
        outside: Coordinates,
        base: str,
        width: int,
        spills: dict[Value, Tile],
    ) -> tuple[list[str], Coordinates]:
        """The operands as vectors, where the loop along the axis stands at `base`; and there."""
        there = list(outside)
        there[op.axis] = Coordinate(base, outside[op.axis].step)
        body = Body(self.scope, width, tuple(there), spills)
        keys = [(value, body.home) for value in op.values]
        types = [llvm_type(value.type.element, width) for value in op.values]

        def take(branch: Body) -> list[str]:
            return [branch.pull_wide(value, branch.home) for value in op.values]

        return self._in_branches(body, keys, [], types, take), body.home

    def _combine(self, op: ops.Combining, operands: Sequence[str], width: int) -> list[str]:
        """The combine region, inlined on vectors."""
        names = dict(zip(op.combine.arguments, operands, strict=True))
        body = self._body(width)
        for inner in op.combine.ops:
            if isinstance(inner, ops.Yield):
                return [self._inlined(names, value, body) for value in inner.values]
            if isinstance(inner, ops.Constant):
                names[inner.result] = constant_text(inner.value, inner.result.type.scalar, width)
                continue
            if not inner.has(Trait.ELEMENTWISE):
                raise UnsupportedError(
                    f"op '{inner.name}' in a combine is not supported on the CPU."
                )
            texts = [self._inlined(names, operand, body) for operand in inner.operands_flat]
            names[inner.result] = emit_elementwise(self.emitter, inner, texts, width, self.target)
        raise AssertionError("a combine region ends with yield")

    def _inlined(self, names: dict[Value, str], value: Value, body: Body) -> str:
        """A value of a combine region, or a scalar from outside it."""
        return names[value] if value in names else body.pull_wide(value, ())

    # --- control ---------------------------------------------------------------------------------

    def _for(self, op: ops.For) -> None:
        """A loop: scalars carried in registers, blocks in tiles that every round rewrites."""
        scalars, emitter = self.scope.scalars, self.emitter
        index, *arguments = op.body.arguments
        plain, tiles, carried = self._start_carried(op.initial)
        lower, upper, step = (self._to_i64(v) for v in (op.lower, op.upper, op.step))
        with emitter.loop("i64", lower, upper, step, carried) as loop:
            kind = llvm_scalar(index.type.element)
            narrow = kind == "i64"
            scalars[index] = (
                loop.index if narrow else emitter.value(f"trunc i64 {loop.index} to {kind}")
            )
            self._take_carried(arguments, plain, loop.carried, tiles)
            loop.following = self._round(op.body, arguments, plain, tiles)
        self._take_carried(op.results, plain, loop.carried, tiles)

    def _while(self, op: ops.While) -> None:
        """The same without an index; its test is a region that is written at the loop's head."""
        plain, tiles, carried = self._start_carried(op.initial)
        with self.emitter.rounds(carried) as loop:
            self._take_carried(op.condition.arguments, plain, loop.carried, tiles)
            self._region(op.condition, is_loop=True)
            (condition,) = op.condition.terminator.operands_flat
            self.emitter.go_on_if(self.scope.scalars[condition], loop)
            self._take_carried(op.body.arguments, plain, loop.carried, tiles)
            loop.following = self._round(op.body, op.body.arguments, plain, tiles)
        self._take_carried(op.results, plain, loop.carried, tiles)

    def _start_carried(
        self, initial: Sequence[Value]
    ) -> tuple[list[int], dict[int, Tile], list[Typed]]:
        """Which carried values are scalars, tiles of the others, and what the scalars start as."""
        plain = [n for n, value in enumerate(initial) if value.shape == ()]
        tiles = {n: self._new_tile(v.type) for n, v in enumerate(initial) if v.shape != ()}
        self._fill_groups([(initial[n], tile) for n, tile in tiles.items()])
        scalars = self.scope.scalars
        start = [(llvm_type(initial[n].type.element), scalars[initial[n]]) for n in plain]
        return plain, tiles, start

    def _take_carried(
        self,
        values: Sequence[Value],
        plain: Sequence[int],
        texts: Sequence[str],
        tiles: dict[int, Tile],
    ) -> None:
        """Let `values` be what a loop carries."""
        self.scope.scalars.update((values[n], t) for n, t in zip(plain, texts, strict=True))
        self.scope.tiles.update((values[n], tile) for n, tile in tiles.items())

    def _round(
        self,
        body: Region,
        arguments: Sequence[Value],
        plain: Sequence[int],
        tiles: dict[int, Tile],
    ) -> list[str]:
        """One round of a loop; gives the next carried scalars."""
        outer = dict(self.scope.tiles)
        self._region(body, is_loop=True)
        following = body.terminator.operands_flat
        self.scope.tiles = self._tiles_inside
        self._replace(following, arguments, tiles)
        self.scope.tiles = outer
        return [self.scope.scalars[following[n]] for n in plain]

    def _replace(
        self, following: Sequence[Value], arguments: Sequence[Value], tiles: dict[int, Tile]
    ) -> None:
        """Write the next carried blocks over the present ones, all as if at once."""
        pairs = [
            (following[n], tile) for n, tile in tiles.items() if following[n] is not arguments[n]
        ]
        present = {arguments[n] for n in tiles}
        if _can_replace_in_place([value for value, _ in pairs], present, self.scope.tiles):
            return self._fill_groups(pairs)
        fresh = [(value, self._new_tile(value.type)) for value, _ in pairs]
        self._fill_groups(fresh)
        for (_, source), (_, target) in zip(fresh, pairs, strict=True):
            self._copy(source, target)

    def _copy(self, source: Tile, target: Tile) -> None:
        nbytes = size_of(source.shape) * element_nbytes(source.element)
        operands = [("ptr", target.pointer), ("ptr", source.pointer), ("i64", str(nbytes))]
        self.emitter.call("void", "llvm.memcpy.p0.p0.i64", *operands, ("i1", "false"))

    def _fill_groups(self, pairs: Sequence[tuple[Value, Tile]]) -> None:
        """Compute blocks into tiles, those of one shape in one nest."""
        by_shape: dict[tuple[int, ...], list[tuple[Value, Tile]]] = {}
        for value, tile in pairs:
            by_shape.setdefault(value.shape, []).append((value, tile))
        for group in by_shape.values():
            self._fill(group)

    def _to_i64(self, value: Value) -> str:
        """Loop bounds count in 64 bits, so that the last step cannot wrap."""
        text = self.scope.scalars[value]
        scalar = value.type.scalar
        if scalar.bits == 64:
            return text
        extend = "sext" if scalar.is_signed else "zext"
        return self.emitter.value(f"{extend} {llvm_scalar(scalar)} {text} to i64")

    def _if(self, op: ops.If) -> None:
        emitter, scalars = self.emitter, self.scope.scalars
        tiles = [self._new_tile(r.type) if r.shape != () else None for r in op.results]
        then, otherwise, done = (emitter.fresh_label(hint) for hint in ("then", "else", "done"))
        emitter.branch_if(scalars[op.condition], then, otherwise)
        merged: list[tuple[list[str], str]] = []
        for label, region in ((then, op.then), (otherwise, op.otherwise)):
            emitter.begin(label)
            self._region(region)
            outer, self.scope.tiles = self.scope.tiles, self._tiles_inside
            values = region.terminator.operands_flat
            self._fill_groups([(v, t) for v, t in zip(values, tiles, strict=True) if t is not None])
            self.scope.tiles = outer
            merged.append(([scalars[v] for v in values if v.shape == ()], emitter.label))
            emitter.branch(done)
        emitter.begin(done)
        (left, from_left), (right, from_right) = merged
        plain = [result for result in op.results if result.shape == ()]
        for result, a, b in zip(plain, left, right, strict=True):
            type = llvm_type(result.type.element)
            scalars[result] = emitter.phi(type, (a, from_left), (b, from_right))
        self.scope.tiles.update(
            (result, tile)
            for result, tile in zip(op.results, tiles, strict=True)
            if tile is not None
        )


@dataclass
class _OpenRegion:
    """A region being written. passed_before: the deferred values before a loop began."""

    region: Region
    passed_before: frozenset[Value] | None
    following: int = 0

    def roots_ahead(self) -> list[Op]:
        return _roots_of(self.region.ops[self.following :])


# --- questions -----------------------------------------------------------------------------------


def _roots_of(some: Sequence[Op]) -> list[Op]:
    """Roots among `some` ops and inside them."""
    return [root for op in some for root in ([op] if is_root(op) else []) + roots_inside(op)]


def _root_values(roots: Sequence[Op]) -> list[Value]:
    """Blocks that roots read."""
    return [value for root in roots for value in root.operands_flat if value.shape != ()]


def _find_group(store: ops.Store, groups: Sequence[list[ops.Store]]) -> list[ops.Store] | None:
    """A group that `store` may join: written with it by chunks, and before the later groups."""
    for group in reversed(groups):
        if all(_may_join(store, other) for other in group):
            return group
        if not all(_have_distinct_bases([store, other]) for other in group):
            return None
    return None


def _may_join(store: ops.Store, other: ops.Store) -> bool:
    """Whether two stores may be written chunk by chunk in one nest."""
    if store.pointer.shape != other.pointer.shape:
        return False
    return _have_distinct_bases([store, other]) or is_same_pattern(store.pointer, other.pointer)


def _have_distinct_bases(stores: Sequence[ops.Store]) -> bool:
    bases = [base_of(store.pointer) for store in stores]
    return None not in bases and len(set(bases)) == len(bases)


def _can_replace_in_place(
    values: Sequence[Value], present: set[Value], tiles: dict[Value, Tile]
) -> bool:
    """Whether every element of the next blocks reads present ones at its own place only."""
    if len({value.shape for value in values}) > 1:
        return False
    return not _reads_elsewhere(values, present, tiles)


def _reads_elsewhere(
    values: Sequence[Value], present: set[Value], tiles: dict[Value, Tile]
) -> bool:
    stack = [(value, True) for value in values]
    seen = set(stack)
    while stack:
        value, is_same = stack.pop()
        if value in present and not is_same:
            return True
        if value in tiles or not is_deferred(value):
            continue
        assert value.owner is not None
        is_same = is_same and not isinstance(value.owner, SHAPE_OPS)
        new = {(operand, is_same) for operand in value.owner.operands_flat} - seen
        seen |= new
        stack.extend(new)
    return False


def _vector_axis(shape: tuple[int, ...]) -> int:
    """The last axis with several elements; -1 if there is none."""
    return next((axis for axis in range(len(shape) - 1, -1, -1) if shape[axis] > 1), -1)


def _data_bits(value: Value) -> int:
    return value.type.element.bits if value.type.element.bits > 1 else 8


def _zero(type: str) -> str:
    scalars = {"float": "0.0", "double": "0.0", "i1": "false", "ptr": "null"}
    return "zeroinitializer" if type.startswith("<") else scalars.get(type, "0")
