"""lgamma, tgamma; computed in float64 for float32 too.

Stirling's series from 8 on: log gamma(w) = (w - 1/2) log w - w + log sqrt(2 pi) + S(1/w^2) / w.
tgamma moves every argument up by 8 and divides by the product passed; lgamma moves those below 8 to
[1.25, 2.5], where it is t R(t), t = y - 2. Negative arguments go by the reflection formula.
Coefficients: minimax fits (Remez), the first ones rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.exponential import exp_parts
from lazyblock.tiler.math.formats import DOUBLE, INFINITY, NAN, SQRT_TAU, scale
from lazyblock.tiler.math.logarithm import log, log_pair
from lazyblock.tiler.math.polynomial import (
    Pair,
    divide_pairs,
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
# log gamma(2 + t) / t on [-0.75, 0.5], error 2^-55
_LOG_GAMMA = (
    *(0.42278433509846713, 0.3224670334241132, -0.0673523010531953, 0.02058080842778982),
    *(-0.007385551028934282, 0.0028905103302408496, -0.0011927539024757532),
    *(0.0005096695446973038, -0.00022315491845050045, 9.945710834357419e-05),
    *(-4.492476617390516e-05, 2.0511795222565085e-05, -9.446259483633848e-06),
    *(4.344831832621415e-06, -2.031139328157584e-06, 1.0662872572189789e-06),
    *(-3.92502872096342e-07, 8.605315643910019e-09, -3.3977711648778776e-07),
    *(1.3869496066070754e-07, 2.565647752065747e-07, 1.472504339151274e-07),
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
    passed = two_sum(b, 1.0, inside)
    for step in range(2, _SHIFT):
        passed = multiply_pairs(b, passed, two_sum(b, float(step), inside))
    zero = b.full_like(x, 0.0)
    direct = divide_pairs(b, _sqrt_tau(b, x), multiply_pairs(b, passed, (inside, zero)))
    numerator = multiply_pairs(b, passed, _sqrt_tau(b, x, Fraction(-1, 2)))
    mirrored = divide_pairs(b, numerator, (sin_of_pi(b, size), zero))
    is_below = b.compare("lt", x, -_NO_REFLECTION)

    def choose(if_below: Pair, otherwise: Pair) -> Pair:
        high, low = zip(if_below, otherwise, strict=True)
        return b.select(is_below, *high), b.select(is_below, *low)

    k, power = exp_parts(b, *choose((b.neg(high), b.neg(low)), (high, low)))
    product = multiply_pairs(b, fast_two_sum(b, *power), choose(mirrored, direct))
    result = scale(b, product[0], k)
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


def _sqrt_tau(b: Builder, like: Value, factor: Fraction = Fraction(1)) -> Pair:
    high, low = DOUBLE.words(Fraction(SQRT_TAU) * factor)
    return b.full_like(like, high), b.full_like(like, low)


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
    """Give t, p and whether gamma(size) is gamma(2 + t) / p, or times p, with -3/4 <= t <= 1/2."""
    is_first, is_up = b.compare("lt", size, 0.5), b.compare("lt", size, 1.25)
    up = b.select(is_first, b.mul(size, b.add(size, 1.0)), size)
    t, product = b.sub(size, 2.0), b.full_like(size, 1.0)
    for _ in range(_SHIFT - 2):
        is_far = b.compare("gt", t, 0.5)
        t = b.select(is_far, b.sub(t, 1.0), t)
        product = b.select(is_far, b.mul(product, b.add(t, 2.0)), product)
    t = b.select(is_up, b.select(is_first, size, b.sub(size, 1.0)), t)
    return t, b.select(is_up, up, product), is_up
