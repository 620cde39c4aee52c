"""Differences along an axis. `all` and `any` are reductions."""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.errors import ShapeError, ValueRangeError
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.elementwise import not_equal, subtract
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import broadcast_to

__all__ = ["diff"]


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Every element less the one before it, `n` times; bools: whether they differ.

    prepend, append: what comes before and behind first, a number or an array.
    """
    if n < 0:
        raise ValueRangeError(f"order must be non-negative but got {n!r}")
    array = to_array(x)
    if n == 0:
        return array
    if not array.ndim:
        raise ShapeError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, array.ndim, "diff")
    parts = [None if e is None else _as_part(e, array, axis) for e in (prepend, append)]
    listed = [part for part in (parts[0], array, parts[1]) if part is not None]
    if len(listed) > 1:
        array = concat(listed, axis=axis)
    for _ in range(n):
        later, earlier = (
            array[tuple(part if a == axis else slice(None) for a in range(array.ndim))]
            for part in (slice(1, None), slice(None, -1))
        )
        differ = not_equal if dtypes.is_bool(array.dtype) else subtract
        array = differ(later, earlier)
    return array


def _as_part(end: Any, x: Array, axis: int) -> Array:
    part = to_array(end)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return part if part.ndim else broadcast_to(part, shape)
