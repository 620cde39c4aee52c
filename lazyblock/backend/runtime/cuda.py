"""NVIDIA GPUs through cuda-python's driver API.

One `CudaDevice` per GPU: the primary context (the one torch and CuPy use), one stream that
everything is enqueued on, and two pools of memory: freed pieces of ours, for which no call of the
driver is needed, before the driver's own. Buffers return when their last reference goes, in stream
order, so that no kernel loses memory it still works on. Machine code is kept in the disk cache.
Nothing here is loaded until a device is asked for, and no context is opened until it is used.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.backend.runtime import cuda_module, cuda_streams
from lazyblock.backend.runtime.cuda_buffers import CudaBuffer, Loan, PendingBuffer
from lazyblock.backend.runtime.cuda_driver import (
    OUT_OF_MEMORY,
    STICKY_ERRORS,
    check,
    driver,
    make_error,
    probe,
    refuse_after_fork,
)
from lazyblock.backend.runtime.cuda_launch import (
    Launcher,
    find_driver_functions,
    make_launcher,
    pack_configuration,
)
from lazyblock.backend.runtime.cuda_reports import Reports, find_reports
from lazyblock.backend.runtime.device import Buffer, Device, Grid, Launch, LoadedKernel, Resources
from lazyblock.backend.runtime.pool import Pool
from lazyblock.dtypes import DType
from lazyblock.errors import DeviceError, LazyBlockError, OutOfResourcesError
from lazyblock.shapes import size_of, strided_view
from lazyblock.target import Target, cuda_target

_DEFAULT_SHARED_BYTES = 48 << 10  # more must be asked for, kernel by kernel
_MOST_HELD_BYTES = 512 << 20  # freed memory that is not given back to the driver
_MOST_KEPT_BYTES = 32 << 20  # of one piece: what works on more hides the driver's time
_MOST_PENDING_BYTES = 4 << 10  # of host data that is sent when a kernel asks for it
_LEAST_CAPABILITY = 80


# --- finding devices -----------------------------------------------------------------------------


def is_available() -> bool:
    """Whether there is a GPU this process can use. Never raises."""
    return bool(cuda_devices())


def describe_missing() -> str:
    """What is missing for using a GPU, in words; "" if nothing is. Never raises."""
    found = probe()
    if found.missing or cuda_devices():
        return found.missing
    return str(_open_device(0))


def cuda_devices() -> tuple[CudaDevice, ...]:
    """All GPUs that can be used, in the driver's order; often none. Never raises."""
    opened = (_open_device(index) for index in range(probe().num_devices))
    return tuple(device for device in opened if isinstance(device, CudaDevice))


def get_device(number: int | None) -> CudaDevice:
    """The GPU of the driver's `number`; None for the first that can be used.

    Raises: DeviceError saying what is missing.
    """
    found = probe()
    if found.missing:
        raise DeviceError(f"There is no device 'cuda:{number or 0}': {found.missing}.")
    if number is None:
        number = next((device.index for device in cuda_devices()), 0)
    if number >= found.num_devices:
        numbers = ", ".join(f"'cuda:{n}'" for n in range(found.num_devices))
        raise DeviceError(f"There is no device 'cuda:{number}', only {numbers}.")
    device = _open_device(number)
    if isinstance(device, str):
        raise DeviceError(f"Device 'cuda:{number}' cannot be used: {device}")
    return device


@functools.cache
def _open_device(index: int) -> CudaDevice | str:
    """A device, or why it cannot be used."""
    try:
        return CudaDevice(index)
    except (LazyBlockError, ImportError, RuntimeError) as error:
        return str(error)


# --- what a device hands out ---------------------------------------------------------------------


class CudaKernel(LoadedKernel):
    """A function of a loaded module. `log` is what the driver's compiler said."""

    def __init__(
        self,
        name: str,
        function: Any,
        num_threads: int,
        shared_bytes: int,
        log: str,
        num_ctas: int = 1,
        is_cooperative: bool = False,
        reports: Reports | None = None,
    ) -> None:
        self.name = name
        self.num_ctas = num_ctas
        self.is_cooperative = is_cooperative
        self.reports = reports
        self.function = function
        self.num_threads = num_threads
        self.shared_bytes = shared_bytes
        self.log = log
        self.resources = _read_resources(function, shared_bytes)


def _read_resources(function: Any, shared_bytes: int) -> Resources:
    def attribute(name: str) -> int:
        key = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(check(driver.cuFuncGetAttribute(key, function), f"read {name}"))

    return Resources(
        registers=attribute("NUM_REGS"),
        spill_bytes=attribute("LOCAL_SIZE_BYTES"),
        shared_bytes=attribute("SHARED_SIZE_BYTES") + shared_bytes,
    )


class _ThreadState(threading.local):
    """Whose context is current in a thread."""

    current: CudaDevice | None = None


_thread = _ThreadState()


def _forget_threads() -> None:
    """Make every thread look again whether its device can be used."""
    global _thread
    _thread = _ThreadState()


os.register_at_fork(after_in_child=_forget_threads)


# --- the device ----------------------------------------------------------------------------------


class CudaDevice(Device):
    """One GPU. `stream` is the CUstream everything is enqueued on."""

    def __init__(self, index: int) -> None:
        refuse_after_fork()
        check(driver.cuInit(0), "start")
        self.name = f"cuda:{index}"
        self.index = index
        self._device = check(driver.cuDeviceGet(index), f"find device {index}")
        self.target = self._describe_target()
        self._lock = threading.Lock()
        self._context: Any = None
        self._driver_pool: Any = None
        self._pool: Pool[int] = Pool(_MOST_HELD_BYTES)
        self._stream: Any = None
        self._launchers: tuple[Launcher, Launcher]  # the second for cooperative kernels
        self._lost: DeviceError | None = None
        self._last_kernel = ""

    def _describe_target(self) -> Target:
        major = self._attribute("COMPUTE_CAPABILITY_MAJOR")
        capability = 10 * major + self._attribute("COMPUTE_CAPABILITY_MINOR")
        if capability < _LEAST_CAPABILITY:
            raise DeviceError(
                f"{self.name} has compute capability {capability / 10}, at least "
                f"{_LEAST_CAPABILITY / 10} is needed."
            )
        arch = "sm_90a" if capability == 90 else f"sm_{capability}"
        target = cuda_target(arch, self._attribute("MULTIPROCESSOR_COUNT"))
        shared = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        return dataclasses.replace(target, shared_bytes=shared)

    def _attribute(self, name: str) -> int:
        key = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(check(driver.cuDeviceGetAttribute(key, self._device), f"read {name}"))

    @property
    def stream(self) -> Any:
        self._activate()
        return self._stream

    def _activate(self) -> None:
        """Make this device's context the thread's, unless this process cannot use it."""
        refuse_after_fork()
        if self._lost is not None:
            raise self._lost
        if _thread.current is not self:
            with self._lock:
                if self._context is None:
                    self._open()
            check(driver.cuCtxSetCurrent(self._context), "enter its context")
            _thread.current = self

    def _open(self) -> None:
        """Make context, stream and pool; memory stays with the pool."""
        context = check(driver.cuDevicePrimaryCtxRetain(self._device), "open its context")
        check(driver.cuCtxSetCurrent(context), "enter its context")
        flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        self._stream = check(driver.cuStreamCreate(flags), "make a stream")
        pool = check(driver.cuDeviceGetDefaultMemPool(self._device), "find its memory pool")
        threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        everything = driver.cuuint64_t(2**64 - 1)
        check(driver.cuMemPoolSetAttribute(pool, threshold, everything), "keep its memory")
        self._driver_pool = pool
        usual, cooperative = map(make_launcher, find_driver_functions())
        self._launchers = usual, cooperative
        self._context = context

    def _check(self, answer: Sequence[Any], action: str) -> Any:
        """As `check`, but remembers errors after which the device is lost."""
        if answer[0] and int(answer[0]) in STICKY_ERRORS:
            suffix = f" (last kernel launched: '{self._last_kernel}')" if self._last_kernel else ""
            error = make_error(int(answer[0]), action + suffix)
            self._lost = DeviceError(
                f"{self.name} is lost to this process since an earlier error.",
                note=str(error),
                hint="restart the process.",
            )
            _forget_threads()
            raise error
        return check(answer, action)

    # --- memory ----------------------------------------------------------------------------------

    def allocator(self, nbytes: int) -> Callable[[], CudaBuffer]:
        """Memory freed before, else new; when there is none, after giving back what is unused."""
        if nbytes == 0:
            return lambda: CudaBuffer(self, 0, 0)
        if nbytes > _MOST_KEPT_BYTES:
            return lambda: CudaBuffer(self, self._allocate(nbytes, nbytes), nbytes)
        shelf = self._pool.shelf(nbytes)

        def allocate() -> CudaBuffer:
            pointer = shelf.take() or self._allocate(shelf.size, nbytes)
            return CudaBuffer(self, pointer, nbytes, shelf)

        return allocate

    def _allocate(self, size: int, wanted: int) -> int:
        self._activate()
        status, pointer = driver.cuMemAllocAsync(size, self._stream)
        if status and int(status) == OUT_OF_MEMORY:
            self.trim()
            status, pointer = driver.cuMemAllocAsync(size, self._stream)
            if status and int(status) == OUT_OF_MEMORY:
                raise self._out_of_memory(wanted)
        self._check((status,), f"allocate {wanted} bytes")
        return int(pointer)

    def trim(self) -> None:
        """Return all memory that no array holds to the driver; waits."""
        gc.collect()  # arrays that only cycles hold, as those of tracebacks
        self._activate()
        for pointer in self._pool.clear():
            self._check(driver.cuMemFreeAsync(pointer, self._stream), "free memory")
        self.synchronize()
        self._check(driver.cuMemPoolTrimTo(self._driver_pool, 0), "return unused memory")

    def _out_of_memory(self, nbytes: int) -> OutOfResourcesError:
        free, total = self._check(driver.cuMemGetInfo(), "count its memory")
        used = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
        answer = driver.cuMemPoolGetAttribute(self._driver_pool, used)
        held = int(self._check(answer, "count its memory"))
        return OutOfResourcesError(
            f"{self.name} has no room for {nbytes:,} bytes.",
            note=f"{held:,} bytes are held by arrays, {free:,} of {total:,} are free.",
        )

    def free(self, pointer: int) -> None:
        """Give memory back to the driver, in the stream's order; never raises (for finalizers)."""
        if not pointer or sys.is_finalizing():
            return
        try:
            self._activate()
            driver.cuMemFreeAsync(pointer, self._stream)
        except Exception:  # a finalizer has nobody to tell; a lost device's memory is gone anyway
            return

    def from_host(self, array: npt.NDArray[Any]) -> CudaBuffer | PendingBuffer:
        self._activate()  # what cannot be used says so now
        source = np.ascontiguousarray(array)
        if 0 < source.nbytes <= _MOST_PENDING_BYTES:
            return PendingBuffer(self, np.frombuffer(source.tobytes(), np.uint8))
        return self.send(source)

    def send(self, source: npt.NDArray[Any]) -> CudaBuffer:
        """Copy elements that lie in C order; waits while the copy may read them."""
        self._activate()
        buffer = self.allocator(source.nbytes)()
        if source.nbytes:
            address = source.ctypes.data
            copied = driver.cuMemcpyHtoDAsync(buffer.pointer, address, source.nbytes, self._stream)
            self._check(copied, f"copy {source.nbytes} bytes to the device")
            if not driver.cuMemHostGetFlags(address)[0]:  # pinned: the copy may still be reading
                self.synchronize()
        return buffer

    def to_host(
        self,
        buffer: Buffer,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> npt.NDArray[Any]:
        if size_of(shape) == 0:
            return np.empty(shape, dtype)
        if isinstance(buffer, PendingBuffer) and (elements := buffer.elements) is not None:
            return strided_view(elements.view(dtype)[offset:], shape, strides).copy()
        steps = [stride * (extent - 1) for extent, stride in zip(shape, strides, strict=True)]
        low = offset + sum(step for step in steps if step < 0)
        high = offset + sum(step for step in steps if step > 0)
        covering = np.empty(high - low + 1, dtype)
        self._copy_to_host(covering, buffer.pointer + low * dtype.itemsize)
        view = strided_view(covering[offset - low :], shape, strides)
        is_whole = view.flags.c_contiguous and view.size == covering.size
        return view if is_whole else view.copy()

    def _copy_to_host(self, destination: npt.NDArray[Any], pointer: int) -> None:
        self._activate()
        address = destination.ctypes.data
        copied = driver.cuMemcpyDtoHAsync(address, pointer, destination.nbytes, self._stream)
        self._check(copied, f"copy {destination.nbytes} bytes from the device")
        self.synchronize()

    # --- kernels ---------------------------------------------------------------------------------

    def load(
        self,
        image: bytes,
        name: str,
        num_threads: int,
        shared_bytes: int,
        num_ctas: int = 1,
        is_cooperative: bool = False,
    ) -> CudaKernel:
        """Load PTX or a cubin and find the kernel `name`.

        Raises: CompileError with the driver's log; OutOfResourcesError for too much shared memory.
        """
        self._activate()
        if shared_bytes > self.target.shared_bytes:
            raise OutOfResourcesError(
                f"Kernel '{name}' wants {shared_bytes:,} bytes of shared memory, "
                f"{self.name} has {self.target.shared_bytes:,}."
            )
        module, log = cuda_module.load(image, name, self._check)
        function = self._check(
            driver.cuModuleGetFunction(module, name.encode()), f"find kernel '{name}'"
        )
        if shared_bytes > _DEFAULT_SHARED_BYTES:
            key = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            reserved = driver.cuFuncSetAttribute(function, key, shared_bytes)
            self._check(reserved, f"reserve shared memory for '{name}'")
        told = find_reports(image, module, self._stream, self._check, self.synchronize)
        frame = num_threads, shared_bytes, log, num_ctas, is_cooperative
        return CudaKernel(name, function, *frame, told)

    def bind(self, kernel: LoadedKernel, grid: Grid, work: int) -> Launch:
        assert isinstance(kernel, CudaKernel)
        self._activate()
        if 0 in grid:
            return lambda slots: None
        name, num_threads = kernel.name, kernel.num_threads
        launcher = self._launchers[kernel.is_cooperative]
        num_blocks = (grid[0] * kernel.num_ctas, *grid[1:])
        configuration = pack_configuration(
            int(kernel.function), int(self._stream), num_blocks, num_threads, kernel.shared_bytes
        )

        def launch(slots: bytes) -> None:
            if _thread.current is not self:
                self._activate()
            self._last_kernel = name
            status = launcher(configuration, slots)
            if status:
                shape = f"{grid} programs of {num_threads} threads"
                self._check((status,), f"launch '{name}' with {shape}")

        if (reports := kernel.reports) is None:
            return launch

        def launch_and_wait(slots: bytes) -> None:
            launch(slots)
            reports.take(self._stream, self._check, self.synchronize)

        return launch_and_wait

    def time_call(self, call: Callable[[], Any]) -> Callable[[], float]:
        return cuda_streams.time_call(self.stream, call, self._check)

    def make_flush(self) -> Callable[[], None]:
        return cuda_streams.make_flush(self, self._check)

    def stream_number(self) -> int:
        return int(self.stream)

    def alias(self, address: int, owner: Any) -> CudaBuffer:
        return CudaBuffer(self, address, 0, Loan(self, owner))

    def wait_for(self, stream: int) -> None:
        cuda_streams.wait_for(self.stream, stream, self._check)

    def release_to(self, stream: int) -> None:
        cuda_streams.release_to(self.stream, stream, self._check)

    def synchronize(self) -> None:
        self._activate()
        self._check(driver.cuStreamSynchronize(self._stream), "wait for the device")
