"""NVIDIA GPUs through cuda-python's driver API.

One `CudaDevice` per GPU: the primary context (the one torch and CuPy use), one stream that
everything is enqueued on, and the driver's stream-ordered memory pool. Buffers return to the pool
when their last reference goes, in stream order, so that no kernel loses memory it still works on.
Nothing here is loaded until a device is asked for, and no context is opened until it is used.
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.backend.runtime.cuda_driver import (
    OUT_OF_MEMORY,
    STICKY_ERRORS,
    check,
    driver,
    make_error,
    probe,
    refuse_after_fork,
)
from lazyblock.backend.runtime.device import Buffer, Device, Grid, LoadedKernel, Resources
from lazyblock.dtypes import DType
from lazyblock.errors import DeviceError, LazyBlockError, OutOfResourcesError
from lazyblock.shapes import size_of
from lazyblock.target import Target, cuda_target

_LOG_BYTES = 1 << 16
_DEFAULT_SHARED_BYTES = 48 << 10  # more must be asked for, kernel by kernel
_GRID_SLOTS = 3
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


@cache
def _open_device(index: int) -> CudaDevice | str:
    """A device, or why it cannot be used."""
    try:
        return CudaDevice(index)
    except (LazyBlockError, ImportError, RuntimeError) as error:
        return str(error)


# --- what a device hands out ---------------------------------------------------------------------


class CudaBuffer(Buffer):
    """Memory of a GPU; goes back to the pool, in stream order, with its last reference."""

    def __init__(self, device: CudaDevice, pointer: int, nbytes: int) -> None:
        self.device: CudaDevice = device
        self.pointer = pointer
        self.nbytes = nbytes

    def __del__(self) -> None:
        if self.pointer and not sys.is_finalizing():
            self.device.free(self.pointer)


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
    ) -> None:
        self.name = name
        self.num_ctas = num_ctas
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


class _Parameters:
    """The kernelParams array of a launch: pointers to the slots of a buffer of its own."""

    def __init__(self, num_bytes: int) -> None:
        self.slots = bytearray(num_bytes)
        self._view = (ctypes.c_char * num_bytes).from_buffer(self.slots)
        first = ctypes.addressof(self._view)
        pointers = [first + 8 * n for n in range(num_bytes // 8 - _GRID_SLOTS)]
        self._array = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        self.address = ctypes.addressof(self._array)


class _ThreadState(threading.local):
    """What a thread keeps: whose context is current, and prepared parameters by slot bytes."""

    def __init__(self) -> None:
        self.current: CudaDevice | None = None
        self.parameters: dict[int, _Parameters] = {}


_thread = _ThreadState()


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
        self._pool: Any = None
        self._stream: Any = None
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
        self._pool = check(driver.cuDeviceGetDefaultMemPool(self._device), "find its memory pool")
        threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        everything = driver.cuuint64_t(2**64 - 1)
        check(driver.cuMemPoolSetAttribute(self._pool, threshold, everything), "keep its memory")
        self._context = context

    def _check(self, answer: Sequence[Any], action: str) -> Any:
        """As `check`, but remembers errors after which the device is lost."""
        if answer[0] and int(answer[0]) in STICKY_ERRORS:
            suffix = f" (last kernel launched: '{self._last_kernel}')" if self._last_kernel else ""
            error = make_error(int(answer[0]), action + suffix)
            self._lost = DeviceError(
                f"{self.name} is lost to this process: an earlier kernel failed.",
                note=str(error),
                hint="restart the process.",
            )
            raise error
        return check(answer, action)

    # --- memory ----------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> CudaBuffer:
        """Memory from the pool; when there is none left, after giving back what is unused."""
        self._activate()
        if nbytes == 0:
            return CudaBuffer(self, 0, 0)
        status, pointer = driver.cuMemAllocAsync(nbytes, self._stream)
        if status and int(status) == OUT_OF_MEMORY:
            self.trim()
            status, pointer = driver.cuMemAllocAsync(nbytes, self._stream)
            if status and int(status) == OUT_OF_MEMORY:
                raise self._out_of_memory(nbytes)
        self._check((status,), f"allocate {nbytes} bytes")
        return CudaBuffer(self, int(pointer), nbytes)

    def trim(self) -> None:
        """Wait, and return unused memory of the pool to the driver."""
        self.synchronize()
        self._check(driver.cuMemPoolTrimTo(self._pool, 0), "return unused memory")

    def _out_of_memory(self, nbytes: int) -> OutOfResourcesError:
        free, total = self._check(driver.cuMemGetInfo(), "count its memory")
        used = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
        held = int(self._check(driver.cuMemPoolGetAttribute(self._pool, used), "count its memory"))
        return OutOfResourcesError(
            f"{self.name} has no room for {nbytes:,} bytes.",
            note=f"{held:,} bytes are held by arrays, {free:,} of {total:,} are free.",
        )

    def free(self, pointer: int) -> None:
        """Give memory back once all enqueued work is done; never raises (for finalizers)."""
        try:
            self._activate()
            driver.cuMemFreeAsync(pointer, self._stream)
        except Exception:  # a finalizer has nobody to tell; a lost device's memory is gone anyway
            return

    def from_host(self, array: npt.NDArray[Any]) -> CudaBuffer:
        source = np.ascontiguousarray(array)
        buffer = self.allocate(source.nbytes)
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
        steps = [stride * (extent - 1) for extent, stride in zip(shape, strides, strict=True)]
        low = offset + sum(step for step in steps if step < 0)
        high = offset + sum(step for step in steps if step > 0)
        covering = np.empty(high - low + 1, dtype)
        self._copy_to_host(covering, buffer.pointer + low * dtype.itemsize)
        byte_strides = [stride * dtype.itemsize for stride in strides]
        start = covering[offset - low :]
        view = np.lib.stride_tricks.as_strided(start, tuple(shape), byte_strides)
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
        self, image: bytes, name: str, num_threads: int, shared_bytes: int, num_ctas: int = 1
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
        module, log = self._load_module(image, name)
        function = self._check(
            driver.cuModuleGetFunction(module, name.encode()), f"find kernel '{name}'"
        )
        if shared_bytes > _DEFAULT_SHARED_BYTES:
            key = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            reserved = driver.cuFuncSetAttribute(function, key, shared_bytes)
            self._check(reserved, f"reserve shared memory for '{name}'")
        return CudaKernel(name, function, num_threads, shared_bytes, log, num_ctas)

    def _load_module(self, image: bytes, name: str) -> tuple[Any, str]:
        option = driver.CUjit_option
        log, errors = bytearray(_LOG_BYTES), bytearray(_LOG_BYTES)
        options = {
            option.CU_JIT_INFO_LOG_BUFFER: log,
            option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: len(log),
            option.CU_JIT_ERROR_LOG_BUFFER: errors,
            option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: len(errors),
            option.CU_JIT_LOG_VERBOSE: 1,
        }
        status, module = driver.cuModuleLoadDataEx(
            _terminated(image), len(options), list(options), list(options.values())
        )
        if status and int(status) not in STICKY_ERRORS:
            raise make_error(int(status), f"load kernel '{name}'", _read_log(errors))
        self._check((status,), f"load kernel '{name}'")
        return module, _read_log(log)

    def link(self, ptx: bytes, name: str = "kernel") -> bytes:
        """The cubin of a PTX text, for caches: loading one takes about 3 ms, PTX 10 and more.

        Not for kernels that use setmaxnreg, which linking may lose.
        """
        self._activate()
        action = f"compile kernel '{name}'"
        text = _terminated(ptx)
        state = self._check(driver.cuLinkCreate(0, [], []), action)
        try:
            kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
            added = driver.cuLinkAddData(state, kind, text, len(text), name.encode(), 0, [], [])
            self._check(added, action)
            address, size = self._check(driver.cuLinkComplete(state), action)
            return ctypes.string_at(int(address), int(size))
        finally:
            driver.cuLinkDestroy(state)

    def launch(self, kernel: LoadedKernel, grid: Grid, slots: bytearray, work: int) -> None:
        assert isinstance(kernel, CudaKernel)
        self._activate()
        if 0 in grid:
            return
        parameters = _thread.parameters.get(len(slots))
        if parameters is None:
            parameters = _thread.parameters[len(slots)] = _Parameters(len(slots))
        parameters.slots[:] = slots  # the driver reads them during the call
        self._last_kernel = kernel.name
        x, y, z = grid
        answer = driver.cuLaunchKernel(
            *(kernel.function, x * kernel.num_ctas, y, z),
            *(kernel.num_threads, 1, 1, kernel.shared_bytes),
            *(self._stream, parameters.address, 0),
        )
        if answer[0]:
            shape = f"{grid} programs of {kernel.num_threads} threads"
            self._check(answer, f"launch '{kernel.name}' with {shape}")

    def synchronize(self) -> None:
        self._activate()
        self._check(driver.cuStreamSynchronize(self._stream), "wait for the device")


def _terminated(image: bytes) -> bytes:
    """PTX text must end with a zero byte; a cubin is taken as it is."""
    return image if image.startswith(b"\x7fELF") or image.endswith(b"\0") else image + b"\0"


def _read_log(buffer: bytearray) -> str:
    return buffer.split(b"\0", 1)[0].decode(errors="replace").strip()
