"""Sorting, on the host: NaN comes last (first where the order is descending)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.host_calls import host_call

__all__ = ["argsort", "sort"]

NDArray = npt.NDArray[Any]


def sort(
    x: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    kind: str | None = None,
) -> Array:
    """The elements in order along `axis` (None: all of them, on one axis).

    Sorting is stable whatever `stable` and `kind`, NumPy's, say. Raises: ValueRangeError.
    """
    _check_kind(kind)
    array, axis = _along(x, axis, "sort")
    results = [(array.shape, array.dtype)]
    (found,) = host_call(sort_values, [array], results, axis=axis, descending=descending)
    return found


def argsort(
    x: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    kind: str | None = None,
) -> Array:
    """The places, as int64, from which `sort` takes its elements; equal ones in their order."""
    _check_kind(kind)
    array, axis = _along(x, axis, "argsort")
    results = [(array.shape, dtypes.int64)]
    (found,) = host_call(sort_places, [array], results, axis=axis, descending=descending)
    return found


def _check_kind(kind: Any) -> None:
    if kind is not None and not isinstance(kind, str):
        raise DTypeError(f"sort kind must be str, not {type(kind).__name__}")
    if kind is not None and kind[:1].lower() not in tuple("qhms"):
        raise ValueRangeError(
            f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})"
        )


def _along(x: Any, axis: int | None, operation: str) -> tuple[Array, int]:
    array = to_array(x)
    if axis is None:
        return array.ravel(), 0
    return array, normalize_axis(axis, array.ndim, operation)


def sort_values(x: NDArray, *, axis: int, descending: bool) -> NDArray:
    """NumPy's sort, for all dtypes, in both directions."""
    found = np.sort(comparable(x), axis, stable=True).astype(x.dtype, copy=False)
    return np.flip(found, axis) if descending else found


def sort_places(x: NDArray, *, axis: int, descending: bool) -> NDArray:
    """NumPy's stable argsort, for all dtypes, in both directions."""
    x = comparable(x)
    if not descending:
        return np.argsort(x, axis, stable=True)
    backwards = np.argsort(np.flip(x, axis), axis, stable=True)
    return np.asarray(x.shape[axis] - 1 - np.flip(backwards, axis))


def comparable(x: NDArray) -> NDArray:
    """The values in a dtype that NumPy sorts."""
    return x.astype(np.float32) if x.dtype == dtypes.bfloat16 else x
