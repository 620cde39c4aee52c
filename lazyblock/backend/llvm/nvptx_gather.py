"""Elements at computed places: exchanges, gathers and counts, between the threads of a CTA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from lazyblock.backend.llvm.atomics import Atomic
from lazyblock.backend.llvm.conversions import emit_cast
from lazyblock.backend.llvm.layout import LANE_BITS, LinearLayout, bit_count, blocked_layout
from lazyblock.backend.llvm.nvptx_blocks import BlockCode, Registers
from lazyblock.backend.llvm.nvptx_convert import exchange_places, write_block
from lazyblock.backend.llvm.nvptx_shared import Slot
from lazyblock.backend.llvm.shared_layout import VECTOR_BYTES, SharedLayout
from lazyblock.backend.llvm.site import Site
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.shapes import contiguous_strides
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import int32

_MOST_REGISTER_BITS = 2  # of a place along the axis of a gather within a warp


def emit_exchange(code: BlockCode, op: ops.ExchangeBits) -> None:
    """Exchange elements, all threads at once."""
    layout, element = code.plan.home(op.result), op.value.type.element
    registers = code.demand(op.value, layout)
    mask = op.mask * contiguous_strides(op.value.shape)[op.axis]
    moved = exchange_places(code.shared, element, registers, layout, mask)
    code.hold(op.result, layout, moved)


# --- gathers -------------------------------------------------------------------------------------


def emit_gather(code: BlockCode, op: ops.Gather) -> None:
    """Read elements that lie in the warp, or in shared memory; an index outside wraps."""
    layout, element = code.plan.home(op.result), op.value.type.element
    numbers = code.demand(op.index, layout)
    places = _places_in_warp(op, layout)
    if places is not None:
        return _gather_in_warp(code, op, layout, numbers, places)
    source = _within_ctas(code, op.value)
    registers = code.demand(op.value, source)
    shared = _row_major(source, element_nbytes(element))
    slot = write_block(code.shared, element, registers, source, shared)
    slot.publish()
    stride = contiguous_strides(op.value.shape)[op.axis]
    gathered = []
    for number, place in zip(numbers, _places_beside(code, op, layout), strict=True):
        index = _wrap(code, op, number)
        index = code.emitter.value(f"mul i32 {index}, {stride}") if stride > 1 else index
        index = code.emitter.value(f"add i32 {index}, {place}") if place != "0" else index
        gathered.extend(slot.load(element, slot.address(0, element, index)))
    code.hold(op.result, layout, gathered)


class _Places(NamedTuple):
    """Where the bits of a place along the axis lie in a warp: (bit, lane or register bit) pairs."""

    lanes: tuple[tuple[int, int], ...]
    registers: tuple[tuple[int, int], ...]


def _places_in_warp(op: ops.Gather, layout: LinearLayout) -> _Places | None:
    """None if elements come from other warps, or from so many registers that memory is faster."""
    if op.value.shape != op.index.shape or not layout.is_separable(op.axis):
        return None
    parts = (layout.lane, layout.register, layout.warp)
    lanes, registers, warps = (
        tuple((b[op.axis].bit_length() - 1, n) for n, b in enumerate(part) if b[op.axis])
        for part in parts
    )
    is_far = warps or len(registers) > _MOST_REGISTER_BITS
    return None if is_far else _Places(lanes, registers)


def _gather_in_warp(
    code: BlockCode, op: ops.Gather, layout: LinearLayout, numbers: Registers, places: _Places
) -> None:
    """Ask the lane that has the element for each register where it may lie; choose one."""
    emitter, element = code.emitter, op.value.type.scalar
    held = code.demand(op.value, layout)
    chosen = {lane for _, lane in places.lanes}
    weights = [0 if lane in chosen else 1 << lane for lane in range(LANE_BITS)]
    own = emitter.sum_thread_bits(weights + [0] * len(layout.warp))
    mask = sum(1 << bit for _, bit in places.registers)
    gathered = []
    for register, number in enumerate(numbers):
        index = _wrap(code, op, number)
        lane = own
        for run in _split_runs(places.lanes):
            lane = emitter.combine_bits(lane, _move_bits(code, index, *run), True)
        found = [register & ~mask]
        for _, bit in places.registers:
            found += [other | 1 << bit for other in found]
        values = [held[other] for other in found]
        if places.lanes:
            values = [emitter.shuffle("idx", element, value, lane) for value in values]
        for bit, _ in reversed(places.registers):
            is_set = emitter.value(f"and i32 {index}, {1 << bit}")
            is_set = emitter.value(f"icmp ne i32 {is_set}, 0")
            half = len(values) // 2
            site = Site(emitter, code.target, element, 1)
            values = [site.select(is_set, values[n + half], values[n]) for n in range(half)]
        gathered.extend(values)
    code.hold(op.result, layout, gathered)


def _split_runs(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Bits that move by one distance: their mask, and the distance."""
    masks: dict[int, int] = {}
    for bit, place in pairs:
        masks[place - bit] = masks.get(place - bit, 0) | 1 << bit
    return [(mask, distance) for distance, mask in masks.items()]


def _move_bits(code: BlockCode, index: str, mask: int, distance: int) -> str:
    """The bits of `mask`, moved upward."""
    bits = code.emitter.value(f"and i32 {index}, {mask}")
    if distance == 0:
        return bits
    shift = f"shl i32 {bits}, {distance}" if distance > 0 else f"lshr i32 {bits}, {-distance}"
    return code.emitter.value(shift)


def _within_ctas(code: BlockCode, value: Value) -> LinearLayout:
    """A layout in which every CTA holds the whole block."""
    cta_bits = code.emitter.cta_bits
    home = code.plan.home(value)
    if not cta_bits:
        return home
    layout = blocked_layout(value.shape, home.num_warps >> cta_bits)
    return replace(layout, warp=layout.warp + ((0,) * len(value.shape),) * cta_bits)


def _row_major(source: LinearLayout, nbytes: int) -> SharedLayout:
    """Elements in order, written in vectors where the writers hold neighbours."""
    num_bits = sum(map(bit_count, source.shape))
    units = tuple(1 << bit for bit in range(num_bits))
    most = bit_count(max(VECTOR_BYTES // nbytes, 1))
    wide = SharedLayout(nbytes, units[:most], units)
    return wide if wide.is_aligned_for(source) else replace(wide, vector=())


def _places_beside(code: BlockCode, op: ops.Gather, layout: LinearLayout) -> Registers:
    """Where in the operand each register's element would be read, were its index 0."""
    emitter, strides = code.emitter, list(contiguous_strides(op.value.shape))
    strides[op.axis] = 0

    def place(basis: tuple[int, ...]) -> int:
        return sum(b * stride for b, stride in zip(basis, strides, strict=True))

    base = emitter.sum_thread_bits([place(basis) for basis in layout.lane + layout.warp])
    places = []
    for register in range(layout.num_registers):
        step = place(layout.coordinates(register))
        places.append(emitter.combine_bits(base, str(step), False) if step else base)
    return places


def _wrap(code: BlockCode, op: ops.Gather, number: str) -> str:
    """An index as i32, in range."""
    scalar, extent = op.index.type.scalar, op.value.shape[op.axis]
    site = Site(code.emitter, code.target, scalar, 1)
    narrow = number if scalar == int32 else emit_cast(site, number, int32)
    return code.emitter.value(f"and i32 {narrow}, {extent - 1}")


# --- counts --------------------------------------------------------------------------------------


def emit_histogram(code: BlockCode, op: ops.Histogram) -> None:
    """Count in shared memory: zeros, an atomic sum of every element, and a read of the sums."""
    layout, source = code.plan.home(op.result), _within_ctas(code, op.value)
    numbers = code.demand(op.value, source)
    masks = code.demand(op.mask, source) if op.mask is not None else [""] * len(numbers)
    slot = code.shared.open_slot(op.num_bins * int32.nbytes)
    _write_zeros(code, slot, _within_ctas(code, op.result))
    code.barriers.wait()
    code.barriers.touch(slot.access(is_write=True))
    register_mask, *thread_masks = source.local_replica_masks(code.emitter.cta_bits)
    with code.emitter.when(code.emitter.is_first_replica(*thread_masks)):
        for register, (number, mask) in enumerate(zip(numbers, masks, strict=True)):
            if not register & register_mask:
                _count(code, slot, op.num_bins, number, mask)
    slot.publish()
    counts = [slot.load(int32, address)[0] for address in _addresses(code, slot, layout)]
    code.hold(op.result, layout, counts)


def _addresses(code: BlockCode, slot: Slot, layout: LinearLayout) -> Registers:
    """Where the counts of a layout's registers lie."""
    base = code.emitter.sum_thread_bits([basis[0] for basis in layout.lane + layout.warp])
    addresses = []
    for register in range(layout.num_registers):
        (step,) = layout.coordinates(register)
        index = code.emitter.combine_bits(base, str(step), False) if step else base
        addresses.append(slot.address(0, int32, index))
    return addresses


def _write_zeros(code: BlockCode, slot: Slot, layout: LinearLayout) -> None:
    register_mask, *thread_masks = layout.local_replica_masks(code.emitter.cta_bits)
    with code.emitter.when(code.emitter.is_first_replica(*thread_masks)):
        for register, address in enumerate(_addresses(code, slot, layout)):
            if not register & register_mask:
                slot.store(int32, ["0"], address)


def _count(code: BlockCode, slot: Slot, num_bins: int, number: str, mask: str) -> None:
    emitter = code.emitter
    is_bin = emitter.value(f"icmp ult i32 {number}, {num_bins}")
    with emitter.when(emitter.both(is_bin, mask)):
        address = f"{slot.space} {slot.address(0, int32, number)}"
        access = Atomic("add", int32, scope="cta", is_used=False)
        emitter.atomic(code.target, access, address, "1")
