"""A table of addresses for kernels that find arrays at run time: `tl.load(table + i)` is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazyblock.errors import DeviceError
from lazyblock.language.arguments import read_argument
from lazyblock.language.array_arguments import Leaves
from lazyblock.lazy_imports import lazy_import

pipeline = lazy_import("lazyblock.pipeline")

_ADDRESS = np.dtype(np.int64)


class PointerTable:
    """Addresses of arrays, which a kernel sees as int64.

    It makes a pointer of one by `.to(tl.pointer_type(tl.float16))`, and may write through it.
    The arrays, of any kind that kernels take, are on one device and in C order. They live as long
    as the table; where they lie is looked up again at every launch.
    """

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.__lazyblock_pointees__ = tuple(arrays)
        self._found: tuple[Any, ...] = ()
        self._buffer: Any = None

    def __len__(self) -> int:
        return len(self.__lazyblock_pointees__)

    def __lazyblock_memory__(self, is_written: bool) -> tuple[str, int, np.dtype[Any], Any]:
        """Where the table lies: device, address, dtype, and the memory to keep."""
        places = [_find(array) for array in self.__lazyblock_pointees__]
        devices = sorted({device for device, _ in places})
        if len(devices) != 1:
            listed = " and ".join(map(repr, devices)) or "no device"
            raise DeviceError(f"The arrays of a PointerTable are on one device, not on {listed}.")
        found = (devices[0], *(address for _, address in places))
        device = pipeline.get_device(devices[0])
        if found != self._found or is_written:
            self._buffer = device.from_host(np.array(found[1:], _ADDRESS))
            self._found = found
        return device.name, self._buffer.pointer, _ADDRESS, self._buffer


def _find(array: Any) -> tuple[str, int]:
    """Device and address of an array that may be written through."""
    if hasattr(array, "__lazyblock_memory__"):
        device, address, _, _ = array.__lazyblock_memory__(True)
        return device, address
    leaves = Leaves()
    _, _, device = read_argument(array, leaves)  # type: ignore[misc]
    return device, leaves.slots[0]
