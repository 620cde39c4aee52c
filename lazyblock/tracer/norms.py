"""Norms, traces and powers of vectors and matrices: fused, save for singular values.

Norms of half types are computed in float32 and rounded once.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.shapes import folded_shape, normalize_axes
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import eye, to_array
from lazyblock.tracer.decompositions import inv, svdvals
from lazyblock.tracer.diagonals import diagonal as diagonal_along
from lazyblock.tracer.elementwise import sqrt
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.linear_algebra import contract_arrays, matmul
from lazyblock.tracer.linear_algebra import outer as outer_of_all
from lazyblock.tracer.protocols import namespace

__all__ = [
    "cross",
    "diagonal",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "outer",
    "trace",
    "vector_norm",
]


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Array:
    """The norm of order `ord` of the vectors along `axis` (several or None: of all elements)."""
    array = to_array(x)
    axes = tuple(range(array.ndim)) if axis is None else normalize_axes(axis, array.ndim, "norm")
    dtype, array = _widened(array)
    size = abs(array)
    found: Array
    if ord == math.inf:
        found = size.max(axes, keepdims=keepdims, initial=0)
    elif ord == -math.inf:
        found = size.min(axes, keepdims=keepdims)
    elif ord == 0:
        found = (array != 0).astype(size.dtype).sum(axes, keepdims=keepdims)
    elif ord == 1:
        found = size.sum(axes, keepdims=keepdims)
    elif ord == 2:
        found = sqrt(_squares(array).sum(axes, keepdims=keepdims))
    elif isinstance(ord, str):
        raise ValueRangeError(f"Invalid norm order '{ord}' for vectors")
    else:
        found = (size**ord).sum(axes, keepdims=keepdims) ** (1 / ord)
    return found.astype(dtype, copy=False)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices of a stack: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    array = to_array(x)
    if array.ndim < 2:
        raise ShapeError(f"Input array must be at least 2-dimensional, but it is {array.ndim}")
    dtype, array = _widened(array)
    return _norm_of_matrices(array, ord, keepdims).astype(dtype, copy=False)


_OF_ALL = ((1, 2), (2, "f"), (2, "fro"))  # axes and order of norms of all elements


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """NumPy's: a vector norm along one axis, a matrix norm over two, of all elements for None."""
    array = to_array(x)
    if axis is None and (ord is None or (array.ndim, ord) in _OF_ALL):
        return vector_norm(array, keepdims=keepdims)
    given = tuple(range(array.ndim)) if axis is None else axis
    axes = normalize_axes(given, array.ndim, "norm")
    if len(axes) == 1:
        return vector_norm(array, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError("Improper number of dimensions to norm.")
    assert isinstance(given, tuple)
    matrices = [place for place in range(array.ndim) if place not in axes]
    matrices += [place % array.ndim for place in given]
    found = matrix_norm(array.transpose(matrices), ord="fro" if ord is None else ord)
    return found.reshape(folded_shape(array.shape, axes, keepdims))


def _largest(values: Array, axis: int) -> Array:
    return values.max(axis, keepdims=True, initial=0)


_FOLDS: dict[Any, Callable[..., Array]] = {2: _largest, -2: Array.min, "nuc": Array.sum}


def _norm_of_matrices(array: Array, ord: Any, keepdims: bool) -> Array:
    found: Array
    if ord in ("fro", "f", None):
        found = sqrt(_squares(array).sum((-2, -1), keepdims=True))
    elif ord in (1, -1, math.inf, -math.inf):
        summed, rest = (-2, -1) if abs(ord) == 1 else (-1, -2)
        sums = abs(array).sum(summed, keepdims=True)
        found = sums.min(rest, keepdims=True) if ord < 0 else _largest(sums, rest)
    elif ord in (2, -2, "nuc"):
        values = svdvals(array)
        found = _FOLDS[ord](values, -1).reshape((*array.shape[:-2], 1, 1))
    else:
        raise ValueRangeError("Invalid norm order for matrices.")
    return found if keepdims else found.reshape(found.shape[:-2])


def _widened(array: Array) -> tuple[dtypes.DType, Array]:
    """The dtype of an array's norm, and the array in what that is computed in."""
    if array.dtype.kind in "biu":
        return dtypes.float64, array.astype(dtypes.float64)
    wide = array.astype(dtypes.accumulator_dtype(array.dtype), copy=False)
    return np.empty(0, array.dtype).real.dtype, wide


def _squares(array: Array) -> Array:
    if array.dtype.kind != "c":
        squares: Array = array * array
        return squares
    real, imag = namespace().real(array), namespace().imag(array)
    squares = real * real + imag * imag
    return squares


# --- diagonals -----------------------------------------------------------------------------------


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Diagonal number `offset` of the last two axes; a view."""
    return diagonal_along(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sums of a diagonal; dtypes as in `sum`."""
    return diagonal(x, offset=offset).sum(-1, dtype)


# --- products ------------------------------------------------------------------------------------


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Cross products of the vectors of three elements along an axis."""
    a, b = to_array(x1), to_array(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ShapeError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[axis]} and {b.shape[axis]} dimensional instead."
        )
    (a0, a1, a2), (b0, b1, b2) = (
        [array.swapaxes(axis, -1)[..., place] for place in range(3)] for array in (a, b)
    )
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    result: Array = namespace().stack(parts, axis=-1)
    return result.swapaxes(axis, -1)


def outer(x1: Any, x2: Any, /) -> Any:
    """Products of all pairs of elements of two vectors."""
    a, b = to_array(x1), to_array(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={a.ndim} and "
            f"x2.ndim={b.ndim}."
        )
    return outer_of_all(a, b)


def matrix_power(x: Any, n: int, /) -> Array:
    """Square matrices times themselves; inverses for negative `n`."""
    array = to_array(x)
    if array.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{array.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if array.shape[-1] != array.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    try:
        count = operator.index(n)
    except TypeError:
        raise DTypeError("exponent must be an integer") from None
    if count == 0:
        unit = eye(array.shape[-1], dtype=array.dtype)
        return array._with(build.broadcast_to(unit.node, array.shape))
    return _power(inv(array) if count < 0 else array, abs(count))


def _power(base: Array, count: int) -> Array:
    """By repeated squaring."""
    result: Array | None = None
    while True:
        if count & 1:
            result = base if result is None else matmul(result, base)
        count >>= 1
        if not count:
            assert result is not None
            return result
        base = matmul(base, base)


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of matrices in the order that takes least work; the ends may be vectors."""
    factors = [to_array(array) for array in arrays]
    if len(factors) < 2:
        raise ValueRangeError("Expecting at least two arrays.")
    for number, array in enumerate(factors):
        is_end = number in (0, len(factors) - 1)
        if array.ndim != 2 and not (is_end and array.ndim == 1):
            raise np.linalg.LinAlgError(
                f"{array.ndim}-dimensional array given. Array must be two-dimensional"
            )
    for left, right in itertools.pairwise(factors):
        if left.shape[-1] != right.shape[0]:
            shapes = (str(array.shape).replace(" ", "") for array in (left, right))
            first, second = shapes
            raise ShapeError(
                f"shapes {first} and {second} not aligned: {left.shape[-1]} (dim {left.ndim - 1})"
                f" != {right.shape[0]} (dim 0)"
            )
    labels = [list(range(n, n + 2)) for n in range(len(factors))]
    ends = [0, len(factors)]
    if factors[0].ndim == 1:
        labels[0], ends = [1], ends[1:]
    if factors[-1].ndim == 1:
        labels[-1], ends = labels[-1][:1], ends[:-1]
    result = contract_arrays(list(zip(factors, labels, strict=True)), ends)
    return result if out is None else out.update(result, "multi_dot")
