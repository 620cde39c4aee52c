"""Where elements are: places of extremes are reductions, see there; the rest is here.

How many elements are nonzero is data: `nonzero` evaluates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.sorting import comparable

__all__ = ["count_nonzero", "nonzero", "searchsorted"]

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
