"""Reductions, scans, pairs and counts on the CPU: nests that combine elements with others."""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.backend.llvm.host_body import Body, Tile
from lazyblock.backend.llvm.host_coordinates import Coordinate, Coordinates
from lazyblock.backend.llvm.host_nests import Nests, vector_axis
from lazyblock.backend.llvm.host_scan import LaneScan, repeat_last_lane, scan_lanes
from lazyblock.backend.llvm.rules import emit_elementwise
from lazyblock.backend.llvm.types import (
    constant_text,
    element_nbytes,
    llvm_type,
)
from lazyblock.errors import UnsupportedError
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Trait, Value


class Combines(Nests):
    """Nests, and those in which elements meet."""

    # --- reductions ------------------------------------------------------------------------------

    def _reduce(self, op: ops.Reduce) -> None:
        shape = op.values[0].shape
        axis = vector_axis(shape)
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
        axis = vector_axis(shape)
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

    # --- pairs and counts ------------------------------------------------------------------------

    def _join(self, op: ops.Join) -> None:
        """Both operands in one nest, into a tile."""
        values = [op.lhs, op.rhs]
        tile = self._new_tile(op.result.type)

        def write(body: Body) -> list[str]:
            body.write_pairs(tile, *(body.pull_wide(value, body.home) for value in values))
            return []

        with self._nest(op.lhs.shape, values) as body:
            self._in_branches(body, [(value, body.home) for value in values], [], [], write)
        self.scope.tiles[op.result] = tile

    def _histogram(self, op: ops.Histogram) -> None:
        """A tile of counts, in which every lane adds 1 or nothing."""
        values = [value for value in (op.value, op.mask) if value is not None]
        tile = self._new_tile(op.result.type)
        nbytes = str(op.num_bins * element_nbytes(tile.element))
        operands = [("ptr", tile.pointer), ("i8", "0"), ("i64", nbytes), ("i1", "false")]
        self.emitter.call("void", "llvm.memset.p0.i64", *operands)

        def count(body: Body) -> list[str]:
            body.count(tile, *(body.pull_wide(value, body.home) for value in values))
            return []

        with self._nest(op.value.shape, values) as body:
            self._in_branches(body, [(value, body.home) for value in values], [], [], count)
        self.scope.tiles[op.result] = tile

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


def _zero(type: str) -> str:
    scalars = {"float": "0.0", "double": "0.0", "i1": "false", "ptr": "null"}
    return "zeroinitializer" if type.startswith("<") else scalars.get(type, "0")
