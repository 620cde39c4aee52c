"""Where elements are: places of extremes are reductions, see there; the rest is here.

How many elements are nonzero is data: `nonzero` evaluates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.shapes import normalize_axes
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.sorting import comparable

__all__ = ["count_nonzero", "nonzero", "searchsorted", "trim_zeros"]

NDArray = npt.NDArray[Any]


def count_nonzero(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Number of elements that are not zero, as int64."""
    return to_array(x).astype(dtypes.bool_).sum(axis, dtypes.int64, keepdims=keepdims)


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """Indices of the elements that are not zero, in C order: one array per axis. Evaluates."""
    array = to_array(x)
    if not array.ndim:
        raise ShapeError("Calling nonzero on 0d arrays is not allowed.")
    return tuple(
        asarray(places, device=array.device) for places in np.nonzero(array._values("nonzero"))
    )


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> Array:
    """Places in sorted `x1` (by `sorter`) before which `x2` keep the order, as int64.

    side: "left" of equal elements, or "right".
    """
    if side not in ("left", "right"):
        raise ValueRangeError(f"search side must be 'left' or 'right' (got {side!r})")
    arrays = [to_array(x) for x in (x1, x2, *([] if sorter is None else [sorter]))]
    if sorter is not None and not dtypes.is_integer(arrays[2].dtype):
        raise DTypeError("sorter must only contain integers")
    if arrays[0].ndim != 1:
        raise ShapeError("object too deep for desired array")
    (found,) = host_call(search, arrays, [(arrays[1].shape, dtypes.int64)], side=side)
    return found


def search(x1: NDArray, x2: NDArray, sorter: NDArray | None = None, *, side: Any) -> NDArray:
    """NumPy's searchsorted, for all dtypes."""
    x1, x2 = (comparable(x) for x in (x1, x2))
    return np.asarray(np.searchsorted(x1, x2, side, sorter), np.int64)


def trim_zeros(filt: Any, trim: str = "fb", axis: Axis = None) -> Any:
    """The part between the zeros at the ends of axes, a view; evaluates.

    trim: "f", "b" or both, for the front and the back.
    """
    axes = normalize_axes(axis, np.ndim(filt), "trim_zeros")
    if not axes:
        return filt
    if not set(trim.lower()) <= {"f", "b"} or not 0 < len(trim) < 3:
        raise ValueRangeError(f"unexpected character(s) in `trim`: {trim.lower()!r}")
    places = np.argwhere(to_host(filt, "np.trim_zeros"))
    shape = np.shape(filt)
    first = places.min(0) if len(places) else np.zeros(len(shape), np.int64)
    end = places.max(0) + 1 if len(places) else first
    key = [slice(None)] * len(shape)
    for place in axes:
        has_front, has_back = ("f" in trim.lower() or not len(places)), "b" in trim.lower()
        key[place] = slice(
            int(first[place]) if has_front else None,
            int(end[place]) if has_back or not len(places) else None,
        )
    return filt[key[0]] if len(key) == 1 else filt[tuple(key)]
