"""The CPU as a device: a memory pool, object files made callable, grids run by threads.

A launch is over when `launch` returns. Small ones run on the calling thread; others are cut into
ranges of program instances that the calling thread and a few workers take in turn, with the GIL
released. Workers are made at first use, and anew in a forked child.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import config
from lazyblock.backend.llvm import optimize
from lazyblock.backend.llvm.reports import FAIL
from lazyblock.backend.runtime import reports
from lazyblock.backend.runtime.checked import CheckedKernel, Extent, is_image
from lazyblock.backend.runtime.cpu_launch import bind_launch
from lazyblock.backend.runtime.device import Buffer, Device, Grid, Launch, LoadedKernel, Resources
from lazyblock.backend.runtime.pool import Pool, Shelf
from lazyblock.dtypes import DType
from lazyblock.errors import LaunchError, OutOfResourcesError
from lazyblock.shapes import contiguous_strides
from lazyblock.target import Target

_ALIGNMENT = 64
_SMALL_WORK = 1 << 16  # elements; below, waking threads costs more than it gains
_TINY_WORK = 1 << 12  # elements; below, getting the GIL back may take longer than the launch
_RANGES_PER_THREAD = 4
_Block = tuple[int, npt.NDArray[Any]]  # an address, and the memory it is in
_Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


# --- memory --------------------------------------------------------------------------------------


class CpuBuffer(Buffer):
    """Host memory. That of a pool goes back there with the last reference.

    written: which bytes are, for checked kernels; None for all.
    """

    __slots__ = ("_block", "_shelf", "device", "nbytes", "pointer", "written")

    def __init__(
        self, device: Device, nbytes: int, block: _Block, shelf: Shelf[_Block] | None = None
    ) -> None:
        self.device = device
        self.pointer = block[0]
        self.nbytes = nbytes
        self.written: npt.NDArray[np.bool_] | None = None
        self._block = block
        self._shelf = shelf

    @property
    def is_foreign(self) -> bool:
        """Whether the memory is a NumPy array's."""
        return self._shelf is None

    def forget_written(self) -> None:
        self.written = np.zeros(self.nbytes, np.bool_)

    @property
    def extent(self) -> Extent:
        """All memory that belongs to it; what a NumPy array's strides reach, if it is one's."""
        start, end = self.pointer, self.pointer + self.nbytes
        if self._shelf is None:
            start, end = np.lib.array_utils.byte_bounds(self._block[1])
        return Extent(start, end, self.written)

    def __del__(self) -> None:
        if self._shelf is not None:
            self._shelf.keep(self._block)


class _Window:
    """Lets NumPy see elements of a buffer, which lives as long as the array does."""

    def __init__(
        self,
        buffer: CpuBuffer,
        pointer: int,
        itemsize: int,
        shape: Sequence[int],
        strides: Sequence[int],
        is_read_only: bool,
    ) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "data": (pointer, is_read_only),
            "typestr": f"|V{itemsize}",
            "shape": tuple(shape),
            "strides": tuple(stride * itemsize for stride in strides),
        }


def _allocate_aligned(size: int) -> _Block:
    raw = np.empty(size + _ALIGNMENT, np.uint8)
    address = raw.ctypes.data
    return address + -address % _ALIGNMENT, raw


def _physical_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# --- threads -------------------------------------------------------------------------------------


class _Job:
    """One launch in progress: ranges of program instances that threads take in turn."""

    def __init__(self, entry: Any, slots: bytes, total: int, step: int) -> None:
        self._entry = entry
        self._slots = slots
        self._total = total
        self._step = step
        self._starts = itertools.count(0, step)
        self._lock = threading.Lock()
        self._active = 0
        self._is_closed = False
        self._is_over = threading.Event()

    def work(self) -> None:
        """Run ranges until none is left."""
        for start in self._starts:
            if start >= self._total:
                return
            self._entry(self._slots, start, min(start + self._step, self._total))

    def help(self) -> None:
        """A worker's turn: like `work`, unless the job is over already."""
        with self._lock:
            if self._is_closed:
                return
            self._active += 1
        self.work()
        with self._lock:
            self._active -= 1
            if self._is_closed and self._active == 0:
                self._is_over.set()

    def finish(self) -> None:
        """Wait for the workers still at it; late ones find the job closed."""
        with self._lock:
            self._is_closed = True
            if self._active == 0:
                return
        self._is_over.wait()


class _Workers:
    """Daemon threads that help with jobs."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._count = 0

    def call(self, job: _Job, count: int) -> None:
        """Ask `count` workers to help with `job`."""
        with self._lock:
            for _ in range(count - self._count):
                name = f"lazyblock-worker-{self._count}"
                threading.Thread(target=self._run, name=name, daemon=True).start()
                self._count += 1
        for _ in range(count):
            self._jobs.put(job)

    def _run(self) -> None:
        while True:
            self._jobs.get().help()


_workers = _Workers()


def _forget_workers() -> None:
    """Threads do not survive a fork."""
    global _workers
    _workers = _Workers()


os.register_at_fork(after_in_child=_forget_workers)


# --- the device ----------------------------------------------------------------------------------


class CpuKernel(LoadedKernel):
    """A function of an object file, with the library that keeps its code alive."""

    def __init__(self, name: str, address: int, library: Any, may_fail: bool = False) -> None:
        self.name = name
        self.may_fail = may_fail
        self.resources = Resources()
        self.address = address
        self.entry = _Entry(address)
        self._library = library


class CpuDevice(Device):
    """The processor this process runs on. There is one: making it again gives the same."""

    _only: CpuDevice | None = None

    def __new__(cls) -> CpuDevice:
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only.name = "cpu"
            cls._only._pool = Pool(_physical_bytes() // 4)
        return cls._only

    _pool: Pool[_Block]

    @property
    def target(self) -> Target:  # type: ignore[override]  # a setting decides on it
        return optimize.host_target(config.current.sanitize)

    def allocator(self, nbytes: int) -> Callable[[], Buffer]:
        shelf = self._pool.shelf(nbytes)

        def allocate() -> CpuBuffer:
            return CpuBuffer(self, nbytes, shelf.take() or self._allocate(shelf.size), shelf)

        def allocate_unwritten() -> CpuBuffer:
            buffer = allocate()
            buffer.forget_written()
            return buffer

        return allocate_unwritten if config.current.sanitize else allocate

    def _allocate(self, size: int) -> _Block:
        try:
            return _allocate_aligned(size)
        except MemoryError:
            freed = self._pool.held_bytes
            self._pool.clear()
        try:
            return _allocate_aligned(size)
        except MemoryError:
            raise OutOfResourcesError(
                f"Cannot allocate {size} bytes on 'cpu'.",
                note=f"{freed} bytes of cached memory were given back first.",
            ) from None

    def from_host(self, array: npt.NDArray[Any]) -> Buffer:
        buffer = self.allocate(array.nbytes)
        assert isinstance(buffer, CpuBuffer)
        buffer.written = None
        strides = contiguous_strides(array.shape)
        self._view(buffer, 0, array.dtype, array.shape, strides, is_read_only=False)[...] = array
        return buffer

    def to_host(
        self,
        buffer: Buffer,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> npt.NDArray[Any]:
        return self._view(buffer, offset, dtype, shape, strides, is_read_only=True)

    def edit(self, buffer: Buffer, dtype: DType, shape: Sequence[int]) -> npt.NDArray[Any]:
        return self._view(buffer, 0, dtype, shape, contiguous_strides(shape), is_read_only=False)

    def _view(
        self,
        buffer: Buffer,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
        is_read_only: bool,
    ) -> npt.NDArray[Any]:
        assert isinstance(buffer, CpuBuffer)
        pointer = buffer.pointer + offset * dtype.itemsize
        window = _Window(buffer, pointer, dtype.itemsize, shape, strides, is_read_only)
        return np.asarray(window).view(dtype)

    def load(
        self,
        image: bytes,
        name: str,
        num_threads: int,
        shared_bytes: int,
        num_ctas: int = 1,
        is_cooperative: bool = False,
    ) -> LoadedKernel:
        if is_image(image):
            return CheckedKernel(name, image)
        try:
            addresses, library = optimize.link(image, [name], reports.host_symbols())
        except RuntimeError as error:
            raise LaunchError(f"Kernel '{name}' could not be loaded: {error}") from error
        return CpuKernel(name, addresses[name], library, FAIL.encode() in image)

    def bind(self, kernel: LoadedKernel, grid: Grid, work: int) -> Launch:
        if isinstance(kernel, CheckedKernel):
            return lambda slots: kernel.run(grid, slots, _live_extents())
        assert isinstance(kernel, CpuKernel)
        entry = kernel.entry
        total = grid[0] * grid[1] * grid[2]

        def launch_here(slots: bytes) -> None:
            entry(slots, 0, total)

        def launch(slots: bytes) -> None:
            num_threads = config.current.num_threads or self.target.num_units
            if num_threads == 1:
                return launch_here(slots)
            step = max(total // (num_threads * _RANGES_PER_THREAD), 1)
            job = _Job(entry, slots, total, step)
            _workers.call(job, min(num_threads, total) - 1)
            job.work()
            job.finish()

        def launch_checked(slots: bytes) -> None:
            run(slots)
            reports.raise_failures(kernel.name)

        run: Launch = launch_here if work < _SMALL_WORK or total == 1 else launch
        if work < _TINY_WORK:
            run = bind_launch(kernel.address, total)
        return launch_checked if kernel.may_fail else run

    def synchronize(self) -> None:
        pass


def _live_extents() -> list[Extent]:
    """The memory of all buffers: asked for so rarely that nobody keeps a list."""
    return [found.extent for found in gc.get_objects() if isinstance(found, CpuBuffer)]


def alias(array: npt.NDArray[Any]) -> Buffer:
    """A buffer over a NumPy array's own memory.

    It begins up to 15 bytes before the first element, so that it is as aligned as kernels take all
    buffers to be.
    """
    address = array.ctypes.data
    before = address % 16
    before = 0 if before % array.itemsize else before  # an element has to begin where it begins
    return CpuBuffer(CpuDevice(), array.nbytes + before, (address - before, array))
