"""Basic indexing: ints, slices, None and Ellipsis become an affine map. Errors are NumPy's."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazyblock.errors import IndexingError, UnsupportedError, ValueRangeError
from lazyblock.graph.index_map import IndexMap
from lazyblock.shapes import Shape

_VALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


def basic_index(shape: Shape, key: Any) -> tuple[IndexMap, Shape]:
    """The map and shape of `x[key]` for an array of `shape`.

    Raises: IndexingError, ValueRangeError (slice step 0), UnsupportedError for arrays as indices.
    """
    offsets: list[int] = []
    selected: list[tuple[int | None, int]] = []  # per operand axis: result axis and step
    result: list[int] = []
    for entry in _expanded(key, len(shape)):
        if entry is None:
            result.append(1)
            continue
        axis = len(offsets)
        if isinstance(entry, slice):
            start, step, extent = _slice(entry, shape[axis])
            offsets.append(start)
            selected.append((len(result), step))
            result.append(extent)
        else:
            offsets.append(_checked(entry, axis, shape[axis]))
            selected.append((None, 0))
    rank = len(result)
    rows = tuple(
        tuple(step if e == target else 0 for e in range(rank)) for target, step in selected
    )
    return IndexMap(tuple(offsets), rows, rank), tuple(result)


def _expanded(key: Any, ndim: int) -> list[Any]:
    """The entries of a key, with slices for what an ellipsis (or the end) stands for."""
    entries = [_entry(item) for item in (key if isinstance(key, tuple) else (key,))]
    used = sum(item is not None and item is not Ellipsis for item in entries)
    if used > ndim:
        raise IndexingError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    dots = [position for position, item in enumerate(entries) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexingError("an index can only have a single ellipsis ('...')")
    at = dots[0] if dots else len(entries)
    rest: list[Any] = [slice(None)] * (ndim - used)
    return entries[:at] + rest + entries[at + 1 :]


def _entry(item: Any) -> Any:
    """An entry as None, Ellipsis, a slice or an int."""
    if type(item) is int or item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (list, np.ndarray, bool, np.bool)) or hasattr(item, "__array_ufunc__"):
        if isinstance(item, np.integer):
            return int(item)
        if not isinstance(item, np.inexact):
            raise UnsupportedError(
                "Arrays, lists and bools as indices come in a later version.",
                hint="use 'lb.where' to select by a condition.",
            )
    try:
        return operator.index(item)
    except TypeError:
        raise IndexingError(_VALID) from None


def _slice(entry: slice, extent: int) -> tuple[int, int, int]:
    """Start, step and number of elements."""
    try:
        start, stop, step = entry.indices(extent)
    except ValueError as error:
        raise ValueRangeError(str(error)) from None
    except TypeError as error:
        raise IndexingError(str(error)) from None
    count = len(range(start, stop, step))
    return (start if count else 0), step, count


def _checked(index: int, axis: int, extent: int) -> int:
    if not -extent <= index < extent:
        raise IndexingError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index + extent if index < 0 else index
