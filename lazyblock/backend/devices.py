"""Devices by name, each made once: "cpu", "cuda" (= "cuda:0"), "cuda:1", "emulated:sm_90a"..."""

from __future__ import annotations

import threading
from typing import Any

import numpy.typing as npt

from lazyblock import config
from lazyblock.backend.runtime import cpu, cuda, emulated
from lazyblock.backend.runtime.device import Buffer, Device
from lazyblock.errors import DeviceError

_devices: dict[str, Device] = {}
_lock = threading.Lock()


def default_device() -> Device:
    """`config.current.device` if set, else the first GPU, else the CPU."""
    return get_device(None)


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
        full_name = f"cuda:{number or 0}"
        return _devices.get(full_name) or _open_cuda(int(number or 0))
    if kind == "emulated" and number in emulated.ARCHITECTURES:
        return emulated.EmulatedDevice(number)
    names = ["'cpu'", "'cuda'", *(f"'emulated:{arch}'" for arch in emulated.ARCHITECTURES)]
    hint = f"use {', '.join(names)} or 'cuda:<number>'."
    raise DeviceError(f"There is no device '{name}'.", hint=hint)


def _open_cuda(number: int) -> Device:
    if not cuda.is_available():
        raise DeviceError(f"There is no device 'cuda:{number}': {cuda.describe_missing()}.")
    found = cuda.cuda_devices()
    if number >= len(found):
        raise DeviceError(f"There is no device 'cuda:{number}', only {len(found)} GPUs.")
    return found[number]


def alias_host(array: npt.NDArray[Any]) -> Buffer:
    """CPU memory over a NumPy array's own."""
    return cpu.alias(array)
