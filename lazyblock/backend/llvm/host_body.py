"""The inside of a loop: deferred block values, computed at the coordinates of one chunk of lanes.

`Body.pull(value, coordinates)` writes whatever computes the value there and gives its lanes. Values
that are equal in all lanes are computed once as scalars; rearranging ops only change coordinates;
a load in consecutive lanes is one vector load from the address of lane 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lazyblock.backend.llvm import host_coordinates as places
from lazyblock.backend.llvm.conversions import emit_cast
from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.host_coordinates import Coordinate, Coordinates
from lazyblock.backend.llvm.host_memory import Access, offset_pointer
from lazyblock.backend.llvm.rules import emit_elementwise
from lazyblock.backend.llvm.site import Site, emit_all
from lazyblock.backend.llvm.types import constant_text, llvm_scalar
from lazyblock.errors import UnsupportedError
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_facts import Infos
from lazyblock.tiler.ir import Op, Trait, Value
from lazyblock.tiler.types import Element, ScalarType, int1, int32, int64

_MAX_DEPTH = 40  # of the search for strides
_LAST_LANE_DECIDES = {"lt": True, "le": True, "gt": False, "ge": False}  # if the left side rises


@dataclass(frozen=True, slots=True)
class Lanes:
    """A value at some coordinates: width 1 if equal in all lanes. `constant`: the number it is."""

    text: str
    width: int
    constant: bool | int | float | None = None


@dataclass(frozen=True, slots=True)
class Tile:
    """A block kept in row-major memory of this function."""

    pointer: str
    element: Element
    shape: tuple[int, ...]


@dataclass
class Scope:
    """What is known outside all loops of one region: scalars by name, blocks by tile."""

    emitter: Emitter
    target: Target
    infos: Infos
    scalars: dict[Value, str] = field(default_factory=dict)
    tiles: dict[Value, Tile] = field(default_factory=dict)


Key = tuple[Value, Coordinates]


class Body:
    """Computes values for `width` lanes; `is_full` promises that all masks met are true.

    Values in `spills` are also written to their tiles when computed at `home`, the coordinates of
    the loop nest.
    """

    def __init__(
        self,
        scope: Scope,
        width: int,
        home: Coordinates = (),
        spills: dict[Value, Tile] | None = None,
        is_full: bool = False,
    ) -> None:
        self.scope = scope
        self.emitter = scope.emitter
        self.width = width
        self.home = home
        self.spills = spills or {}
        self.is_full = is_full
        self._memo: dict[Key, Lanes] = {}
        self._moved: dict[Key, Coordinates] = {}
        self._widened: dict[str, str] = {}
        self._steps: dict[Key, int | None] = {}

    def fork(self, is_full: bool) -> Body:
        """A body for one branch behind this one."""
        branch = Body(self.scope, self.width, self.home, self.spills, is_full)
        branch._memo = dict(self._memo)
        branch._moved = dict(self._moved)
        branch._widened = dict(self._widened)
        branch._steps = self._steps
        return branch

    # --- pulling ---------------------------------------------------------------------------------

    def pull(self, value: Value, coordinates: Coordinates) -> Lanes:
        """Compute `value` there, and what it needs first; not recursive, for long chains."""
        stack = [(value, coordinates)]
        while stack:
            key = stack[-1]
            if key in self._memo:
                stack.pop()
                continue
            missing = [need for need in self._needs(*key) if need not in self._memo]
            if missing:
                stack.extend(missing)
                continue
            self._memo[key] = self._make(*key)
            stack.pop()
        return self._memo[value, coordinates]

    def pull_wide(self, value: Value, coordinates: Coordinates) -> str:
        """`value` there, as a vector of the full width."""
        return self.widen(self.pull(value, coordinates), value.type.element)

    def widen(self, lanes: Lanes, element: Element) -> str:
        """Repeat a value that is equal in all lanes."""
        if lanes.width == self.width:
            return lanes.text
        if lanes.constant is not None:
            assert isinstance(element, ScalarType)
            return constant_text(lanes.constant, element, self.width)
        if lanes.text not in self._widened:
            scalar = llvm_scalar(element)
            self._widened[lanes.text] = places.splat(self.emitter, scalar, lanes.text, self.width)
        return self._widened[lanes.text]

    def scalar(self, op: Op) -> str:
        """Compute a scalar load or address."""
        needs = self._load_needs(op, ()) if isinstance(op, ops.Load) else ()
        for need in needs or [(operand, ()) for operand in op.operands_flat]:
            self.pull(*need)
        return self._compute(op.result, ()).text

    def _needs(self, value: Value, coordinates: Coordinates) -> Sequence[Key]:
        """What has to be computed before `value`."""
        op = value.owner
        if value in self.scope.tiles or value.shape == () or op is None:
            return ()
        if isinstance(op, ops.Load):
            return self._load_needs(op, coordinates)
        if op.has(Trait.ELEMENTWISE):
            return [(operand, coordinates) for operand in op.operands_flat]
        if isinstance(op, (ops.Arange, ops.Constant)):
            return ()
        if isinstance(op, ops.Gather):
            return [(op.index, coordinates)]
        return [(op.operands_flat[0], self.move(value, coordinates))]

    def _make(self, value: Value, coordinates: Coordinates) -> Lanes:
        op = value.owner
        if value in self.scope.tiles:
            return self._read_tile(self.scope.tiles[value], coordinates)
        if isinstance(op, ops.Constant):
            element = value.type.scalar
            return Lanes(constant_text(op.value, element), 1, op.value)
        if value.shape == ():
            return Lanes(self.scope.scalars[value], 1)
        assert op is not None, f"{value!r} has no tile"
        lanes = self._compute(value, coordinates)
        if value in self.spills and coordinates == self.home:
            text = self.widen(lanes, value.type.element)
            self.write_tile(self.spills[value], coordinates, text)
        return lanes

    def _compute(self, value: Value, coordinates: Coordinates) -> Lanes:
        op = value.owner
        match op:
            case ops.Arange():
                return self._arange(op, coordinates)
            case ops.Load():
                return self._load(op, coordinates)
            case ops.AddPointer():
                return self._add_pointer(op, coordinates)
            case ops.Gather():
                return self._gather(op, coordinates)
            case ops.ExchangeBits():
                return self._exchange(op, coordinates)
        assert op is not None
        if op.has(Trait.ELEMENTWISE):
            return self._elementwise(op, coordinates)
        return self._memo[op.operands_flat[0], self.move(value, coordinates)]

    def _elementwise(self, op: Op, coordinates: Coordinates) -> Lanes:
        found = [self._memo[operand, coordinates] for operand in op.operands_flat]
        width = max(lanes.width for lanes in found)
        texts = [
            lanes.text if width == 1 else self.widen(lanes, operand.type.element)
            for lanes, operand in zip(found, op.operands_flat, strict=True)
        ]
        return Lanes(emit_elementwise(self.emitter, op, texts, width, self.scope.target), width)

    def _arange(self, op: ops.Arange, coordinates: Coordinates) -> Lanes:
        (place,) = coordinates
        width = 1 if place.is_uniform else self.width
        return Lanes(places.to_lanes(self.emitter, place, width, op.start), width)

    def _add_pointer(self, op: ops.AddPointer, coordinates: Coordinates) -> Lanes:
        pointer = self._memo[op.pointer, coordinates]
        offset = self._memo[op.offset, coordinates]
        scalar = llvm_scalar(op.offset.type.element)
        kind = "ptr" if pointer.width == 1 else f"<{pointer.width} x ptr>"
        offsets = scalar if offset.width == 1 else f"<{offset.width} x {scalar}>"
        element = _memory_scalar(op.pointer)
        text = f"getelementptr {element}, {kind} {pointer.text}, {offsets} {offset.text}"
        return Lanes(self.emitter.value(text), max(pointer.width, offset.width))

    def _gather(self, op: ops.Gather, coordinates: Coordinates) -> Lanes:
        """From the operand's tile; an index outside wraps."""
        index, extent = self._memo[op.index, coordinates], op.value.shape[op.axis]
        wrapped = self._wrap(index, op.index.type.scalar, extent)
        there = (*coordinates[: op.axis], wrapped, *coordinates[op.axis + 1 :])
        return self._read_tile(self.scope.tiles[op.value], there)

    def _wrap(self, index: Lanes, scalar: ScalarType, extent: int) -> Coordinate:
        """An index of a gather as a coordinate."""
        if index.constant is not None:
            return Coordinate(str(int(index.constant) % extent))
        wide = int64 if index.width == 1 else int32
        site = Site(self.emitter, self.scope.target, scalar, index.width)
        text = index.text if scalar == wide else emit_cast(site, index.text, wide)
        site = site.of(wide)
        text = site.do("and", text, site.constant(extent - 1))
        return Coordinate(text) if index.width == 1 else Coordinate(lanes=text)

    def _exchange(self, op: ops.ExchangeBits, coordinates: Coordinates) -> Lanes:
        """Bits of the mask that the lanes run over exchange lanes."""
        lanes = self._memo[op.value, self.move(op.result, coordinates)]
        mask = places.lanes_exchanged(coordinates[op.axis], op.mask, self.width)
        if lanes.width == 1 or not mask:
            return lanes
        vector = f"<{lanes.width} x {llvm_scalar(op.value.type.element)}> {lanes.text}"
        order = ", ".join(f"i32 {lane ^ mask}" for lane in range(lanes.width))
        shuffle = f"shufflevector {vector}, {vector}, <{lanes.width} x i32> <{order}>"
        return Lanes(self.emitter.value(shuffle), lanes.width)

    # --- coordinates -----------------------------------------------------------------------------

    def move(self, value: Value, coordinates: Coordinates) -> Coordinates:
        """Coordinates in the operand of the rearranging op that gives `value`."""
        key = (value, coordinates)
        if key not in self._moved:
            self._moved[key] = self._move(value, coordinates)
        return self._moved[key]

    def _move(self, value: Value, coordinates: Coordinates) -> Coordinates:
        op = value.owner
        match op:
            case ops.Splat():
                return ()
            case ops.Broadcast():
                return tuple(
                    Coordinate() if extent == 1 else coordinate
                    for extent, coordinate in zip(op.value.shape, coordinates, strict=True)
                )
            case ops.ExpandDims():
                return coordinates[: op.axis] + coordinates[op.axis + 1 :]
            case ops.Transpose():
                order = sorted(range(len(coordinates)), key=op.permutation.__getitem__)
                return tuple(coordinates[axis] for axis in order)
            case ops.Reshape():
                position = places.linearise(self.emitter, coordinates, op.shape, self.width)
                return places.delinearise(self.emitter, position, op.value.shape, self.width)
            case ops.Split():
                return (*coordinates, Coordinate(str(op.results.index(value))))
            case ops.ExchangeBits():
                there = list(coordinates)
                exchanged = places.exchange(self.emitter, there[op.axis], op.mask, self.width)
                there[op.axis] = exchanged
                return tuple(there)
        assert op is not None
        raise UnsupportedError(f"op '{op.name}' is not supported on the CPU.")

    def step(self, value: Value, coordinates: Coordinates, depth: int = 0) -> int | None:
        """Distance of neighbouring lanes of an integer or address: 0 if equal, None if unknown."""
        key = (value, coordinates)
        if key not in self._steps:
            self._steps[key] = self._find_step(value, coordinates, depth)
        return self._steps[key]

    def _find_step(self, value: Value, coordinates: Coordinates, depth: int) -> int | None:
        if places.are_uniform(coordinates):
            return 0
        known = self._known_step(value, coordinates)
        if known is not None:
            return known
        op, depth = value.owner, depth + 1
        if op is None or value in self.scope.tiles or depth > _MAX_DEPTH:
            return None
        if isinstance(op, ops.Arange):
            return None if coordinates[0].lanes else coordinates[0].step
        if isinstance(op, (ops.Broadcast, ops.ExpandDims, ops.Transpose, ops.Reshape)):
            return self.step(op.value, self.move(value, coordinates), depth)
        if isinstance(op, (ops.Splat, ops.Constant)):
            return 0
        if isinstance(value.type.element, ScalarType) and value.type.element.is_floating:
            return None
        if not op.has(Trait.ELEMENTWISE):
            return None
        steps = [self.step(operand, coordinates, depth) for operand in op.operands_flat]
        return _combine_steps(op, steps)

    def _known_step(self, value: Value, coordinates: Coordinates) -> int | None:
        """What axis analysis says, where the lanes run over one axis of `value` in aligned runs."""
        moving = [axis for axis, c in enumerate(coordinates) if not c.is_uniform]
        info = self.scope.infos.get(value)
        if info is None or len(moving) != 1 or coordinates[moving[0]].step != 1:
            return None
        if info.constancy[moving[0]] >= self.width:
            return 0
        return 1 if info.contiguity[moving[0]] >= self.width else None

    # --- tiles -----------------------------------------------------------------------------------

    def _access(self, element: Element, width: int) -> Access:
        return Access(self.emitter, self.scope.target, element, width)

    def _tile_place(self, tile: Tile, coordinates: Coordinates) -> tuple[str, Coordinate]:
        place = places.linearise(self.emitter, coordinates, tile.shape, self.width)
        if place.lanes:
            kind = f"<{self.width} x i32> {place.lanes}"
            scalar = Access(self.emitter, self.scope.target, tile.element, 1).scalar
            return self.emitter.value(f"getelementptr {scalar}, ptr {tile.pointer}, {kind}"), place
        return offset_pointer(self.emitter, tile.element, tile.pointer, place.base), place

    def _read_tile(self, tile: Tile, coordinates: Coordinates) -> Lanes:
        pointer, place = self._tile_place(tile, coordinates)
        if place.is_uniform:
            return Lanes(self._access(tile.element, 1).load(pointer), 1)
        access = self._access(tile.element, self.width)
        if place.lanes:
            return Lanes(access.gather(pointer), self.width)
        if place.step == 1:
            return Lanes(access.load(pointer), self.width)
        return Lanes(access.load_strided(pointer, place.step), self.width)

    def write_tile(self, tile: Tile, coordinates: Coordinates, text: str) -> None:
        """Write a vector of the full width; lanes must stand apart."""
        pointer, place = self._tile_place(tile, coordinates)
        access = self._access(tile.element, self.width)
        if place.step == 1 or self.width == 1:
            access.store(pointer, text)
        else:
            access.store_strided(pointer, place.step, text)

    def write_pairs(self, tile: Tile, left: str, right: str) -> None:
        """Write two vectors of the full width as the halves of the tile's last axis."""
        pointer, place = self._tile_place(tile, (*self.home, Coordinate()))
        if self.width == 1:
            access = self._access(tile.element, 1)
            access.store(pointer, left)
            return access.store(offset_pointer(self.emitter, tile.element, pointer, "1"), right)
        assert place.step == 2
        vector = f"<{self.width} x {llvm_scalar(tile.element)}>"
        order = ", ".join(f"i32 {n // 2 + n % 2 * self.width}" for n in range(2 * self.width))
        pairs = self.emitter.value(
            f"shufflevector {vector} {left}, {vector} {right}, <{2 * self.width} x i32> <{order}>"
        )
        self._access(tile.element, 2 * self.width).store(pointer, pairs)

    def count(self, tile: Tile, numbers: str, mask: str = "") -> None:
        """Add 1 to the element of `tile` that each lane names, if there is one and mask holds."""
        emitter, size = self.emitter, tile.shape[0]
        site = Site(emitter, self.scope.target, int32, self.width)
        masks = site.of(int1)
        is_bin = site.do("icmp ult", numbers, site.constant(size))
        is_bin = masks.do("and", is_bin, mask) if mask else is_bin
        bins = site.select(is_bin, numbers, site.constant(0))
        ones = masks.convert("zext", is_bin, int32)
        for lane in range(self.width):
            number, one = (self._lane(text, lane) for text in (bins, ones))
            place = f"getelementptr i32, ptr {tile.pointer}, i32 {number}"
            pointer = emitter.value(place)
            access = self._access(int32, 1)
            total = emitter.value(f"add i32 {access.load(pointer)}, {one}")
            access.store(pointer, total)

    def _lane(self, numbers: str, lane: int) -> str:
        if self.width == 1:
            return numbers
        return self.emitter.value(f"extractelement <{self.width} x i32> {numbers}, i64 {lane}")

    # --- memory ----------------------------------------------------------------------------------

    def _address(
        self, op: ops.Load | ops.Store, coordinates: Coordinates
    ) -> tuple[int | None, Key]:
        """Distance of the lanes' addresses; where to compute the pointer (lane 0 if known)."""
        step = self.step(op.pointer, coordinates)
        if step is None:
            return None, (op.pointer, coordinates)
        return step, (op.pointer, self._first(coordinates))

    def _first(self, coordinates: Coordinates) -> Coordinates:
        """Where lane 0 stands."""
        return tuple(Coordinate(self._first_of(c) if c.lanes else c.base) for c in coordinates)

    def _first_of(self, coordinate: Coordinate) -> str:
        vector = f"<{self.width} x i32> {coordinate.lanes}"
        if vector not in self._widened:
            lane = self.emitter.value(f"extractelement {vector}, i64 0")
            self._widened[vector] = self.emitter.value(f"zext i32 {lane} to i64")
        return self._widened[vector]

    def _load_needs(self, op: ops.Load, coordinates: Coordinates) -> Sequence[Key]:
        address = self._address(op, coordinates)[1]
        if self.is_full or op.mask is None:
            return [address]
        others = [] if op.other is None else [(op.other, coordinates)]
        return [address, (op.mask, coordinates), *others]

    def _load(self, op: ops.Load, coordinates: Coordinates) -> Lanes:
        step, address = self._address(op, coordinates)
        pointer = self._memo[address]
        mask = None if self.is_full or op.mask is None else self._memo[op.mask, coordinates]
        if mask is not None:
            return self._load_masked(op, coordinates, step, pointer, mask)
        element = op.result.type.element
        if step == 0 or pointer.width == self.width == 1:
            return Lanes(self._access(element, 1).load(pointer.text), 1)
        access = self._access(element, self.width)
        if step is None:
            return Lanes(access.gather(self.widen(pointer, op.pointer.type.element)), self.width)
        if step == 1:
            return Lanes(access.load(pointer.text), self.width)
        return Lanes(access.load_strided(pointer.text, step), self.width)

    def _load_masked(
        self, op: ops.Load, coordinates: Coordinates, step: int | None, pointer: Lanes, mask: Lanes
    ) -> Lanes:
        element = op.result.type.scalar
        other = Lanes(constant_text(0, element), 1, 0)
        if op.other is not None:
            other = self._memo[op.other, coordinates]
        if step == 0 and mask.width == other.width == 1:
            return Lanes(
                self._access(element, 1).load_masked(pointer.text, mask.text, other.text), 1
            )
        access = self._access(element, self.width)
        wide_mask, wide_other = self.widen(mask, int1), self.widen(other, element)
        if step == 1:
            return Lanes(access.load_masked(pointer.text, wide_mask, wide_other), self.width)
        pointers = self._pointers(op, step, pointer, access)
        return Lanes(access.gather_masked(pointers, wide_mask, wide_other), self.width)

    def _pointers(
        self, op: ops.Load | ops.Store, step: int | None, pointer: Lanes, access: Access
    ) -> str:
        if step is None or self.width == 1:
            return self.widen(pointer, op.pointer.type.element)
        return access.spread(pointer.text, step)

    def address_of(self, op: ops.Store) -> Key:
        """Where a store at `home` computes its pointer."""
        return self._address(op, self.home)[1]

    def pull_stored(self, op: ops.Store) -> str:
        """Compute all that a store at `home` needs; gives the value."""
        self.pull(*self.address_of(op))
        if op.mask is not None and not self.is_full:
            self.pull(op.mask, self.home)
        return self.pull_wide(op.value, self.home)

    def store(self, op: ops.Store, value: str) -> None:
        """Write lanes `value` at `home`; `pull_stored` came before."""
        step, address = self._address(op, self.home)
        pointer = self.pull(*address)
        access = self._access(op.value.type.element, self.width)
        if not self.is_full and op.mask is not None:
            mask = self.pull_wide(op.mask, self.home)
            if step == 1:
                return access.store_masked(pointer.text, value, mask)
            pointers = self._pointers(op, step, pointer, access)
            return access.scatter_masked(pointers, value, mask)
        if step == 1:
            return access.store(pointer.text, value)
        if step:
            return access.store_strided(pointer.text, step, value)
        access.scatter(self.widen(pointer, op.pointer.type.element), value)

    # --- masks -----------------------------------------------------------------------------------

    def masks_met(self, values: Iterable[Key]) -> Iterator[Key]:
        """Masks of the loads that pulling `values` would do if all masks were true."""
        full = self.fork(True)
        seen = set(values)
        stack = list(seen)
        for key in stack:
            op = key[0].owner
            is_kept = key[0] in self.scope.tiles or key in self._memo
            if isinstance(op, ops.Load) and op.mask is not None and not is_kept:
                yield op.mask, key[1]
            if not is_kept:
                new = [need for need in full._needs(*key) if need not in seen]
                seen.update(new)
                stack.extend(new)
        self._moved = full._moved

    def are_all_true(self, mask: Value, coordinates: Coordinates) -> str:
        """An i1 that implies that `mask` holds in every lane ("true" if certain)."""
        op = mask.owner
        if isinstance(op, ops.Constant) and op.value:
            return "true"
        if isinstance(op, ops.Binary) and op.kind == "and":
            sides = [self.are_all_true(side, coordinates) for side in (op.lhs, op.rhs)]
            return self.both(*sides)
        if isinstance(op, (ops.Broadcast, ops.ExpandDims, ops.Transpose)):
            return self.are_all_true(op.value, self.move(mask, coordinates))
        extreme = self._deciding_lane(op, coordinates) if isinstance(op, ops.Compare) else None
        if extreme is not None:
            return self.pull(mask, extreme).text
        lanes = self.pull(mask, coordinates)
        site = Site(self.emitter, self.scope.target, int1, lanes.width)
        return emit_all(site, lanes.text)

    def _deciding_lane(self, op: ops.Compare, coordinates: Coordinates) -> Coordinates | None:
        """The lane whose comparison of a rising integer with a bound implies all the others."""
        if op.lhs.type.element not in (int32, int64) or op.kind not in _LAST_LANE_DECIDES:
            return None
        if any(coordinate.lanes for coordinate in coordinates):
            return None
        if self.step(op.lhs, coordinates) != 1 or self.step(op.rhs, coordinates) != 0:
            return None
        lane = self.width - 1 if _LAST_LANE_DECIDES[op.kind] else 0
        return tuple(
            Coordinate(places.add(self.emitter, c.base, str(lane * c.step))) for c in coordinates
        )

    def both(self, left: str, right: str) -> str:
        """The conjunction of two i1, folded if trivial."""
        if "true" in (left, right):
            return right if left == "true" else left
        return left if left == right else self.emitter.value(f"and i1 {left}, {right}")


def _memory_scalar(pointer: Value) -> str:
    element = pointer.type.element
    assert not isinstance(element, ScalarType)
    return "i8" if element.pointee == int1 else llvm_scalar(element.pointee)


def _combine_steps(op: Op, steps: Sequence[int | None]) -> int | None:
    """Step of an integer op's result, from its operands'; addresses do not wrap between lanes."""
    if None in steps:
        return None
    known = [step for step in steps if step is not None]
    if not any(known):
        return 0
    match op:
        case ops.AddPointer() | ops.Binary(kind="add"):
            return known[0] + known[1]
        case ops.Binary(kind="sub"):
            return known[0] - known[1]
        case ops.Unary(kind="neg"):
            return -known[0]
        case ops.Cast():
            is_wider = op.result.type.scalar.bits > op.value.type.scalar.bits > 1
            return known[0] if is_wider else None
        case ops.Binary(kind="mul"):
            factors = [_constant_of(op.lhs), _constant_of(op.rhs)]
            products = [
                s * f for s, f in zip(known, reversed(factors), strict=True) if f is not None
            ]
            return products[0] if products and 0 in known else None
    return None


def _constant_of(value: Value) -> int | None:
    op = value.owner
    if isinstance(op, ops.Splat):
        op = op.value.owner
    return int(op.value) if isinstance(op, ops.Constant) else None
