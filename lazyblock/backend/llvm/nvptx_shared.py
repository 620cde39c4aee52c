"""Shared memory of a program: two slots used in turn, and conversions between layouts through it.

Whoever wants to pass data between threads opens a slot, writes, calls `publish` (a barrier) and
reads. A slot may be written again once a barrier lies between its readers and the next writers;
with two slots in turn that is the other slot's, so straight code needs one barrier per exchange.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from lazyblock.backend.llvm.layout import LinearLayout, flatten_coordinates
from lazyblock.backend.llvm.nvptx_barriers import Barriers
from lazyblock.backend.llvm.nvptx_thread import SHARED_POINTER, ThreadEmitter, stored_type
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.tiler.types import Element

_ALIGNMENT = 16
_SECOND_SLOT = "lazyblock.second_slot"


@dataclass
class SharedMemory:
    """The two slots: their sizes so far."""

    emitter: ThreadEmitter
    barriers: Barriers
    sizes: list[int] = field(default_factory=lambda: [0, 0])

    def open_slot(self, nbytes: int) -> Slot:
        """A slot that this thread may write to now."""
        free = {0, 1} - self.barriers.state.read_slots
        if not free:
            self.barriers.wait()
        index = min(free, default=0)
        self.sizes[index] = max(self.sizes[index], -(-nbytes // _ALIGNMENT) * _ALIGNMENT)
        base = "@smem"
        if index:
            base = self.emitter.value(f"call {SHARED_POINTER} @{_SECOND_SLOT}()")
        return Slot(self, index, base)

    @property
    def nbytes(self) -> int:
        return sum(self.sizes)

    def definitions(self) -> str:
        """The symbols that slots refer to."""
        if not self.nbytes:
            return ""
        second = (
            f"define internal {SHARED_POINTER} @{_SECOND_SLOT}() alwaysinline nounwind {{\n"
            f"  %p = getelementptr i8, {SHARED_POINTER} @smem, i32 {self.sizes[0]}\n"
            f"  ret {SHARED_POINTER} %p\n}}\n"
        )
        array = self.emitter.shared_array(self.nbytes, _ALIGNMENT)
        return array + (second if self.sizes[1] else "")


@dataclass(frozen=True)
class Slot:
    """A piece of shared memory that holds arrays of elements."""

    memory: SharedMemory
    index: int
    base: str

    def publish(self) -> None:
        """Wait until all threads have written; from now on the slot is read."""
        self.memory.barriers.wait()
        self.memory.barriers.read_slot(self.index)

    def address(self, offset: int, element: Element, index: str, constant: int = 0) -> str:
        """Address of element number index + constant of the array at byte `offset`."""
        emitter, address = self.memory.emitter, self.base
        nbytes = offset + constant * element_nbytes(element)
        for type, steps in ((stored_type(element), index), ("i8", str(nbytes))):
            if steps != "0":
                place = f"{SHARED_POINTER} {address}, i32 {steps}"
                address = emitter.value(f"getelementptr {type}, {place}")
        return address

    def store(self, element: Element, value: str, address: str) -> None:
        place = f"{SHARED_POINTER} {address}"
        self.memory.emitter.store_vector(element, [value], place, element_nbytes(element))

    def load(self, element: Element, address: str, width: int = 1) -> list[str]:
        """`width` neighbouring elements; the address is aligned to all of them."""
        place = f"{SHARED_POINTER} {address}"
        align = element_nbytes(element) * width
        return self.memory.emitter.load_vector(element, width, place, align)


def convert_layout(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    source: LinearLayout,
    target: LinearLayout,
) -> list[str]:
    """A block's registers in layout `target`, from those in `source`.

    Through shared memory, every row of the block followed by a word of padding so that columns fall
    into different banks.
    """
    emitter = memory.emitter
    padded = _PaddedRows(source.shape, element)
    slot = memory.open_slot(padded.nbytes)
    register_mask, *thread_masks = source.replica_masks()
    with emitter.when(emitter.is_first_replica(*thread_masks)):
        for number, address in enumerate(padded.addresses(slot, source)):
            if not number & register_mask:
                slot.store(element, registers[number], address)
    slot.publish()
    return [slot.load(element, address)[0] for address in padded.addresses(slot, target)]


class _PaddedRows:
    """Where a block's elements lie in shared memory: row-major, rows padded by a word."""

    def __init__(self, shape: tuple[int, ...], element: Element) -> None:
        self._rows = shape[:-1]
        self._element = element
        self._pitch = shape[-1] + max(4 // element_nbytes(element), 1)
        self.nbytes = math.prod(self._rows) * self._pitch * element_nbytes(element)

    def addresses(self, slot: Slot, layout: LinearLayout) -> list[str]:
        """Addresses of the elements in this thread's registers."""
        assert all(map(layout.has_disjoint_bits, range(len(layout.shape))))
        emitter, bases = slot.memory.emitter, layout.lane + layout.warp
        row = emitter.sum_thread_bits([self._row(basis) for basis in bases])
        start = emitter.sum_thread_bits([basis[-1] for basis in bases])
        if row != "0":
            first = emitter.value(f"mul i32 {row}, {self._pitch}")
            start = emitter.value(f"add i32 {first}, {start}")
        places = map(layout.coordinates, range(layout.num_registers))
        return [
            slot.address(0, self._element, start, self._row(place) * self._pitch + place[-1])
            for place in places
        ]

    def _row(self, coordinates: tuple[int, ...]) -> int:
        return flatten_coordinates(self._rows, coordinates[:-1])
