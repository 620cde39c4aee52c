"""Functions that write into an array: at indices, along an axis, where a mask is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, IndexingError, ValueRangeError
from lazyblock.graph import build
from lazyblock.shapes import normalize_axis, size_of
from lazyblock.tracer.arguments import in_dtype_of
from lazyblock.tracer.array import Array, common_device
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.data_types import can_cast
from lazyblock.tracer.operands import can_cast_same_kind
from lazyblock.tracer.taking import check_along_axis, into_range, take, to_positions

__all__ = [
    "copyto",
    "fill_diagonal",
    "place",
    "put",
    "put_along_axis",
    "putmask",
]

NDArray = npt.NDArray[Any]


def _writable(array: Any, name: str) -> Array:
    if not isinstance(array, Array):
        raise DTypeError(f"argument 1 of '{name}' must be a lazy array, not {type(array).__name__}")
    return array


def _repeated(values: Array, count: int) -> Array:
    """The first `count` elements of values repeated again and again."""
    if values.size == count:
        return values
    return take(values, np.arange(count) % values.size)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """a.flat[ind] = v, with values repeated as often as needed.

    mode: as in `take`. Raises: IndexingError.
    """
    array = _writable(a, "put")
    places, values = to_positions(ind, "put"), in_dtype_of(v, array)
    if places.size and not array.size:
        raise IndexingError("cannot replace elements of an empty array")
    if mode != "raise":
        places = into_range(places, array.size, mode)
    if not places.size or not values.size:
        return
    updated = array.flatten()
    updated[places.reshape(-1)] = _repeated(values.ravel(), size_of(places.shape))
    array[...] = updated.reshape(array.shape)


def _safe(values: Any, array: Array) -> Array:
    """As `in_dtype_of`. Raises: DTypeError for arrays that could lose something as such."""
    kind = getattr(values, "dtype", array.dtype)
    if not can_cast(kind, array.dtype):
        raise DTypeError(
            f"Cannot cast array data from {kind!r} to {array.dtype!r} according to the rule 'safe'"
        )
    return in_dtype_of(values, array)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """arr[i, indices[i, j]] = values[i, j]: what `take_along_axis` takes is written."""
    array = _writable(arr, "put_along_axis")
    places = indices if isinstance(indices, Array) else np.asarray(indices)
    if axis is None:
        if places.ndim != 1:
            raise ValueRangeError("when axis=None, `indices` must have a single dimension.")
        updated = array.flatten()
        updated[places] = values
        array[...] = updated.reshape(array.shape)
        return
    along = normalize_axis(axis, array.ndim, "put_along_axis")
    check_along_axis(array.shape, places.shape, along)
    key: list[Any] = [
        np.arange(n).reshape([-1 if d == other else 1 for d in range(array.ndim)])
        for other, n in enumerate(array.shape)
    ]
    key[along] = places
    array[tuple(key)] = values


def _as_mask(mask: Any) -> Array:
    given = to_array(mask)
    return given if dtypes.is_bool(given.dtype) else given.astype(dtypes.bool_)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """The n-th element where a mask is true becomes the n-th value, repeated as needed.

    It is the mask's running count that finds a value: nothing is evaluated.
    """
    array, where = _writable(arr, "place"), _as_mask(mask)
    values = _safe(vals, array).ravel()
    if where.size != array.size:
        raise ValueRangeError("place: mask and data must be the same size")
    if not values.size:
        if where.any():
            raise ValueRangeError("Cannot insert from an empty array!")
        return
    number = (where.ravel().cumsum() - 1) % values.size
    _put_where(array, where, take(values, number, mode="clip"))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Where a mask is true, elements become those of `values` at the same place in C order.

    Values are repeated as needed.
    """
    array, where = _writable(a, "putmask"), _as_mask(mask)
    given = _safe(values, array).ravel()
    if where.size != array.size:
        raise ValueRangeError("putmask: mask and data must be the same size")
    if given.size and array.size:
        _put_where(array, where, _repeated(given, array.size))


def _put_where(array: Array, where: Array, flat: Array) -> None:
    shape = array.shape
    array._cell.device = common_device(array, where, flat)
    node = build.where(
        where.reshape(shape).node,
        build.cast(flat.reshape(shape).node, array.dtype),
        array.node,
    )
    array._write(node)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """dst[...] = src, where a condition holds.

    Raises: DTypeError for casts that are not allowed, ShapeError.
    """
    array = _writable(dst, "copyto")
    is_number = type(src) in dtypes.WEAK_TYPES
    given = to_array(src)
    source = dtypes.result_type(array.dtype, type(src)) if is_number else given.dtype
    is_fine = casting == "unsafe" or (
        can_cast_same_kind(source, array.dtype)
        if casting == "same_kind"
        else bool(np.can_cast(source, array.dtype, casting))  # type: ignore[arg-type]
    )
    if not is_fine:
        raise DTypeError(
            f"Cannot cast {'array data' if given.ndim else 'scalar'} from {source!r} to "
            f"{array.dtype!r} according to the rule '{casting}'"
        )
    value = array._converted(src if is_number else given, array.shape)
    if where is True:
        array._write(value)
        return
    condition = build.broadcast_to(_as_mask(where).node, array.shape)
    array._write(build.where(condition, build.broadcast_to(value, array.shape), array.node))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """The main diagonal of an array of two axes (or several of equal extent) becomes `val`.

    wrap: in tall matrices it goes on after the last column.
    """
    array = _writable(a, "fill_diagonal")
    if array.ndim < 2:
        raise ValueRangeError("array must be at least 2-d")
    if array.ndim > 2 and len(set(array.shape)) > 1:
        raise ValueRangeError("All dimensions of input must be of equal length")
    step, end = 1 + int(np.cumprod(array.shape[:-1]).sum()), None
    if array.ndim == 2:
        step = array.shape[1] + 1
        end = None if wrap else array.shape[1] * array.shape[1]
    updated = array.flatten()
    diagonal = updated[:end:step]
    values = to_array(val)
    diagonal[...] = _repeated(values.ravel(), diagonal.size) if values.ndim else val
    array[...] = updated.reshape(array.shape)
