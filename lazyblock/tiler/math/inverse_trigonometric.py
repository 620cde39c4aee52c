"""asin, acos, atan, atan2.

asin s = s + s^3 P(s^2) up to 1/2, beyond it pi/2 - 2 asin(sqrt((1 - x)/2)), exact but for the root.
atan t = t + t^3 Q(t^2) up to 1, beyond it pi/2 - atan(1/t).
Coefficients: minimax fits of relative error (Remez), rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

from fractions import Fraction

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.formats import (
    DOUBLE,
    PI,
    SINGLE,
    copy_sign,
    format_of,
    is_negative,
)
from lazyblock.tiler.math.polynomial import fast_two_sum, polynomial

# (asin s - s) / s^3 in s^2 on [0, 1/4], error 2^-27.6 and 2^-59.8 of asin
_ASIN = {
    SINGLE: (
        *(0.16666752099990845, 0.07495306432247162, 0.045469772070646286),
        *(0.024180777370929718, 0.04216639697551727),
    ),
    DOUBLE: (
        *(0.1666666666666676, 0.0749999999997081, 0.04464285717464515, 0.030381942704771576),
        *(0.02237221510247877, 0.017351609518730316, 0.013980854810036879),
        *(0.011398600935552205, 0.010782152080284662, 0.0036987049285546907),
        *(0.021727377646288452, -0.021028830719203185, 0.0326481586650018),
    ),
}
# (atan t - t) / t^3 in t^2 on [0, 1], error 2^-28.5 and 2^-56.9 of atan
_ATAN = {
    SINGLE: (
        *(-0.33333298563957214, 0.1999852955341339, -0.14264015853405, 0.10950881242752075),
        *(-0.0839931070804596, 0.05788145214319229, -0.031096944585442543),
        *(0.010868547484278679, -0.0017827495466917753),
    ),
    DOUBLE: (
        *(-0.3333333333333307, 0.1999999999995174, -0.142857142825874, 0.11111111007321882),
        *(-0.09090907007465063, 0.07692279885350643, -0.06666404397026307),
        *(0.05880529667885767, -0.05253526227380312, 0.04722346711828248),
        *(-0.04219239828956607, 0.036643094759697944, -0.02990566052829061),
        *(0.021986989499048933, -0.013902509562796539, 0.007197845392706539),
        *(-0.0028855923677854473, 0.0008315545892593273, -0.0001522102749328871),
        *(1.3229934645845722e-05,),
    ),
}


def asin(b: Builder, x: Value) -> Value:
    """Inverse sine; NaN beyond [-1, 1]."""
    half_pi, half_pi_low = format_of(x).words(Fraction(PI) / 2)
    is_large, s, rest = _asin_parts(b, b.abs(x))
    main, error = fast_two_sum(b, half_pi, b.mul(s, -2.0))
    large = b.add(main, b.add(error, b.fma(rest, -2.0, half_pi_low)))
    return copy_sign(b, b.select(is_large, large, b.add(s, rest)), x)


def acos(b: Builder, x: Value) -> Value:
    """Inverse cosine; NaN beyond [-1, 1]."""
    form = format_of(x)
    half_pi, half_pi_low = form.words(Fraction(PI) / 2)
    is_large, s, rest = _asin_parts(b, b.abs(x))
    value = b.add(s, rest)  # asin |x|, or half of acos |x|
    doubled = b.add(value, value)
    is_below = is_negative(b, x)
    large = b.select(is_below, b.add(2 * half_pi, b.sub(2 * half_pi_low, doubled)), doubled)
    signed = b.select(is_below, b.neg(value), value)
    small = b.add(half_pi, b.sub(half_pi_low, signed))
    return b.select(is_large, large, small)


def atan(b: Builder, x: Value) -> Value:
    """Inverse tangent."""
    size = b.abs(x)
    is_large = b.compare("gt", size, 1.0)
    one = b.full_like(x, 1.0)
    t = b.select(is_large, b.div(one, size), size)
    return copy_sign(b, _atan_from_ratio(b, t, is_large), x)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """Angle of the point (x, y), in [-pi, pi]; signs of zeros count."""
    form = format_of(x)
    pi, pi_low = form.words(PI)
    height, width = b.abs(y), b.abs(x)
    is_steep = b.compare("gt", height, width)
    above, below = b.select(is_steep, width, height), b.select(is_steep, height, width)
    ratio = b.select(b.compare("eq", above, below), 1.0, b.div(above, below))
    ratio = b.select(b.compare("eq", above, 0.0), above, ratio)
    angle = _atan_from_ratio(b, ratio, is_steep)
    angle = b.select(is_negative(b, x), b.add(pi, b.sub(pi_low, angle)), angle)
    either = b.add(height, width)
    return b.select(b.is_nan(either), either, copy_sign(b, angle, y))


def _asin_parts(b: Builder, size: Value) -> tuple[Value, Value, Value]:
    """Whether size > 1/2, s and asin(s) - s with s = size, or s = sqrt((1 - size) / 2)."""
    is_large = b.compare("gt", size, 0.5)
    root = b.unary("sqrt", b.fma(size, -0.5, 0.5))
    s = b.select(is_large, root, size)
    square = b.mul(s, s)
    return is_large, s, b.mul(b.mul(square, s), polynomial(b, square, _ASIN[format_of(s)]))


def _atan_from_ratio(b: Builder, t: Value, is_inverse: Value) -> Value:
    """atan(t), or atan(1/t) where is_inverse; 0 <= t <= 1."""
    form = format_of(t)
    half_pi, half_pi_low = form.words(Fraction(PI) / 2)
    square = b.mul(t, t)
    angle = b.fma(b.mul(square, t), polynomial(b, square, _ATAN[form]), t)
    return b.select(is_inverse, b.add(half_pi, b.sub(half_pi_low, angle)), angle)
