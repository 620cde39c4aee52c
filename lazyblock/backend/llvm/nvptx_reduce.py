"""Reductions along one axis of a block: in each thread, across a warp's lanes, across warps.

In a thread, registers combine as a tree; lanes exchange by butterfly shuffles; warps leave their
partial results in shared memory, and after one barrier every thread combines those it needs. The
CTAs of a cluster do the same with one partial result per CTA, left in the memory of all. So all
threads get the result, in a layout that is the operand's without the axis. Elements always combine
with the lower one on the left, so all threads compute the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lazyblock.backend.llvm.layout import LANE_BITS, LinearLayout, flatten_coordinates
from lazyblock.backend.llvm.nvptx_blocks import BlockCode, Registers
from lazyblock.backend.llvm.nvptx_layouts import VECTOR_BYTES
from lazyblock.backend.llvm.nvptx_shared import Mailbox, Slot
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter, can_be_mailed, value_type
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.tiler import ops
from lazyblock.tiler.ops.arith import COMMUTATIVE_KINDS
from lazyblock.tiler.types import ScalarType

Row = tuple[str, ...]  # one scalar of each value that is reduced
Combine = Callable[[Row, Row], Row]


@dataclass(frozen=True)
class _Reduction:
    """What the steps share. `source` is the operands' layout, `result` that of the results."""

    code: BlockCode
    op: ops.Reduce
    combine: Combine
    source: LinearLayout
    result: LinearLayout

    @property
    def elements(self) -> list[ScalarType]:
        return [value.type.scalar for value in self.op.values]

    @property
    def is_commutative(self) -> bool:
        return self.op.kind in COMMUTATIVE_KINDS

    def combine_tree(self, rows: Sequence[Row]) -> Row:
        """All rows, neighbours first."""
        while len(rows) > 1:
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [self.combine(left, right) for left, right in pairs]
        return rows[0]


def emit_reduction(code: BlockCode, op: ops.Reduce, combine: Combine) -> None:
    """Emit `op`; `combine` emits its region once for a left and a right row."""
    if _is_end_of_scan(op) and op.values[0] in code.totals:
        code.hold(op.result, code.plan.home(op.result), [code.totals[op.values[0]]])
        return
    source = code.plan.combined[op]
    reduction = _Reduction(code, op, combine, source, source.squeeze(op.axis))
    operands = [code.demand(value, source) for value in op.values]
    rows = _reduce_registers(reduction, list(zip(*operands, strict=True)))
    rows = [_reduce_lanes(reduction, row) for row in rows]
    for warp_bits in _split_warp_bits(code, source, op.axis):
        partials = Partials(code, reduction.elements, reduction.result, warp_bits)
        rows = [reduction.combine_tree(gathered) for gathered in partials.exchange(rows)]
    for result, registers in zip(op.results, zip(*rows, strict=True), strict=True):
        code.hold(result, reduction.result, list(registers))


def _is_end_of_scan(op: ops.Reduce) -> bool:
    """Whether `op` picks the element that the scan which makes its operand comes to last."""
    scan = op.values[0].owner
    if len(op.values) != 1 or not isinstance(scan, ops.Scan):
        return False
    picked = op.combine.terminator.operands_flat[0]
    return picked is op.combine.arguments[0 if scan.reverse else 1]


def _reduce_registers(reduction: _Reduction, rows: list[Row]) -> list[Row]:
    """One row per register of the result."""
    source, axis = reduction.source, reduction.op.axis
    held = dict(enumerate(rows))
    steps = {1 << bit: basis[axis] for bit, basis in enumerate(source.register) if basis[axis]}
    for bit in sorted(steps, key=steps.__getitem__):
        held = {
            register: reduction.combine(row, held[register | bit])
            for register, row in held.items()
            if not register & bit
        }
    return [held[register] for register in sorted(held)]


def _reduce_lanes(reduction: _Reduction, row: Row) -> Row:
    emitter, source = reduction.code.emitter, reduction.source
    for bit, basis in enumerate(source.lane):
        if not basis[reduction.op.axis]:
            continue
        pairs = zip(reduction.elements, row, strict=True)
        others = tuple(emitter.shuffle("xor", element, value, 1 << bit) for element, value in pairs)
        left, right = row, others
        if not reduction.is_commutative:
            is_lower = emitter.is_first_replica(1 << bit, 0)
            left = choose(emitter, reduction.elements, is_lower, row, others)
            right = choose(emitter, reduction.elements, is_lower, others, row)
        row = reduction.combine(left, right)
    return row


def choose(
    emitter: ThreadEmitter,
    elements: Sequence[ScalarType],
    condition: str,
    on_true: Row,
    on_false: Row,
) -> Row:
    """One of two rows."""
    chosen = []
    for element, left, right in zip(elements, on_true, on_false, strict=True):
        type = value_type(element)
        chosen.append(emitter.value(f"select i1 {condition}, {type} {left}, {type} {right}"))
    return tuple(chosen)


# --- across warps --------------------------------------------------------------------------------


def _split_warp_bits(code: BlockCode, source: LinearLayout, axis: int) -> Iterator[list[int]]:
    """The warp bits along an axis, lowest place first: those inside a CTA, then those of CTAs."""
    bases = source.warp
    bits = sorted((n for n, basis in enumerate(bases) if basis[axis]), key=lambda n: bases[n][axis])
    num_local = len(bases) - code.emitter.cta_bits
    for chosen in ([b for b in bits if b < num_local], [b for b in bits if b >= num_local]):
        if chosen:
            yield chosen


class Partials:
    """Arrays in shared memory, one per value, indexed [element of the result, place].

    result: the layout of the partial results. warp_bits: the bits of the warp that tell partials
    of one element apart, the lowest place along the axis first. Where some of these tell CTAs
    apart, every CTA gets a copy: of the threads that hold an element, each writes to another.
    """

    def __init__(
        self,
        code: BlockCode,
        elements: Sequence[ScalarType],
        result: LinearLayout,
        warp_bits: Sequence[int],
    ) -> None:
        self._shared = code.shared
        self._emitter = code.emitter
        self._elements = elements
        self._result = result
        self._warp_bits = warp_bits
        num_local = len(result.warp) - code.emitter.cta_bits
        self._crosses_ctas = any(bit >= num_local for bit in warp_bits)
        self.num_partials = 1 << len(warp_bits)
        self._offsets: list[int] = []
        self.nbytes = 0
        size = self.num_partials * math.prod(result.shape)
        for element in elements:
            self._offsets.append(self.nbytes)
            self.nbytes += -(-size * element_nbytes(element) // VECTOR_BYTES) * VECTOR_BYTES

    def exchange(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Give the row of each register; get, for each, the rows of all places in order."""
        slot = self._open_mailbox() or self._shared.open_slot(self.nbytes, self._crosses_ctas)
        self._write(slot, rows)
        slot.publish()
        return self._read(slot)

    def exchange_by_lane(self, rows: Sequence[Row]) -> list[Row]:
        """The same where a warp has one element: lane n gets the row of place n (modulo all)."""
        slot = self._shared.open_slot(self.nbytes, self._crosses_ctas)
        self._write(slot, rows)
        slot.publish()
        _, warp_weights = self._weights()
        own = [1 << bit if 1 << bit < self.num_partials else 0 for bit in range(LANE_BITS)]
        index = self._emitter.sum_thread_bits(own + warp_weights)
        places = list(zip(self._elements, self._offsets, strict=True))
        return [
            tuple(
                slot.load(element, slot.address(offset, element, index, constant))[0]
                for element, offset in places
            )
            for constant in self._constants()
        ]

    def _open_mailbox(self) -> Mailbox | None:
        if not self._crosses_ctas or not can_be_mailed(self._elements):
            return None
        mailbox = self._shared.open_mailbox(self.nbytes)
        if mailbox is not None:
            size = self.num_partials * math.prod(self._result.shape)
            mailbox.expect(size * sum(element_nbytes(element) for element in self._elements))
        return mailbox

    def _write(self, slot: Slot, rows: Sequence[Row]) -> None:
        """Each warp's (or CTA's) partials, from the first thread that has them."""
        lane_weights, warp_weights = self._weights()
        for number, bit in enumerate(self._warp_bits):
            warp_weights[bit] = 1 << number
        index = self._emitter.sum_thread_bits(lane_weights + warp_weights)
        masks = self._replica_masks()
        copies = [slot]
        if self._crosses_ctas:
            spare = _bits_of(masks[0])[: self._emitter.cta_bits]
            copies = self._copies(slot, spare)
            masks = masks[0] & ~sum(1 << bit for bit in spare), masks[1]
        with self._emitter.when(self._emitter.is_first_replica(*masks)):
            for copy in copies:
                self._write_rows(copy, index, rows)

    def _replica_masks(self) -> tuple[int, int]:
        """Lane and warp bits of threads that repeat others' partials for the same memory."""
        cta_bits = 0 if self._crosses_ctas else self._emitter.cta_bits
        _, lane_mask, warp_mask = self._result.local_replica_masks(cta_bits)
        return lane_mask, warp_mask & ~sum(1 << bit for bit in self._warp_bits)

    def _copies(self, slot: Slot, lane_bits: list[int]) -> list[Slot]:
        """The slots that a thread writes to; its `lane_bits` tell it which CTA's come first."""
        weights = [0] * (LANE_BITS + len(self._result.warp))
        for number, bit in enumerate(lane_bits):
            weights[bit] = 1 << number
        first = self._emitter.sum_thread_bits(weights)
        step, copies = 1 << len(lane_bits), []
        for rank in range(0, self._emitter.num_ctas, step):
            own = self._emitter.combine_bits(first, str(rank), True) if rank else first
            copies.append(slot.of_cta(own))
        return copies

    def _write_rows(self, slot: Slot, index: str, rows: Sequence[Row]) -> None:
        for constant, row in zip(self._constants(), rows, strict=True):
            places = zip(self._elements, self._offsets, row, strict=True)
            for element, offset, value in places:
                slot.store(element, [value], slot.address(offset, element, index, constant))

    def _read(self, slot: Slot) -> list[list[Row]]:
        lane_weights, warp_weights = self._weights()
        index = self._emitter.sum_thread_bits(lane_weights + warp_weights)
        gathered = []
        for constant in self._constants():
            columns = [
                self._read_column(slot, element, offset, index, constant)
                for element, offset in zip(self._elements, self._offsets, strict=True)
            ]
            gathered.append(list(zip(*columns, strict=True)))
        return gathered

    def _read_column(
        self, slot: Slot, element: ScalarType, offset: int, index: str, constant: int
    ) -> Registers:
        width = min(self.num_partials, VECTOR_BYTES // element_nbytes(element))
        names: Registers = []
        for first in range(0, self.num_partials, width):
            address = slot.address(offset, element, index, constant + first)
            names.extend(slot.load(element, address, width))
        return names

    def _weights(self) -> tuple[list[int], list[int]]:
        """What each lane and warp bit adds to the index of the thread's element, partial 0."""
        lane, warp = self._result.lane, self._result.warp
        return list(map(self._place, lane)), list(map(self._place, warp))

    def _constants(self) -> list[int]:
        registers = range(self._result.num_registers)
        return [self._place(self._result.coordinates(register)) for register in registers]

    def _place(self, coordinates: tuple[int, ...]) -> int:
        return flatten_coordinates(self._result.shape, coordinates) * self.num_partials


def _bits_of(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
