"""The NVIDIA driver: is there one, and what do its answers mean.

`probe` asks libcuda through ctypes, once per process, and never raises; cuda-python is imported
only when a device is used. `check` turns the (status, values...) tuples of cuda-python into values
or into lazyblock's errors. CUDA does not survive a fork: a child process is told so.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from lazyblock.errors import (
    CompileError,
    DeviceError,
    LaunchError,
    LazyBlockError,
    OutOfResourcesError,
)
from lazyblock.lazy_imports import lazy_import

driver = lazy_import("cuda.bindings.driver")

MINIMUM_DRIVER = 12070  # CUDA 12.7 is the first to read PTX 8.6
OUT_OF_MEMORY = 2
# After these the context is lost and every later call fails.
STICKY_ERRORS = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719})
_COMPILE_ERRORS = frozenset({200, 209, 218, 221, 222, 223})
_RESOURCE_ERRORS = frozenset({OUT_OF_MEMORY, 701})


class Probe(NamedTuple):
    """What was found: how many devices, and what is missing ("" if nothing)."""

    num_devices: int
    missing: str


_found: Probe | None = None
_is_forked = False


def _note_fork() -> None:
    global _is_forked
    _is_forked = _found is not None


os.register_at_fork(after_in_child=_note_fork)


def probe() -> Probe:
    """Look for a driver and its devices; the answer is kept."""
    global _found
    if _found is None:
        _found = _look_for_driver()
    if _is_forked and _found.num_devices:
        return Probe(0, "CUDA was used before this process was forked, and does not survive that")
    return _found


def _look_for_driver() -> Probe:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Probe(0, "there is no NVIDIA driver (libcuda.so.1 cannot be loaded)")
    version, count = ctypes.c_int(), ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    if version.value < MINIMUM_DRIVER:
        given, wanted = (f"{n // 1000}.{n % 1000 // 10}" for n in (version.value, MINIMUM_DRIVER))
        return Probe(0, f"the NVIDIA driver is for CUDA {given}, at least {wanted} is needed")
    status = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return Probe(0, f"the NVIDIA driver does not start (error {status})")
    return Probe(count.value, "" if count.value else "the NVIDIA driver finds no device")


def refuse_after_fork() -> None:
    """Raise DeviceError in a child process of one that used CUDA."""
    if _is_forked:
        raise DeviceError(
            "CUDA cannot be used in a forked process.",
            note="the parent process had used CUDA before it forked.",
            hint='start processes with multiprocessing\'s "spawn", or use device="cpu".',
        )


def check(answer: Sequence[Any], action: str) -> Any:
    """The value (None, one, or a tuple) of a driver call.

    Raises: the error that the status means; `action` says what was tried: "launch 'name'".
    """
    status, *values = answer
    if status:
        raise make_error(int(status), action)
    return values[0] if len(values) == 1 else tuple(values) or None


def make_error(status: int, action: str, log: str = "") -> LazyBlockError:
    """The lazyblock error for a CUDA status."""
    message = f"CUDA could not {action}: {_describe(status)}."
    if status in STICKY_ERRORS:
        return LaunchError(
            f"A kernel failed on the GPU: {_describe(status)}.",
            note=f"noticed when trying to {action}; the device is lost to this process.",
            hint="restart the process; the CPU device still works.",
        )
    if status in _RESOURCE_ERRORS:
        return OutOfResourcesError(message, note=log)
    if status in _COMPILE_ERRORS:
        return CompileError(message, note=log)
    return (LaunchError if action.startswith("launch") else DeviceError)(message, note=log)


def _describe(status: int) -> str:
    """Name and words of a CUDA status: "CUDA_ERROR_INVALID_VALUE (invalid argument)"."""
    try:
        code = driver.CUresult(status)
        _, text = driver.cuGetErrorString(code)
        return f"{code.name} ({text.decode()})"
    except Exception:  # describing an error must not hide it
        return f"CUDA error {status}"
