"""Reductions with all of NumPy's keywords: `out`, `initial`, and `where`, a mask of what counts.

Left-out elements become the element that changes nothing; their number is taken off the count.
Everything is recorded, and one kernel computes it.
"""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ValueRangeError
from lazyblock.graph.ops import ReduceKind, reduce_identity
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import full, to_array
from lazyblock.tracer.elementwise import (
    add,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    sqrt,
)
from lazyblock.tracer.elementwise import where as choose_by
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.manipulation import broadcast_to

_COMBINES = {
    ReduceKind.SUM: add,
    ReduceKind.PROD: multiply,
    ReduceKind.MAX: maximum,
    ReduceKind.MIN: minimum,
    ReduceKind.ANY: logical_or,
    ReduceKind.ALL: logical_and,
}
_UFUNC_NAMES = {ReduceKind.MAX: "maximum", ReduceKind.MIN: "minimum"}


def total(
    kind: ReduceKind,
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """SUM or PROD."""
    x = _masked(to_array(a), where, int(kind is ReduceKind.PROD))
    fold = x.sum if kind is ReduceKind.SUM else x.prod
    return deliver(_started(kind, fold(axis, dtype, keepdims), initial), out, kind.value)


def extreme(
    kind: ReduceKind,
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """MAX or MIN. Raises: ValueRangeError for a mask without `initial`."""
    x = to_array(a)
    if initial is None and where is not True:
        raise ValueRangeError(
            f"reduction operation '{_UFUNC_NAMES[kind]}' does not have an identity, so to use a "
            "where mask one has to specify 'initial'"
        )
    if initial is not None and 0 in x.shape:
        return deliver(_rows_of_nothing(x, axis, keepdims, initial), out, kind.value)
    x = _masked(x, where, reduce_identity(kind, x.dtype))
    fold = x.max if kind is ReduceKind.MAX else x.min
    return deliver(_started(kind, fold(axis, keepdims=keepdims), initial), out, kind.value)


def _rows_of_nothing(x: Array, axis: Axis, keepdims: bool, initial: Any) -> Array:
    """`initial` for every row: there is no identity to combine it with."""
    shape = x.astype(dtypes.bool_).any(axis, keepdims=keepdims).shape
    return full(shape, initial, dtype=x.dtype, device=x.device)


def truth(
    kind: ReduceKind,
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """ANY or ALL."""
    x = _masked(to_array(a).astype(dtypes.bool_), where, kind is ReduceKind.ALL)
    fold = x.any if kind is ReduceKind.ANY else x.all
    return deliver(fold(axis, keepdims=keepdims), out, kind.value)


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
    count = _count(wide, where, axis, keepdims)
    return _masked(wide, where, 0).sum(axis, keepdims=keepdims) / count


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
        return deliver(fold(axis, dtype, ddof, keepdims=keepdims), out, name)
    result = _mean_dtype(x.dtype, dtype)
    wide = x.astype(dtypes.accumulator_dtype(result))
    centre = _mean(wide, where, axis, True) if mean is None else mean
    centred = _masked(wide - centre, where, 0)
    count = maximum(_count(wide, where, axis, keepdims) - ddof, 0)
    value = (centred * centred).sum(axis, keepdims=keepdims) / count
    return deliver((sqrt(value) if takes_root else value).astype(result), out, name)


def _mean_dtype(given: DType, asked: Any) -> DType:
    if asked is not None:
        return dtypes.as_dtype(asked)
    return dtypes.float64 if dtypes.is_integer(given) or dtypes.is_bool(given) else given


def _count(x: Array, where: Any, axis: Axis, keepdims: bool) -> Array:
    """How many elements count, in the dtype of `x`."""
    counts = broadcast_to(to_array(where).astype(dtypes.bool_), x.shape)
    return counts.sum(axis, keepdims=keepdims).astype(x.dtype)


def _masked(x: Array, where: Any, neutral: Any) -> Array:
    if where is True:
        return x
    return choose_by(where, x, to_array(neutral).astype(x.dtype))


def _started(kind: ReduceKind, folded: Array, initial: Any) -> Array:
    if initial is None:
        return folded
    return _COMBINES[kind](to_array(initial).astype(folded.dtype), folded)
