"""Medians, quantiles, partitions and searches: NumPy computes them on the host when evaluated.

Shapes and dtypes are known when they are recorded, and so are errors about the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.shapes import folded_shape, normalize_axes, normalize_axis
from lazyblock.tracer.arguments import as_arrays, deliver
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.host_functions import ask_numpy

NDArray = npt.NDArray[Any]

__all__ = [
    "argpartition",
    "digitize",
    "i0",
    "interp",
    "lexsort",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "percentile",
    "quantile",
]


def _median(function: Callable[..., Any], a: Any, axis: Any, out: Any, keepdims: bool) -> Any:
    x = to_array(a)
    axis = tuple(axis) if isinstance(axis, list) else axis
    axes = normalize_axes(axis, x.ndim, "median")
    shape = folded_shape(x.shape, axes, keepdims)
    is_bfloat16 = x.dtype == dtypes.bfloat16  # of which NumPy makes float32 in some of its ways
    given = x.astype(dtypes.float32) if is_bfloat16 else x
    spec = shape, ask_numpy(function, [given]).dtype
    (result,) = host_call(function, [given], [spec], axis=axis, keepdims=bool(keepdims))
    result = result.astype(x.dtype) if is_bfloat16 else result
    return deliver(result, out, function.__name__)


def median(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Middle element of the sorted ones, or the mean of the two; NaN if there is one."""
    return _median(np.median, a, axis, out, keepdims)


def nanmedian(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Median of what is no NaN."""
    return _median(np.nanmedian, a, axis, out, keepdims)


def _quantile(
    name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any
) -> Any:
    """A Python number `q` is weak and so a setting; other `q` and weights are operands."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    is_weak = type(q) in dtypes.WEAK_TYPES
    weighting = [] if weights is None else [weights]
    x, *others = as_arrays(a, *([] if is_weak else [q]), *weighting)
    settings = {"name": name, "method": method, "axis": axis, "keepdims": bool(keepdims)}
    settings["has_weights"] = bool(weighting)
    asked = np.zeros(q.shape, q.dtype) if isinstance(q, Array) else q
    dtype = ask_numpy(_quantile_of, [x, *others[not is_weak :]], q=asked, **settings).dtype
    axes = normalize_axes(axis, x.ndim, "quantile")
    is_mean = x.size == 0 and name[:3] == "nan"  # which NumPy gives then
    shape = (*(() if is_mean else np.shape(asked)), *folded_shape(x.shape, axes, keepdims))
    kept = q if is_weak else None
    (result,) = host_call(_quantile_of, [x, *others], [(shape, dtype)], q=kept, **settings)
    return deliver(result, out, name)


def _quantile_of(
    x: NDArray, *others: NDArray, name: str, q: Any, has_weights: bool, **settings: Any
) -> Any:
    given = list(others)
    if has_weights:
        settings["weights"] = given.pop()
    return getattr(np, name)(x, given[0] if given else q, **settings)


def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles of probability `q`, by all of NumPy's methods; NaN if there is one."""
    return _quantile("quantile", a, q, axis, out, method, keepdims, weights)


def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles, `q` in percent."""
    return _quantile("percentile", a, q, axis, out, method, keepdims, weights)


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles of what is no NaN."""
    return _quantile("nanquantile", a, q, axis, out, method, keepdims, weights)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles of what is no NaN, `q` in percent."""
    return _quantile("nanpercentile", a, q, axis, out, method, keepdims, weights)


# partial orders


def _partition(
    function: Callable[..., Any], a: Any, kth: Any, axis: int | None, dtype: Any
) -> Array:
    x = to_array(a)
    if axis is None:
        x, axis = x.ravel(), -1
    place = normalize_axis(axis, x.ndim, "partition")
    listed = tuple(kth) if isinstance(kth, (tuple, list)) else kth
    positions = np.asarray(listed)
    if positions.dtype.kind not in "iu":
        raise DTypeError("Partition index must be integer")
    extent = x.shape[place] if x.size else 0
    for k in positions.ravel().tolist():
        if extent and not -extent <= k < extent:
            raise ValueRangeError(f"kth(={k}) out of bounds ({extent})")
    specs = [(x.shape, dtype or x.dtype)]
    positions = positions if positions.size else np.asarray(0)  # any order will do
    kept = tuple(positions.tolist()) if positions.ndim else int(positions)
    return host_call(function, [x], specs, kth=kept, axis=place)[0]


def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """Elements in the order of NumPy's partition: number `kth` stands where sorting puts it."""
    return _partition(np.partition, a, kth, axis, None)


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """Where the elements of `partition` come from."""
    return _partition(np.argpartition, a, kth, axis, dtypes.int64)


def lexsort(keys: Any, axis: int = -1) -> Array:
    """Places in the order of the last key, equal ones in that of the key before, and so on."""
    rows = as_arrays(*keys) if isinstance(keys, (list, tuple)) else list(to_array(keys))
    if not rows:
        raise ShapeError("need sequence of keys with len > 0 in lexsort")
    if len({row.shape for row in rows}) > 1:
        raise ShapeError("all keys need to be the same shape")
    axis = normalize_axis(axis, rows[0].ndim, "lexsort") if rows[0].ndim else 0
    return host_call(_lexsort, rows, [(rows[0].shape, dtypes.int64)], axis=axis)[0]


def _lexsort(*keys: NDArray, axis: int) -> NDArray:
    return np.lexsort(keys, axis=axis)


# searches


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The number of the bin that each element falls into; bins rise or fall."""
    values, edges = as_arrays(x, bins)
    ask_numpy(np.digitize, [values, edges])
    specs = [(values.shape, dtypes.int64)]
    return host_call(_digitize, [values, edges], specs, right=bool(right))[0]


def _digitize(x: NDArray, bins: NDArray, right: bool) -> NDArray:
    return np.asarray(np.digitize(x, bins, right))


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    """Linear interpolation between points (xp, fp) whose `xp` rise, or repeat in a period."""
    values, places, heights = as_arrays(x, xp, fp)
    if places.shape != heights.shape or places.ndim != 1:
        raise ShapeError("fp and xp are not of the same length.")
    if places.size == 0:
        raise ShapeError("array of sample points is empty")
    if period == 0:
        raise ValueRangeError("period must be a non-zero value")
    dtype = dtypes.float64 if heights.dtype.kind != "c" else heights.dtype
    settings = {name: _number(v) for name, v in (("left", left), ("right", right))}
    arrays = [values, places, heights]
    specs = [(values.shape, dtype)]
    return host_call(np.interp, arrays, specs, period=_number(period), **settings)[0]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (Array, np.ndarray, np.generic)) else value


def i0(x: Any) -> Array:
    """The modified Bessel function of order 0."""
    array = to_array(x)
    dtype = ask_numpy(np.i0, [array]).dtype
    return host_call(np.i0, [array], [(array.shape, dtype)])[0]._as_array()
