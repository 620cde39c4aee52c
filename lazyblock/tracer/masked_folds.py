"""Means and variances with all of NumPy's keywords: `out`, and `where`, a mask of what counts.

Left-out elements become 0, and their number is taken off the count. Everything is recorded, and one
kernel computes it.
"""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ValueRangeError
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.elementwise import maximum, sqrt
from lazyblock.tracer.elementwise import where as choose_by
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.manipulation import broadcast_to


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Arithmetic mean of what counts."""
    x = to_array(a)
    if where is True:
        return deliver(x.mean(axis, dtype, keepdims=keepdims), out, "mean")
    result = _mean_dtype(x.dtype, dtype)
    wide = x.astype(dtypes.accumulator_dtype(result))
    return deliver(_mean(wide, where, axis, keepdims).astype(result), out, "mean")


def _mean(wide: Array, where: Any, axis: Axis, keepdims: bool) -> Array:
    total = _masked(wide, where).sum(axis, keepdims=keepdims)
    result: Array = total / count(where, wide, axis, keepdims)
    return result


def variance(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
    takes_root: bool = False,
) -> Any:
    """Mean squared distance from the mean (of what counts), over count - ddof; or its root."""
    x = to_array(a)
    name = "std" if takes_root else "var"
    if correction is not None:
        if ddof != 0:
            raise ValueRangeError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if where is True and mean is None:
        fold = x.std if takes_root else x.var
        return deliver(fold(axis, dtype, ddof=ddof, keepdims=keepdims), out, name)
    result = _mean_dtype(x.dtype, dtype)
    wide = x.astype(dtypes.accumulator_dtype(result))
    centre = _mean(wide, where, axis, True) if mean is None else mean
    centred = _masked(wide - centre, where)
    freedom = maximum(count(where, wide, axis, keepdims) - ddof, 0)
    value = (centred * centred).sum(axis, keepdims=keepdims) / freedom
    return deliver((sqrt(value) if takes_root else value).astype(result), out, name)


def _mean_dtype(given: DType, asked: Any) -> DType:
    if asked is not None:
        return dtypes.as_dtype(asked)
    return dtypes.float64 if given.kind in "biu" else given


def count(where: Any, x: Array, axis: Axis, keepdims: bool) -> Array:
    """How many elements count, in the dtype of `x`."""
    counts = broadcast_to(to_array(where).astype(dtypes.bool_), x.shape)
    return counts.sum(axis, keepdims=keepdims).astype(x.dtype)


def _masked(x: Array, where: Any) -> Array:
    return x if where is True else choose_by(where, x, to_array(0).astype(x.dtype))
