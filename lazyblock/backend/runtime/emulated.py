"""GPUs that the host plays: the code that ships, run thread by thread and checked on the way.

A program instance's threads run one after the other, each up to its next barrier or shuffle; when
all of a warp (shuffle), of a CTA (barrier) or of its cluster (cluster barrier) wait there, they go
on. What a real GPU would do silently ends the launch with a `SanitizerError`: accesses outside the
arrays that the kernel got, outside shared memory, of memory nobody wrote or of a CTA that may not
run yet, two threads that touch a byte without a barrier between, two program instances that touch
the same byte, and threads that wait at different places (see emulated_support). Slow; for tests.
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
from lazyblock.backend.llvm.emulated import REACHES_ALL, SHARED, SHARED_GAP, SITES
from lazyblock.backend.llvm.emulated_support import (
    CONTEXT,
    EXPORTS,
    MOST_THREADS,
    PUBLISHED_WORDS,
    RUN,
    SHADOW_RECORDS,
    Fault,
    moment_of,
    site_of,
    support_module,
)
from lazyblock.backend.runtime.device import Buffer, Device, Grid, Launch, LoadedKernel, Resources
from lazyblock.backend.runtime.reports import host_symbols
from lazyblock.dtypes import DType
from lazyblock.errors import LaunchError, OutOfResourcesError, SanitizerError
from lazyblock.shapes import size_of
from lazyblock.target import cuda_target
from lazyblock.tiler.ops.debug import describe_failure

ARCHITECTURES = ("sm_80", "sm_90a")
_ALIGNMENT = 256  # of memory, as GPUs have it; also the gap that parts buffers
_UNWRITTEN = 0xFF  # what new memory holds: NaN, -1
_WARP_SIZE = 32
_WARP_MEETINGS = ("shuffle", "vote", "matrices")
_GRID_SLOTS = 3
MOST_ROUNDS = 1 << 16  # of the while loops of a program instance
_Run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)

_epochs = itertools.count(1)  # of all launches: see emulated_support
_running = threading.Lock()  # one launch at a time: the support keeps the state of one


@functools.cache
def _support() -> tuple[Any, dict[str, int], Any]:
    """The function that runs threads, what kernels may refer to, and what keeps both alive."""
    image = optimize.to_object(support_module(), optimize.host_target(), 2)
    addresses, library = optimize.link(image, EXPORTS)
    return _Run(addresses[RUN]), addresses, library


# --- memory --------------------------------------------------------------------------------------


class EmulatedBuffer(Buffer):
    """Host memory between two gaps that no kernel may touch, and its shadow."""

    def __init__(self, device: EmulatedDevice, nbytes: int) -> None:
        try:
            memory = np.full(nbytes + 3 * _ALIGNMENT, _UNWRITTEN, np.uint8)
            shadow = np.zeros(max(nbytes, 1) * SHADOW_RECORDS, np.int64)
        except MemoryError:
            raise OutOfResourcesError(f"Cannot allocate {nbytes} bytes on '{device}'.") from None
        start = _ALIGNMENT + -memory.ctypes.data % _ALIGNMENT
        self.device = device
        self.nbytes = nbytes
        self.memory = memory[start : start + nbytes]
        self.pointer = memory.ctypes.data + start
        self.extent = _Extent(self.pointer, self.pointer + nbytes, shadow)


@dataclasses.dataclass(eq=False)
class _Extent:
    """Where a buffer lies, what was done to it, and whether the host has filled it."""

    start: int
    end: int
    shadow: npt.NDArray[np.int64]
    is_written: bool = False

    def __str__(self) -> str:
        return f"a buffer of {self.end - self.start} bytes"


class _Extents:
    """Which memory is whose: the buffers in use, by address."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may enter `remove` anywhere
        self._starts: list[int] = []
        self._extents: dict[int, _Extent] = {}

    def add(self, extent: _Extent) -> None:
        with self._lock:
            bisect.insort(self._starts, extent.start)
            self._extents[extent.start] = extent

    def remove(self, start: int) -> None:
        with self._lock:
            del self._extents[start]
            del self._starts[bisect.bisect_left(self._starts, start)]

    def all(self) -> list[_Extent]:
        with self._lock:
            return list(self._extents.values())

    def find(self, address: int) -> _Extent | None:
        """The buffer that `address` lies in (or ends)."""
        with self._lock:
            position = bisect.bisect_right(self._starts, address)
            if not position:
                return None
            extent = self._extents[self._starts[position - 1]]
            return extent if address <= extent.end else None


# --- kernels -------------------------------------------------------------------------------------


class EmulatedKernel(LoadedKernel):
    """A kernel's entry, its threads, and the shadow of its shared memory.

    reaches_all: whether the kernel makes addresses of integers, and so may touch any buffer.
    """

    def __init__(
        self, image: bytes, name: str, num_threads: int, shared_bytes: int, num_ctas: int
    ) -> None:
        cta_threads, num_threads = num_threads, num_threads * num_ctas
        cluster_bytes = num_ctas * (shared_bytes + SHARED_GAP)
        self._run_threads, imports, _ = _support()
        symbols = [name, SITES, REACHES_ALL, *([SHARED] if shared_bytes else [])]
        imports = {**imports, **host_symbols()}
        addresses, self._library = optimize.link(image, symbols, imports)
        self.name = name
        self.resources = Resources(shared_bytes=shared_bytes)
        self._entry = addresses[name]
        self._sites = ["", *ctypes.string_at(addresses[SITES]).decode().split("\n")]
        self.reaches_all = ctypes.string_at(addresses[REACHES_ALL], 1) != b"\0"
        self._threads = np.arange(num_threads)
        self._handles = np.zeros(num_threads, np.int64)
        self._waiting = np.zeros(num_threads, np.int64)
        self._published = np.zeros((num_threads, PUBLISHED_WORDS), np.int64)
        self._received = np.zeros_like(self._published)
        self._shared_shadow = np.zeros(cluster_bytes * SHADOW_RECORDS, np.int64)
        self._epochs = np.zeros(num_ctas, np.int64)
        self._context = np.zeros(len(CONTEXT), np.int64)
        self._extents: Sequence[_Extent] = ()
        self._place: Grid = (0, 0, 0)
        self._begun: list[tuple[int, Grid]] = []  # first epoch of each program instance
        for field in ("handles", "waiting", "published", "received", "shared_shadow", "epochs"):
            self._set(field, getattr(self, f"_{field}").ctypes.data)
        self._set("shared", addresses.get(SHARED, 0))
        self._set("shared_bytes", shared_bytes)
        self._set("shared_stride", shared_bytes + SHARED_GAP)
        self._set("cluster_bytes", cluster_bytes)
        self._set("cta_threads", cta_threads)

    def run(self, grid: Grid, slots: bytes, extents: Sequence[_Extent]) -> None:
        """Run every program instance. Raises: SanitizerError."""
        rows = [(e.start, e.end, e.shadow.ctypes.data, e.is_written) for e in extents]
        table = np.array(rows, np.int64)
        self._extents, self._begun = extents, []
        self._set("ranges", table.ctypes.data)
        self._set("num_ranges", len(rows))
        for axis, extent in zip("xyz", grid, strict=True):
            self._set(f"num_{axis}", extent)
        try:
            for z, y, x in itertools.product(*map(range, reversed(grid))):
                self._run_instance((x, y, z), slots)
        finally:
            self._set("fault", 0)
            self._call(None, self._threads)  # ends those that an error stopped

    def _run_instance(self, place: Grid, slots: bytes) -> None:
        self._place = place
        for axis, index in zip("xyz", place, strict=True):
            self._set(f"program_{axis}", index)
        epoch = self._begin_cluster_epoch()
        start = self._get("cluster_start")
        if not self._begun:
            self._set("launch_start", start)
        self._begun.append((epoch, place))
        self._set("program_start", start)
        self._set("is_started", 0)
        self._set("acquired", 0)
        self._set("rounds", 0)
        self._set("most_rounds", MOST_ROUNDS * self._threads.size)
        threads = self._threads
        while threads.size:
            self._call(slots, threads)
            if self._get("fault"):
                raise self._fault_error()
            threads = self._meet()

    def _call(self, slots: bytes | None, threads: npt.NDArray[np.int64]) -> None:
        context, listed = self._context.ctypes.data, threads.ctypes.data
        self._run_threads(self._entry, slots, context, listed, threads.size)

    def _begin_epoch(self, ctas: npt.NDArray[np.bool_] | slice) -> int:
        """What these CTAs do from now on comes after what they did before."""
        epoch = next(_epochs)
        self._epochs[ctas] = epoch * MOST_THREADS
        return epoch

    def _begin_cluster_epoch(self) -> int:
        epoch = self._begin_epoch(slice(None))
        self._set("cluster_start", epoch * MOST_THREADS)
        return epoch

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
        meeting = [site for site in np.unique(leaders) if self._is_at(site, *_WARP_MEETINGS)]
        may_go = np.repeat(np.isin(leaders, meeting), _WARP_SIZE)
        if may_go.any():
            self._received[may_go] = self._published[may_go]
            return self._threads[may_go]
        return self._meet_barrier()

    def _meet_barrier(self) -> npt.NDArray[np.int64]:
        """All threads wait at barriers or have ended: those of some CTAs, or all, may go on."""
        ctas = self._waiting.reshape(self._epochs.size, -1)
        self._require_equal(ctas)
        is_local = np.array([self._is_at(site, "barrier") for site in ctas[:, 0]])
        if is_local.any():
            self._begin_epoch(is_local)
            return np.flatnonzero(np.repeat(is_local, ctas.shape[1]))
        self._require_equal(ctas.reshape(1, -1))
        self._set("is_started", 1)
        if self._is_at(ctas[0, 0], "cluster barrier"):
            self._begin_cluster_epoch()
        return self._threads

    def _require_equal(self, rows: npt.NDArray[np.int64]) -> None:
        """All threads of a row wait at the same place."""
        strays = np.flatnonzero(rows != rows[:, :1])
        if strays.size:
            raise self._divergence_error(strays[0] // rows.shape[1] * rows.shape[1], strays[0])

    def _is_at(self, site: int, *meetings: str) -> bool:
        return self._sites[site].startswith(meetings)

    # --- what went wrong -------------------------------------------------------------------------

    def _where(self, thread: int) -> str:
        return f"Kernel '{self.name}', program {self._place}, thread {thread}"

    def _divergence_error(self, thread: int, other: int) -> SanitizerError:
        places = [self._sites[self._waiting[number]] for number in (thread, other)]
        return SanitizerError(
            f"{self._where(other)}: divergent threads: it {_describe_wait(places[1])} while "
            f"thread {thread} {_describe_wait(places[0])}."
        )

    def _fault_error(self) -> SanitizerError | LaunchError:
        fault, site = Fault(self._get("fault")), self._sites[self._get("site")]
        verb, _, op = site.partition(" ")
        address, nbytes = self._get("address"), self._get("nbytes")
        if fault is Fault.ASSERTION:
            return LaunchError(describe_failure(op, self._place, address))
        access = f"{_ACCESS_WORDS.get(verb, verb)} of {nbytes} bytes"
        where, note = self._where(self._get("thread")), f"in {op}."
        match fault:
            case Fault.MISALIGNED:
                what = f"misaligned {access} at address {address:#x}"
            case Fault.GLOBAL_BOUNDS:
                what = f"out-of-bounds {access}, {_nearest(address, self._extents)}"
            case Fault.SHARED_BOUNDS:
                size = self._get("shared_bytes")
                what = f"out-of-bounds {access} at byte {address} of {size} bytes of shared memory"
            case Fault.UNWRITTEN:
                what = f"{access} {self._describe_place(address)}, which nobody wrote"
            case Fault.RACE:
                other, place = self._describe_other()
                what = f"race: {access} {self._describe_place(address)}, {other}"
                note = f"in {op}; {place}."
            case Fault.ENDLESS:
                what = f"a while loop runs for more than {MOST_ROUNDS} rounds"
                hint = "instances run in order: none can wait for a later one."
                return LaunchError(f"{where}: {what}, {op}.", hint=hint)
            case Fault.MAIL:
                balance = nbytes if nbytes < 1 << 63 else nbytes - (1 << 64)
                what = f"a CTA got {abs(balance)} bytes {'more' if balance > 0 else 'less'} than it"
                what += " expects of its cluster"
            case Fault.UNSTARTED:
                what = f"{access} of shared memory of a CTA that may not have started"
        return SanitizerError(f"{where}: {what}.", note=note)

    def _describe_place(self, address: int) -> str:
        """Shared memory is given by byte, global memory by address."""
        for extent in self._extents:
            if extent.start <= address < extent.end:
                return f"at byte {address - extent.start} of {extent}"
        return f"at byte {address} of shared memory"

    def _describe_other(self) -> tuple[str, str]:
        """Who else touched the byte of a race, and where."""
        record = self._get("other")
        epoch, thread = moment_of(record)
        site = self._sites[site_of(record)]
        first = bisect.bisect_right([begun for begun, _ in self._begun], epoch) - 1
        if first < len(self._begun) - 1:
            place = self._begun[first][1]
            return f"which program {place} touches too", f"program {place}, thread {thread}: {site}"
        return f"no barrier after thread {thread}'s", f"thread {thread}: {site}"


_FIELDS = {name: number for number, name in enumerate(CONTEXT)}
_ACCESS_WORDS = {
    "atomic": "atomic update",
    "atomic_read": "atomic read",
    "atomic_write": "atomic write",
}


def _describe_wait(place: str) -> str:
    return f"waits at {place}" if place else "has ended"


def _nearest(address: int, extents: Sequence[_Extent]) -> str:
    """Where `address` lies, seen from the nearest buffer."""
    if not extents:
        return "the kernel has no buffer"
    nearest = min(extents, key=lambda e: max(e.start - address, address - e.end))
    if address < nearest.start:
        return f"{nearest.start - address} bytes before {nearest}"
    return f"at byte {address - nearest.start} of {nearest}"


# --- the device ----------------------------------------------------------------------------------


class EmulatedDevice(Device):
    """A GPU of an architecture, played by the host."""

    def __init__(self, arch: str) -> None:
        self.name = f"emulated:{arch}"
        self.target = dataclasses.replace(cuda_target(arch), is_emulated=True)
        self._extents = _Extents()

    def allocator(self, nbytes: int) -> Callable[[], Buffer]:
        return functools.partial(self._allocate, nbytes)

    def _allocate(self, nbytes: int) -> Buffer:
        buffer = EmulatedBuffer(self, nbytes)
        self._extents.add(buffer.extent)
        weakref.finalize(buffer, self._extents.remove, buffer.pointer)
        return buffer

    def from_host(self, array: npt.NDArray[Any]) -> Buffer:
        buffer = self.allocate(array.nbytes)
        assert isinstance(buffer, EmulatedBuffer)
        buffer.memory.view(array.dtype).reshape(array.shape)[...] = array
        buffer.extent.is_written = True
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
        if size_of(shape) == 0:
            return np.empty(shape, dtype)
        size = dtype.itemsize
        steps = [stride * size for stride in strides]
        return np.ndarray(tuple(shape), dtype, buffer.memory, offset * size, steps).copy()

    def load(
        self,
        image: bytes,
        name: str,
        num_threads: int,
        shared_bytes: int,
        num_ctas: int = 1,
        is_cooperative: bool = False,
    ) -> LoadedKernel:
        try:
            return EmulatedKernel(image, name, num_threads, shared_bytes, num_ctas)
        except RuntimeError as error:
            raise LaunchError(f"Kernel '{name}' could not be loaded: {error}") from error

    def bind(self, kernel: LoadedKernel, grid: Grid, work: int) -> Launch:
        assert isinstance(kernel, EmulatedKernel)

        def launch(slots: bytes) -> None:
            words = struct.unpack(f"<{len(slots) // 8}Q", slots)[:-_GRID_SLOTS]
            found = dict.fromkeys(filter(None, map(self._extents.find, words)))
            with _running:
                kernel.run(grid, slots, self._extents.all() if kernel.reaches_all else list(found))

        return launch

    def synchronize(self) -> None:
        pass
