"""Arrays of other libraries made ours, over the same memory where that can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dlpack, dtypes
from lazyblock.errors import DeviceError
from lazyblock.shapes import size_of
from lazyblock.tracer.array import Array, ArrayCell, from_host
from lazyblock.tracer.creation import asarray
from lazyblock.tracer.evaluation import evaluate
from lazyblock.tracer.stages import pipeline

__all__ = [
    "from_dlpack",
]

NDArray = npt.NDArray[Any]

_ON_HOST = (dlpack.CPU, dlpack.CUDA_HOST)
_ON_GPU = (dlpack.CUDA, dlpack.CUDA_MANAGED)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Give an array over the memory of any array with `__dlpack__`.

    Later writes of its library to that memory are seen; ours never reach it. device: None = where
    it is. copy: True copies, False refuses to.
    Raises: BufferError, ValueRangeError when a copy is unavoidable, DTypeError.
    """
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy) if device or copy else x.view()
    kind, number = map(int, x.__dlpack_device__())
    memory = dlpack.take_capsule(_ask(x, kind, number, copy))
    array = _over(memory)
    if copy and not memory.is_copied:
        array = array.copy()
        evaluate([array], "from_dlpack")
    return array if device is None else asarray(array, device=device, copy=copy)


def _ask(x: Any, kind: int, number: int, copy: bool | None) -> Any:
    """A capsule, from producers of any version."""
    stream = {}
    if kind in _ON_GPU:
        stream = {"stream": pipeline.stream_number(f"cuda:{number}")}
    elif kind not in _ON_HOST:
        raise BufferError(f"Arrays on DLPack device {(kind, number)} are not understood.")
    try:
        return x.__dlpack__(**stream, max_version=dlpack.MAX_VERSION, copy=copy)
    except TypeError:  # a producer of DLPack before 1.0
        return x.__dlpack__(**stream)


def _over(memory: dlpack.Memory) -> Array:
    """An array over memory of others."""
    dtype = dtypes.as_dtype(memory.dtype)
    on_gpu = memory.device[0] in _ON_GPU
    name = f"cuda:{memory.device[1]}" if on_gpu else "cpu"
    if size_of(memory.shape) == 0:
        node = from_host(np.empty(memory.shape, dtype), name)
    elif on_gpu:
        layout = memory.shape, dtype, memory.strides
        node = pipeline.alias_device(name, memory.address, *layout, memory.owner)
    elif memory.address % dtype.itemsize:
        node = from_host(_over_host(memory).copy(), name)
    else:
        node = pipeline.alias_numpy(_over_host(memory))
    return Array(ArrayCell(node, name))


class _Interface:
    """What NumPy asks for memory, and keeps."""

    def __init__(self, memory: dlpack.Memory) -> None:
        itemsize = memory.dtype.itemsize
        self.owner = memory.owner
        self.__array_interface__ = {
            "shape": memory.shape,
            "typestr": f"|V{itemsize}",
            "data": (memory.address, memory.is_read_only),
            "strides": tuple(n * itemsize for n in memory.strides),
            "version": 3,
        }


def _over_host(memory: dlpack.Memory) -> NDArray:
    return np.asarray(_Interface(memory)).view(memory.dtype)


# Pickles


def unpickle(data: Any, dtype: str, shape: tuple[int, ...], device: str) -> Array:
    """The array of a pickle; on the default device if there is no such device here."""
    values = np.frombuffer(data, np.uint8).view(dtypes.as_dtype(dtype)).reshape(shape)
    try:
        place = pipeline.get_device(device).name
    except DeviceError:
        place = pipeline.default_device()
    if place == "cpu" and values.ctypes.data % values.itemsize == 0:
        return Array(ArrayCell(pipeline.alias_numpy(values), place))
    return Array(ArrayCell(from_host(values, place), place))
