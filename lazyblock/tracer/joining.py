"""Concatenation until the graph's own op lands."""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock import dtypes
from lazyblock.errors import ShapeError
from lazyblock.graph import build, index_map
from lazyblock.graph.ops import Op
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.array import Array, Cell, common_device


def concat(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along an axis."""
    dtype = dtypes.result_type(*(x.dtype for x in arrays))
    axis = normalize_axis(axis, arrays[0].ndim, "concat")
    others = {(*x.shape[:axis], *x.shape[axis + 1 :], x.ndim) for x in arrays}
    if len(others) > 1:
        raise ShapeError("all the input array dimensions except for the concatenation axis match")
    parts = [x.node for x in arrays if x.shape[axis]]
    first = arrays[0].shape
    size = sum(x.shape[axis] for x in arrays)
    shape = (*first[:axis], size, *first[axis + 1 :])
    if not parts or 0 in shape:
        return Array(Cell(build.broadcast_to(build.constant(0, dtype), shape), None))
    place, start, result = build.positions(shape, axis), 0, None
    for part in parts:
        starts = [-start if d == axis else 0 for d in range(part.ndim)]
        moved = build.cast(part, dtype)
        moved = build.view(moved, index_map.slices(starts, [1] * part.ndim), shape, may_leave=True)
        is_past = build.elementwise(Op.GREATER_EQUAL, place, build.fixed(start, dtypes.int64))
        result = moved if result is None else build.where(is_past, moved, result)
        start += part.shape[axis]
    assert result is not None
    return Array(Cell(result, common_device(*arrays)))
