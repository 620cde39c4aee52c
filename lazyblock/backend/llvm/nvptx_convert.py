"""A block's registers from one layout to another: by shuffles or through shared memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from operator import or_

from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_shared import SharedMemory, Slot
from lazyblock.backend.llvm.nvptx_shuffle import emit_shuffles, plan_shuffles
from lazyblock.backend.llvm.shared_layout import SharedLayout, choose_layout
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.tiler.types import Element, ScalarType

_BARRIER_COST = 32  # cycles of a warp


def convert_layout(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    source: LinearLayout,
    target: LinearLayout,
) -> list[str]:
    """A block's registers in layout `target`, from those in `source`.

    By shuffles where every warp holds what it wants, else through shared memory, placed so that
    neither writers nor readers meet in a bank.
    """
    emitter = memory.emitter
    nbytes = element_nbytes(element)
    shared = choose_layout(source, target, nbytes)
    plan = plan_shuffles(source, target)
    if plan is not None and isinstance(element, ScalarType):
        most = shared.cost(source) + shared.cost(target) + _BARRIER_COST
        if plan.cost(nbytes, len(registers)) <= most:
            return emit_shuffles(emitter, element, registers, plan)
    cta_bits = emitter.cta_bits
    crosses_ctas = cta_bits > 0 and not source.holds_within_ctas(target, cta_bits)
    return exchange_shared(memory, element, registers, source, target, crosses_ctas)


def exchange_shared(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    source: LinearLayout,
    target: LinearLayout,
    crosses_ctas: bool,
) -> list[str]:
    """`convert_layout` through shared memory; of threads that hold an element, the first writes.

    crosses_ctas: the first of the cluster writes, to every CTA; else the first of each CTA.
    """
    emitter, cta_bits = memory.emitter, memory.emitter.cta_bits
    nbytes = element_nbytes(element)
    shared = choose_layout(source, target, nbytes)
    slot = memory.open_slot(math.prod(source.shape) * nbytes, crosses_ctas)
    register_mask, *thread_masks = source.local_replica_masks(cta_bits)
    copies = [slot]
    if crosses_ctas:
        register_mask, *thread_masks = source.replica_masks()
        copies = [slot.of_cta(str(rank)) for rank in range(emitter.num_ctas)]
    with emitter.when(emitter.is_first_replica(*thread_masks)):
        for copy in copies:
            for vector, address in _accesses(copy, shared, element, source):
                if not vector[0] & register_mask:
                    copy.store(element, [registers[number] for number in vector], address)
    slot.publish()
    result = [""] * target.num_registers
    for vector, address in _accesses(slot, shared, element, target):
        values = slot.load(element, address, len(vector))
        for number, value in zip(vector, values, strict=True):
            result[number] = value
    return result


def _accesses(
    slot: Slot, shared: SharedLayout, element: Element, layout: LinearLayout
) -> Iterator[tuple[tuple[int, ...], str]]:
    """The registers of each access and their address.

    What a register adds to the thread's part is a constant where their bits do not meet.
    """
    emitter = slot.memory.emitter
    weights = [shared.place(layout.flatten(basis)) for basis in layout.lane + layout.warp]
    base, mask = emitter.sum_thread_bits(weights), reduce(or_, weights, 0)
    starts: dict[int, str] = {0: base}
    for vector in layout.vectors(shared.vector_positions(layout)):
        place = shared.place(layout.flatten(layout.coordinates(vector[0])))
        mixed = place & mask
        if mixed not in starts:
            starts[mixed] = emitter.combine_bits(base, str(mixed), False)
        yield vector, slot.address(0, element, starts[mixed], place & ~mask)
