"""lgamma, tgamma; computed in float64 for float32 too.

Stirling's series from 8 on: log gamma(w) = (w - 1/2) log w - w + log sqrt(2 pi) + S(1/w^2) / w.
tgamma moves every argument up by 8 and divides by the product passed; lgamma moves those below 8 to
[1.5, 2.5], where it is t R(t), t = y - 2. Negative arguments go by the reflection formula.
Coefficients: minimax fits (Remez), the first ones rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

import math

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.exponential import exp_of_pair
from lazyblock.tiler.math.formats import INFINITY, NAN
from lazyblock.tiler.math.logarithm import log, log_pair
from lazyblock.tiler.math.polynomial import (
    Pair,
    fast_two_sum,
    multiply_pairs,
    polynomial,
    two_sum,
)
from lazyblock.tiler.math.trigonometric import sin_of_pi
from lazyblock.tiler.types import float32, float64

# w (log gamma(w) - (w - 1/2) log w + w - log sqrt(2 pi)) in 1/w^2, w >= 8, absolute error 2^-57.6
_STIRLING = (
    *(0.08333333333333333, -0.002777777777761171, 0.0007936507811160762),
    *(-0.0005952343250087684, 0.0008411963341758374, -0.0018749118510388227),
    *(0.0047358543127130935,),
)
# log gamma(2 + t) / t for |t| <= 1/2, error 2^-56
_LOG_GAMMA = (
    *(0.42278433509846713, 0.3224670334241133, -0.06735230105319497, 0.020580808427766162),
    *(-0.007385551028998611, 0.00289051033178556, -0.0011927538987766355),
    *(0.0005096694975961229, -0.00022315501543798677, 9.945789749942915e-05),
    *(-4.492337848895598e-05, 2.0503994547013863e-05, -9.458051907912642e-06),
    *(4.391181476799535e-06, -1.9697032540778628e-06, 9.061130186138268e-07),
    *(-5.859906145602351e-07, 2.9108839412043357e-07),
)
_SHIFT = 8
_LARGEST = 190.0  # from here tgamma overflows, and its reciprocal underflows
_NO_REFLECTION = 2.0**-60  # gamma(x) is 1 / x below


def tgamma(b: Builder, x: Value) -> Value:
    """Gamma function; NaN at negative integers."""
    if x.type.scalar == float32:
        return b.cast(tgamma(b, b.cast(x, float64)), float32)
    size = b.abs(x)
    inside = b.select(b.compare("gt", size, _LARGEST), _LARGEST, size)
    high, low = _log_of_stirling(b, *two_sum(b, float(_SHIFT), inside))
    passed = b.add(inside, 1.0)
    for step in range(2, _SHIFT):
        passed = b.mul(passed, b.add(inside, float(step)))
    direct = b.div(b.full_like(x, math.sqrt(2 * math.pi)), b.mul(inside, passed))
    mirrored = b.div(b.mul(passed, -math.sqrt(math.pi / 2)), sin_of_pi(b, size))
    is_below = b.compare("lt", x, -_NO_REFLECTION)
    result = exp_of_pair(
        b,
        b.select(is_below, b.neg(high), high),
        b.select(is_below, b.neg(low), low),
        b.select(is_below, mirrored, direct),
    )
    is_pole = b.and_(is_below, b.compare("eq", b.unary("trunc", x), x))
    result = b.select(is_pole, NAN, result)
    inverse = b.div(b.full_like(x, 1.0), x)
    return b.select(b.compare("lt", size, _NO_REFLECTION), inverse, result)


def lgamma(b: Builder, x: Value) -> Value:
    """Logarithm of the absolute value of the gamma function; infinite at its poles."""
    if x.type.scalar == float32:
        return b.cast(lgamma(b, b.cast(x, float64)), float32)
    size = b.abs(x)
    positive = _lgamma_of_size(b, size)
    area = b.mul(size, b.abs(sin_of_pi(b, size)))
    mirrored = b.sub(log(b, b.div(b.full_like(x, math.pi), area)), positive)
    mirrored = b.select(b.compare("eq", b.unary("trunc", x), x), INFINITY, mirrored)
    return b.select(b.compare("lt", x, -_NO_REFLECTION), mirrored, positive)


def _log_of_stirling(b: Builder, w: Value, w_low: Value) -> Pair:
    """log gamma(w + w_low) - log sqrt(2 pi) as a pair; w >= 8."""
    below, below_low = fast_two_sum(b, w, b.full_like(w, -0.5))
    high, low = multiply_pairs(b, (below, b.add(below_low, w_low)), log_pair(b, w, w_low))
    high, rest = two_sum(b, high, b.neg(w))
    return fast_two_sum(b, high, b.add(b.add(rest, _series(b, w)), b.sub(low, w_low)))


def _series(b: Builder, w: Value) -> Value:
    inverse = b.div(b.full_like(w, 1.0), w)
    return b.mul(inverse, polynomial(b, b.mul(inverse, inverse), _STIRLING))


def _lgamma_of_size(b: Builder, size: Value) -> Value:
    is_large = b.compare("ge", size, float(_SHIFT))
    t, product, is_up = _move_near_two(b, size)
    log_of = log(b, b.select(is_large, size, product))
    small = b.fma(t, polynomial(b, t, _LOG_GAMMA), b.select(is_up, b.neg(log_of), log_of))
    constant = b.add(_series(b, size), math.log(2 * math.pi) / 2 - 0.5)
    large = b.fma(b.sub(size, 0.5), b.sub(log_of, 1.0), constant)
    return b.select(is_large, large, small)


def _move_near_two(b: Builder, size: Value) -> tuple[Value, Value, Value]:
    """Give t, p and whether gamma(size) is gamma(2 + t) / p, or times p, with |t| <= 1/2."""
    is_first, is_up = b.compare("lt", size, 0.5), b.compare("lt", size, 1.5)
    up = b.select(is_first, b.mul(size, b.add(size, 1.0)), size)
    t, product = b.sub(size, 2.0), b.full_like(size, 1.0)
    for _ in range(_SHIFT - 2):
        is_far = b.compare("gt", t, 0.5)
        t = b.select(is_far, b.sub(t, 1.0), t)
        product = b.select(is_far, b.mul(product, b.add(t, 2.0)), product)
    t = b.select(is_up, b.select(is_first, size, b.sub(size, 1.0)), t)
    return t, b.select(is_up, up, product), is_up
