"""Arrays as arguments: where those of NumPy, lazyblock, torch, CuPy... have their elements.

A reader takes an argument, notes its address and gives its kind. NumPy arrays are on the host, also
where there is a GPU; the others are where they say.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.errors import DeviceError, DTypeError
from lazyblock.language.dtypes import dtype as language_dtype
from lazyblock.language.kinds import ALIGNMENT, HOST, Kind
from lazyblock.tiler.types import to_numpy

NDArray = npt.NDArray[Any]

_address_of, _from_buffer = ctypes.addressof, ctypes.c_char.from_buffer


class Leaves:
    """The flat arguments of one launch.

    slots: a number per parameter of the program; values: what they were read from; lazy: positions
    of lazyblock's arrays; kept: what must live until the launch; stream: that another library's
    arrays are used on, if there are any on a GPU.
    """

    __slots__ = ("kept", "lazy", "slots", "stream", "values")

    def __init__(self) -> None:
        self.slots: list[Any] = []
        self.values: list[Any] = []
        self.lazy: tuple[int, ...] = ()
        self.kept: tuple[Any, ...] = ()
        self.stream: int | None = None

    def add(self, slot: Any, value: Any) -> None:
        self.slots.append(slot)
        self.values.append(value)


Reader = Callable[[Any, Leaves], Kind]


def read_host_array(array: NDArray, leaves: Leaves) -> Kind:
    """A NumPy array: its element 0, whatever its strides."""
    try:
        # for most arrays, in a seventh of the time
        address = _address_of(_from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        address = array.__array_interface__["data"][0]
    leaves.slots.append(address)
    leaves.values.append(array)
    return array.dtype, not address % ALIGNMENT, HOST


def _read_lazy_array(array: Any, leaves: Leaves) -> Kind:
    device, address, dtype, temporary = array.__lazyblock_memory__(False)
    if temporary is not None:
        leaves.kept += (temporary,)
    leaves.lazy += (len(leaves.slots),)
    leaves.slots.append(address)
    leaves.values.append(array)
    return dtype, not address % ALIGNMENT, device


def _read_data_pointer(tensor: Any, leaves: Leaves) -> Kind:
    """A torch tensor, or whatever has its `data_ptr` and `device`, and a `dtype` of either."""
    address = tensor.data_ptr()
    leaves.slots.append(address)
    leaves.values.append(tensor)
    device = _device_name(tensor)
    if device != HOST and "torch" in sys.modules:
        leaves.stream = sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream
    dtype = tensor.dtype
    if not isinstance(dtype, language_dtype):
        dtype = dtype_named(dtype)
    return dtype, not address % ALIGNMENT, device


def _device_name(tensor: Any) -> str:
    device = getattr(tensor, "device", HOST)
    kind = getattr(device, "type", device)
    return HOST if kind == HOST else f"{kind}:{getattr(device, 'index', None) or 0}"


def _read_cuda_interface(array: Any, leaves: Leaves) -> Kind:
    """CuPy, Numba, JAX on a GPU; a class may have the interface for its arrays there only."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return _read_exported(array, leaves)
    address = interface["data"][0]
    leaves.stream = interface.get("stream") or leaves.stream
    leaves.slots.append(address)
    leaves.values.append(array)
    device = getattr(getattr(array, "device", None), "id", 0)
    return np.dtype(interface["typestr"]), not address % ALIGNMENT, f"cuda:{device}"


def _read_exported(array: Any, leaves: Leaves) -> Kind:
    """Memory of the host behind `__array_interface__`, DLPack or the like."""
    return read_host_array(as_host_array(array), leaves)


def as_host_array(value: Any) -> NDArray:
    """A NumPy array over the memory of an array of the host; no copy. Raises: DeviceError."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "data_ptr") and hasattr(value, "detach"):
        return _torch_memory(value.detach())
    if hasattr(value, "__dlpack__"):
        place = value.__dlpack_device__()
        if place[0] != 1:
            raise DeviceError(
                f"A {type(value).__name__} on DLPack device {tuple(map(int, place))} offers no "
                "'__cuda_array_interface__'.",
                hint="pass a lazyblock array, or an array of CuPy or torch.",
            )
        return np.from_dlpack(value)
    if hasattr(value, "data_ptr") and hasattr(value, "shape") and hasattr(value, "stride"):
        return _described_memory(value)
    array = np.asarray(value)
    if array.dtype == object:
        raise DTypeError(
            f"NumPy cannot see the memory of a {type(value).__name__}.",
            hint="give the class a 'shape', and a 'stride()' in elements, beside 'data_ptr()'.",
        )
    return array


def _described_memory(value: Any) -> NDArray:
    """The memory of what tells its address, shape and strides only; strides may be negative."""
    dtype, shape, strides = _element_type(value), tuple(value.shape), tuple(value.stride())
    if 0 in shape:
        return np.empty(shape, dtype)
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    before, behind = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
    nbytes = (behind - before + 1) * dtype.itemsize
    region = (ctypes.c_uint8 * nbytes).from_address(value.data_ptr() + before * dtype.itemsize)
    flat = np.ctypeslib.as_array(region).view(dtype)
    steps = [stride * dtype.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(flat[-before:], shape, steps)


def _torch_memory(tensor: Any) -> NDArray:
    """A tensor's memory; of dtypes that torch does not show to NumPy by way of integers."""
    dtype = dtype_named(tensor.dtype)
    if dtype.isbuiltin == 1:
        found: NDArray = tensor.numpy()
        return found
    integers = getattr(sys.modules["torch"], f"int{8 * dtype.itemsize}")
    return tensor.view(integers).numpy().view(dtype)  # type: ignore[no-any-return]


def _element_type(value: Any) -> np.dtype[Any]:
    dtype = value.dtype
    return to_numpy(dtype.ir) if isinstance(dtype, language_dtype) else dtype_named(dtype)


_TORCH_NAMES = {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"}
_known_dtypes: dict[Any, np.dtype[Any]] = {}


def dtype_named(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype of torch's or anybody's dtype, by its name."""
    found = _known_dtypes.get(dtype)
    if found is None:
        name = str(dtype).rpartition(".")[2]
        name = "bool" if name == "bool_" else name
        extended = name == "bfloat16" or name in _TORCH_NAMES
        try:
            found = np.dtype(getattr(_ml_dtypes(), name) if extended else name)
        except TypeError:
            raise DTypeError(f"Kernels cannot take arrays of {dtype}.") from None
        _known_dtypes[dtype] = found
    return found


def _ml_dtypes() -> Any:
    return sys.modules["ml_dtypes"]  # lazyblock's own dtypes brought it along


PROTOCOLS: dict[str, Reader] = {
    "__lazyblock_memory__": _read_lazy_array,
    "data_ptr": _read_data_pointer,
    "__cuda_array_interface__": _read_cuda_interface,
    "__array_interface__": _read_exported,
    "__dlpack__": _read_exported,
}
