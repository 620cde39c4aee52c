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
# After these the context is lost and every later call fails: what happened, what may have done it.
_STICKY = {
    214: ("The GPU has an uncorrectable memory error", "'nvidia-smi -q' tells which"),
    220: ("The GPU has an uncorrectable NVLink error", "'nvidia-smi -q' tells which"),
    700: ("A kernel failed on the GPU", "it went out of bounds ('emulated:sm_90a' tells where)"),
    702: ("A kernel failed on the GPU", "it ran longer than the display's driver allows"),
    709: ("The CUDA context was destroyed", "another library may have reset the device"),
    710: ("A kernel failed on the GPU", "an assertion in it did not hold"),
    714: ("A kernel failed on the GPU", "its stack overflowed or was overwritten"),
    715: ("A kernel failed on the GPU", "it has an instruction that this GPU does not know"),
    716: ("A kernel failed on the GPU", "it used an address that is not aligned"),
    717: ("A kernel failed on the GPU", "it used an address of another memory space"),
    718: ("A kernel failed on the GPU", "it jumped where there is no code"),
    719: ("A kernel failed on the GPU", "the driver does not tell how"),
}
STICKY_ERRORS = frozenset(_STICKY)
# Why the driver does not start.
_STARTING = {
    100: "finds no device; CUDA_VISIBLE_DEVICES may hide them",
    802: "is not ready yet; with NVSwitch its fabric manager must run",
    803: "has parts of different versions; restart the machine after an update",
    804: "is older than a forward compatibility package allows",
}
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
        reason = _STARTING.get(status, "does not start")
        return Probe(0, f"the NVIDIA driver {reason} (error {status})")
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
        what, why = _STICKY[status]
        return LaunchError(
            f"{what}: {_describe(status)}; {why}.",
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
