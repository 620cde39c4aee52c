"""Scans along one axis of a block: in each thread, across a warp's lanes, across warps.

The bits of an element's place along the axis lie in registers, lanes and warps. Runs of bits of one
kind form *levels*, the lowest bits first. Each level gives every segment (the elements that differ
in bits of this level and lower ones only) its total, and what comes before each of its parts.
Lanes exchange totals by shuffles; warps through shared memory, with one barrier, after
which the lanes of each warp scan the totals of many warps. At the
end each element is combined with all that comes before its segment, once. Elements always combine
in the order of the scan, bracketed the same way in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lazyblock.backend.llvm.layout import LANE_BITS, LinearLayout
from lazyblock.backend.llvm.nvptx_blocks import BlockCode
from lazyblock.backend.llvm.nvptx_reduce import Combine, Partials, Row, choose
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter, is_always
from lazyblock.tiler import ops
from lazyblock.tiler.ops.arith import COMMUTATIVE_KINDS
from lazyblock.tiler.types import ScalarType

_REGISTER, _LANE, _WARP = range(3)
_FEW_PARTIALS = 4  # totals of warps that every thread scans by itself


@dataclass(frozen=True)
class _Level:
    """Bits of one part of the layout, the lowest place along the axis first."""

    part: int
    bits: tuple[int, ...]
    num_below: int  # bits of the axis below these

    @property
    def mask(self) -> int:
        return sum(1 << bit for bit in self.bits)


@dataclass(frozen=True)
class _Prefix:
    """What comes before a segment; it is there where `exists` (an i1, or "" for always) holds."""

    row: Row
    exists: str = ""


_Rows = dict[int, Row]  # by register, the bits of levels that are done being 0
_Prefixes = dict[int, _Prefix | None]


@dataclass(frozen=True)
class _Scan:
    """What the steps share."""

    code: BlockCode
    op: ops.Scan
    combine: Combine
    layout: LinearLayout

    @property
    def emitter(self) -> ThreadEmitter:
        return self.code.emitter

    @property
    def elements(self) -> list[ScalarType]:
        return [value.type.scalar for value in self.op.values]

    def choose(self, condition: str, on_true: Row, on_false: Row) -> Row:
        return choose(self.emitter, self.elements, condition, on_true, on_false)

    def join(self, before: _Prefix | None, after: _Prefix | None) -> _Prefix | None:
        """Two prefixes, one after the other, as one."""
        if before is None or after is None:
            return before or after
        both = self.combine(before.row, after.row)
        if not is_always(before.exists):
            both = self.choose(before.exists, both, after.row)
        if is_always(after.exists):
            return _Prefix(both)
        row = self.choose(after.exists, both, before.row)
        if is_always(before.exists):
            return _Prefix(row)
        either = self.emitter.value(f"or i1 {before.exists}, {after.exists}")
        return _Prefix(row, either)


def emit_scan(code: BlockCode, op: ops.Scan, combine: Combine) -> None:
    """Emit `op`; `combine` emits its region once for a left and a right row."""
    layout = code.plan.combined[op]
    scan = _Scan(code, op, combine, layout)
    operands = [code.demand(value, layout) for value in op.values]
    inside, *outside = _find_levels(layout, op.axis)
    scanned, totals = _scan_elements(scan, inside, list(zip(*operands, strict=True)))
    found: list[_Prefixes] = []
    for level in outside:
        prefixes, totals = _LEVELS[level.part](scan, level, totals)
        found.append(prefixes)
    before: _Prefixes = dict.fromkeys(totals)
    for level, prefixes in zip(reversed(outside), reversed(found), strict=True):
        mask = level.mask if level.part == _REGISTER else 0
        before = {g: scan.join(before[g & ~mask], own) for g, own in prefixes.items()}
    if len(totals) == 1 and len(layout.shape) == 1:  # then all threads know it
        code.totals.update(zip(op.results, totals[0], strict=True))
    rows = []
    for register, row in enumerate(scanned):
        joined = scan.join(before[register & ~inside.mask], _Prefix(row))
        assert joined is not None
        rows.append(joined.row)
    for result, registers in zip(op.results, zip(*rows, strict=True), strict=True):
        code.hold(result, layout, list(registers))


def _find_levels(layout: LinearLayout, axis: int) -> list[_Level]:
    """All levels; the first is of registers, maybe of none."""
    parts = (layout.register, layout.lane, layout.warp)
    places = sorted(
        (basis[axis], part, bit)
        for part, bases in enumerate(parts)
        for bit, basis in enumerate(bases)
        if basis[axis]
    )
    levels = [_Level(_REGISTER, (), 0)]
    for number, (_, part, bit) in enumerate(places):
        if levels[-1].part == part:
            last = levels.pop()
            levels.append(_Level(part, (*last.bits, bit), last.num_below))
        else:
            levels.append(_Level(part, (bit,), number))
    return levels


# --- registers -----------------------------------------------------------------------------------


def _members(scan: _Scan, level: _Level, group: int) -> list[int]:
    """The registers of a segment, in the order of the scan."""
    found = [group]
    for bit in level.bits:
        found += [register | 1 << bit for register in found]
    return found[::-1] if scan.op.reverse else found


def _scan_elements(scan: _Scan, level: _Level, rows: Sequence[Row]) -> tuple[list[Row], _Rows]:
    """Each element with those before it in its segment of the first level; and the totals."""
    scanned, totals = list(rows), {}
    for group in range(len(rows)):
        if group & level.mask:
            continue
        members = _members(scan, level, group)
        for before, register in pairwise(members):
            scanned[register] = scan.combine(scanned[before], rows[register])
        totals[group] = scanned[members[-1]]
    return scanned, totals


def _scan_registers(scan: _Scan, level: _Level, totals: _Rows) -> tuple[_Prefixes, _Rows]:
    prefixes: _Prefixes = {}
    following: _Rows = {}
    for group in totals:
        if group & level.mask:
            continue
        first, *others = _members(scan, level, group)
        prefixes[first], running = None, totals[first]
        for register in others:
            prefixes[register] = _Prefix(running)
            running = scan.combine(running, totals[register])
        following[group] = running
    return prefixes, following


# --- lanes ---------------------------------------------------------------------------------------


def _scan_lanes(scan: _Scan, level: _Level, totals: _Rows) -> tuple[_Prefixes, _Rows]:
    pairs = {group: _scan_lanes_of(scan, level, total) for group, total in totals.items()}
    prefixes: _Prefixes = {group: prefix for group, (prefix, _) in pairs.items()}
    return prefixes, {group: total for group, (_, total) in pairs.items()}


def _scan_lanes_of(scan: _Scan, level: _Level, total: Row) -> tuple[_Prefix, Row]:
    """What comes before this lane, and the total of all."""
    first, *_, last = (*level.bits, level.bits[-1])
    if level.bits == tuple(range(first, last + 1)):
        return _scan_neighbours(scan, first, len(level.bits), total)
    return _scan_halves(scan, level, total)


def _scan_neighbours(scan: _Scan, first: int, count: int, row: Row) -> tuple[_Prefix, Row]:
    """The same for lanes that differ in `count` bits from bit `first` on: sums of ever more."""
    emitter, direction = scan.emitter, "down" if scan.op.reverse else "up"
    last = (1 << count) - 1
    own = [(last << first) & 1 << bit for bit in range(LANE_BITS)]
    others = [(1 << bit) - weight for bit, weight in enumerate(own)]
    no_warps = [0] * len(scan.layout.warp)
    place = emitter.sum_thread_bits([weight >> first for weight in own] + no_warps)
    if scan.op.reverse:
        place = emitter.value(f"xor i32 {place}, {last}")
    for step in (1 << n for n in range(count)):
        other = _shuffle(scan, direction, row, step << first)
        is_behind = emitter.value(f"icmp uge i32 {place}, {step}")
        row = scan.choose(is_behind, scan.combine(other, row), row)
    before = _shuffle(scan, direction, row, 1 << first)
    lane = emitter.sum_thread_bits(others + no_warps)
    if not scan.op.reverse:
        lane = emitter.combine_bits(lane, str(last << first), True)
    total = _shuffle(scan, "idx", row, lane)
    return _Prefix(before, emitter.value(f"icmp ne i32 {place}, 0")), total


def _shuffle(scan: _Scan, kind: str, row: Row, lane: int | str) -> Row:
    pairs = zip(scan.elements, row, strict=True)
    return tuple(scan.emitter.shuffle(kind, element, value, lane) for element, value in pairs)


def _scan_halves(scan: _Scan, level: _Level, total: Row) -> tuple[_Prefix, Row]:
    """The same for any bits of the lane: halves meet, then pairs of halves..."""
    prefix = None
    for bit in level.bits:
        other = _shuffle(scan, "xor", total, 1 << bit)
        is_first = _is_first(scan, 1 << bit)
        prefix = _extend(scan, prefix, other, is_first)
        left, right = total, other
        if scan.op.kind not in COMMUTATIVE_KINDS:
            left, right = scan.choose(is_first, total, other), scan.choose(is_first, other, total)
        total = scan.combine(left, right)
    assert prefix is not None
    return prefix, total


def _is_first(scan: _Scan, lane_mask: int) -> str:
    """Whether this lane's half comes before the one that it exchanges with."""
    is_lower = scan.emitter.is_first_replica(lane_mask, 0)
    return scan.emitter.value(f"xor i1 {is_lower}, true") if scan.op.reverse else is_lower


def _extend(scan: _Scan, prefix: _Prefix | None, other: Row, is_first: str) -> _Prefix:
    """The prefix, once `other` comes before the lane's half (unless that is first)."""
    emitter = scan.emitter
    is_second = emitter.value(f"xor i1 {is_first}, true")
    if prefix is None:
        return _Prefix(other, is_second)
    longer = scan.combine(other, prefix.row)
    longer = scan.choose(prefix.exists, longer, other)
    row = scan.choose(is_first, prefix.row, longer)
    return _Prefix(row, emitter.value(f"or i1 {prefix.exists}, {is_second}"))


# --- warps ---------------------------------------------------------------------------------------


def _scan_warps(scan: _Scan, level: _Level, totals: _Rows) -> tuple[_Prefixes, _Rows]:
    """Every warp leaves its totals in shared memory and reads those of all."""
    num_done = level.num_below + len(level.bits)
    outer = scan.layout.shrink(scan.op.axis, num_done)
    partials = Partials(scan.code, scan.elements, outer, level.bits)
    groups = sorted(totals)
    rows = [totals[group] for group in groups]
    number = _number_of_warp(scan, level)
    is_whole_warp = not any(map(any, outer.lane))  # has one element
    if is_whole_warp and _FEW_PARTIALS < partials.num_partials <= 1 << LANE_BITS:
        gathered = partials.exchange_by_lane(rows)
        pairs = [_scan_by_lanes(scan, row, level, number) for row in gathered]
    else:
        place = _in_order(scan, level, number)
        pairs = [_scan_partials(scan, read, place) for read in partials.exchange(rows)]
    prefixes: _Prefixes = dict(zip(groups, (prefix for prefix, _ in pairs), strict=True))
    return prefixes, dict(zip(groups, (total for _, total in pairs), strict=True))


def _number_of_warp(scan: _Scan, level: _Level) -> str:
    """The number of this warp along the axis."""
    weights = [0] * (LANE_BITS + len(scan.layout.warp))
    for number, bit in enumerate(level.bits):
        weights[LANE_BITS + bit] = 1 << number
    return scan.emitter.sum_thread_bits(weights)


def _in_order(scan: _Scan, level: _Level, number: str) -> str:
    """The number of a warp in the order of the scan."""
    if not scan.op.reverse:
        return number
    return scan.emitter.value(f"xor i32 {number}, {(1 << len(level.bits)) - 1}")


def _scan_by_lanes(scan: _Scan, row: Row, level: _Level, number: str) -> tuple[_Prefix, Row]:
    """What comes before this warp, and the total, where each lane has the total of one warp."""
    emitter = scan.emitter
    lanes = _Level(_LANE, tuple(range(len(level.bits))), 0)
    prefix, total = _scan_lanes_of(scan, lanes, row)
    before = _shuffle(scan, "idx", prefix.row, number)
    exists = emitter.value(f"icmp ne i32 {_in_order(scan, level, number)}, 0")
    return _Prefix(before, exists), total


def _scan_partials(scan: _Scan, rows: list[Row], place: str) -> tuple[_Prefix, Row]:
    emitter = scan.emitter
    first, *others = reversed(rows) if scan.op.reverse else rows
    running = before = first
    for number, row in enumerate(others, 1):
        if number > 1:
            is_behind = emitter.value(f"icmp uge i32 {place}, {number}")
            before = scan.choose(is_behind, running, before)
        running = scan.combine(running, row)
    return _Prefix(before, emitter.value(f"icmp ne i32 {place}, 0")), running


_LEVELS = {_REGISTER: _scan_registers, _LANE: _scan_lanes, _WARP: _scan_warps}
