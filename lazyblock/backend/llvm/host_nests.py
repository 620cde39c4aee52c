"""Loops over the elements of blocks on the CPU, and the tiles that keep blocks.

A body computes what is deferred at the place where the loops stand. Blocks that must outlive a nest
live in tiles on the stack; beyond MAX_STACK bytes, on the heap, taken once per call. Masks are
tested once per chunk: a body without them, and one for chunks they cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.host_body import Body, Key, Scope, Tile
from lazyblock.backend.llvm.host_coordinates import Coordinate, Coordinates
from lazyblock.backend.llvm.host_sharing import (
    find_shared,
    is_deferred,
    op_cost,
    reached_values,
)
from lazyblock.backend.llvm.types import (
    element_nbytes,
    memory_type,
)
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_info import analyse
from lazyblock.tiler.ir import Program, Value
from lazyblock.tiler.types import BlockType

MAX_STACK = 256 * 1024  # bytes of tiles; thread stacks are a few MiB
_WIDTHS = ((6, 4), (24, 2))  # (work of a body, vector registers of each value in it); else 1


class Nests:
    """Writes loop nests of one program."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.emitter = Emitter()
        self.scope = Scope(self.emitter, target, analyse(program))
        self.shared = find_shared(program.body)
        self._passed: dict[Value, None] = {}  # deferred values whose place in the program is behind
        self.tile_bytes = 0
        self._heap_tiles: list[str] = []

    # --- tiles -----------------------------------------------------------------------------------

    def _new_tile(self, type: BlockType) -> Tile:
        """Memory for a block; uninitialised."""
        nbytes = type.size * element_nbytes(type.element)
        self.tile_bytes += nbytes
        if self.tile_bytes <= MAX_STACK:
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

    # --- blocks in tiles -------------------------------------------------------------------------

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

    def _fill_groups(self, pairs: Sequence[tuple[Value, Tile]]) -> None:
        """Compute blocks into tiles, those of one shape in one nest."""
        by_shape: dict[tuple[int, ...], list[tuple[Value, Tile]]] = {}
        for value, tile in pairs:
            by_shape.setdefault(value.shape, []).append((value, tile))
        for group in by_shape.values():
            self._fill(group)

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
        axis = vector_axis(shape)
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


def vector_axis(shape: tuple[int, ...]) -> int:
    """The last axis with several elements; -1 if there is none."""
    return next((axis for axis in range(len(shape) - 1, -1, -1) if shape[axis] > 1), -1)


def _data_bits(value: Value) -> int:
    return value.type.element.bits if value.type.element.bits > 1 else 8
