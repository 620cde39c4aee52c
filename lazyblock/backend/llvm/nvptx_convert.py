"""A block's registers from one layout to another: through shared memory."""

from __future__ import annotations

import math

from lazyblock.backend.llvm.layout import LinearLayout, flatten_coordinates
from lazyblock.backend.llvm.nvptx_shared import SharedMemory, Slot
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.tiler.types import Element


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
    cta_bits = emitter.cta_bits
    crosses_ctas = cta_bits > 0 and not source.holds_within_ctas(target, cta_bits)
    slot = memory.open_slot(padded.nbytes, crosses_ctas)
    register_mask, *thread_masks = source.local_replica_masks(cta_bits)
    copies = [slot]
    if crosses_ctas:
        register_mask, *thread_masks = source.replica_masks()
        copies = [slot.of_cta(str(rank)) for rank in range(emitter.num_ctas)]
    with emitter.when(emitter.is_first_replica(*thread_masks)):
        for copy in copies:
            for number, address in enumerate(padded.addresses(copy, source)):
                if not number & register_mask:
                    copy.store(element, [registers[number]], address)
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
