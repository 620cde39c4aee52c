"""Reductions and scans of complex numbers that are not one of each part.

The order is lexicographic, a number with a NaN part comes above (and below) all others, and the
first of equals is taken: an extreme is the element at the first best place, four reductions of the
same rows. Products have no such form: NumPy computes them on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.graph import build
from lazyblock.graph.host_call import make_host_call
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind, reduce_identity
from lazyblock.shapes import Shape, contiguous_strides, size_of

NDArray = npt.NDArray[Any]


def extreme(kind: ReduceKind, x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """MAX or MIN along `axes`, which are not empty."""
    if not axes:
        return x
    place = place_of_extreme(kind, x, axes)
    is_chosen = build.elementwise(Op.EQUAL, _places(x.shape, axes, place.dtype), place)
    parts = []
    for part in _parts(x):
        lowest = build.fixed(reduce_identity(kind, part.dtype), part.dtype)
        chosen = build.where(is_chosen, part, lowest)
        parts.append(build.reduce(kind, chosen, axes))
    value = build.elementwise(Op.COMPLEX, *parts)
    return build.expand_dims(value, axes) if keepdims else value


def place_of_extreme(kind: ReduceKind, x: Node, axes: tuple[int, ...]) -> Node:
    """Where MAX or MIN stands first among the elements along `axes`, which stay."""
    real, imag = _parts(x)
    lowest = build.fixed(reduce_identity(kind, real.dtype), real.dtype)
    is_tie = build.elementwise(Op.EQUAL, real, build.reduce_keepdims(kind, real, axes))
    candidates = build.where(is_tie, imag, lowest)
    best = build.reduce_keepdims(kind, candidates, axes)
    is_best = build.elementwise(Op.BITWISE_AND, is_tie, build.elementwise(Op.EQUAL, imag, best))
    is_nan = build.elementwise(Op.ISNAN, x)
    has_nan = build.reduce_keepdims(ReduceKind.ANY, is_nan, axes)
    return first_place(build.where(has_nan, is_nan, is_best), axes)


def first_place(holds: Node, axes: tuple[int, ...]) -> Node:
    """Number of the first element along `axes` (in C order) for which it `holds`; the axes stay."""
    size = size_of([holds.shape[axis] for axis in axes])
    counted = dtypes.int32 if size < 2**31 else dtypes.int64
    places = _places(holds.shape, axes, counted)
    candidates = build.where(holds, places, build.fixed(size, counted))
    return build.reduce_keepdims(ReduceKind.MIN, candidates, axes)


def _places(shape: Shape, axes: tuple[int, ...], dtype: DType) -> Node:
    """The number of every element among those along `axes`, in C order."""
    strides = contiguous_strides(tuple(n if a in axes else 1 for a, n in enumerate(shape)))
    row = tuple(stride if a in axes else 0 for a, stride in enumerate(strides))
    line = build.iota(size_of([shape[a] for a in axes]), dtype)
    return build.view(line, IndexMap((0,), (row,), len(shape)), shape)


def _parts(x: Node) -> tuple[Node, Node]:
    return build.elementwise(Op.REAL, x), build.elementwise(Op.IMAG, x)


def product(x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """PROD along `axes`."""
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    call = make_host_call(np.prod, {"axis": axes, "keepdims": True})
    (result,) = build.host_call(call, [x], [(shape, x.dtype)])
    return result if keepdims else build.squeeze(result, axes)


def running(kind: ReduceKind, x: Node, axis: int, include_initial: bool) -> Node:
    """PROD, MAX or MIN of every element and all before it; `include_initial`: PROD from 1."""
    call = make_host_call(_accumulate, {"name": _UFUNCS[kind], "axis": axis})
    (scanned,) = build.host_call(call, [x], [(x.shape, x.dtype)])
    return build.pad(scanned, axis, 1, 0, 1) if include_initial else scanned


_UFUNCS = {
    ReduceKind.PROD: "multiply",
    ReduceKind.MAX: "maximum",
    ReduceKind.MIN: "minimum",
}


def _accumulate(x: NDArray, *, name: str, axis: int) -> NDArray:
    ufunc: np.ufunc = getattr(np, name)
    return np.asarray(ufunc.accumulate(x, axis))
