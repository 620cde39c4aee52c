"""GPUs that the host plays: the code that ships, run thread by thread and checked on the way.

A program instance's threads run one after the other, each up to its next barrier or shuffle; when
all of a warp (shuffle), of a CTA (barrier) or of its cluster (cluster barrier) wait there, they go
on. What a real GPU would do silently ends the launch with a `SanitizerError`: accesses outside the
arrays that the kernel got, outside shared memory, of shared memory nobody wrote or of a CTA that
may not run yet, two threads that touch a shared byte without a barrier between, and threads that
wait at different places. Slow; for tests.
"""

from __future__ import annotations

import bisect
import ctypes
import dataclasses
import functools
import itertools
import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.backend.llvm import optimize
from lazyblock.backend.llvm.emulated import (
    CONTEXT,
    MOST_THREADS,
    SHADOW_FIELDS,
    SHARED_GAP,
    Fault,
)
from lazyblock.backend.runtime.device import Buffer, Device, Grid, Launch, LoadedKernel, Resources
from lazyblock.dtypes import DType
from lazyblock.errors import LaunchError, OutOfResourcesError, SanitizerError
from lazyblock.target import cuda_target

ARCHITECTURES = ("sm_80", "sm_90a")
_ALIGNMENT = 256  # of memory, as GPUs have it; also the gap that parts buffers
_UNWRITTEN = 0xFF  # what new memory holds: NaN, -1
_WARP_SIZE = 32
_GRID_SLOTS = 3
_Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


# --- memory --------------------------------------------------------------------------------------


class EmulatedBuffer(Buffer):
    """Host memory between two gaps that no kernel may touch."""

    def __init__(self, device: EmulatedDevice, nbytes: int) -> None:
        try:
            memory = np.full(nbytes + 3 * _ALIGNMENT, _UNWRITTEN, np.uint8)
        except MemoryError:
            raise OutOfResourcesError(f"Cannot allocate {nbytes} bytes on '{device}'.") from None
        start = _ALIGNMENT + -memory.ctypes.data % _ALIGNMENT
        self.device = device
        self.nbytes = nbytes
        self.memory = memory[start : start + nbytes]
        self.pointer = memory.ctypes.data + start


class _Buffers:
    """Which memory is whose: the buffers in use, by address."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may enter `remove` anywhere
        self._starts: list[int] = []
        self._ends: dict[int, int] = {}

    def add(self, start: int, nbytes: int) -> None:
        with self._lock:
            bisect.insort(self._starts, start)
            self._ends[start] = start + nbytes

    def remove(self, start: int) -> None:
        with self._lock:
            del self._ends[start]
            del self._starts[bisect.bisect_left(self._starts, start)]

    def find(self, address: int) -> tuple[int, int] | None:
        """Start and end of the buffer that `address` lies in (or ends)."""
        with self._lock:
            position = bisect.bisect_right(self._starts, address)
            if not position:
                return None
            start = self._starts[position - 1]
            return (start, self._ends[start]) if address <= self._ends[start] else None


# --- kernels -------------------------------------------------------------------------------------


class EmulatedKernel(LoadedKernel):
    """A kernel's entry, its threads, and the memory that remembers what they did."""

    def __init__(
        self, name: str, num_threads: int, shared_bytes: int, num_ctas: int, linked: Any
    ) -> None:
        address, self._library = linked
        cta_threads, num_threads = num_threads, num_threads * num_ctas
        stride = shared_bytes + SHARED_GAP
        self.name = name
        self.resources = Resources(shared_bytes=shared_bytes)
        self._entry = _Entry(address)
        self._threads = np.arange(num_threads)
        self._handles = np.zeros(num_threads, np.int64)
        self._waiting = np.zeros(num_threads, np.int64)
        self._published = np.zeros(num_threads, np.int64)
        self._received = np.zeros(num_threads, np.int64)
        self._shadow = np.zeros(stride * num_ctas * SHADOW_FIELDS, np.int64)
        self._epochs = np.zeros(num_ctas, np.int64)
        self._context = np.zeros(len(CONTEXT), np.int64)
        self._epoch = 0
        self._place: Grid = (0, 0, 0)
        for name in ("handles", "waiting", "published", "received", "shadow", "epochs"):
            self._set(name, getattr(self, f"_{name}").ctypes.data)
        self._set("shared_bytes", shared_bytes)
        self._set("shared_stride", stride)
        self._set("cluster_bytes", stride * num_ctas)
        self._set("cta_threads", cta_threads)

    def run(self, grid: Grid, slots: bytes, ranges: Sequence[tuple[int, int]]) -> None:
        """Run every program instance. Raises: SanitizerError."""
        table = np.array(ranges, np.int64)
        self._set("ranges", table.ctypes.data)
        self._set("num_ranges", len(ranges))
        for axis, extent in zip("xyz", grid, strict=True):
            self._set(f"num_{axis}", extent)
        try:
            for z, y, x in itertools.product(*map(range, reversed(grid))):
                self._run_instance((x, y, z), slots, ranges)
        finally:
            self._set("fault", 0)
            self._call(None, self._threads)  # ends those that an error stopped

    def _run_instance(self, place: Grid, slots: bytes, ranges: Sequence[tuple[int, int]]) -> None:
        self._place = place
        for axis, index in zip("xyz", place, strict=True):
            self._set(f"program_{axis}", index)
        self._begin_cluster_epoch()
        self._set("program_start", self._get("cluster_start"))
        self._set("is_started", 0)
        threads = self._threads
        while threads.size:
            self._call(slots, threads)
            if self._get("fault"):
                raise self._fault_error(ranges)
            threads = self._meet()

    def _call(self, slots: bytes | None, threads: npt.NDArray[np.int64]) -> None:
        self._entry(slots, self._context.ctypes.data, threads.ctypes.data, threads.size)

    def _begin_epoch(self, ctas: npt.NDArray[np.bool_] | slice) -> None:
        """What these CTAs do from now on comes after what they did before."""
        self._epoch += 1
        self._epochs[ctas] = self._epoch * MOST_THREADS

    def _begin_cluster_epoch(self) -> None:
        self._begin_epoch(slice(None))
        self._set("cluster_start", self._epoch * MOST_THREADS)

    def _get(self, name: str) -> int:
        return int(self._context[_FIELDS[name]])

    def _set(self, name: str, value: int) -> None:
        self._context[_FIELDS[name]] = value

    # --- meetings --------------------------------------------------------------------------------

    def _meet(self) -> npt.NDArray[np.int64]:
        """The threads that may go on; none when all have ended."""
        waiting = self._waiting
        if not waiting.any():
            return self._threads[:0]
        warps = waiting.reshape(-1, _WARP_SIZE)
        self._require_equal(warps)
        leaders = warps[:, 0]
        shuffling = [site for site in np.unique(leaders) if _read_text(site).startswith("shuffle")]
        is_shuffling = np.repeat(np.isin(leaders, shuffling), _WARP_SIZE)
        if is_shuffling.any():
            self._received[is_shuffling] = self._published[is_shuffling]
            return self._threads[is_shuffling]
        return self._meet_barrier()

    def _meet_barrier(self) -> npt.NDArray[np.int64]:
        """All threads wait at barriers or have ended: those of some CTAs, or all, may go on."""
        ctas = self._waiting.reshape(self._epochs.size, -1)
        self._require_equal(ctas)
        sites = [_read_text(site) for site in ctas[:, 0]]
        is_local = np.array([site.startswith("barrier") for site in sites])
        if is_local.any():
            self._begin_epoch(is_local)
            return np.flatnonzero(np.repeat(is_local, ctas.shape[1]))
        self._require_equal(ctas.reshape(1, -1))
        self._set("is_started", 1)
        if sites[0].startswith("cluster barrier"):
            self._begin_cluster_epoch()
        return self._threads

    def _require_equal(self, rows: npt.NDArray[np.int64]) -> None:
        """All threads of a row wait at the same place."""
        strays = np.flatnonzero(rows != rows[:, :1])
        if strays.size:
            raise self._divergence_error(strays[0] // rows.shape[1] * rows.shape[1], strays[0])

    # --- what went wrong -------------------------------------------------------------------------

    def _where(self, thread: int) -> str:
        return f"Kernel '{self.name}', program {self._place}, thread {thread}"

    def _divergence_error(self, thread: int, other: int) -> SanitizerError:
        places = [_read_text(self._waiting[number]) for number in (thread, other)]
        return SanitizerError(
            f"{self._where(other)}: divergent threads: it {_describe_wait(places[1])} while "
            f"thread {thread} {_describe_wait(places[0])}."
        )

    def _fault_error(self, ranges: Sequence[tuple[int, int]]) -> SanitizerError:
        fault, site = Fault(self._get("fault")), _read_text(self._get("site"))
        verb, _, op = site.partition(" ")
        access = f"{verb} of {self._get('nbytes')} bytes"
        where, note = self._where(self._get("thread")), f"in {op}."
        address = self._get("address")
        match fault:
            case Fault.MISALIGNED:
                what = f"misaligned {access} at address {address:#x}"
            case Fault.GLOBAL_BOUNDS:
                what = f"out-of-bounds {access}, {_nearest(address, ranges)}"
            case Fault.SHARED_BOUNDS:
                size = self._get("shared_bytes")
                what = f"out-of-bounds {access} at byte {address} of {size} bytes of shared memory"
            case Fault.UNWRITTEN:
                what = f"{access} at byte {address} of shared memory, which nobody wrote"
            case Fault.RACE:
                other = self._get("other") % MOST_THREADS
                what = f"race: {access} at byte {address} of shared memory, no barrier after "
                what += f"thread {other}'s"
                note = f"in {op}; thread {other}: {_read_text(self._get('other_site'))}."
            case Fault.UNSTARTED:
                what = f"{access} of shared memory of a CTA that may not have started"
        return SanitizerError(f"{where}: {what}.", note=note)


_FIELDS = {name: number for number, name in enumerate(CONTEXT)}


def _read_text(address: int) -> str:
    """The text at `address`, "" for none."""
    return ctypes.string_at(int(address)).decode() if address else ""


def _describe_wait(place: str) -> str:
    return f"waits at {place}" if place else "has ended"


def _nearest(address: int, ranges: Sequence[tuple[int, int]]) -> str:
    """Where `address` lies, seen from the nearest buffer."""
    if not ranges:
        return "the kernel has no buffer"
    start, end = min(ranges, key=lambda r: max(r[0] - address, address - r[1]))
    if address < start:
        return f"{start - address} bytes before a buffer of {end - start} bytes"
    return f"at byte {address - start} of a buffer of {end - start} bytes"


# --- the device ----------------------------------------------------------------------------------


class EmulatedDevice(Device):
    """A GPU of an architecture, played by the host."""

    def __init__(self, arch: str) -> None:
        self.name = f"emulated:{arch}"
        self.target = dataclasses.replace(cuda_target(arch), is_emulated=True)
        self._buffers = _Buffers()
        self._lock = threading.Lock()  # one launch at a time: kernels keep their threads' state

    def allocator(self, nbytes: int) -> Callable[[], Buffer]:
        return functools.partial(self._allocate, nbytes)

    def _allocate(self, nbytes: int) -> Buffer:
        buffer = EmulatedBuffer(self, nbytes)
        self._buffers.add(buffer.pointer, nbytes)
        weakref.finalize(buffer, self._buffers.remove, buffer.pointer)
        return buffer

    def from_host(self, array: npt.NDArray[Any]) -> Buffer:
        buffer = self.allocate(array.nbytes)
        assert isinstance(buffer, EmulatedBuffer)
        buffer.memory.view(array.dtype).reshape(array.shape)[...] = array
        return buffer

    def to_host(
        self,
        buffer: Buffer,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> npt.NDArray[Any]:
        assert isinstance(buffer, EmulatedBuffer)
        size = dtype.itemsize
        steps = [stride * size for stride in strides]
        return np.ndarray(tuple(shape), dtype, buffer.memory, offset * size, steps).copy()

    def load(
        self, image: bytes, name: str, num_threads: int, shared_bytes: int, num_ctas: int = 1
    ) -> LoadedKernel:
        try:
            linked = optimize.link(image, name)
        except RuntimeError as error:
            raise LaunchError(f"Kernel '{name}' could not be loaded: {error}") from error
        return EmulatedKernel(name, num_threads, shared_bytes, num_ctas, linked)

    def bind(self, kernel: LoadedKernel, grid: Grid, work: int) -> Launch:
        assert isinstance(kernel, EmulatedKernel)

        def launch(slots: bytes) -> None:
            words = struct.unpack(f"<{len(slots) // 8}Q", slots)[:-_GRID_SLOTS]
            found = {self._buffers.find(word) for word in words} - {None}
            with self._lock:
                kernel.run(grid, slots, sorted(found))  # type: ignore[arg-type]

        return launch

    def synchronize(self) -> None:
        pass
