"""Polynomials as lines of coefficients, the highest power first. Signatures are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.graph.ops import ReduceKind
from lazyblock.tracer.arguments import as_arrays
from lazyblock.tracer.array import Array
from lazyblock.tracer.convolutions import convolve
from lazyblock.tracer.creation import arange, to_array, zeros, zeros_like
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.insertion import atleast_1d, padded_front
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import broadcast_to

__all__ = [
    "polyadd",
    "polyder",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "vander",
]


def polyval(p: Any, x: Any) -> Array:
    """The polynomial's values, by Horner's rule."""
    coefficients, points = as_arrays(p, x)
    if not coefficients.ndim:
        raise DTypeError("iteration over a 0-d array")
    result = zeros_like(points)
    for position in range(coefficients.shape[0]):
        result = result * points + coefficients[position]
    return result


def polyadd(a1: Any, a2: Any) -> Array:
    """Sum."""
    x, y = _aligned(a1, a2)
    result: Array = x + y
    return result


def polysub(a1: Any, a2: Any) -> Array:
    """Difference."""
    x, y = _aligned(a1, a2)
    result: Array = x - y
    return result


def _aligned(a1: Any, a2: Any) -> tuple[Array, Array]:
    """Both with as many coefficients."""
    x, y = (atleast_1d(operand) for operand in as_arrays(a1, a2))
    size = max(x.shape[0], y.shape[0])
    return padded_front(x, size - x.shape[0]), padded_front(y, size - y.shape[0])


def polymul(a1: Any, a2: Any) -> Array:
    """Product, without what leading zeros would add, which evaluates."""
    x, y = (_without_leading_zeros(atleast_1d(operand)) for operand in as_arrays(a1, a2))
    return convolve(x, y)


def _without_leading_zeros(x: Array) -> Array:
    found = np.flatnonzero(to_host(x, "np.polymul"))
    return x[int(found[0]) :] if found.size else zeros((1,), x.dtype, device=x.device)


def polyder(p: Any, m: int = 1) -> Array:
    """Derivative of order `m`."""
    order = int(m)
    if order < 0:
        raise ValueRangeError("Order of derivative must be positive (see polyint)")
    result: Array = to_array(p)
    for _ in range(order):
        degree = result.shape[0] - 1
        result = result[:-1] * arange(degree, 0, -1, device=result.device)
    return result


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """Integral of order `m` with the constants `k`."""
    order = int(m)
    if order < 0:
        raise ValueRangeError("Order of integral must be positive (see polyder)")
    (result,) = as_arrays(p)
    constants = _constants(order, k, result)
    for number in range(order):
        size = result.shape[0]
        powers = arange(size, 0, -1, device=result.device)
        result = concat([result / powers, constants[number : number + 1]], axis=0)
    return result


def _constants(order: int, k: Any, like: Array) -> Array:
    if k is None:
        return zeros_like(like, dtype=dtypes.float64, shape=(order,))
    given: Array = atleast_1d(as_arrays(like, k)[1])
    if given.shape[0] == 1 and order > 1:
        return broadcast_to(given, (order,))
    if given.shape[0] < order:
        raise ShapeError("k must be a scalar or a rank-1 array of length 1 or >m.")
    return given


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """A matrix of powers: its rows those of one element."""
    line = to_array(x)
    if line.ndim != 1:
        raise ShapeError("x must be a one-dimensional array or sequence.")
    size = line.shape[0] if N is None else N
    dtype = dtypes.promote(line.dtype, dtypes.int64)
    if size == 0:
        return zeros_like(line, dtype=dtype, shape=(line.shape[0], 0))
    factors = broadcast_to(line.astype(dtype)[:, None], (line.shape[0], size - 1))
    powers = factors.accumulate(ReduceKind.PROD, 1, dtype, "vander", include_initial=True)
    return powers if increasing else powers[:, ::-1]
