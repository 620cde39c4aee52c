"""Bessel functions of order 0 and 1, in float64.

Below 8, J and Y are written with their zeros as factors, which keeps them accurate beside a zero;
Y's logarithm is split off. From 8 on, two amplitudes and a phase. I is a series of positive terms
below 8.

Source: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 9.1, 9.2, 9.6, 9.8, 9.12;
W. J. Cody and W. Waite, on zeros as factors, Software Manual for the Elementary Functions, 1980.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from lazyblock.language.extra import bessel_tables as tables
from lazyblock.language.extra.inverse_error import polynomial
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value

_FROM = 8.0  # where the asymptotic form begins
_TERMS = 25  # of the series of I, whose last is below 2^-70 of the sum
_I_END = 720.0
_J_ZEROS = (tables.J0_ZEROS, tables.J1_ZEROS)
_Y_ZEROS = (tables.Y0_ZEROS, tables.Y1_ZEROS[:2])
_J_REST = (tables.J0_REST, tables.J1_REST)
_Y_REST = (tables.Y0_REST, tables.Y1_REST)
_Y_BOUNDS = ((0.0, 2.5, 5.5, 8.0), (0.0, 3.8, 8.0))
_AMPLITUDES = ((tables.P0, tables.Q0), (tables.P1, tables.Q1))
_I_FAR = (tables.I0_FAR, tables.I1_FAR)


def _from_zero(b: Builder, x: Value, zero: tuple[float, float]) -> Value:
    """x - zero."""
    return b.sub(b.sub(x, zero[0]), zero[1])


def _near_j(b: Builder, order: int, x: Value) -> Value:
    """J for 0 <= x <= 8."""
    u = b.fma(b.mul(x, x), 1 / 32, -1.0)
    total = polynomial(b, u, _J_REST[order])
    for zero in _J_ZEROS[order]:
        total = b.mul(b.mul(total, _from_zero(b, x, zero)), b.add(x, zero[0]))
    return b.mul(total, x) if order else total


def _waves(b: Builder, order: int, x: Value) -> tuple[Value, Value]:
    """J and Y for x >= 8."""
    inverse = b.div(_FROM, x)
    u = b.fma(b.mul(inverse, inverse), 2.0, -1.0)
    p, q = (polynomial(b, u, table) for table in _AMPLITUDES[order])
    sine, cosine = b.math("sin", x), b.math("cos", x)
    up, down = b.add(sine, cosine), b.sub(sine, cosine)
    along, across = (up, down) if order == 0 else (down, b.neg(up))
    size = b.unary("sqrt", b.div(1 / math.pi, x))
    q = b.mul(q, inverse)
    j = b.mul(size, b.sub(b.mul(p, along), b.mul(q, across)))
    y = b.mul(size, b.add(b.mul(p, across), b.mul(q, along)))
    return j, y


def j(b: Builder, order: int, x: Value) -> Value:
    """J0 or J1."""
    size = b.abs(x)
    near = _near_j(b, order, b.binary("min", size, _FROM))
    far, _ = _waves(b, order, size)
    found = b.select(b.compare("lt", size, _FROM), near, far)
    found = b.select(b.compare("eq", size, math.inf), 0.0, found)
    return b.select(b.compare("lt", x, 0.0), b.neg(found), found) if order else found


def y(b: Builder, order: int, x: Value) -> Value:
    """Y0 or Y1; NaN below 0."""
    near = _near_y(b, order, b.binary("min", x, _FROM))
    _, far = _waves(b, order, x)
    found = b.select(b.compare("lt", x, _FROM), near, far)
    found = b.select(b.compare("eq", x, math.inf), 0.0, found)
    found = b.select(b.compare("eq", x, 0.0), -math.inf, found)
    return b.select(b.compare("lt", x, 0.0), math.nan, found)


def _near_y(b: Builder, order: int, x: Value) -> Value:
    """Y for 0 < x <= 8: around each zero z, 2 / pi log(x / z) J and what vanishes in z too."""
    square = b.mul(x, x)
    zeros, bounds = _Y_ZEROS[order], _Y_BOUNDS[order]
    zero, offset, rest = b.full_like(x, zeros[0][0]), _from_zero(b, x, zeros[0]), None
    for number, (low, high) in enumerate(pairwise(bounds)):
        width = (high * high - low * low) / 2
        u = b.fma(square, 1 / width, -1 - low * low / width)
        piece = polynomial(b, u, _Y_REST[order][number])
        if rest is None:
            rest = piece
            continue
        is_here = b.compare("ge", x, low)
        zero = b.select(is_here, zeros[number][0], zero)
        offset = b.select(is_here, _from_zero(b, x, zeros[number]), offset)
        rest = b.select(is_here, piece, rest)
    assert rest is not None
    close = b.math("log1p", b.div(offset, zero))
    distant = b.math("log", b.div(x, zero))
    logarithm = b.select(b.compare("lt", b.add(x, x), zero), distant, close)
    regular = b.mul(b.mul(offset, b.add(x, zero)), rest)
    if order:
        regular = b.div(regular, x)
    return b.fma(b.mul(logarithm, 2 / math.pi), _near_j(b, order, x), regular)


def i(b: Builder, order: int, x: Value) -> Value:
    """I0 or I1."""
    size = b.abs(x)
    near = polynomial(b, b.mul(size, size), _series(order))
    near = b.mul(near, size) if order else near
    inverse = b.div(1.0, b.binary("min", size, _I_END))
    low, high = 1 / 700, 1 / 8
    u = b.fma(inverse, 2 / (high - low), -(high + low) / (high - low))
    growth = b.math("exp", b.mul(size, 0.5))
    scaled = b.mul(polynomial(b, u, _I_FAR[order]), b.unary("sqrt", inverse))
    far = b.mul(b.mul(growth, scaled), growth)
    far = b.select(b.compare("gt", size, _I_END), math.inf, far)
    found = b.select(b.compare("lt", size, _FROM), near, b.select(b.is_nan(x), x, far))
    return b.select(b.compare("lt", x, 0.0), b.neg(found), found) if order else found


def _series(order: int) -> Sequence[float]:
    return [
        1 / (2**order * 4**k * math.factorial(k) * math.factorial(k + order)) for k in range(_TERMS)
    ]
