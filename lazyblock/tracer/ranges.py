"""Grids: index arrays, and numbers between arrays of ends. Signatures are NumPy's."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.tracer.arguments import as_arrays, kind_of
from lazyblock.tracer.array import Array, Cell
from lazyblock.tracer.creation import arange, asarray, created, to_array
from lazyblock.tracer.elementwise import floor, sin, where
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import expand_dims, moveaxis
from lazyblock.tracer.operands import Operand, as_node

__all__ = [
    "apply_over_axes",
    "fromfunction",
    "indices",
    "ix_",
    "linspace",
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
        elif x.size == 0 and not isinstance(line, (Array, np.ndarray)):
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
    one = to_array(1).astype(scaled.dtype)
    return where(scaled == 0, one, sin(scaled) / scaled)._as_number()


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """`num` numbers from `start` to `stop` (which belongs to them if `endpoint`).

    Between arrays they lie along a new axis. retstep: with the distance of two of them.
    """
    if operator.index(num) < 0:
        raise ValueRangeError(f"Number of samples, {num}, must be non-negative.")
    target = None if dtype is None else dtypes.as_dtype(dtype)
    values: Any
    step: Any
    if all(type(end) in dtypes.WEAK_TYPES for end in (start, stop)):
        values, step = _between_numbers(start, stop, num, endpoint, target)
        values = created(values, device)
    else:
        values, step = _between_arrays(start, stop, num, endpoint, target)
        values = moveaxis(values, 0, axis)
    return (values, step) if retstep else values


def _between_numbers(
    start: complex, stop: complex, num: int, endpoint: bool, dtype: DType | None
) -> tuple[Node, complex]:
    is_complex = any(isinstance(end, complex) for end in (start, stop))
    computed = dtypes.complex128 if is_complex else dtypes.float64
    number: Any = complex if is_complex else float
    target = computed if dtype is None else dtype
    intervals = num - 1 if endpoint else num
    count = build.cast(build.iota(num, dtypes.int64), computed)
    step = (stop - start) / intervals if intervals > 0 else math.nan
    scale = step if intervals > 0 and step != 0 else stop - start
    if step == 0:
        count = _apply("divide", count, as_node(intervals, computed))
    values = _apply("multiply", count, as_node(number(scale), computed))
    values = _apply("add", values, as_node(number(start), computed))
    if endpoint and num > 1:
        is_last = _apply("equal", build.iota(num, dtypes.int64), num - 1)
        values = build.where(is_last, as_node(number(stop), computed), values)
    if dtypes.is_integer(target):
        values = build.elementwise(Op.FLOOR, values)
    return build.cast(values, target), step


def _apply(name: str, *operands: Operand) -> Node:
    return FUNCTIONS[name](*operands)


def _between_arrays(
    start: Any, stop: Any, num: int, endpoint: bool, dtype: DType | None
) -> tuple[Array, Array]:
    first, last = as_arrays(start, stop)
    wide = dtypes.result_type(kind_of(start, first), kind_of(stop, last), float)
    result = wide if dtype is None else dtype
    first, last = (x.astype(wide) for x in (first, last))
    count = num - 1 if endpoint else num
    distance: Array = last - first
    step = distance / count if count > 0 else distance * float("nan")
    number = arange(num, dtype=wide, device=first.device).reshape((num,) + (1,) * distance.ndim)
    steps = number * distance
    if count > 0:
        steps = where(step == 0, number / count * distance, number * step)
    values = steps + first
    if endpoint and num > 1:
        values = where(number == num - 1, last, values)
    if dtypes.is_integer(result):
        values = floor(values)
    return values.astype(result), step
