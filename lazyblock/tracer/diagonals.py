"""Diagonals: views of them, matrices made from them, and where they lie. Signatures are NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array, Cell
from lazyblock.tracer.creation import asarray, eye, to_array
from lazyblock.tracer.elementwise import greater_equal

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "identity",
    "mask_indices",
    "trace",
    "tri",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
]


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the matrices along two axes, as the last axis of a view."""
    x = to_array(a)
    if x.ndim < 2:
        raise ShapeError("diag requires an array of at least two dimensions")
    row, column = (normalize_axis(axis, x.ndim, "diagonal") for axis in (axis1, axis2))
    if row == column:
        raise ShapeError("axis1 and axis2 cannot be the same")
    starts = [0] * x.ndim
    starts[row if offset < 0 else column] = abs(offset)
    size = max(min(x.shape[row] - starts[row], x.shape[column] - starts[column]), 0)
    kept = [axis for axis in range(x.ndim) if axis not in (row, column)]
    rank = len(kept) + 1
    sources = [kept.index(axis) if axis in kept else rank - 1 for axis in range(x.ndim)]
    rows = tuple(tuple(int(e == source) for e in range(rank)) for source in sources)
    offsets = tuple(starts) if size else (0,) * x.ndim
    return x.see(IndexMap(offsets, rows, rank), (*(x.shape[axis] for axis in kept), size))


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """Sums of the diagonals along two axes."""
    return deliver(diagonal(a, offset, axis1, axis2).sum(-1, dtype), out, "trace")


def diag(v: Any, k: int = 0) -> Array:
    """Diagonal number `k` of a matrix, as a view, or a matrix that has this diagonal."""
    x = to_array(v)
    if x.ndim == 1:
        return _matrix_of(x, operator.index(k))
    if x.ndim != 2:
        raise ShapeError("Input must be 1- or 2-d.")
    return diagonal(x, k)


def diagflat(v: Any, k: int = 0) -> Array:
    """The elements, in C order, on diagonal number `k` of a matrix."""
    return _matrix_of(to_array(v).ravel(), operator.index(k))


def _matrix_of(x: Array, k: int) -> Array:
    size = x.shape[0] + abs(k)
    if not x.shape[0]:
        zeros = build.broadcast_to(build.constant(0, x.dtype), (size, size))
        return Array(Cell(zeros, x._cell.device))
    row, column = build.positions((size, size), 0), build.positions((size, size), 1)
    follow_row = IndexMap((0 if k >= 0 else k,), ((1, 0),), 2)
    spread = build.view(x.node, follow_row, (size, size), may_leave=True)
    apart = build.elementwise(Op.SUBTRACT, column, row)
    is_on = build.elementwise(Op.EQUAL, apart, build.fixed(k, dtypes.int64))
    nothing: Node = build.fixed(0, x.dtype)
    return Array(Cell(build.where(is_on, spread, nothing), x._cell.device))


def identity(n: int, dtype: Any = None, *, like: Any = None) -> Array:
    """The n by n matrix with ones on its main diagonal."""
    return eye(n, dtype=dtype)


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: Any = dtypes.float64, *, like: Any = None
) -> Array:
    """Ones on and below diagonal number `k`, zeros elsewhere."""
    shape = (N, N if M is None else M)
    row, column = (Array(Cell(build.positions(shape, axis), None)) for axis in (0, 1))
    return greater_equal(row + k, column).astype(dtypes.float64 if dtype is None else dtype)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Rows and columns of what lies on and below diagonal number `k`."""
    return _as_lazy(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Rows and columns of what lies on and above diagonal number `k`."""
    return _as_lazy(np.triu_indices(n, k, m))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """`tril_indices` for a matrix like this one."""
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """`triu_indices` for a matrix like this one."""
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def _matrix_shape(arr: Any) -> tuple[int, ...]:
    shape = to_array(arr).shape
    if len(shape) != 2:
        raise ShapeError("input array must be 2-d")
    return shape


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal, one array per axis."""
    return _as_lazy(np.diag_indices(n, ndim))


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """`diag_indices` for an array like this one. Raises: ShapeError unless it is a cube."""
    shape = to_array(arr).shape
    if len(shape) < 2:
        raise ShapeError("input array must be at least 2-d")
    if len(set(shape)) != 1:
        raise ValueRangeError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], len(shape))


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Array, ...]:
    """Where `mask_func` (such as `np.triu`) leaves ones."""
    return _as_lazy(np.nonzero(np.asarray(mask_func(np.ones((n, n), int), k)) != 0))


def _as_lazy(indices: tuple[Any, ...]) -> tuple[Array, ...]:
    return tuple(asarray(index) for index in indices)
