"""Freed memory, kept by size class for the next allocation.

Work on a device is ordered, so memory may be handed out again the moment its last reference goes:
whatever still reads it was enqueued before. A block is what the device makes of memory.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Generic, TypeVar

Block = TypeVar("Block")

_ALIGNMENT = 64


@lru_cache(maxsize=4096)
def size_class(nbytes: int) -> int:
    """Sizes that blocks come in: multiples of 64 bytes; above 1 KiB, four to a power of two."""
    step = max(1 << max(nbytes - 1, 0).bit_length() - 3 if nbytes > 1024 else 0, _ALIGNMENT)
    return max(-(-nbytes // step), 1) * step


class Pool(Generic[Block]):
    """At most `limit` bytes of free blocks."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held_bytes = 0
        self._lock = threading.RLock()  # the garbage collector may enter `keep` inside `take`
        self._free: dict[int, list[Block]] = {}

    def take(self, size: int) -> Block | None:
        """A block of this size class; None when there is none."""
        with self._lock:
            blocks = self._free.get(size)
            if not blocks:
                return None
            self.held_bytes -= size
            return blocks.pop()

    def keep(self, block: Block, size: int) -> bool:
        """Keep a block for later; False when too much is kept already."""
        with self._lock:
            if self.held_bytes + size > self.limit:
                return False
            self.held_bytes += size
            self._free.setdefault(size, []).append(block)
            return True

    def clear(self) -> list[Block]:
        """All that was kept, for the caller to give back."""
        with self._lock:
            blocks = [block for kept in self._free.values() for block in kept]
            self.held_bytes = 0
            self._free.clear()
        return blocks
