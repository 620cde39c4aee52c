"""The dtypes lazyblock computes with, and how they promote.

Arrays carry `numpy.dtype` objects. NumPy 2 is the specification (NEP 50: Python scalars are weak);
bfloat16 comes from ml_dtypes and promotes as float16 does, except that the two meet in float32.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from lazyblock.errors import DTypeError

DType = np.dtype[Any]

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)  # float8s are of block kernels only
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = np.dtype(ml_dtypes.float8_e4m3fnuz)
float8_e5m2fnuz = np.dtype(ml_dtypes.float8_e5m2fnuz)

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
FLOATING = (float16, bfloat16, float32, float64)
REAL = (bool_, *SIGNED, *UNSIGNED, *FLOATING)  # what kernels compute with
COMPLEX = (complex64, complex128)  # pairs of those, once a graph is planned
SUPPORTED = (*REAL, *COMPLEX)

_SUPPORTED_SET = frozenset(SUPPORTED)
_FLOATING_SET = frozenset(FLOATING)
_PARTS = {complex64: float32, complex128: float64}
_NAMES = {dtype.name: dtype for dtype in SUPPORTED}

# Weak (Python) scalars by kind: a scalar takes the array's dtype if its kind is not above it.
WEAK_TYPES: tuple[type, ...] = (bool, int, float, complex)


def as_dtype(dtype: Any) -> DType:
    """Give the supported `numpy.dtype` that `dtype` names (a dtype, scalar type, name or None).

    Raises: DTypeError for dtypes lazyblock does not compute with.
    """
    if isinstance(dtype, str) and dtype in _NAMES:
        return _NAMES[dtype]
    try:
        result = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"Cannot understand {dtype!r} as a dtype.") from error
    native: DType = result.newbyteorder("=") if result.byteorder == ">" else result
    if native not in _SUPPORTED_SET:
        names = ", ".join(_NAMES)
        raise DTypeError(f"dtype '{result}' is not supported.", hint=f"use one of {names}.")
    return native


def is_bool(dtype: DType) -> bool:
    """Whether it is numpy.bool."""
    return dtype == bool_


def is_signed(dtype: DType) -> bool:
    """Signed integer."""
    return dtype.kind == "i"


def is_unsigned(dtype: DType) -> bool:
    """Unsigned integer; bool is none."""
    return dtype.kind == "u"


def is_integer(dtype: DType) -> bool:
    """Signed or unsigned integer; bool is neither."""
    return dtype.kind in "iu"


def is_floating(dtype: DType) -> bool:
    """One of FLOATING, bfloat16 included."""
    return dtype in _FLOATING_SET


def is_complex(dtype: DType) -> bool:
    """One of COMPLEX."""
    return dtype.kind == "c"


def is_inexact(dtype: DType) -> bool:
    """Floating or complex."""
    return is_floating(dtype) or is_complex(dtype)


def part_dtype(dtype: DType) -> DType:
    """The dtype of a complex dtype's parts; a real dtype is its own."""
    return _PARTS.get(dtype, dtype)


def complex_dtype(part: DType) -> DType:
    """The complex dtype whose parts are float32 or float64."""
    return complex64 if part == float32 else complex128


def is_half(dtype: DType) -> bool:
    """float16 or bfloat16: the types whose arithmetic runs in float32 and rounds back."""
    return dtype in (float16, bfloat16)


def accumulator_dtype(dtype: DType) -> DType:
    """Dtype sums of `dtype` are kept in: float32 for half types, else the dtype itself."""
    return float32 if is_half(dtype) else dtype


@cache
def promote(left: DType, right: DType) -> DType:
    """Dtype both operands are converted to before an operation between them."""
    if left == right:
        return left
    if bfloat16 in (left, right):
        other = right if left == bfloat16 else left
        if other == float16:
            return float32
        return (
            bfloat16
            if np.promote_types(other, float16) == float16
            else np.promote_types(other, float16)
        )
    return np.promote_types(left, right)


@cache
def promote_weak(dtype: DType, kind: type) -> DType:
    """Dtype of an array of `dtype` meeting a Python scalar of a type of WEAK_TYPES."""
    if kind is complex:
        return promote(dtype, complex64) if is_inexact(dtype) else complex128
    if kind is bool or (kind is int and dtype != bool_) or is_inexact(dtype):
        return dtype
    return int64 if kind is int else float64


def result_type(*operands: DType | type) -> DType:
    """Promote dtypes and weak Python scalar types (those of WEAK_TYPES), as NEP 50 does."""
    strong = [o for o in operands if isinstance(o, np.dtype)]
    weak = [o for o in operands if not isinstance(o, np.dtype)]
    if not strong:
        default = dict(zip(WEAK_TYPES, (bool_, int64, float64, complex128), strict=True))
        strong = [default[max(weak, key=WEAK_TYPES.index)]]
    result = strong[0]
    for dtype in strong[1:]:
        result = promote(result, dtype)
    for kind in weak:
        result = promote_weak(result, kind)
    return result
