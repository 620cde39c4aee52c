"""A block's registers from one layout to another: by shuffles or through shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_

from lazyblock.backend.llvm.layout import Basis, LinearLayout
from lazyblock.backend.llvm.nvptx_shared import SharedMemory, Slot
from lazyblock.backend.llvm.nvptx_shuffle import emit_shuffles, find_home, plan_shuffles
from lazyblock.backend.llvm.shared_layout import SharedLayout, choose_layout
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.tiler.types import Element, ScalarType

_BARRIER_COST = 32  # cycles of a warp


@dataclass(frozen=True)
class Rounds:
    """A loop in which a block is read piece by piece.

    index: its i32. positions: the register bits that its bits stand for.
    """

    index: str
    positions: tuple[int, ...]


class Moved:
    """A block in the layout it was asked for, whose registers are read when they are needed."""

    def __init__(self, registers: list[str]) -> None:
        self._registers = registers

    def publish(self) -> None:
        """Wait for all threads; comes before the first register."""

    def register(self, number: int) -> str:
        return self._registers[number]

    def registers(self) -> list[str]:
        return [self.register(number) for number in range(len(self._registers))]

    def receive(self) -> list[str]:
        """All registers, once all threads have come."""
        self.publish()
        return self.registers()


class Exchanged(Moved):
    """A block that lies in shared memory."""

    def __init__(self, places: _Places) -> None:
        super().__init__([""] * places.layout.num_registers)
        self._places = places

    def publish(self) -> None:
        self._places.slot.publish()

    def is_within_access(self, position: int) -> bool:
        """Whether one access reads registers that differ in this bit."""
        return self._places.is_within_access(position)

    def during(self, rounds: Rounds) -> Exchanged:
        """The block as a loop reads it."""
        return Exchanged(replace(self._places, rounds=rounds))

    def register(self, number: int) -> str:
        if not self._registers[number]:
            vector = self._places.vector_of(number)
            address = self._places.address(vector[0])
            values = self._places.slot.load(self._places.element, address, len(vector))
            for position, member in enumerate(vector):
                self._registers[member] = values[position ^ self._places.first_of(vector)]
        return self._registers[number]


def convert_layout(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    source: LinearLayout,
    target: LinearLayout,
) -> list[str]:
    """A block's registers in layout `target`, from those in `source`."""
    return start_conversion(memory, element, registers, source, target).receive()


def start_conversion(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    source: LinearLayout,
    target: LinearLayout,
) -> Moved:
    """Send a block's registers in `source` on their way to `target`.

    By shuffles where every warp holds what it wants, else through shared memory, placed so that
    neither writers nor readers meet in a bank.
    """
    nbytes = element_nbytes(element)
    shared = choose_layout(source, target, nbytes)
    plan = plan_shuffles(source, target)
    if plan is not None and isinstance(element, ScalarType):
        most = shared.cost(source) + shared.cost(target) + _BARRIER_COST
        if plan.cost(nbytes, len(registers)) <= most:
            return Moved(emit_shuffles(memory.emitter, element, registers, plan))
    cta_bits = memory.emitter.cta_bits
    crosses_ctas = cta_bits > 0 and not source.holds_within_ctas(target, cta_bits)
    slot = write_block(memory, element, registers, source, shared, crosses_ctas)
    return Exchanged(_Places(slot, shared, element, target))


def broadcast_first(
    memory: SharedMemory, element: Element, registers: list[str], layout: LinearLayout
) -> list[str]:
    """What the first thread of the instance that holds an element has for it, in all others too."""
    shared = choose_layout(layout, layout, element_nbytes(element))
    crosses_ctas = memory.emitter.num_ctas > 1
    slot = write_block(memory, element, registers, layout, shared, crosses_ctas)
    return Exchanged(_Places(slot, shared, element, layout)).receive()


def exchange_places(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    layout: LinearLayout,
    mask: int,
) -> list[str]:
    """For each element the one whose row-major index differs by `mask`, in the same layout.

    Another register or lane where a warp holds it, else through shared memory.
    """
    home = find_home(layout, mask)
    if home is not None and (home.lane == 0 or isinstance(element, ScalarType)):
        moved = [registers[number ^ home.register] for number in range(len(registers))]
        if home.lane == 0:
            return moved
        assert isinstance(element, ScalarType)
        shuffle = partial(memory.emitter.shuffle, "xor", element, lane=home.lane)
        received = {name: shuffle(name) for name in dict.fromkeys(moved)}
        return [received[name] for name in moved]
    shared = choose_layout(layout, layout, element_nbytes(element))
    cta_bits = memory.emitter.cta_bits
    crosses_ctas = cta_bits > 0 and not layout.reaches_within_ctas(mask, cta_bits)
    slot = write_block(memory, element, registers, layout, shared, crosses_ctas)
    return Exchanged(_Places(slot, shared, element, layout, exchanged=mask)).receive()


def write_block(
    memory: SharedMemory,
    element: Element,
    registers: list[str],
    source: LinearLayout,
    shared: SharedLayout,
    crosses_ctas: bool = False,
) -> Slot:
    """Shared memory (of all CTAs, if crosses_ctas) that holds a block once it is published."""
    emitter, cta_bits = memory.emitter, memory.emitter.cta_bits
    slot = memory.open_slot(math.prod(source.shape) * shared.nbytes, crosses_ctas)
    register_mask, *thread_masks = source.local_replica_masks(cta_bits)
    copies = [slot]
    if crosses_ctas:
        register_mask, *thread_masks = source.replica_masks()
        copies = [slot.of_cta(str(rank)) for rank in range(emitter.num_ctas)]
    with emitter.when(emitter.is_first_replica(*thread_masks)):
        for copy in copies:
            places = _Places(copy, shared, element, source)
            for vector in places.vectors:
                if not vector[0] & register_mask:
                    values = [registers[number] for number in vector]
                    copy.store(element, values, places.address(vector[0]))
    return slot


@dataclass
class _Places:
    """Addresses of a thread's registers in shared memory, and which of them one access moves.

    What a register adds to the thread's part is a constant where their bits do not meet.
    exchanged: by what the index of the element that a register takes differs from its own.
    """

    slot: Slot
    shared: SharedLayout
    element: Element
    layout: LinearLayout
    rounds: Rounds | None = None
    exchanged: int = 0

    def __post_init__(self) -> None:
        emitter = self.slot.memory.emitter
        self.vectors = self.layout.vectors(self.shared.vector_positions(self.layout))
        self._vector_of = {number: vector for vector in self.vectors for number in vector}
        weights = list(map(self._place, self.layout.lane + self.layout.warp))
        base = emitter.sum_thread_bits(weights)
        if self.rounds is not None:
            moving = [self._place(self.layout.register[n]) for n in self.rounds.positions]
            offset = emitter.sum_bits(self.rounds.index, moving)
            base, weights = emitter.combine_bits(base, offset, False), [*weights, *moving]
        self._mask = reduce(or_, weights, 0)
        self._starts: dict[int, str] = {0: base}

    def _place(self, coordinates: Basis) -> int:
        return self.shared.place(self.layout.flatten(coordinates))

    def is_within_access(self, position: int) -> bool:
        return position in self.shared.vector_positions(self.layout)

    def vector_of(self, number: int) -> tuple[int, ...]:
        return self._vector_of[number]

    def first_of(self, vector: tuple[int, ...]) -> int:
        """Which element of an access its first register takes; the n-th, that one xor n."""
        return self.shared.place(self.exchanged) % len(vector)

    def address(self, number: int) -> str:
        """Of the vector that begins with a register."""
        place = self._place(self.layout.coordinates(number)) ^ self.shared.place(self.exchanged)
        place &= -len(self.vector_of(number))
        mixed = place & self._mask
        if mixed not in self._starts:
            emitter = self.slot.memory.emitter
            self._starts[mixed] = emitter.combine_bits(self._starts[0], str(mixed), False)
        return self.slot.address(0, self.element, self._starts[mixed], place & ~self._mask)
