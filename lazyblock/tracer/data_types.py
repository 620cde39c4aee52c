"""Data types of the namespace: conversion, promotion, limits. Dtypes are `numpy.dtype` objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array

__all__ = [
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Array:
    """Convert the elements, as NumPy casts them; device: where the result goes."""
    array = to_array(x).astype(dtype, copy=copy)
    return array if device is None else asarray(array, device=device)


def can_cast(from_: Any, to: Any, /, casting: str = "safe") -> bool:
    """Whether every value of one dtype (or array's dtype) is one of the other."""
    if type(from_) in dtypes.WEAK_TYPES:
        raise DTypeError("can_cast() does not support Python ints, floats, and complex.")
    source, target = _dtype_of(from_), dtypes.as_dtype(to)
    if dtypes.bfloat16 not in (source, target):
        return bool(np.can_cast(source, target, casting))  # type: ignore[arg-type]
    return source == target or bool(np.can_cast(source, target, casting))  # type: ignore[arg-type]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that arrays, dtypes and (weak) Python numbers promote to."""
    if not arrays_and_dtypes:
        raise ValueRangeError("at least one array or dtype is required")
    return dtypes.result_type(*(_kind(operand) for operand in arrays_and_dtypes))


def _kind(operand: Any) -> DType | type:
    return type(operand) if type(operand) in dtypes.WEAK_TYPES else _dtype_of(operand)


def _dtype_of(operand: Any) -> DType:
    if isinstance(operand, (Array, np.ndarray, np.generic)):
        return dtypes.as_dtype(operand.dtype)
    return dtypes.as_dtype(operand)


class FloatingLimits:
    """Limits of a floating dtype (of the parts of a complex one) as Python numbers.

    What NumPy's `finfo` tells beyond these can be asked for too.
    """

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        read_limits: Any = ml_dtypes.finfo if dtype == dtypes.bfloat16 else np.finfo
        self._info = read_limits(dtype)
        self.bits = int(self._info.bits)
        self.eps = float(self._info.eps)
        self.max = float(self._info.max)
        self.min = float(self._info.min)
        self.smallest_normal = float(self._info.smallest_normal)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._info, name)

    def __repr__(self) -> str:
        return f"finfo(min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"


class IntegerLimits:
    """Limits of an integer dtype as Python ints."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        info = np.iinfo(dtype)
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def finfo(type: Any, /) -> FloatingLimits:
    """Limits of a floating or complex dtype, or of an array's. Raises: ValueRangeError."""
    dtype = _dtype_of(type)
    if dtypes.is_complex(dtype):
        dtype = dtypes.part_dtype(dtype)
    if not dtypes.is_floating(dtype):
        raise ValueRangeError(f"data type {dtype!r} not inexact")
    return FloatingLimits(dtype)


def iinfo(type: Any, /) -> IntegerLimits:
    """Limits of an integer dtype, or of an array's. Raises: ValueRangeError."""
    dtype = _dtype_of(type)
    if not dtypes.is_integer(dtype):
        raise ValueRangeError(f"Invalid integer data type {dtype.kind!r}.")
    return IntegerLimits(dtype)


_KINDS: dict[str, Callable[[DType], bool]] = {
    "bool": dtypes.is_bool,
    "signed integer": dtypes.is_signed,
    "unsigned integer": dtypes.is_unsigned,
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_floating,
    "complex floating": dtypes.is_complex,
    "numeric": lambda dtype: not dtypes.is_bool(dtype),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is of a kind: a name of the standard, a dtype, or a tuple of such.

    Raises: DTypeError, ValueRangeError for names that the standard does not have.
    """
    if not isinstance(dtype, (np.dtype, type)):
        raise DTypeError(f"dtype argument must be a NumPy dtype, but it is a {type(dtype)}.")
    return any(
        _is_of(dtypes.as_dtype(dtype), k) for k in (kind if isinstance(kind, tuple) else (kind,))
    )


def _is_of(dtype: DType, kind: Any) -> bool:
    if not isinstance(kind, str):
        return dtype == dtypes.as_dtype(kind)
    if kind not in _KINDS:
        raise ValueRangeError(f"kind argument is a string, but {kind!r} is not a known kind name.")
    return _KINDS[kind](dtype)
