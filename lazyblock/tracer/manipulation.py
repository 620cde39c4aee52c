"""Functions that rearrange: views where NumPy's are views. Also questions about shape and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ShapeError
from lazyblock.graph import index_map
from lazyblock.shapes import Shape, as_shape, broadcast_shapes, normalize_axes, normalize_axis
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.folds import Axis

__all__ = [
    "astype",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "copy",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "result_type",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """The array repeated along axes of extent 1 and new leading axes. Raises: ShapeError."""
    array, target = to_array(x), as_shape(shape, "broadcast_to")
    lead = len(target) - array.ndim
    if lead < 0 or any(n not in (1, target[lead + d]) for d, n in enumerate(array.shape)):
        raise ShapeError(f"Cannot broadcast {array.shape} to {target}.")
    return array.see(index_map.broadcast(array.shape, target), target)


def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """All arrays in the shape they broadcast to."""
    given = [to_array(x) for x in arrays]
    if not given:
        return ()
    shape = broadcast_shapes(*(x.shape for x in given), operation="broadcast_arrays")
    return tuple(broadcast_to(x, shape) for x in given)


def expand_dims(x: Any, /, axis: int | tuple[int, ...] = 0) -> Array:
    """New axes of extent 1, at `axis` of the result."""
    array = to_array(x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = normalize_axes(axis, array.ndim + count, "expand_dims")
    extents = iter(array.shape)
    shape = tuple(1 if a in axes else next(extents) for a in range(array.ndim + count))
    return array.see(index_map.inserted_axes(array.ndim, axes), shape)


def squeeze(x: Any, /, axis: Axis = None) -> Array:
    """Drop axes of extent 1 (None: all such)."""
    return to_array(x).squeeze(axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    """The elements in C order under another shape; one extent may be -1."""
    return to_array(x).reshape(shape, copy=copy)


def ravel(x: Any, /) -> Array:
    """One axis; a view where NumPy gives one."""
    return to_array(x).ravel()


def permute_dims(x: Any, /, axes: Sequence[int]) -> Array:
    """Axes in the order given."""
    return to_array(x).transpose(tuple(axes))


def transpose(x: Any, /, axes: Sequence[int] | None = None) -> Array:
    """Axes in the order given (None: reversed)."""
    return to_array(x).transpose(axes)


def matrix_transpose(x: Any, /) -> Array:
    """Each matrix of a stack, transposed."""
    return to_array(x).mT


def swapaxes(x: Any, axis1: int, axis2: int, /) -> Array:
    """Two axes exchanged."""
    return to_array(x).swapaxes(axis1, axis2)


def moveaxis(x: Any, source: Axis, destination: Axis, /) -> Array:
    """Axes moved to new places, the others in their order."""
    array = to_array(x)
    sources, places = (_ordered(axes, array.ndim) for axes in (source, destination))
    if len(sources) != len(places):
        raise ShapeError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [axis for axis in range(array.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return array.transpose(tuple(order))


def _ordered(axes: Any, ndim: int) -> list[int]:
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    result = [normalize_axis(axis, ndim, "moveaxis") for axis in listed]
    if len(set(result)) != len(result):
        raise ShapeError("repeated axis in 'moveaxis'.")
    return result


def flip(x: Any, /, axis: Axis = None) -> Array:
    """Axes read backwards (None: all)."""
    array = to_array(x)
    axes = normalize_axes(axis, array.ndim, "flip")
    return array[tuple(slice(None, None, -1 if a in axes else 1) for a in range(array.ndim))]


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Array:
    """Convert the elements, as NumPy casts them."""
    array = to_array(x)
    return array.astype(dtype, copy=copy)


def copy(x: Any, /) -> Array:
    """The same values, not seen by later writes."""
    return to_array(x).copy()


# Questions


def ndim(x: Any, /) -> int:
    """Number of axes."""
    return x.ndim if isinstance(x, Array) else np.ndim(x)


def shape(x: Any, /) -> Shape:
    """Extents of the axes."""
    return x.shape if isinstance(x, Array) else np.shape(x)


def size(x: Any, /, axis: int | None = None) -> int:
    """Number of elements, or the extent of one axis."""
    extents = shape(x)
    return int(np.prod(extents, dtype=np.int64)) if axis is None else extents[axis]


def result_type(*operands: Any) -> DType:
    """The dtype that arrays, dtypes and (weak) Python numbers promote to."""
    return dtypes.result_type(*(_kind(operand) for operand in operands))


def _kind(operand: Any) -> DType | type:
    if type(operand) in dtypes.WEAK_TYPES:
        return type(operand)
    if isinstance(operand, (Array, np.ndarray, np.generic)):
        return dtypes.as_dtype(operand.dtype)
    return dtypes.as_dtype(operand)


def can_cast(source: Any, target: Any, /) -> bool:
    """Whether every value of one dtype (or array's dtype) is one of the other."""
    return bool(np.can_cast(_kind(source), dtypes.as_dtype(target)))
