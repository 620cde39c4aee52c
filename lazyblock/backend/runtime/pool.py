"""Freed memory, kept by size class for the next allocation.

Work on a device is ordered, so memory may be handed out again the moment its last reference goes:
whatever still reads it was enqueued before. A block is what the device makes of memory.
No locks: they would cost more than all else here, and finalizers come in anywhere. Taking from a
list and adding to one are single steps; a count that two threads change at once may only drift.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Block = TypeVar("Block")

_ALIGNMENT = 64


def size_class(nbytes: int) -> int:
    """Sizes that blocks come in: multiples of 64 bytes; above 1 KiB, four to a power of two."""
    step = max(1 << max(nbytes - 1, 0).bit_length() - 3 if nbytes > 1024 else 0, _ALIGNMENT)
    return max(-(-nbytes // step), 1) * step


class Shelf(Generic[Block]):
    """The free blocks of one size."""

    __slots__ = ("_blocks", "_pool", "size")

    def __init__(self, pool: Pool[Block], size: int) -> None:
        self.size = size
        self._pool = pool
        self._blocks: list[Block] = []

    def take(self) -> Block | None:
        """A free block; None when there is none."""
        try:
            block = self._blocks.pop()
        except IndexError:
            return None
        self._pool.held_bytes -= self.size
        return block

    def keep(self, block: Block) -> bool:
        """Keep a block for later; False when the pool holds too much already."""
        pool = self._pool
        if pool.held_bytes + self.size > pool.limit:
            return False
        pool.held_bytes += self.size
        self._blocks.append(block)
        return True


class Pool(Generic[Block]):
    """At most `limit` bytes of free blocks, on a shelf per size."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held_bytes = 0
        self._shelves: dict[int, Shelf[Block]] = {}

    def shelf(self, nbytes: int) -> Shelf[Block]:
        """Where blocks for `nbytes` are kept."""
        size = size_class(nbytes)
        shelf = self._shelves.get(size)
        if shelf is None:
            shelf = self._shelves.setdefault(size, Shelf(self, size))
        return shelf

    def clear(self) -> list[Block]:
        """All free blocks, for the caller to give back."""
        return [
            block for shelf in tuple(self._shelves.values()) for block in iter(shelf.take, None)
        ]
