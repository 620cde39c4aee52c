"""`ufunc.at`: updates at indices, of which every one counts, repeated ones too. NumPy does it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.errors import ValueRangeError
from lazyblock.shapes import Shape
from lazyblock.tracer.array import Array, common_device
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.indexing import read_entries, select
from lazyblock.tracer.operands import resolve_loop

NDArray = npt.NDArray[Any]


def at(ufunc: np.ufunc, array: Any, index: Any, *operands: Any) -> None:
    """Apply `ufunc` to the elements of `array` at indices, in place and one after the other.

    Raises: IndexingError (for lazy indices NumPy's when a result is evaluated).
    """
    key = index if isinstance(index, tuple) else (index,)
    if not isinstance(array, Array):
        ufunc.at(array, tuple(map(_on_host, key)), *map(_on_host, operands))
        return
    values = [to_array(operand) for operand in operands]  # also of Python numbers: none is weak
    kinds = (array.dtype, *(value.dtype for value in values), *[None] * ufunc.nout)
    resolve_loop(ufunc, kinds)  # for its errors
    if not any(isinstance(entry, Array) for entry in key):
        shape = select(array.shape, read_entries(array.shape, key)).result_shape  # for its errors
        if any(not _broadcasts(value.shape, shape) for value in values):
            raise ValueRangeError("array is not broadcastable to correct shape")
    entries = [_entry_at(entry) for entry in key]
    arrays = [entry for entry in entries if isinstance(entry, Array)]
    slots = tuple(None if isinstance(e, Array) else (e,) for e in entries)
    array._cell.device = common_device(array, *arrays, *values)
    (result,) = host_call(
        update_at,
        [array, *arrays, *values],
        [(array.shape, array.dtype)],
        ufunc=ufunc,
        slots=slots,
    )
    array._write(result.node)


def _broadcasts(shape: Shape, target: Shape) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _entry_at(entry: Any) -> Any:
    """A slice as its three numbers, an integer, None, Ellipsis, or an array."""
    if entry is None or entry is Ellipsis:
        return entry
    if isinstance(entry, slice):
        return entry.start, entry.stop, entry.step
    if isinstance(entry, (Array, np.ndarray, list, tuple, bool, np.bool)):
        return to_array(np.asarray(entry, np.int64) if np.size(entry) == 0 else entry)
    return operator.index(entry)


def update_at(array: NDArray, *rest: NDArray, ufunc: np.ufunc, slots: tuple[Any, ...]) -> NDArray:
    """A copy of `array` after `ufunc.at`.

    slots: entries of the index, each in a tuple; None for an array, which comes first in `rest`.
    """
    given = list(rest)
    index = tuple(given.pop(0) if slot is None else _restored(*slot) for slot in slots)
    result = array.copy()
    if any(value.ndim for value in given):  # NumPy 2.4 misreads those that it has to broadcast
        shape = array[index].shape
        given = [np.broadcast_to(value, shape) for value in given]
    ufunc.at(result, index, *given)
    return result


def _restored(entry: Any) -> Any:
    return slice(*entry) if isinstance(entry, tuple) else entry


def _on_host(value: Any) -> Any:
    return value._values("ufunc.at") if isinstance(value, Array) else value
