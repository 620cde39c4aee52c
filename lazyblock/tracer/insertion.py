"""Making arrays longer, shorter and of blocks. Signatures are NumPy's.

Places are settings that decide the result's shape: lazy ones evaluate. Elements are recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import AxisError, DTypeError, ShapeError
from lazyblock.graph import build
from lazyblock.shapes import as_shape, cdiv, normalize_axis, size_of
from lazyblock.tracer.arguments import as_arrays, in_dtype_of
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import full, to_array
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import broadcast_to, moveaxis
from lazyblock.tracer.taking import take

__all__ = [
    "append",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "delete",
    "insert",
    "resize",
    "rollaxis",
]


NDArray = npt.NDArray[Any]


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """Values put behind an array along an axis (None: all elements in C order)."""
    x, y = as_arrays(arr, values)
    if axis is None:
        return concat([x.ravel(), y.ravel()], axis=0)
    return concat([x, y], axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """Values put before the slices of numbers `obj` along an axis."""
    x, _ = as_arrays(arr, values)
    if axis is None:
        x, axis = x.ravel(), 0
    place = normalize_axis(axis, x.ndim, "insert")
    added = in_dtype_of(values, x)
    while added.ndim > x.ndim and added.shape[0] == 1:  # as in assignments
        added = added[0]
    extent = x.shape[place]
    places = _places(to_host(obj, "np.insert"), extent)
    count = places.size
    if count == 1:  # all values go there, those for one number with the axis in front
        added = added.reshape((1,) * (x.ndim - added.ndim) + added.shape)
        added = added if places.ndim else moveaxis(added, 0, place)
        count, places = added.shape[place], places.reshape(())
    order = np.insert(np.arange(extent), places, extent + np.arange(count))
    shape = (*x.shape[:place], count, *x.shape[place + 1 :])
    return take(concat([x, broadcast_to(added, shape)], axis=place), order, axis=place)


def _places(obj: Any, extent: int) -> NDArray:
    """Numbers of slices, which bools tell by their places. Raises: ShapeError, IndexError."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(extent))
    places = np.asarray(_as_index(obj))
    if places.ndim > 1:
        raise ShapeError("index array argument obj to insert must be one dimensional or scalar")
    if places.dtype == np.bool:
        return np.flatnonzero(places)
    return places


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """An array without the slices of numbers `obj` along an axis."""
    x = to_array(arr)
    if axis is None:
        x, axis = x.ravel(), 0
    place = normalize_axis(axis, x.ndim, "delete")
    where = _as_index(to_host(obj, "np.delete"))
    return take(x, np.delete(np.arange(x.shape[place]), where), axis=place)


def _as_index(obj: Any) -> Any:
    if isinstance(obj, (slice, int)):
        return obj
    places = np.asarray(obj)
    return places.astype(np.int64) if not (places.size or isinstance(obj, np.ndarray)) else places


def resize(a: Any, new_shape: Any) -> Array:
    """The elements in C order under another shape, repeated to fill it."""
    x = to_array(a).ravel()
    shape = as_shape(new_shape, "resize")
    size = size_of(shape)
    if not x.size:
        return full(shape, 0, dtype=x.dtype, device=x.device)
    repeated = broadcast_to(x, (cdiv(size, x.size), x.size)).reshape((-1,))
    return repeated[:size].reshape(shape).copy()


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """An axis moved to stand before the one of number `start`."""
    x = to_array(a)
    source = normalize_axis(axis, x.ndim, "rollaxis")
    target = start + x.ndim if start < 0 else start
    if not 0 <= target < x.ndim + 1:
        raise AxisError(start, x.ndim, "rollaxis")
    return moveaxis(x, source, target - (source < target))


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis."""
    return _each(arys, lambda x: x.reshape((1,)) if x.ndim == 0 else x)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes, new ones in front."""
    return _each(arys, lambda x: x.reshape((1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes: those of a line in the middle, of a matrix in front."""

    def deepen(x: Array) -> Array:
        if x.ndim >= 3:
            return x
        return x.reshape((1, *x.shape, 1) if x.ndim == 1 else (*x.shape, *[1] * (3 - x.ndim)))

    return _each(arys, deepen)


def _each(arrays: tuple[Any, ...], change: Any) -> Any:
    found = tuple(change(to_array(x)) for x in arrays)
    return found[0] if len(found) == 1 else found


def block(arrays: Any) -> Array:
    """An array of nested lists of blocks; the innermost lists join along the last axis."""
    depth = _depth(arrays)
    leaves = _leaves(arrays)
    rank = max(depth, *(x.ndim for x in as_arrays(*leaves)))
    dtype = dtypes.result_type(*(x.dtype for x in as_arrays(*leaves)))
    return _joined(arrays, depth, rank).astype(dtype)


def _depth(nest: Any) -> int:
    """How deep lists are nested. Raises: ValueError, TypeError for what is no nest of lists."""
    if isinstance(nest, tuple):
        raise DTypeError(
            "Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(nest, list):
        return 0
    if not nest:
        raise ShapeError("List at arrays cannot be empty")
    depths = {_depth(item) for item in nest}
    if len(depths) > 1:
        raise ShapeError("List depths are mismatched.")
    return 1 + depths.pop()


def _leaves(nest: Any) -> list[Any]:
    return [x for item in nest for x in _leaves(item)] if isinstance(nest, list) else [nest]


def _joined(nest: Any, depth: int, rank: int) -> Array:
    if not isinstance(nest, list):
        x = to_array(nest)
        return x.reshape((1,) * (rank - x.ndim) + x.shape)
    return concat([_joined(item, depth - 1, rank) for item in nest], axis=-depth)


def padded_front(x: Array, count: int) -> Array:
    """A line with `count` zeros before it."""
    return x._with(build.pad(x.node, 0, count, 0, 0))
