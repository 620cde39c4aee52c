"""Reductions and scans that leave NaNs out: a mask, and one kernel with what follows.

Signatures are NumPy's. Rows of NaN alone give what NumPy gives, without its warning.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph.ops import ReduceKind, reduce_identity
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.elementwise import (
    isinf,
    isnan,
    less,
    logical_and,
    logical_not,
)
from lazyblock.tracer.elementwise import (
    where as choose_by,
)
from lazyblock.tracer.folds import NOT_GIVEN, Axis, lost_freedom
from lazyblock.tracer.manipulation import broadcast_to

__all__ = [
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _has_nan(x: Array) -> bool:
    """Whether elements of this dtype may be NaN."""
    return dtypes.is_floating(x.dtype) or x.dtype.kind == "c"


def _without_nan(x: Array, value: Any) -> Array:
    return choose_by(isnan(x), to_array(value).astype(x.dtype), x) if _has_nan(x) else x


def _counted(x: Array, where: Any) -> Any:
    """What `where` and NaNs leave to count."""
    if not _has_nan(x):
        return where
    numbers = logical_not(isnan(x))
    return numbers if where is True else logical_and(numbers, where)


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """Sum of what is no NaN."""
    x = _without_nan(to_array(a), 0)
    return x.sum(axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """Product of what is no NaN."""
    x = _without_nan(to_array(a), 1)
    return x.prod(axis, dtype, out, keepdims, initial, where)


def nanmax(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """Largest number; NaN where there is none."""
    return _extreme(ReduceKind.MAX, to_array(a), axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """Smallest number; NaN where there is none."""
    return _extreme(ReduceKind.MIN, to_array(a), axis, out, keepdims, initial, where)


def _extreme(
    kind: ReduceKind, x: Array, axis: Axis, out: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    filled = _without_nan(x, _last_in_rank(kind, x.dtype))
    fold = filled.max if kind is ReduceKind.MAX else filled.min
    best = fold(axis, None, keepdims, initial, where)
    if _has_nan(x) and initial is NOT_GIVEN:
        best = choose_by(isnan(x).all(axis, keepdims=keepdims), _nan(x), best)
    return deliver(best, out, f"nan{kind.value}")


def _nan(like: Array) -> Array:
    return to_array(float("nan")).astype(like.dtype)


def nanargmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Where the largest number stands first. Evaluates floats, to tell rows of NaN.

    Raises: ValueRangeError for these.
    """
    x = _ranked(to_array(a), ReduceKind.MAX, axis)
    return deliver(x.argmax(axis, keepdims=keepdims), out, "nanargmax")


def nanargmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Where the smallest number stands first; as `nanargmax`."""
    x = _ranked(to_array(a), ReduceKind.MIN, axis)
    return deliver(x.argmin(axis, keepdims=keepdims), out, "nanargmin")


def _ranked(x: Array, kind: ReduceKind, axis: int | None) -> Array:
    """The elements with the last in rank for NaN."""
    if _has_nan(x) and bool(isnan(x).all(axis).any()):
        raise ValueRangeError("All-NaN slice encountered")
    return _without_nan(x, _last_in_rank(kind, x.dtype))


def _last_in_rank(kind: ReduceKind, dtype: dtypes.DType) -> Any:
    """What no other element is below (MAX) or above; complex numbers rank by their parts."""
    end = reduce_identity(kind, dtypes.part_dtype(dtype))
    return complex(end, end) if dtype.kind == "c" else end


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Mean of what is no NaN."""
    x = to_array(a)
    _check_inexact(x, dtype, out)
    return x.mean(axis, dtype, out, keepdims, where=_counted(x, where))


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """Variance of what is no NaN; NaN where `ddof` leaves no degree of freedom."""
    return _variance(to_array(a), axis, dtype, out, ddof, keepdims, where, mean, correction, False)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """Standard deviation of what is no NaN; as `nanvar`."""
    return _variance(to_array(a), axis, dtype, out, ddof, keepdims, where, mean, correction, True)


def _check_inexact(x: Array, dtype: Any, out: Any) -> None:
    """Raises: DTypeError for results of numbers with NaN in a dtype that has none."""
    for name, kind in (("dtype", dtype), ("out", None if out is None else out.dtype)):
        if _has_nan(x) and kind is not None and not dtypes.is_inexact(dtypes.as_dtype(kind)):
            raise DTypeError(f"If a is inexact, then {name} must be inexact")


def _variance(
    x: Array,
    axis: Axis,
    dtype: Any,
    out: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: Any,
    takes_root: bool,
) -> Any:
    counted = _counted(x, where)
    fold = x.std if takes_root else x.var
    freedom = lost_freedom(ddof, correction)
    _check_inexact(x, dtype, out)
    value = fold(axis, dtype, None, freedom, keepdims, where=counted, mean=mean)
    if _has_nan(x):
        count = broadcast_to(counted, x.shape).sum(axis, keepdims=keepdims)
        value = choose_by(less(freedom, count), value, _nan(value))
    return deliver(value, out, "nanstd" if takes_root else "nanvar")


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Sums so far of what is no NaN."""
    return deliver(_without_nan(to_array(a), 0).cumsum(axis, dtype), out, "nancumsum")


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Products so far of what is no NaN."""
    return deliver(_without_nan(to_array(a), 1).cumprod(axis, dtype), out, "nancumprod")


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """NaN and infinities replaced, these by the largest numbers of the dtype or what is given."""
    array = to_array(x)
    if not _has_nan(array):
        return array.copy()._as_number() if copy else array
    if dtypes.is_complex(array.dtype):
        parts = array.copy() if copy else array
        for part in (parts.real, parts.imag):
            nan_to_num(part, False, nan, posinf, neginf)
        return parts._as_number() if copy else parts
    limit = float(ml_dtypes.finfo(array.dtype).max)  # type: ignore[no-untyped-call]
    highest = limit if posinf is None else posinf
    lowest = -limit if neginf is None else neginf
    infinite = choose_by(array > 0, _typed(highest, array), _typed(lowest, array))
    finite = choose_by(isinf(array), infinite, _without_nan(array, nan))
    return finite._as_number() if copy else array.update(finite, "nan_to_num")


def _typed(value: Any, like: Array) -> Array:
    return to_array(value).astype(like.dtype)
