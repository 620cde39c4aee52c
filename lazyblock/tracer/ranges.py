"""Grids: index arrays, and numbers between arrays of ends. Signatures are NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.tracer.arguments import as_arrays
from lazyblock.tracer.array import Array, Cell
from lazyblock.tracer.creation import arange, asarray, to_array
from lazyblock.tracer.elementwise import floor, sin, where
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import expand_dims, moveaxis

__all__ = [
    "apply_over_axes",
    "fromfunction",
    "indices",
    "ix_",
    "sinc",
]


def indices(dimensions: Any, dtype: Any = dtypes.int64, sparse: bool = False) -> Any:
    """The index along each axis of every element, stacked; `sparse`: a tuple that broadcasts."""
    shape = tuple(operator.index(n) for n in dimensions)
    kind = dtypes.as_dtype(dtype)
    lines = []
    for axis, extent in enumerate(shape):
        own = tuple(extent if a == axis else 1 for a in range(len(shape)))
        full = own if sparse else shape
        lines.append(Array(Cell(build.cast(build.positions(full, axis), kind), None)))
    if sparse:
        return tuple(lines)
    if not lines:
        return asarray(np.zeros((0,), kind))
    return concat([expand_dims(line, 0) for line in lines], axis=0)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Index arrays that select the product of lines of places; conditions evaluate."""
    found = []
    for position, line in enumerate(args):
        x = to_array(line) if not isinstance(line, range) else asarray(np.asarray(line))
        if x.ndim != 1:
            raise ShapeError("Cross index must be 1 dimensional")
        if dtypes.is_bool(x.dtype):
            x = asarray(np.flatnonzero(to_host(x, "np.ix_")), device=x.device)
        elif x.size == 0:
            x = x.astype(dtypes.int64)
        found.append(x.reshape(tuple(-1 if a == position else 1 for a in range(len(args)))))
    return tuple(found)


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: Any = dtypes.float64,
    like: Any = None,
    **kwargs: Any,
) -> Any:
    """What a function gives for the index arrays of a shape."""
    return function(*indices(shape, dtype), **kwargs)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """What `func(array, axis)` gives, applied for one axis after the other, which it may drop."""
    result = to_array(a)
    rank = result.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        place = axis + rank if axis < 0 else axis
        found = func(result, place)
        if found.ndim != result.ndim:
            found = expand_dims(found, place)
        if found.ndim != result.ndim:
            raise ShapeError("function is not returning an array of the correct shape")
        result = found
    return result


def sinc(x: Any) -> Array:
    """sin(pi x) / (pi x), and 1 at 0."""
    scaled = np.pi * to_array(x)
    return where(scaled == 0, to_array(1).astype(scaled.dtype), sin(scaled) / scaled)


def linspace_between(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    """`num` arrays in equal steps from `start` to `stop`, along a new axis."""
    if operator.index(num) < 0:
        raise ValueRangeError(f"Number of samples, {num}, must be non-negative.")
    first, last = as_arrays(start, stop)
    wide = dtypes.result_type(first.dtype, last.dtype, float)
    result = wide if dtype is None else dtypes.as_dtype(dtype)
    first, last = (x.astype(wide) for x in (first, last))
    count = num - 1 if endpoint else num
    distance: Array = last - first
    step = distance / count if count > 0 else distance * float("nan")
    number = arange(num, dtype=wide, device=first.device).reshape((num,) + (1,) * distance.ndim)
    steps = number * step if count > 0 else number * distance
    values = steps + first
    if endpoint and num > 1:
        values = where(number == num - 1, last, values)
    if dtypes.is_integer(result):
        values = floor(values)
    values = moveaxis(values, 0, axis).astype(result)
    return (values, step) if retstep else values
