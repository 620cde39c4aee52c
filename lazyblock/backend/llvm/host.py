"""Block programs as LLVM IR for the CPU: loops over vector chunks, no vector of a block's size.

Takes: a verified program without Math ops and half arithmetic. Gives: the text of a module with
`void @<name>(ptr %slots, i64 %begin, i64 %end)`, which runs program instances begin..end-1 (pid0
varies fastest); slots as in runtime/device.py. Every root (host_sharing.py) becomes a loop nest
(host_nests.py, host_combine.py) whose body pulls its operands (host_body.py). Code size does not
depend on block shapes.
Assumed: different pointer parameters hold equal or disjoint memory (host_sharing.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from lazyblock.backend.llvm.atomics import AtomicOp, is_atomic
from lazyblock.backend.llvm.emit import Typed
from lazyblock.backend.llvm.host_atomics import emit_atomic_element
from lazyblock.backend.llvm.host_body import Body, Tile
from lazyblock.backend.llvm.host_combine import Combines
from lazyblock.backend.llvm.host_coordinates import Coordinate, linearise
from lazyblock.backend.llvm.host_dot import (
    cast_value,
    choose_shape,
    computed_in,
    emit_kernel,
    pack_a,
    pack_b,
)
from lazyblock.backend.llvm.host_memory import from_memory
from lazyblock.backend.llvm.host_sharing import (
    MOVING_OPS,
    SHAPE_OPS,
    TILE_READERS,
    base_of,
    flushes_stores,
    has_effects,
    is_clobbered_within,
    is_deferred,
    is_reached,
    is_root,
    is_same_pattern,
    may_overlap,
    orders_memory,
    roots_inside,
)
from lazyblock.backend.llvm.reports import FAIL, PRINT, shown_value, store_arguments
from lazyblock.backend.llvm.rules import emit_elementwise
from lazyblock.backend.llvm.site import Site
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
from lazyblock.tiler.ir import Op, Program, Region, Trait, Value, walk
from lazyblock.tiler.types import PointerType, ScalarType


@dataclass(frozen=True)
class HostKernel:
    """A kernel's LLVM module, and the memory that an instance keeps its blocks in."""

    llvm: str
    scratch_bytes: int


def emit_host(program: Program, target: Target) -> HostKernel:
    """LLVM IR of `program` for the processor `target`.

    Raises: UnsupportedError for an op that the CPU does not have.
    """
    function = _Function(program, target)
    return HostKernel(function.emit(), function.tile_bytes)


class _Function(Combines):
    """Writes one program."""

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program, target)
        self._used = {value for op in walk(program.body) for value in op.operands_flat}
        self._pending: list[ops.Store] = []
        self._open: list[_OpenRegion] = []
        self._packed: dict[ops.Dot, tuple[Value, Value]] = {}

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
            self._ended = emitter.fresh_label("ended")
            self._region(self.program.body)
            emitter.branch(self._ended)
            emitter.begin(self._ended)
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

    # --- regions ---------------------------------------------------------------------------------

    def _region(self, region: Region, carried: Sequence[Value] | None = None) -> None:
        """Write the ops of a region; what is in tiles inside is forgotten behind it.

        carried: of a loop, the arguments that what it yields replaces.
        """
        outer = dict(self.scope.tiles)
        passed = None if carried is None else frozenset(self._passed)
        frame = _OpenRegion(region, passed, carried or ())
        self._open.append(frame)
        for op in region.ops:
            if isinstance(op, ops.Yield) or flushes_stores(op):
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
            case ops.Dot():
                self._dot(op)
            case ops.For():
                self._before_regions(op)
                self._for(op)
            case ops.While():
                self._before_regions(op)
                self._while(op)
            case ops.If():
                self._before_regions(op)
                self._if(op)
            case ops.Join():
                self._join(op)
            case ops.Histogram():
                self._histogram(op)
            case ops.Print():
                self._print(op)
            case ops.Assert():
                self._assert(op)
            case ops.Yield():
                pass
            case _ if all(map(is_deferred, op.results)):
                if isinstance(op, TILE_READERS):
                    self._materialise(op.value)
                self._passed.update(dict.fromkeys(op.results))
            case ops.Split():
                for half, result in enumerate(op.results):
                    place = (Coordinate(str(half)),)
                    self.scope.scalars[result] = self._body(1).pull(op.value, place).text
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
        for dot in inside if isinstance(op, (ops.For, ops.While)) else ():
            if isinstance(dot, ops.Dot):
                self._pack_steady_operands(dot)
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

    # --- debugging -------------------------------------------------------------------------------

    def _print(self, op: ops.Print) -> None:
        """Element by element, calls back with the line's format and its values in memory."""
        if not op.values:
            self._report(PRINT, op.lines[0], self._place())
        for value, line in zip(op.values, op.lines, strict=False):
            with self._each(value.shape, [value]) as body:
                shown = shown_value(self._site(value), body.pull_wide(value, body.home), op.hex)
                lanes = [("i32", self._narrow(place.base)) for place in body.home]
                self._report(PRINT, line, [*self._place(), *lanes, shown])

    def _assert(self, op: ops.Assert) -> None:
        """The first element that fails is told, and ends the instance."""
        values = [value for value in (op.condition, op.mask) if value is not None]
        emitter, shape = self.emitter, op.condition.shape
        with self._each(shape, values) as body:
            holds, *masks = (body.pull_wide(value, body.home) for value in values)
            for mask in masks:
                masked = emitter.value(f"xor i1 {mask}, true")
                holds = emitter.value(f"or i1 {holds}, {masked}")
            fails, goes_on = emitter.fresh_label("fails"), emitter.fresh_label("holds")
            emitter.branch_if(holds, goes_on, fails)
            emitter.begin(fails)
            element = linearise(emitter, body.home, shape, 1).base
            self._report(
                FAIL, op.text(self.program.name), [*self._place(), ("i32", self._narrow(element))]
            )
            emitter.branch(self._ended)
            emitter.begin(goes_on)

    @contextmanager
    def _each(self, shape: tuple[int, ...], values: Sequence[Value]) -> Iterator[Body]:
        """Loops over single elements."""
        spills = self._prepare(shape, values)
        with self._loops(shape, -1, 1) as home:
            yield Body(self.scope, 1, home, spills)
        self.scope.tiles.update(spills)

    def _site(self, value: Value) -> Site:
        return Site(self.emitter, self.target, value.type.element, 1)

    def _place(self) -> list[Typed]:
        """Coordinates of the instance."""
        return [("i32", self._narrow(text)) for text in self._program_ids]

    def _narrow(self, text: str) -> str:
        return text if text.isdigit() else self.emitter.value(f"trunc i64 {text} to i32")

    def _report(self, function: str, words: str, values: Sequence[Typed]) -> None:
        text = self.emitter.text(words)
        buffer = store_arguments(self.emitter, values)
        self.emitter.call("void", function, ("ptr", text), ("ptr", buffer))

    # --- dots ------------------------------------------------------------------------------------

    def _dot(self, op: ops.Dot) -> None:
        """Pack the operands, then add their product to a tile that holds the accumulator."""
        shape, element = choose_shape(op, self.target), computed_in(op)
        a, b = map(self._materialise, self._pack(op))
        start = cast_value(op.acc, element)
        tile = self._take_over(op) if start is op.acc else None
        if tile is None or tile in (a, b):
            tile = self._new_tile(start.type)
        if self.scope.tiles.get(start) is not tile:
            self._fill([(start, tile)])
        emit_kernel(self.emitter, self.target, shape, a, b, tile)
        if start is op.acc:
            self.scope.tiles[op.result] = tile
            return
        wide = Value(start.type)
        self.scope.tiles[wide] = tile
        self.scope.tiles[op.result] = self._materialise(cast_value(wide, op.acc.type.scalar))

    def _pack(self, op: ops.Dot) -> tuple[Value, Value]:
        """The blocks that the kernel reads; always the same ones."""
        if op not in self._packed:
            self._packed[op] = pack_a(op), pack_b(op, choose_shape(op, self.target))
        return self._packed[op]

    def _pack_steady_operands(self, op: ops.Dot) -> None:
        """Before a loop: pack what its dot takes anew in every round."""
        for value, packed in zip((op.a, op.b), self._pack(op), strict=True):
            if value in self._passed or value in self.scope.tiles:
                self._materialise(packed)

    def _take_over(self, op: ops.Dot) -> Tile | None:
        """The tile of a loop's carried block that the result replaces, if nothing else reads it."""
        frame = self._open[-1]
        carried = frame.carried.get(op.result)
        if carried is None:
            return None
        ahead, tiles = _root_values(frame.roots_ahead()), self.scope.tiles
        is_read = is_reached(carried, ahead, tiles) or _reads_elsewhere([op.acc], {carried}, tiles)
        return None if is_read else tiles[carried]

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
            self._region(op.condition, carried=())
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
        self._region(body, arguments)
        following = body.terminator.operands_flat
        self.scope.tiles = self._tiles_inside
        self._replace(following, arguments, tiles)
        self.scope.tiles = outer
        return [self.scope.scalars[following[n]] for n in plain]

    def _replace(
        self, following: Sequence[Value], arguments: Sequence[Value], tiles: dict[int, Tile]
    ) -> None:
        """Write the next carried blocks over the present ones, all as if at once."""
        places = self.scope.tiles
        pairs = [
            (following[n], tile)
            for n, tile in tiles.items()
            if following[n] is not arguments[n] and places.get(following[n]) is not tile
        ]
        present = {arguments[n] for n in tiles}
        if _can_replace_in_place([value for value, _ in pairs], present, places):
            return self._fill_groups(pairs)
        fresh = [(value, self._new_tile(value.type)) for value, _ in pairs]
        self._fill_groups(fresh)
        for (_, source), (_, target) in zip(fresh, pairs, strict=True):
            self._copy(source, target)

    def _copy(self, source: Tile, target: Tile) -> None:
        nbytes = size_of(source.shape) * element_nbytes(source.element)
        operands = [("ptr", target.pointer), ("ptr", source.pointer), ("i64", str(nbytes))]
        self.emitter.call("void", "llvm.memcpy.p0.p0.i64", *operands, ("i1", "false"))

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
    """A region being written.

    Of a loop: passed_before: the deferred values before it began; arguments: what it carries.
    """

    region: Region
    passed_before: frozenset[Value] | None
    arguments: Sequence[Value]
    following: int = 0

    @cached_property
    def carried(self) -> dict[Value, Value]:
        """In a loop: the block that each yielded one replaces, if it replaces one only."""
        if not self.arguments:
            return {}
        yielded = self.region.terminator.operands_flat
        pairs = zip(yielded, self.arguments, strict=True)
        return {value: old for value, old in pairs if yielded.count(value) == 1}

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
        is_same = is_same and not isinstance(value.owner, MOVING_OPS)
        new = {(operand, is_same) for operand in value.owner.operands_flat} - seen
        seen |= new
        stack.extend(new)
    return False
