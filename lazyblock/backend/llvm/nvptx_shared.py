"""Shared memory of a program: exchanges between threads, placed by who still reads what.

Whoever wants to pass data between threads opens a slot, writes, calls `publish` (a barrier) and
reads. A slot lies where nobody may still be reading, so straight code needs one barrier per
exchange, and its memory serves again after the next one. In a cluster every CTA has such memory,
with the same slots at the same places; a thread may write to those of other CTAs. What is exchanged
between them once, outside loops, goes through a mailbox, which needs no barrier at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lazyblock.backend.llvm.nvptx_barriers import Barriers, SharedAccess
from lazyblock.backend.llvm.nvptx_functions import SHARED_POINTER
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter, stored_type
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.tiler.types import Element, ScalarType

_ALIGNMENT = 16
_COUNT_BYTES = 8  # of a mailbox


@dataclass
class SharedMemory:
    """Gives out places; `nbytes` is what was needed so far, `limit` what the target has."""

    emitter: ThreadEmitter
    barriers: Barriers
    limit: int
    nbytes: int = 0
    _kept: list[tuple[int, int]] = field(default_factory=list)  # ranges that never serve again
    _counts: list[str] = field(default_factory=list)  # addresses, of mailboxes not used yet

    def prepare_mailboxes(self, number: int) -> None:
        """Make the counts of that many mailboxes; at the kernel's start."""
        if number:
            start, base = self._keep(number * _COUNT_BYTES), self.emitter.shared_base()
            steps = range(start, start + number * _COUNT_BYTES, _COUNT_BYTES)
            self._counts = [_advance(self.emitter, SHARED_POINTER, base, step) for step in steps]
            self.emitter.init_mailboxes(self._counts)

    def open_mailbox(self, nbytes: int) -> Mailbox | None:
        """A mailbox for one exchange between CTAs; None where there is none or it may run again."""
        if not self._counts or self.barriers.is_in_loop:
            return None
        self.barriers.await_start()
        start = self._keep(nbytes)
        place = start, start + _align(nbytes), True, self.emitter.shared_base(), SHARED_POINTER
        return Mailbox(self, *place, self._counts.pop())

    def _keep(self, nbytes: int) -> int:
        start = self.nbytes
        self.nbytes += _align(nbytes)
        self._kept.append((start, self.nbytes))
        return start

    def open_slot(self, nbytes: int, crosses_ctas: bool = False) -> Slot:
        """A slot that this thread may write to now; in all CTAs if `crosses_ctas`."""
        if crosses_ctas:
            self.barriers.await_start()
        size = _align(nbytes)
        start = _first_gap(self._busy(crosses_ctas), size)
        if start and start + size > self.limit:
            start = _first_gap(self._kept, size)  # then the writers wait for the readers
        self.nbytes = max(self.nbytes, start + size)
        slot = Slot(self, start, start + size, crosses_ctas, self.emitter.shared_base())
        self.barriers.touch(slot.access(is_write=True))
        return slot

    def _busy(self, crosses_ctas: bool) -> list[tuple[int, int]]:
        """Ranges that others may still read, or write to when the loop at hand starts anew."""
        state = self.barriers.state
        trace = state.cluster if crosses_ctas else state.cta
        touched = trace.recent | trace.exposed
        ranges = {(a.start, a.stop) for a in touched if isinstance(a, SharedAccess)}
        return sorted(ranges.union(self._kept))

    def definitions(self) -> str:
        """The symbol that slots refer to."""
        return self.emitter.shared_array(self.nbytes, _ALIGNMENT) if self.nbytes else ""


def _align(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _first_gap(busy: Iterable[tuple[int, int]], size: int) -> int:
    """Where `size` bytes lie beside all of the sorted ranges."""
    place = 0
    for start, stop in busy:
        if place + size <= start:
            break
        place = max(place, stop)
    return place


@dataclass(frozen=True)
class Slot:
    """A piece of shared memory that holds arrays of elements."""

    memory: SharedMemory
    start: int
    stop: int
    crosses_ctas: bool
    base: str  # of the CTA's memory
    space: str = SHARED_POINTER

    def access(self, is_write: bool) -> SharedAccess:
        return SharedAccess(is_write, is_write and self.crosses_ctas, self.start, self.stop)

    def publish(self) -> None:
        """Wait until all threads have written; from now on the slot is read."""
        self.memory.barriers.touch(self.access(is_write=False))

    def of_cta(self, rank: str) -> Slot:
        """The slot in the memory of a CTA of the cluster, for writing."""
        space, base = self.memory.emitter.map_shared(self.base, rank)
        return replace(self, base=base, space=space)

    def address(self, offset: int, element: Element, index: str, constant: int = 0) -> str:
        """Address of element number index + constant of the array at byte `offset`."""
        emitter, address = self.memory.emitter, self.base
        nbytes = self.start + offset + constant * element_nbytes(element)
        for type, steps in ((stored_type(element), index), ("i8", str(nbytes))):
            if steps != "0":
                place = f"{self.space} {address}, i32 {steps}"
                address = emitter.value(f"getelementptr {type}, {place}")
        return address

    def store(self, element: Element, values: list[str], address: str) -> None:
        """Write neighbouring elements; the address is aligned to all of them."""
        place = f"{self.space} {address}"
        align = element_nbytes(element) * len(values)
        self.memory.emitter.store_vector(element, values, place, align)

    def load(self, element: Element, address: str, width: int = 1) -> list[str]:
        """`width` neighbouring elements; the address is aligned to all of them."""
        place = f"{self.space} {address}"
        align = element_nbytes(element) * width
        return self.memory.emitter.load_vector(element, width, place, align)


@dataclass(frozen=True)
class Mailbox(Slot):
    """A slot that all CTAs of a cluster write to, all of it, once; each waits for what it gets.

    Nobody uses the memory before or after: peers may write as soon as they run, and what was read
    needs no guard. A CTA ends when all has come that others send it, so they find it there.
    """

    count: str = ""  # address of the count of bytes

    def publish(self) -> None:
        self.memory.emitter.await_mail(self.count)

    def expect(self, nbytes: int) -> None:
        """Say how many bytes will be written to each copy."""
        self.memory.emitter.expect_mail(self.count, nbytes)

    def of_cta(self, rank: str) -> Mailbox:
        space, base = self.memory.emitter.map_shared(self.base, rank)
        _, count = self.memory.emitter.map_shared(self.count, rank)
        return replace(self, base=base, space=space, count=count)

    def store(self, element: Element, values: list[str], address: str) -> None:
        assert isinstance(element, ScalarType)
        for number, value in enumerate(values):
            steps = number * element_nbytes(element)
            place = _advance(self.memory.emitter, self.space, address, steps)
            self.memory.emitter.send_mail(element, value, place, self.count)


def _advance(emitter: ThreadEmitter, space: str, address: str, nbytes: int) -> str:
    if not nbytes:
        return address
    return emitter.value(f"getelementptr i8, {space} {address}, i32 {nbytes}")
