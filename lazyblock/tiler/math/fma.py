"""Correctly rounded `a * b + c` on NumPy arrays, for the interpreter and for tests.

NumPy has no fma. float32 and the half types go through float64 with rounding to odd, which a second
rounding cannot spoil. float64 splits product and sum exactly and rounds their rest to odd; where
exponents are too extreme for that, exact fractions do it.
Source: S. Boldo, G. Melquiond, Emulation of FMA and correctly rounded sums, IEEE TC 57(4), 2008.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from lazyblock.dtypes import bfloat16

Array = np.ndarray[Any, Any]

_SPLIT = 134217729.0  # 2^27 + 1
_SAFE_FACTOR = 2.0**400  # factors between 1/this and this keep every step exact
_SAFE_ADDEND = 2.0**900


def fma(a: Array, b: Array, c: Array) -> Array:
    """Give a * b + c rounded once, elementwise; all of one floating dtype."""
    with np.errstate(all="ignore"):
        if np.asarray(a).dtype != np.float64:
            return _fma_narrow(np.asarray(a), np.asarray(b), np.asarray(c))
        return _fma64(*np.broadcast_arrays(a, b, c))


def _fma_narrow(a: Array, b: Array, c: Array) -> Array:
    product = a.astype(np.float64) * b.astype(np.float64)  # 48 bits: exact
    total = _add_to_odd(product, c.astype(np.float64))
    if a.dtype == bfloat16:  # which NumPy rounds to by way of float32
        total = _narrow_to_odd(total)
    return total.astype(a.dtype)


def _narrow_to_odd(a: Array) -> Array:
    """Float64 to float32, an inexact result becoming the neighbour whose last bit is 1."""
    near = a.astype(np.float32)
    rest = a - near
    move = np.isfinite(a) & (rest != 0) & ((near.view(np.int32) & 1) == 0)
    toward = np.where(rest > 0, np.inf, -np.inf).astype(np.float32)
    return np.where(move, np.nextafter(near, toward), near)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    finite_product = np.isfinite(a) & np.isfinite(b)
    rough = np.where(finite_product & ~np.isfinite(c), c, a * b + c)
    product, product_error = _two_product(a, b)
    low, low_error = _two_sum(c, product_error)
    high, high_error = _two_sum(product, low)
    exact = high + _add_to_odd(high_error, low_error)
    safe = _is_safe_factor(a) & _is_safe_factor(b) & (np.abs(c) < _SAFE_ADDEND)
    result = np.where(safe, exact, rough)
    rare = ~safe & finite_product & np.isfinite(c) & (a != 0) & (b != 0)
    if rare.any():
        triples = zip(a[rare].tolist(), b[rare].tolist(), c[rare].tolist(), strict=True)
        result[rare] = [_fma_fraction(*triple) for triple in triples]
    return result


def _is_safe_factor(a: Array) -> Array:
    size = np.abs(a)
    return (size > 1 / _SAFE_FACTOR) & (size < _SAFE_FACTOR)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high


def _add_to_odd(a: Array, b: Array) -> Array:
    """a + b in float64, an inexact sum becoming the neighbour whose last bit is 1."""
    total, error = _two_sum(a, b)
    even = (total.view(np.int64) & 1) == 0
    move = np.isfinite(total) & np.isfinite(error) & (error != 0) & even
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(move, np.nextafter(total, toward), total)


def _fma_fraction(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # both terms cancel or vanish: the sign is the sum's
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
