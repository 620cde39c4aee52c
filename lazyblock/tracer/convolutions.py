"""Products of shifted operands, and products of all with all. Signatures are NumPy's.

A convolution multiplies windows of one operand (a view, read where it exists) by the other and adds
them up: one kernel, exact for ints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.shapes import Shape, normalize_axis
from lazyblock.tracer.arguments import as_arrays
from lazyblock.tracer.array import Array, Cell, common_device
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.elementwise import where
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import broadcast_arrays, expand_dims, moveaxis

__all__ = [
    "convolve",
    "correlate",
    "cross",
    "kron",
    "sliding_window_view",
]


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """Discrete convolution of two lines; mode "full", "same" or "valid"."""
    x, y = (_line(operand) for operand in as_arrays(a, v))
    for name, line in (("a", x), ("v", y)):
        if line.size == 0:
            raise ShapeError(f"{name} cannot be empty")
    if y.size > x.size:
        x, y = y, x
    return _slide(x, y[::-1], mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """Sums of products of a line with shifts of another; modes as in `convolve`."""
    if not np.ndim(a) or not np.ndim(v):
        raise ShapeError("object of too small depth for desired array")
    x, y = (_line(operand) for operand in as_arrays(a, v))
    for name, line in (("first", x), ("second", y)):
        if line.size == 0:
            raise ShapeError(f"{name} array argument cannot be empty")
    y = y.conj()
    return _slide(x, y, mode) if x.size >= y.size else _slide(y, x, mode)[::-1]


def _line(x: Array) -> Array:
    if x.ndim > 1:
        raise ShapeError("object too deep for desired array")
    return x.reshape((-1,))


def _slide(x: Array, y: Array, mode: str | int) -> Array:
    """Sums over j of x[i + j - left] * y[j], what lies outside counting as 0."""
    kept: dict[Any, tuple[int, int]] = {"valid": (0, 0), "same": (y.size // 2, (y.size - 1) // 2)}
    kept["full"] = (y.size - 1, y.size - 1)
    kept.update(enumerate(list(kept.values())))  # NumPy's numbers of modes
    if not isinstance(mode, (str, int)):
        raise DTypeError("convolve mode has to be a name or a number")
    if mode not in kept:
        raise ValueRangeError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    left, right = kept[mode]
    shape = (x.size + left + right - y.size + 1, y.size)
    dtype = dtypes.result_type(x.dtype, y.dtype)
    wide = dtypes.accumulator_dtype(dtype)
    windows, is_inside = _windows(x.astype(wide), left, shape)
    products: Array = windows * y.astype(wide)
    if left or right:
        products = where(is_inside, products, to_array(0).astype(wide))
    return products.sum(1, wide).astype(dtype)


def _windows(x: Array, left: int, shape: Shape) -> tuple[Array, Array]:
    """Elements x[i + j - left], and whether they exist."""
    moved = build.view(x.node, IndexMap((-left,), ((1, 1),), 2), shape, may_leave=True)
    place = _recorded(build.positions(shape, 0)) + _recorded(build.positions(shape, 1))
    return Array(Cell(moved, common_device(x))), (place >= left) & (place < left + x.size)


def _recorded(node: Node) -> Array:
    return Array(Cell(node, None))


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """All windows of a shape: a view with their axes behind those of the operand."""
    array = to_array(x)
    window = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    if any(n < 0 for n in window):
        raise ShapeError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(array.ndim))
        note = "Since axis is None, must provide window_shape for all dimensions of `x`"
    else:
        listed = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple(normalize_axis(a, array.ndim, "sliding_window_view") for a in listed)
        note = "Must provide matching length window_shape and axis"
    if len(window) != len(axes):
        raise ShapeError(f"{note}; got {len(window)} window_shape elements and {len(axes)} axes.")
    shape = list(array.shape)
    for a, extent in zip(axes, window, strict=True):
        if shape[a] < extent:
            raise ShapeError("window shape cannot be larger than input array shape")
        shape[a] -= extent - 1
    rank = array.ndim + len(axes)
    rows = tuple(
        tuple(int(e == d or (e >= array.ndim and axes[e - array.ndim] == d)) for e in range(rank))
        for d in range(array.ndim)
    )
    shown = array.see(IndexMap((0,) * array.ndim, rows, rank), (*shape, *window))
    if shown._view is not None and not writeable:
        shown._view = replace(shown._view, repeats=True)
    return shown


def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: every element of `a` times all of `b`, in blocks."""
    x, y = as_arrays(a, b)
    ndim = max(x.ndim, y.ndim)
    x, y = (z.reshape((1,) * (ndim - z.ndim) + z.shape) for z in (x, y))
    apart: Array = expand_dims(x, tuple(range(1, 2 * ndim, 2))) * expand_dims(
        y, tuple(range(0, 2 * ndim, 2))
    )
    return apart.reshape(tuple(m * n for m, n in zip(x.shape, y.shape, strict=True)))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """Vector products along axes of extent 3 (or 2, which lack a third component)."""
    x, y = as_arrays(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    if x.ndim < 1 or y.ndim < 1:
        raise ShapeError("At least one array has zero dimension")
    x = moveaxis(x, normalize_axis(axisa, x.ndim, "cross"), -1)
    y = moveaxis(y, normalize_axis(axisb, y.ndim, "cross"), -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ShapeError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[-1]} and {y.shape[-1]} dimensional instead."
        )
    last = _third(x, y)
    if last is not None:
        return last
    x0, x1, x2 = _components(x)
    y0, y1, y2 = _components(y)
    of_planes = _minor(x1, y2, x2, y1), _minor(x2, y0, x0, y2), _minor(x0, y1, x1, y0)
    parts = broadcast_arrays(*of_planes)
    stacked = concat([expand_dims(part, -1) for part in parts], axis=-1)
    return moveaxis(stacked, -1, axisc)


def _third(x: Array, y: Array) -> Array | None:
    """The one component that vectors in the plane have."""
    if x.shape[-1] == 3 or y.shape[-1] == 3:
        return None
    result: Array = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    return result


def _components(x: Array) -> list[Array | None]:
    """Three; the last one None for vectors in the plane."""
    return [x[..., n] if n < x.shape[-1] else None for n in range(3)]


def _minor(a: Any, b: Any, c: Any, d: Any) -> Array:
    """a * b - c * d, of which one product may lack a factor."""
    if a is None or b is None:
        return -(c * d)  # type: ignore[no-any-return]
    product: Array = a * b
    return product if c is None or d is None else product - c * d
