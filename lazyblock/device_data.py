"""Arrays and memory of devices, as the tracer asks for them: copies, aliases, names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.backend import cache, devices
from lazyblock.backend.runtime.device import Buffer, Device
from lazyblock.dtypes import DType
from lazyblock.errors import DeviceError
from lazyblock.graph import build
from lazyblock.graph.attrs import InputAttrs
from lazyblock.graph.node import Node
from lazyblock.position_checks import report_waiting
from lazyblock.shapes import Shape, Strides, strided_view
from lazyblock.tiler.call import ArrayNumber

NDArray = npt.NDArray[Any]


def default_device() -> str:
    """Name of the device new arrays go to."""
    return devices.default_device().name


def device_names() -> tuple[str, ...]:
    """Names of the devices of this machine."""
    return devices.names()


def device_of(node: Node) -> str:
    """Name of the device an INPUT's data is on; of the default device for other nodes."""
    return common_device([node]).name


def from_numpy(array: NDArray, device: str | None = None) -> Node:
    """Copy host data to a device (None = the default one); the node lies in C order.

    Raises: DeviceError when the device is missing.
    """
    place = devices.get_device(device)
    dtype = dtypes.as_dtype(array.dtype)
    native = np.ascontiguousarray(array, dtype).reshape(array.shape)
    return build.input_array(place.from_host(native), array.shape, dtype)


def alias_numpy(array: NDArray) -> Node:
    """An array over the same host memory, strides included; CPU only."""
    dtype = dtypes.as_dtype(array.dtype)
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    buffer = devices.alias_host(array)
    offset = (array.ctypes.data - buffer.pointer) // dtype.itemsize
    return build.input_array(buffer, array.shape, dtype, strides, offset)


def alias_device(
    name: str, address: int, shape: Shape, dtype: DType, strides: Strides, owner: Any
) -> Node:
    """An array over memory of a GPU that `owner` keeps; `address` is that of the first element."""
    buffer, offset = devices.alias_device(name, address, dtype.itemsize, owner)
    return build.input_array(buffer, shape, dtype, strides, offset)


def stream_of(buffer: Any) -> int | None:
    """The number of the stream that computes a buffer; None for devices without streams."""
    return buffer.device.stream_number()  # type: ignore[no-any-return]


def stream_number(name: str) -> int | None:
    """The number of a device's stream. Raises: DeviceError."""
    return devices.get_device(name).stream_number()


def to_numpy(node: Node) -> NDArray:
    """The elements of an INPUT node; read-only on the CPU. Waits for the device."""
    attrs = node.attrs
    assert isinstance(attrs, InputAttrs), "evaluate first"
    buffer: Any = attrs.storage
    device: Device = buffer.device
    values = device.to_host(buffer, attrs.offset, attrs.dtype, attrs.shape, attrs.strides)
    report_waiting(device)
    return values


def host_elements(node: Node, *, is_given_away: bool) -> NDArray | None:
    """The elements of an INPUT of a GPU that are still on the host; None for others.

    is_given_away: the GPU has its own from now on, so that these may be written to.
    """
    attrs = node.attrs
    assert isinstance(attrs, InputAttrs), "evaluate first"
    buffer: Any = attrs.storage
    elements = getattr(buffer, "elements", None)
    if elements is None:
        return None
    if is_given_away:
        _ = buffer.pointer
    return strided_view(elements.view(attrs.dtype)[attrs.offset :], attrs.shape, attrs.strides)


def get_device(name: str | None) -> Device:
    """The device called `name`; None for the default. Raises: DeviceError."""
    return devices.get_device(name)


def expose_host(array: NDArray) -> Buffer:
    """Make the CPU device know a NumPy array's memory for as long as the result lives."""
    return devices.alias_host(array)


def read_record(key: str) -> dict[str, Any] | None:
    """Facts kept on disk by `write_record`; None when there are none."""
    return cache.read_record(key)


def write_record(key: str, record: dict[str, Any]) -> None:
    """Keep facts (plain JSON) in the disk cache."""
    cache.write_record(key, record)


def number_array(number: int, dtype: DType) -> ArrayNumber:
    """What stands for an array among the arguments of a recorded kernel."""
    return ArrayNumber(number, dtype)


def owns_memory(node: Node) -> bool:
    """Whether an INPUT's memory is lazyblock's own, for it to overwrite."""
    attrs = node.attrs
    return isinstance(attrs, InputAttrs) and not getattr(attrs.storage, "is_foreign", False)


def common_device(leaves: Sequence[Node]) -> Device:
    """The device that all leaves are on, the default one if none is. Raises: DeviceError."""
    found: Device | None = None
    for leaf in leaves:
        if isinstance(leaf.attrs, InputAttrs):
            device = leaf.attrs.storage.device
            if found is not None and device is not found:
                names = " and ".join(sorted((found.name, device.name)))
                raise DeviceError(
                    f"Arrays are on different devices: {names}.",
                    hint="move one with lb.asarray(x, device=...).",
                )
            found = device
    return found or devices.default_device()
