"""Memory as the block interpreter sees it: arguments' elements, addresses in them, atomic updates.

An address is the number of a memory and an element offset in it. Memories are the arguments in
order, then views: the same bytes under another type, or memory that only an absolute address leads
to. An address that lies in no memory has number NOWHERE; it may be computed with, not accessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock.errors import LaunchError
from lazyblock.tiler.types import ScalarType, to_numpy

Array = np.ndarray[Any, Any]
NOWHERE = -1
Resolve = Callable[[int], Array | None]


@dataclass(frozen=True, slots=True)
class Addresses:
    """A block of pointers: for each lane the number of the memory and the offset in elements."""

    memory: Array
    offset: Array


@dataclass(frozen=True, slots=True)
class Memory:
    """Elements in address order; `start` is where the argument's first element lies."""

    name: str
    elements: Array
    start: int

    @property
    def address(self) -> int:
        return address_of(self.elements)

    def holds(self, address: int) -> bool:
        return 0 <= address - self.address < self.elements.nbytes


def memory_of(name: str, array: Array) -> Memory:
    """A flat view of all memory between an array's first and last address."""
    if array.size == 0:
        return Memory(name, array.reshape(-1), 0)
    flips = (slice(None, None, -1 if stride < 0 else 1) for stride in array.strides)
    index: tuple[Any, ...] = (..., *flips)  # without `...` a scalar comes of rank 0
    upward = array[index].view(f"u{array.itemsize}")  # of types that NumPy cannot describe too
    ends = zip(upward.shape, upward.strides, strict=True)
    length = 1 + sum((extent - 1) * stride for extent, stride in ends) // array.itemsize
    flat = np.lib.stride_tricks.as_strided(upward, (length,), (array.itemsize,))
    offset = (address_of(array) - address_of(upward)) // array.itemsize
    return Memory(name, flat.view(array.dtype), offset)


def address_of(array: Array) -> int:
    """Where the first element lies."""
    return array.ctypes.data


# --- addresses as integers -----------------------------------------------------------------------


def to_integers(memories: Sequence[Memory], block: Addresses, nbytes: int) -> Array:
    """The absolute addresses of pointers to elements of `nbytes`, as int64."""
    starts = {NOWHERE: 0}
    for number in np.unique(block.memory):
        if number != NOWHERE:
            starts[int(number)] = memories[number].address
    first = np.vectorize(starts.__getitem__, otypes=[np.int64])(block.memory)
    return np.asarray(first + block.offset * nbytes)


def from_integers(
    memories: list[Memory], block: Array, pointee: ScalarType, resolve: Resolve | None
) -> Addresses:
    """Pointers to the memory that absolute addresses lie in; `memories` may gain views."""
    dtype = to_numpy(pointee)
    numbers, offsets = (np.empty(block.shape, np.int64) for _ in range(2))
    for lane in np.ndindex(block.shape):
        address = int(block[lane])
        number = _find(memories, address, dtype, resolve)
        start = 0 if number == NOWHERE else memories[number].address
        numbers[lane], offsets[lane] = number, (address - start) // dtype.itemsize
    return Addresses(numbers, offsets)


def repoint(
    memories: list[Memory], block: Addresses, before: ScalarType, after: ScalarType
) -> Addresses:
    """Pointers to the same bytes as elements of another type."""
    dtype = to_numpy(after)
    first = block.offset * before.nbytes
    skipped = first % dtype.itemsize
    numbers = np.full(block.memory.shape, NOWHERE, np.int64)
    for number, skip in sorted({*zip(block.memory.flat, skipped.flat, strict=True)}):
        if number != NOWHERE:
            view = _view(memories, memories[number], int(skip), dtype)
            numbers[(block.memory == number) & (skipped == skip)] = view
    return Addresses(numbers, first // dtype.itemsize)


def _find(
    memories: list[Memory], address: int, dtype: np.dtype[Any], resolve: Resolve | None
) -> int:
    """The number of a memory of `dtype` that holds `address` at a whole element."""
    for memory in memories:
        if memory.holds(address):
            return _view(memories, memory, (address - memory.address) % dtype.itemsize, dtype)
    extra = resolve(address) if resolve else None
    if extra is None:
        return NOWHERE
    memories.append(Memory(f"memory at {address_of(extra):#x}", extra, 0))
    return _find(memories, address, dtype, None)


def _view(memories: list[Memory], memory: Memory, skipped: int, dtype: np.dtype[Any]) -> int:
    """The number of `memory` without its first bytes as elements of `dtype`."""
    start = memory.address + skipped
    for number, known in enumerate(memories):
        if known.elements.dtype == dtype and known.address == start:
            return number
    raw = memory.elements.view(np.uint8)[skipped:]
    whole = raw[: raw.size // dtype.itemsize * dtype.itemsize]
    memories.append(Memory(memory.name, whole.view(dtype), 0))
    return len(memories) - 1


def require_somewhere(what: str, block: Addresses, active: Array, nbytes: int) -> None:
    """Raise LaunchError where a lane that is not masked points to no memory."""
    lost = active & (block.memory == NOWHERE)
    if lost.any():
        lane = tuple(int(index) for index in np.argwhere(lost)[0])
        address = int(np.broadcast_to(block.offset, active.shape)[lane]) * nbytes
        raise LaunchError(
            f"{what} touches address {address:#x}, which lies in no argument's array.",
            hint="pass the array as an argument too.",
        )


# --- atomic updates ------------------------------------------------------------------------------


def update(kind: str, elements: Array, offsets: Array, values: Array) -> Array:
    """Combine element after element; gives what lay there before."""
    before = np.empty_like(values)
    combine = _UPDATES[kind]
    for position, offset in enumerate(offsets):
        before[position] = elements[offset]
        elements[offset] = combine(before[position], values[position])
    return before


def swap(elements: Array, offsets: Array, compared: Array, values: Array) -> Array:
    """Replace elements with the bits of `compared`; gives what lay there before."""
    before = np.empty_like(values)
    for position, offset in enumerate(offsets):
        before[position] = elements[offset]
        if before[position].tobytes() == compared[position].tobytes():
            elements[offset] = values[position]
    return before


def _total_order(number: Any) -> int:
    """A key in IEEE's total order: -0 below +0, NaN beyond the infinity of its sign."""
    if number.dtype.kind != "f":
        return int(number)
    bits = int(number.view(f"i{number.itemsize}"))
    return bits if bits >= 0 else -(bits & (1 << 8 * number.itemsize - 1) - 1) - 1


_UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new,
    "max": lambda old, new: max(old, new, key=_total_order),
    "min": lambda old, new: min(old, new, key=_total_order),
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "xchg": lambda old, new: new,
}
