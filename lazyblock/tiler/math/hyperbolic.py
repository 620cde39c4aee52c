"""sinh, cosh, tanh.

With |x| = k ln 2 + r: e^|x| = 2^k e^r and e^-|x| = 2^-k e^-r, where e^r = cosh r + sinh r and
e^-r = cosh r - sinh r by two polynomials in r^2; no division and no cancellation but at k = 0,
where sinh x is the polynomial itself. Single precision tanh, much used, goes by one exponential.
Coefficients: minimax fits of relative error (Remez), rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.exponential import LOG2_E, biased_power, reduce_exponent
from lazyblock.tiler.math.formats import (
    DOUBLE,
    SINGLE,
    copy_sign,
    format_of,
    power_of_two,
)
from lazyblock.tiler.math.logarithm import is_tiny
from lazyblock.tiler.math.polynomial import Pair, divide_pairs, fast_two_sum, polynomial

# (sinh r - r) / r^3 in r^2 for |r| <= 1.01 ln 2 / 2, error 2^-34.3 and 2^-65.1 of sinh
_SINH = {
    SINGLE: (0.1666666716337204, 0.008333177305758, 0.00019971781875938177),
    DOUBLE: (
        *(0.16666666666666666, 0.008333333333334407, 0.0001984126983722446),
        *(2.755732587859785e-06, 2.504713020710974e-08, 1.7455795812653985e-10),
    ),
}
# (cosh r - 1 - r^2/2) / r^4 in r^2 for |r| <= 1.01 ln 2 / 2, error 2^-33.2 and 2^-69.8 of cosh
_COSH = {
    SINGLE: (0.04166645184159279, 0.0013936281902715564),
    DOUBLE: (
        *(0.041666666666666685, 0.0013888888888873064, 2.4801587350031237e-05),
        *(2.7557250820862227e-07, 2.0922156302783283e-09),
    ),
}
# (tanh x - x) / x^3 in x^2 for |x| <= 0.55, error 2^-24.7 of tanh
_TANH_SINGLE = (
    *(-0.333329439163208, 0.1332065910100937, -0.05266740545630455, 0.016428885981440544),
)
_TANH_SINGLE_RANGE = 0.55
# 2^r on |r| <= 1/2; errors count least where e^2x is large, so the fit allows more there
_EXP2_IN_TANH = (
    *(1.0, 0.6931468844413757, 0.24022263288497925, 0.05550883337855339),
    *(0.009670449420809746, 0.0013218317180871964),
)
_ONE_STEP = 0.34  # below this k is 0
_OVERFLOW = {SINGLE: 89.5, DOUBLE: 710.5}
_TANH_IS_ONE = {SINGLE: 10.0, DOUBLE: 22.0}


def sinh(b: Builder, x: Value) -> Value:
    """Hyperbolic sine."""
    half, _, near_zero = _half_sinh_cosh(b, b.abs(x), _OVERFLOW[format_of(x)])
    size = b.mul(b.add(*half), 2.0)
    size = b.select(b.compare("lt", b.abs(x), _ONE_STEP), b.add(*near_zero), size)
    return copy_sign(b, size, x)


def cosh(b: Builder, x: Value) -> Value:
    """Hyperbolic cosine."""
    _, half, _ = _half_sinh_cosh(b, b.abs(x), _OVERFLOW[format_of(x)])
    return b.mul(b.add(*half), 2.0)


def tanh(b: Builder, x: Value) -> Value:
    """Hyperbolic tangent."""
    size = b.abs(x)
    if format_of(x) is SINGLE:
        return copy_sign(b, _tanh_single(b, size), x)
    sine, cosine, near_zero = _half_sinh_cosh(b, size, _TANH_IS_ONE[DOUBLE])
    is_near = b.compare("lt", size, _ONE_STEP)
    high, low = (
        b.select(is_near, b.mul(near, 0.5), far) for near, far in zip(near_zero, sine, strict=True)
    )
    ratio, _ = divide_pairs(b, (high, low), cosine)
    return b.select(is_tiny(b, x, 2), x, copy_sign(b, ratio, x))


def _tanh_single(b: Builder, size: Value) -> Value:
    """An odd polynomial near zero, else 1 - 2 / (e^2x + 1), which forgives errors of e^2x."""
    inside = b.binary("min", size, _TANH_IS_ONE[SINGLE])
    square = b.mul(inside, inside)
    near_zero = b.fma(b.mul(square, inside), polynomial(b, square, _TANH_SINGLE), inside)
    whole, power = biased_power(b, inside, 2 * LOG2_E)
    fraction = b.fma(inside, 2 * LOG2_E, b.neg(whole))
    above_one = b.fma(polynomial(b, fraction, _EXP2_IN_TANH), power, 1.0)
    far = b.fma(b.binary("div_normal", 1.0, above_one), -2.0, 1.0)
    return b.select(b.compare("lt", size, _TANH_SINGLE_RANGE), near_zero, far)


def _half_sinh_cosh(b: Builder, size: Value, limit: float) -> tuple[Pair, Pair, Pair]:
    """sinh / 2 and cosh / 2 as pairs, and the sinh to use where size < _ONE_STEP."""
    form = format_of(size)
    size = b.select(b.compare("gt", size, limit), limit, size)
    k, r, rest = reduce_exponent(b, size, b.full_like(size, 0.0))
    square = b.mul(r, r)
    odd = b.fma(b.mul(square, r), polynomial(b, square, _SINH[form]), rest)
    even = b.fma(b.mul(square, square), polynomial(b, square, _COSH[form]), b.mul(square, 0.5))
    rising, rising_low = fast_two_sum(b, 1.0, r)
    falling, falling_low = fast_two_sum(b, 1.0, b.neg(r))
    rising_low = b.add(rising_low, b.add(even, odd))
    falling_low = b.add(falling_low, b.sub(even, odd))
    up = power_of_two(b, b.sub(k, 2), form)
    down = power_of_two(b, b.sub(-2, b.binary("min", k, form.bias // 2)), form)

    def sum_with(factor: Value) -> Pair:
        high, low = fast_two_sum(b, b.mul(up, rising), b.mul(factor, falling))
        rest = b.fma(up, rising_low, b.mul(factor, falling_low))
        return fast_two_sum(b, high, b.add(low, rest))

    return sum_with(b.neg(down)), sum_with(down), (r, odd)
