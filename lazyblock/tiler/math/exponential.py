"""exp, exp2, expm1.

x = k ln 2 + r with |r| <= ln 2 / 2 and e^x = 2^k e^r. The single precision forms, which kernels
use most, halve k instead: x = 2 j ln 2 + r with |r| <= ln 2, so that 2^j is always a normal number
and multiplying twice by it rounds once, to subnormals and infinity alike. The others carry r as a
pair.
Coefficients: minimax fits of relative error (Remez), rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

from fractions import Fraction

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.formats import (
    DOUBLE,
    LN2,
    SINGLE,
    Format,
    clamp,
    format_of,
    power_of_two,
    round_to_integer,
    scale,
)
from lazyblock.tiler.math.polynomial import (
    Pair,
    fast_two_sum,
    multiply_pair,
    polynomial,
    two_sum,
)

# (e^r - 1) / r on |r| <= 1.01 ln 2, error 2^-24.7 of e^r
_EXP_SINGLE = (
    *(1.0000003576278687, 0.5000003576278687, 0.1666611135005951, 0.04166100546717644),
    *(0.008354281075298786, 0.0014111537020653486, 0.00017725657380651683),
)
# (2^r - 1) / r on |r| <= 1.01, error 2^-24.8 of 2^r
_EXP2_SINGLE = (
    *(0.6931474208831787, 0.24022667109966278, 0.05550222843885422, 0.009616861119866371),
    *(0.0013369352091103792, 0.000156466499902308, 1.3412836779025383e-05),
)
# (e^r - 1 - r) / r^2 on |r| <= 1.01 ln 2 / 2, error of e^r - 1: 2^-30.9 and 2^-57.8
_EXPM1 = {
    SINGLE: (
        *(0.5, 0.1666666567325592, 0.041666459292173386, 0.008333634585142136),
        *(0.0013935918686911464, 0.0001967484859051183),
    ),
    DOUBLE: (
        *(0.5, 0.16666666666666666, 0.041666666666666706, 0.008333333333334515),
        *(0.0013888888888859315, 0.0001984126983659926, 2.4801587380358797e-05),
        *(2.755732712919699e-06, 2.7557223445459377e-07, 2.5046087278714103e-08),
        *(2.0930867549206535e-09, 1.7766195968649356e-10),
    ),
}
# beyond these exp and exp2 are 0 or infinite, and expm1 is -1
EXP_RANGE = {SINGLE: (-104.0, 89.0), DOUBLE: (-746.0, 710.0)}
_EXP2_RANGE = {SINGLE: (-151.0, 129.0), DOUBLE: (-1076.0, 1025.0)}
_EXPM1_LOWEST = {SINGLE: -18.0, DOUBLE: -40.0}

LOG2_E = 1 / float(Fraction(LN2))


def exp(b: Builder, x: Value) -> Value:
    """e^x."""
    form = format_of(x)
    x = clamp(b, x, *EXP_RANGE[form])
    if form is DOUBLE:
        return exp_of_pair(b, x, b.full_like(x, 0.0))
    j, power = biased_power(b, x, LOG2_E / 2)
    high, low = form.words(2 * Fraction(LN2))
    r = b.fma(j, -low, b.fma(j, -high, x))
    return _scale_twice(b, b.fma(r, polynomial(b, r, _EXP_SINGLE), 1.0), power)


def exp2(b: Builder, x: Value) -> Value:
    """2^x."""
    form = format_of(x)
    x = clamp(b, x, *_EXP2_RANGE[form])
    if form is DOUBLE:
        whole, k = round_to_integer(b, x, 1.0)
        r = multiply_pair(b, b.sub(x, whole), form.words(LN2))
        return scale(b, b.add(*_exp_near_zero(b, *r)), k)
    j, power = biased_power(b, x, 0.5)
    r32 = b.fma(j, -2.0, x)
    return _scale_twice(b, b.fma(r32, polynomial(b, r32, _EXP2_SINGLE), 1.0), power)


def expm1(b: Builder, x: Value) -> Value:
    """e^x - 1."""
    form = format_of(x)
    inside = clamp(b, x, _EXPM1_LOWEST[form], EXP_RANGE[form][1])
    k, r, rest = reduce_exponent(b, inside, b.full_like(x, 0.0))
    high, low = fast_two_sum(b, r, expm1_tail(b, r, rest))
    half_power = power_of_two(b, b.sub(k, 1), form)  # 2^k may overflow
    base = b.sub(half_power, 0.5)
    base_error = b.sub(b.sub(half_power, base), 0.5)
    total, error = two_sum(b, base, b.mul(half_power, high))
    half = b.add(total, b.fma(half_power, low, b.add(error, base_error)))
    is_tiny = b.compare("lt", b.abs(x), 2.0 ** -(form.mantissa_bits + 4))
    return b.select(is_tiny, x, b.add(half, half))


def exp_of_pair(b: Builder, high: Value, low: Value, factor: Value | None = None) -> Value:
    """e^(high + low), times a moderate factor, for high inside the range of exp or not far out."""
    k, parts = exp_parts(b, high, low)
    power = b.add(*parts)
    return scale(b, power if factor is None else b.mul(power, factor), k)


def exp_parts(b: Builder, high: Value, low: Value) -> tuple[Value, Pair]:
    """Give k (integer) and a sum of two numbers with e^(high + low) = 2^k times the sum."""
    k, r, rest = reduce_exponent(b, high, low)
    return k, _exp_near_zero(b, r, rest)


def reduce_exponent(b: Builder, high: Value, low: Value) -> tuple[Value, Value, Value]:
    """Give k (integer), r and rest with high + low = k ln 2 + r + rest."""
    form = format_of(high)
    ln2_high, ln2_low = form.words(LN2)
    whole, k = round_to_integer(b, high, LOG2_E)
    exact = b.fma(whole, -ln2_high, high)  # multiples of one unit, fewer than 2^(mantissa_bits + 1)
    r, rest = fast_two_sum(b, exact, b.fma(whole, -ln2_low, low))
    return k, r, rest


def expm1_tail(b: Builder, r: Value, rest: Value) -> Value:
    """e^(r + rest) - 1 - r for |r| <= ln 2 / 2."""
    return b.fma(b.mul(r, r), polynomial(b, r, _EXPM1[format_of(r)]), b.fma(rest, r, rest))


def _exp_near_zero(b: Builder, r: Value, rest: Value) -> Pair:
    total, error = fast_two_sum(b, 1.0, r)
    return total, b.add(error, expm1_tail(b, r, rest))


def biased_power(b: Builder, x: Value, factor: float) -> tuple[Value, Value]:
    """j = nearest integer to x * factor, and 2^j."""
    form: Format = SINGLE
    biased = form.rounder + form.bias  # leaves j + bias in the lowest bits
    shifted = b.fma(x, factor, biased)
    power = b.shl(b.bitcast(shifted, form.bits), form.mantissa_bits)
    return b.sub(shifted, biased), b.bitcast(power, form.scalar)


def _scale_twice(b: Builder, x: Value, power: Value) -> Value:
    return b.mul(b.mul(x, power), power)
