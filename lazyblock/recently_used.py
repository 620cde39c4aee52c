"""A mapping of bounded size that forgets what was used longest ago; for several threads at once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_SHARE_FORGOTTEN = 4  # a quarter at once, so that ordering the values is rare


class _Entry(Generic[Value]):
    __slots__ = ("used", "value")

    def __init__(self, value: Value, used: int) -> None:
        self.value = value
        self.used = used


class RecentlyUsed(Generic[Key, Value]):
    """At most `most` values. Looking one up counts as using it, and takes no lock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: dict[Key, _Entry[Value]] = {}
        self._clock = itertools.count()
        self._lock = threading.RLock()  # freeing a value may enter any code

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        """The value of `key`; None when there is none (or no more)."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.used = next(self._clock)
        return entry.value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, in the place of those used longest ago when there are too many."""
        with self._lock:
            self._entries[key] = _Entry(value, next(self._clock))
            if len(self._entries) > self._most:
                oldest = sorted(self._entries.items(), key=lambda item: item[1].used)
                for old, _ in oldest[: max(self._most // _SHARE_FORGOTTEN, 1)]:
                    del self._entries[old]
