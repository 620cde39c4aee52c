"""Moments of the elements that a mask picks, and about a mean that is given."""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.tracer.array import Array, record
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.ufuncs import as_mask


def mean(x: Array, axis: Axis, dtype: Any, keepdims: bool, where: Any) -> Array:
    """Arithmetic mean of the elements picked."""
    result, computed = _dtypes(x, dtype)
    values, mask = x.astype(computed), _mask_of(x, where)
    total = values.sum(axis, keepdims=keepdims, where=mask)
    return (total / _count(mask, axis, keepdims, computed)).astype(result)  # type: ignore[no-any-return]


def variance(
    x: Array, axis: Axis, dtype: Any, ddof: float, keepdims: bool, where: Any, about: Any
) -> Array:
    """Mean squared distance from the mean (about: one that is given), over count - ddof."""
    result, value = _variance(x, axis, dtype, ddof, keepdims, where, about)
    return value.astype(result)


def deviation(
    x: Array, axis: Axis, dtype: Any, ddof: float, keepdims: bool, where: Any, about: Any
) -> Array:
    """Square root of the variance, rounded once."""
    result, value = _variance(x, axis, dtype, ddof, keepdims, where, about)
    return record(FUNCTIONS["sqrt"], value).astype(result)


def _variance(
    x: Array, axis: Axis, dtype: Any, ddof: float, keepdims: bool, where: Any, about: Any
) -> tuple[DType, Array]:
    result, computed = _dtypes(x, dtype)
    values, mask = x.astype(computed), _mask_of(x, where)
    centre = mean(values, axis, computed, True, mask) if about is None else about
    distance = record(FUNCTIONS["subtract"], values, centre)
    squares = record(FUNCTIONS["multiply"], distance, distance.conj()).real
    total = squares.sum(axis, keepdims=keepdims, where=mask)
    counted = _count(mask, axis, keepdims, total.dtype) - total.dtype.type(ddof)
    count = record(FUNCTIONS["maximum"], counted, 0)
    return dtypes.part_dtype(result), record(FUNCTIONS["divide"], total, count)


def _mask_of(x: Array, where: Any) -> Array:
    mask: Array = namespace().broadcast_to(as_mask(where), x.shape)
    return mask


def _count(mask: Array, axis: Axis, keepdims: bool, dtype: DType) -> Array:
    return mask.sum(axis, keepdims=keepdims).astype(dtype)


def _dtypes(x: Array, dtype: Any) -> tuple[DType, DType]:
    """The dtype of the result, and the one to compute in."""
    if dtype is not None:
        result = dtypes.as_dtype(dtype)
    else:
        result = dtypes.float64 if x.dtype.kind in "biu" else x.dtype
    return result, dtypes.float64 if result.kind in "biu" else dtypes.accumulator_dtype(result)
