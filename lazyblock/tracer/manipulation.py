"""Functions that rearrange: views where NumPy's are views. Also questions about shape and kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import ShapeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape, as_shape, normalize_axes, normalize_axis, size_of
from lazyblock.shapes import broadcast_shapes as _broadcast_shapes
from lazyblock.tracer.array import Array, ArrayCell, Cell
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.protocols import namespace

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "copy",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "tile",
    "transpose",
    "unstack",
]


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """The array repeated along axes of extent 1 and new leading axes. Raises: ShapeError."""
    array, target = to_array(x), as_shape(shape, "broadcast_to")
    lead = len(target) - array.ndim
    if lead < 0 or any(n not in (1, target[lead + d]) for d, n in enumerate(array.shape)):
        raise ShapeError(f"Cannot broadcast {array.shape} to {target}.")
    return array.see(index_map.broadcast(array.shape, target), target)


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that all `shapes` broadcast to. Raises: ShapeError."""
    given = [as_shape(shape, "broadcast_shapes") for shape in shapes]
    return _broadcast_shapes(*given, operation="broadcast_shapes") if given else ()


def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """All arrays in the shape they broadcast to."""
    given = [to_array(x) for x in arrays]
    if not given:
        return ()
    shape = _broadcast_shapes(*(x.shape for x in given), operation="broadcast_arrays")
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


def reshape(x: Any, /, shape: Any, order: str | None = "C", *, copy: bool | None = None) -> Array:
    """The elements in C order (or F) under another shape; one extent may be -1."""
    return to_array(x).reshape(shape, order=order, copy=copy)


def ravel(x: Any, /, order: str | None = "C") -> Array:
    """One axis; a view where NumPy gives one."""
    return to_array(x).ravel(order)


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
    listed = axes if np.iterable(axes) else (axes,)
    result = [normalize_axis(axis, ndim, "moveaxis") for axis in listed]
    if len(set(result)) != len(result):
        raise ShapeError("repeated axis in 'moveaxis'.")
    return result


def flip(x: Any, /, axis: Axis = None) -> Array:
    """Axes read backwards (None: all)."""
    array = to_array(x)
    axes = normalize_axes(axis, array.ndim, "flip")
    return array[tuple(slice(None, None, -1 if a in axes else 1) for a in range(array.ndim))]


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of the array at every place along `axis`."""
    array = to_array(x)
    if not array.ndim:
        raise ShapeError("Input array must be at least 1-d.")
    lead = (slice(None),) * normalize_axis(axis, array.ndim, "unstack")
    return tuple(array[(*lead, place)] for place in range(array.shape[len(lead)]))


def tile(x: Any, repetitions: Any, /) -> Array:
    """The array repeated as a whole along every axis; new axes come first."""
    array = to_array(x)
    counts = as_shape(repetitions, "tile")
    rank = max(array.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    extents = (1,) * (rank - array.ndim) + array.shape
    pairs = [pair for n, extent in zip(counts, extents, strict=True) for pair in (n, extent)]
    kept = [2 * (axis + rank - array.ndim) + 1 for axis in range(array.ndim)]
    return _copied(array, kept, tuple(pairs), [a * b for a, b in zip(counts, extents, strict=True)])


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Array:
    """Every element `repeats` times in a row; an array of counts is evaluated."""
    array = to_array(x)
    if axis is None:
        array, axis = array.ravel(), 0
    axis = normalize_axis(axis, array.ndim, "repeat")
    counts = repeats.numpy() if isinstance(repeats, Array) else np.asarray(repeats)
    if counts.size != 1:
        return _repeat_each(array, counts, axis)
    count = int(counts.astype(np.int64, casting="safe").reshape(()))
    if count < 0 and array.shape[axis]:
        raise ValueRangeError("negative dimensions are not allowed")
    count = max(count, 0)
    parted = (*array.shape[: axis + 1], count, *array.shape[axis + 1 :])
    kept = [a if a <= axis else a + 1 for a in range(array.ndim)]
    shape = (*array.shape[:axis], array.shape[axis] * count, *array.shape[axis + 1 :])
    return _copied(array, kept, parted, shape)


def _repeat_each(array: Array, counts: Any, axis: int) -> Array:
    if counts.shape != array.shape[axis : axis + 1]:
        raise ShapeError(
            f"operands could not be broadcast together with shape {array.shape[axis : axis + 1]} "
            f"{counts.shape}"
        )
    places = np.repeat(np.arange(array.shape[axis]), counts)
    return namespace().take(array, places, axis=axis)  # type: ignore[no-any-return]


def _copied(array: Array, axes: Sequence[int], parted: Shape, shape: Sequence[int]) -> Array:
    """A new array: `array`, whose axes are `axes` of `parted`, read over that and reshaped."""
    map = index_map.from_axes(axes, len(parted))
    if size_of(parted):
        node = build.reshape(build.view(array.node, map, parted), tuple(shape))
    else:
        node = build.broadcast_to(build.fixed(0, array.dtype), tuple(shape))
    return Array(ArrayCell(node, array._cell.device))


def roll(x: Any, /, shift: Any, axis: Any = None) -> Array:
    """Elements moved along axes, those beyond the end coming back at the start.

    axis: None moves along all elements in C order; a tuple goes with a tuple of shifts.
    """
    array = to_array(x)
    if axis is None:
        return roll(array.ravel(), shift, axis=0).reshape(array.shape)
    shifts, axes = np.broadcast_arrays(shift, axis)
    if shifts.ndim > 1:
        raise ValueRangeError("'shift' and 'axis' should be scalars or 1D sequences")
    node = array.node
    for places, along in zip(np.atleast_1d(shifts), np.atleast_1d(axes), strict=True):
        node = _rolled(node, int(places), normalize_axis(along, array.ndim, "roll"))
    return Array(Cell(node, array._cell.device))


def _rolled(node: Node, places: int, axis: int) -> Node:
    """Two shifted readings, joined where the axis starts again."""
    extent = node.shape[axis]
    places = places % extent if extent else 0
    if not places:
        return node
    ahead, behind = (
        build.view(node, _shifted(node.ndim, axis, by), node.shape, may_leave=True)
        for by in (extent - places, -places)
    )
    is_wrapped = build.elementwise(
        Op.LESS, build.positions(node.shape, axis), build.fixed(places, dtypes.int64)
    )
    return build.where(is_wrapped, ahead, behind)


def _shifted(rank: int, axis: int, by: int) -> IndexMap:
    return index_map.slices([by if a == axis else 0 for a in range(rank)], [1] * rank)


def copy(x: Any, /, order: str | None = "K", subok: bool = False) -> Array:
    """The same values, not seen by later writes."""
    return to_array(x).copy(order)


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
