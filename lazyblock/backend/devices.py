"""Devices by name, each made once: "cpu", "cuda" (= "cuda:0"), "cuda:1", "emulated:sm_90a"...

And the kernels loaded on them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy.typing as npt

from lazyblock import config
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime import cpu, cuda, emulated
from lazyblock.backend.runtime.device import Buffer, Device, LoadedKernel
from lazyblock.errors import DeviceError
from lazyblock.recently_used import RecentlyUsed

_MOST_LOADED = 4096

_devices: dict[str, Device] = {}
_loaded: RecentlyUsed[tuple[Device, str], LoadedKernel] = RecentlyUsed(_MOST_LOADED)
_lock = threading.Lock()


def default_device() -> Device:
    """`config.current.device` if set, else the first GPU, else the CPU."""
    return get_device(None)


def names() -> tuple[str, ...]:
    """Names of the devices of this machine, the default one among them, the CPU first."""
    found = ("cpu", *(device.name for device in cuda.cuda_devices()), default_device().name)
    return tuple(dict.fromkeys(found))


def get_device(name: str | None) -> Device:
    """The device called `name`; None for the default. Raises: DeviceError."""
    name = name or config.current.device or ("cuda" if cuda.is_available() else "cpu")
    device = _devices.get(name)
    if device is None:
        with _lock:
            device = _devices.get(name) or _open(name)
            _devices[name] = _devices[device.name] = device
    return device


def _open(name: str) -> Device:
    kind, _, number = name.partition(":")
    if name == "cpu":
        return cpu.CpuDevice()
    if kind == "cuda" and (number.isdecimal() or not number):
        return cuda.get_device(int(number) if number else None)
    if kind == "emulated" and number in emulated.ARCHITECTURES:
        return emulated.EmulatedDevice(number)
    names = ["'cpu'", "'cuda'", *(f"'emulated:{arch}'" for arch in emulated.ARCHITECTURES)]
    hint = f"use {', '.join(names)} or 'cuda:<number>'."
    raise DeviceError(f"There is no device '{name}'.", hint=hint)


def load(kernel: CompiledKernel, device: Device) -> LoadedKernel:
    """The kernel ready to launch; loaded once, whatever number of plans uses it."""
    loaded = _loaded.get((device, kernel.key))
    if loaded is None:
        frame = kernel.num_threads, kernel.shared_bytes, kernel.num_ctas, kernel.is_cooperative
        loaded = device.load(kernel.image, kernel.name, *frame)
        _loaded.put((device, kernel.key), loaded)
    return loaded


def alias_host(array: npt.NDArray[Any]) -> Buffer:
    """CPU memory over a NumPy array's own."""
    return cpu.alias(array)


def alias_device(name: str, address: int, itemsize: int, owner: Any) -> tuple[Buffer, int]:
    """Memory of a GPU that `owner` keeps, and how many elements lie before `address`.

    It begins up to 15 bytes earlier, so that it is as aligned as kernels take all buffers to be.
    """
    before = address % 16
    before = 0 if before % itemsize else before  # an element has to begin where it begins
    buffer = get_device(name).alias(address - before, owner)
    return buffer, before // itemsize
