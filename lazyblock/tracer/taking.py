"""Elements taken at positions along an axis, and axes turned or moved around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, IndexingError, ShapeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.shapes import Shape, broadcast_shapes, normalize_axis
from lazyblock.tracer.arguments import check_taken
from lazyblock.tracer.array import Array, Cell, common_device
from lazyblock.tracer.creation import to_array, zeros
from lazyblock.tracer.indexing import in_range
from lazyblock.tracer.manipulation import flip
from lazyblock.tracer.selections import position_node
from lazyblock.tracer.ufuncs import write_out

__all__ = [
    "fliplr",
    "flipud",
    "rot90",
    "take",
    "take_along_axis",
]


def take(
    x: Any, indices: Any, /, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Array:
    """Elements (or parts) at indices along an axis; None counts all elements in C order.

    mode: what indices out of range do: "raise", "clip" to the ends, "wrap" around.
    Raises: IndexingError; for lazy indices when a result is evaluated.
    """
    array = to_array(x)
    if axis is None:
        array, axis = array.ravel(), 0
    along = normalize_axis(axis, array.ndim, "take")
    places = to_positions(indices, "take")
    check_taken(out, (*array.shape[:along], *places.shape, *array.shape[along + 1 :]), array.dtype)
    before, extent, after = array.shape[:along], array.shape[along], array.shape[along + 1 :]
    if 0 in (*before, *after):  # NumPy looks at no index then
        result = zeros((*before, *places.shape, *after), array.dtype, device=array.device)
    else:
        places = places if mode == "raise" else into_range(places, extent, mode)
        result = array[(*(slice(None),) * along, places)]
    return result if out is None else write_out(result, out, "take", "unsafe")


def to_positions(indices: Any, name: str) -> Any:
    """Indices as a NumPy or lazy array of integers. Raises: DTypeError."""
    places = indices if isinstance(indices, Array) else np.asarray(indices)
    if places.size == 0 and not isinstance(indices, (Array, np.ndarray)):
        places = places.astype(np.int64)
    if not dtypes.is_integer(places.dtype) and not dtypes.is_bool(places.dtype):
        raise DTypeError(
            f"Cannot cast array data from {places.dtype!r} to dtype('int64') according to the rule "
            "'safe'"
        )
    return places.astype(np.int64)


def into_range(places: Any, extent: int, mode: str) -> Any:
    """Indices of an axis, brought into it."""
    if mode not in _MODES:
        raise ValueRangeError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    if not extent and places.size:
        raise IndexingError("cannot do a non-empty take from an empty axes.")
    return _MODES[mode](places, extent) if extent else places


_MODES: dict[str, Callable[[Any, int], Any]] = {
    "clip": lambda places, extent: places.clip(0, extent - 1),
    "wrap": lambda places, extent: places % extent,
}


def take_along_axis(x: Any, indices: Any, /, axis: int | None = -1) -> Array:
    """result[i, j] = x[i, indices[i, j]]: an index for every element of the result.

    Raises: IndexingError (for lazy indices when a result is evaluated), ShapeError.
    """
    array, places = to_array(x), indices if isinstance(indices, Array) else np.asarray(indices)
    if not dtypes.is_integer(places.dtype):
        raise IndexingError("`indices` must be an integer array")
    if axis is None:
        if places.ndim != 1:
            raise ValueRangeError("when axis=None, `indices` must have a single dimension.")
        array, axis = array.ravel(), 0
    along = normalize_axis(axis, array.ndim, "take_along_axis")
    shape = check_along_axis(array.shape, places.shape, along)
    device = common_device(array, places) or array.device
    extent = array.shape[along]
    if isinstance(places, np.ndarray):
        places = in_range(places.astype(np.int64), along, extent)
    rows = [None if d == along or n == 1 else d for d, n in enumerate(array.shape)]
    node = build.gather(
        array.node,
        index_map.from_axes(rows, len(shape)),
        {along: position_node(places, extent, device)},
        shape,
        is_checked=isinstance(places, Array),
    )
    return Array(Cell(node, device))


def check_along_axis(shape: Shape, places: Shape, axis: int) -> Shape:
    """The shape of what positions along an axis pick. Raises: ShapeError, IndexingError."""
    if len(shape) != len(places):
        raise ShapeError("`indices` and `arr` must have the same number of dimensions")
    kept = (*shape[:axis], places[axis], *shape[axis + 1 :])
    try:
        return broadcast_shapes(kept, places)
    except ShapeError:
        raise IndexingError(
            f"shape mismatch: indices of shape {places} do not fit an array of shape {shape}"
        ) from None


def flipud(m: Any, /) -> Array:
    """The first axis backwards."""
    array = to_array(m)
    if array.ndim < 1:
        raise ShapeError("Input must be >= 1-d.")
    return flip(array, axis=0)


def fliplr(m: Any, /) -> Array:
    """The second axis backwards."""
    array = to_array(m)
    if array.ndim < 2:
        raise ShapeError("Input must be >= 2-d.")
    return flip(array, axis=1)


def rot90(m: Any, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Turned `k` times by 90 degrees, from the first of two axes to the second."""
    array = to_array(m)
    if len(axes) != 2:
        raise ShapeError("len(axes) must be 2.")
    first, second = axes
    if first == second or abs(first - second) == array.ndim:
        raise ShapeError("Axes must be different.")
    if not all(-array.ndim <= axis < array.ndim for axis in axes):
        raise ShapeError(f"Axes={tuple(axes)} out of range for array of ndim={array.ndim}.")
    turns = k % 4
    if turns == 0:
        return array[...]
    if turns == 2:
        return flip(array, axis=(first, second))
    flipped = flip(array, axis=second) if turns == 1 else array
    turned = flipped.swapaxes(first, second)
    return turned if turns == 1 else flip(turned, axis=second)
