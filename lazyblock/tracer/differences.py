"""Differences along axes and what sums them up again. Signatures are NumPy's; all is recorded.

Every function here reads shifted views of its operand, so that one kernel computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.graph.ops import ReduceKind
from lazyblock.shapes import normalize_axes, normalize_axis
from lazyblock.tracer.arguments import as_arrays
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.elementwise import absolute, not_equal, remainder, where
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.joining import concat
from lazyblock.tracer.operands import can_cast_same_kind

__all__ = [
    "ediff1d",
    "gradient",
    "trapezoid",
    "unwrap",
]


def _at(x: Array, axis: int, index: slice) -> Array:
    """Slices along one axis."""
    return x[tuple(index if a == axis else slice(None) for a in range(x.ndim))]


def _steps(x: Array, axis: int) -> Array:
    """Each element less the one before it."""
    later, earlier = _at(x, axis, slice(1, None)), _at(x, axis, slice(None, -1))
    return not_equal(later, earlier) if dtypes.is_bool(x.dtype) else later - earlier


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of neighbours in C order, with what is put before and after them."""
    x = to_array(ary).ravel()
    parts = [x[1:] - x[:-1]]
    for name, values in (("to_begin", to_begin), ("to_end", to_end)):
        if values is None:
            continue
        given = asarray(values, device=x.device)
        if not can_cast_same_kind(given.dtype, x.dtype):
            raise DTypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        part = given.ravel().astype(x.dtype)
        parts = [part, *parts] if name == "to_begin" else [*parts, part]
    return concat(parts, axis=0) if len(parts) > 1 else parts[0]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """Integral along an axis by the trapezoidal rule, over points `x` or steps `dx`."""
    values, step = to_array(y), dx
    axis = normalize_axis(axis, values.ndim, "trapezoid")
    if x is not None:
        values, points = as_arrays(values, x)
        step = _steps(points, 0 if points.ndim == 1 else axis)
        if points.ndim == 1:
            step = _along(step, axis, values.ndim)
    pairs = _at(values, axis, slice(1, None)) + _at(values, axis, slice(None, -1))
    areas: Array = step * pairs / 2.0
    return areas.sum(axis)


def _along(line: Array, axis: int, ndim: int) -> Array:
    """The elements of a line along `axis`, the other axes having extent 1."""
    return line.reshape(tuple(-1 if a == axis else 1 for a in range(ndim)))


def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones of order 1 or 2 at the ends.

    varargs: the distance (one, or one per axis) or the places of the elements along each axis.
    Gives a tuple of arrays for several axes.
    """
    x = to_array(f)
    axes = normalize_axes(axis, x.ndim, "gradient") if axis is None else _listed(axis, x.ndim)
    distances = _distances(varargs, x, axes)
    if edge_order > 2:
        raise ValueRangeError("'edge_order' greater than 2 not supported")
    if any(x.shape[a] < edge_order + 1 for a in axes):
        raise ShapeError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )
    wide = x.astype(dtypes.float64) if dtypes.is_integer(x.dtype) else x
    found = [
        _gradient(wide, a, distance, edge_order)
        for a, distance in zip(axes, distances, strict=True)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def _listed(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes in the order asked for."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    normalize_axes(axis, ndim, "gradient")
    return tuple(normalize_axis(a, ndim, "gradient") for a in given)


def _distances(given: tuple[Any, ...], x: Array, axes: tuple[int, ...]) -> list[Any]:
    """Per axis a number, or the steps between its elements as an array."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return list(given) * len(axes)
    if len(given) != len(axes):
        raise DTypeError("invalid number of arguments")
    return [
        value if np.ndim(value) == 0 else _spacing(value, x, a)
        for value, a in zip(given, axes, strict=True)
    ]


def _spacing(value: Any, x: Array, axis: int) -> Any:
    _, places = as_arrays(x, value)
    if places.ndim != 1:
        raise ShapeError("distances must be either scalars or 1d")
    if places.shape[0] != x.shape[axis]:
        raise ShapeError("when 1d, distances must match the length of the corresponding dimension")
    if dtypes.is_integer(places.dtype):
        places = places.astype(dtypes.float64)
    steps = _steps(places, 0)
    if isinstance(value, Array) or not steps.size:
        return steps
    known = steps.numpy()
    return known[0] if (known == known[0]).all() else steps


def _gradient(x: Array, axis: int, distance: Any, edge_order: int) -> Array:
    dtype = x.dtype if not dtypes.is_bool(x.dtype) else dtypes.float64
    edge = _edge if edge_order == 1 else _edge_of_order_2
    before, middle, after = (
        _at(x, axis, index) for index in (slice(None, -2), slice(1, -1), slice(2, None))
    )
    if np.ndim(distance) == 0:
        inner = (after - before) / (2.0 * distance)
        ends = distance, distance
    else:
        left, right = distance[:-1], distance[1:]
        weights = (
            -right / (left * (left + right)),
            (right - left) / (left * right),
            left / (right * (left + right)),
        )
        a, b, c = (_along(weight, axis, x.ndim) for weight in weights)
        inner = a * before + b * middle + c * after
        is_even = (distance == distance[0]).all()  # then NumPy does not look at the middle
        inner = where(is_even, (after - before) / (2.0 * distance[0]), inner)
        ends = distance, distance[::-1]
    first = edge(x, axis, ends[0])
    last = edge(_at(x, axis, slice(None, None, -1)), axis, ends[1])
    return concat([part.astype(dtype) for part in (first, inner, -last)], axis=axis)


def _edge(x: Array, axis: int, distance: Any) -> Array:
    """The one-sided difference at the start of an axis."""
    step = distance if np.ndim(distance) == 0 else distance[0]
    result: Array = (_at(x, axis, slice(1, 2)) - _at(x, axis, slice(0, 1))) / step
    return result


def _edge_of_order_2(x: Array, axis: int, distance: Any) -> Array:
    if np.ndim(distance) == 0:
        a, b, c = -1.5 / distance, 2.0 / distance, -0.5 / distance
    else:
        near, far = distance[0], distance[1]
        a = -(2.0 * near + far) / (near * (near + far))
        b = (near + far) / (near * far)
        c = -near / (far * (near + far))
    parts = [_at(x, axis, slice(n, n + 1)) for n in range(3)]
    result: Array = a * parts[0] + b * parts[1] + c * parts[2]
    return result


def unwrap(
    p: Any, discont: Any = None, axis: int = -1, *, period: Any = 6.283185307179586
) -> Array:
    """Multiples of `period` added so that neighbours lie at most half a period apart."""
    x = to_array(p)
    axis = normalize_axis(axis, x.ndim, "unwrap")
    step = _steps(x, axis)
    dtype = dtypes.result_type(step.dtype, type(period) if np.isscalar(period) else period.dtype)
    high, rest = divmod(period, 2) if dtypes.is_integer(dtype) else (period / 2, 0)
    wrapped = remainder(step - (-high), period) + (-high)
    if rest == 0:
        wrapped = where((wrapped == -high) & (step > 0), high, wrapped)
    limit = period / 2 if discont is None else discont
    correction = where(absolute(step) < limit, 0, wrapped - step)
    shifts = correction.accumulate(ReduceKind.SUM, axis, None, "unwrap", include_initial=True)
    result: Array = x + shifts
    return result.astype(dtype)
