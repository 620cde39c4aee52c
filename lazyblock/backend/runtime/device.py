"""What a device offers to the rest of lazyblock; `cpu.py` and `cuda.py` implement it.

A kernel's arguments travel in *slots*: one 8-byte slot per program parameter, in order,
little-endian (pointers and 64-bit numbers fill it, narrower ones use its low bytes), then three
int64 slots with the grid. A launch that is repeated is bound once, then called with its slots.
"""

from __future__ import annotations

import re
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.dtypes import DType
from lazyblock.errors import DeviceError
from lazyblock.target import Target

Grid = tuple[int, int, int]
Launch = Callable[[bytes], None]  # from the slots, the grid's included

_GRID = struct.Struct("<3q")
_WARNING = re.compile(r"\bwarning\b|\bC75\d\d\b", re.IGNORECASE)


class Buffer(ABC):
    """Memory of a device. `pointer` is its address; it lives as long as the object does."""

    __slots__ = ()

    device: Device
    pointer: int
    nbytes: int

    def forget_written(self) -> None:  # noqa: B027  only the CPU's remember
        """Count all elements as unwritten, for kernels that are checked."""


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel uses, as far as the device tells (None = unknown)."""

    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None


class LoadedKernel(ABC):
    """A kernel ready to launch on one device. log: what the device's own compiler said."""

    resources: Resources
    log: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines of the log that tell of slow code: warnings, and the notes numbered C75xx."""
        lines = self.log.splitlines()
        return tuple(line.strip() for line in lines if _WARNING.search(line))


class Device(ABC):
    """A place where kernels run. Compares by identity; `str(device)` is "cpu" or "cuda:0"."""

    name: str
    target: Target

    def __repr__(self) -> str:
        return self.name

    @abstractmethod
    def allocator(self, nbytes: int) -> Callable[[], Buffer]:
        """Prepare allocations of one size. They raise OutOfResourcesError with the sizes."""

    def allocate(self, nbytes: int) -> Buffer:
        """Uninitialised memory (possibly recycled). Raises: OutOfResourcesError with the sizes."""
        return self.allocator(nbytes)()

    @abstractmethod
    def from_host(self, array: npt.NDArray[Any]) -> Buffer:
        """Copy a NumPy array's elements, in C order, into new memory."""

    @abstractmethod
    def to_host(
        self,
        buffer: Buffer,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> npt.NDArray[Any]:
        """Wait and give elements as a NumPy array; offset and strides count elements.

        The CPU gives a read-only view of the buffer (which stays alive), a GPU a copy.
        """

    def edit(self, buffer: Buffer, dtype: DType, shape: Sequence[int]) -> npt.NDArray[Any] | None:
        """Elements in C order as an array that writes into the buffer; None where that is not."""
        return None

    @abstractmethod
    def load(
        self,
        image: bytes,
        name: str,
        num_threads: int,
        shared_bytes: int,
        num_ctas: int = 1,
        is_cooperative: bool = False,
    ) -> LoadedKernel:
        """Make the kernel `name` of a compiled image (host object; PTX or cubin) callable.

        num_ctas: of the cluster that runs one program instance. is_cooperative: instances wait
        for later ones; launches fail if they cannot all run at once.
        """

    @abstractmethod
    def bind(self, kernel: LoadedKernel, grid: Grid, work: int) -> Launch:
        """Prepare launches of a kernel that differ only in their slots.

        work: elements touched, a hint of size.
        """

    def launch(self, kernel: LoadedKernel, grid: Grid, slots: bytes | bytearray, work: int) -> None:
        """Enqueue a kernel once; the grid's slots are filled in here."""
        self.bind(kernel, grid, work)(bytes(slots[: -_GRID.size]) + _GRID.pack(*grid))

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for everything enqueued so far."""

    # --- measuring, and the work of others -------------------------------------------------------

    def time_call(self, call: Callable[[], Any]) -> Callable[[], float]:
        """Run `call`; gives a function that waits and tells how many milliseconds it took."""
        self.synchronize()
        start = time.perf_counter()
        call()
        self.synchronize()
        milliseconds = (time.perf_counter() - start) * 1e3
        return lambda: milliseconds

    def make_flush(self) -> Callable[[], None]:
        """A function that empties the device's caches, where that is possible."""
        return lambda: None

    def stream_number(self) -> int | None:
        """The stream's handle; None for a device without streams."""
        return None

    def alias(self, address: int, owner: Any) -> Buffer:
        """A buffer over memory of another library, kept by `owner`. Raises: DeviceError."""
        raise DeviceError(f"Device '{self.name}' takes no memory of other libraries.")

    def wait_for(self, stream: int) -> None:  # noqa: B027  a device without streams has no order
        """Let work enqueued from now on follow that on a stream of another library."""

    def release_to(self, stream: int) -> None:  # noqa: B027
        """Let work that another library enqueues on a stream follow what is enqueued here."""


def pack_scalar(value: bool | int | float, dtype: DType) -> bytes:
    """One number of `dtype` as the 8 bytes of its slot."""
    return np.asarray(value).astype(dtype).tobytes().ljust(8, b"\0")


def pack_pointer(address: int) -> bytes:
    """An address as the 8 bytes of its slot."""
    return struct.pack("<Q", address)
