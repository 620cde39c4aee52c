"""Functions of float32 for numerics="fast": short, right to a few units in the last place.

Given up beside accuracy: subnormal arguments and results may count as zeros, and sin and cos of
arguments beyond 3e6. NaN, infinities and zeros behave as in the exact
functions. float64 keeps those. Coefficients: minimax fits.
"""

from __future__ import annotations

from fractions import Fraction

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.error_function import ERFC, ERFC_CENTRE, ERFC_IS_ZERO
from lazyblock.tiler.math.formats import (
    INFINITY,
    LN2,
    LN10,
    SINGLE,
    copy_sign,
    to_bits,
)
from lazyblock.tiler.math.logarithm import LOG1P, split_normal
from lazyblock.tiler.math.polynomial import Pair, fast_two_sum, polynomial, two_product
from lazyblock.tiler.math.power import with_special_values
from lazyblock.tiler.types import float32, uint32

_LN2 = float(Fraction(LN2))
_LOG2_E = SINGLE.words(1 / Fraction(LN2))
_EXP_RANGE = (-104.0, 88.72283935546875)  # 0, and the first number whose result is infinite
# (log1p(f) - f) / f^2 on [sqrt(1/2) - 1, sqrt(2) - 1], error 2^-25 of log1p
_LOG1P = (
    *(-0.49999991059303284, 0.33333951234817505, -0.25001755356788635, 0.19962072372436523),
    *(-0.16570508480072021, 0.14917974174022675, -0.14307521283626556, 0.08734840899705887),
)
_TANH_RANGE = 0.6
_TANH = (-0.3333329856, 0.1333192438, -0.0537838154, 0.0207959153, -0.0058950852)
_ERF_RANGE, _ERF_IS_ONE = 0.92, 4.0
_ERF_NEAR = (
    *(1.1283792257, -0.3761263490, 0.1128369719, -0.0268594995),
    *(0.0052012843, -8.14557774e-4, 8.38230917e-5),
)
# -log2(1 - erf x)
_ERF_FAR = (
    *(-2.31393904e-4, 1.6294288635, 0.9140102863, 0.1558279545, -0.0359159075),
    *(0.0058477442, -5.72258839e-4, 2.06349596e-5, 7.538098e-7),
)
_HALF_PI = (1.57079601287841797, 3.1391647326e-7, 5.39030253e-15)
_SIN = (-0.1666666716, 0.0083333291, -1.983923285e-4, 2.71736508e-6)
_COS = (1.0, -0.5, 0.0416666679, -0.001388887991, 2.4798851882e-5, -2.716702169e-7)


def exp(b: Builder, x: Value) -> Value:
    """e^x."""
    inside = b.binary("min", b.binary("max", x, _EXP_RANGE[0]), _EXP_RANGE[1])
    return _exp_of_pair(b, inside)


def exp2(b: Builder, x: Value) -> Value:
    """2^x."""
    return b.approximate("exp2", x)


def log(b: Builder, x: Value) -> Value:
    """Natural logarithm."""
    k, near = _log_parts(b, x)
    return _with_poles(b, x, b.fma(k, _LN2 * _PER_K, near))


def log2(b: Builder, x: Value) -> Value:
    """Logarithm to base 2; exact for powers of two."""
    k, near = _log_parts(b, x)
    return _with_poles(b, x, b.fma(near, _LOG2_E[0], b.mul(k, _PER_K)))


def log10(b: Builder, x: Value) -> Value:
    """Logarithm to base 10."""
    k, near = _log_parts(b, x)
    per_log = 1 / float(Fraction(LN10))
    return _with_poles(b, x, b.fma(k, _LN2 * per_log * _PER_K, b.mul(near, per_log)))


def tanh(b: Builder, x: Value) -> Value:
    """Hyperbolic tangent."""
    size = b.abs(x)
    square = b.mul(size, size)
    near = b.fma(b.mul(size, square), polynomial(b, square, _TANH), size)
    power = b.approximate("exp2", b.mul(size, 2.0 * _LOG2_E[0]))
    far = b.fma(b.approximate("reciprocal", b.add(power, 1.0)), -2.0, 1.0)
    return copy_sign(b, b.select(b.compare("lt", size, _TANH_RANGE), near, far), x)


def erf(b: Builder, x: Value) -> Value:
    """Error function."""
    size = b.abs(x)
    near = b.mul(size, polynomial(b, b.mul(size, size), _ERF_NEAR))
    exponent = polynomial(b, b.binary("min", size, _ERF_IS_ONE), _ERF_FAR)
    far = b.sub(1.0, b.approximate("exp2", b.neg(exponent)))
    return copy_sign(b, b.select(b.compare("lt", size, _ERF_RANGE), near, far), x)


def erfc(b: Builder, x: Value) -> Value:
    """1 - erf(x), accurate where that is small."""
    centre = ERFC_CENTRE[SINGLE]
    size = b.binary("min", b.abs(x), ERFC_IS_ZERO[SINGLE])
    t = b.mul(b.sub(size, centre), b.approximate("reciprocal", b.add(size, centre)))
    inverse = b.approximate("reciprocal", b.fma(size, 2.0, 1.0))
    ratio = b.mul(polynomial(b, t, ERFC[SINGLE]), inverse)
    square, low = two_product(b, size, size)
    far = _exp_of_pair(b, b.neg(square), b.neg(low), ratio)
    return b.select(b.compare("lt", x, 0.0), b.sub(2.0, far), far)


def sin(b: Builder, x: Value) -> Value:
    """Sine of x in radians."""
    return _sine(b, x, 0)


def cos(b: Builder, x: Value) -> Value:
    """Cosine of x in radians."""
    return _sine(b, x, 1)


def pow(b: Builder, x: Value, y: Value) -> Value:
    """x^y; NaN for x < 0 unless y is an integer, 1 for y == 0 or x == 1 even beside NaN."""
    high, low = _log2_pair(b, b.abs(x))
    exponent, rest = two_product(b, y, high)
    rest = b.fma(y, low, rest)
    power = b.approximate("exp2", exponent)
    exact = b.fma(b.mul(power, _LN2), rest, power)
    is_moderate = b.compare("lt", b.abs(exponent), 128.0)
    return with_special_values(b, x, y, b.select(is_moderate, exact, power))


def _exp_of_pair(
    b: Builder, high: Value, low: Value | None = None, factor: Value | None = None
) -> Value:
    """e^(high + low) times `factor`: the rounding error of high / ln 2 counts, to first order."""
    exponent, rest = two_product(b, high, _LOG2_E[0])
    rest = b.fma(high, _LOG2_E[1], rest)
    if low is not None:
        rest = b.fma(low, _LOG2_E[0], rest)
    power = b.approximate("exp2", exponent)
    if factor is not None:
        power = b.mul(power, factor)
    return b.fma(b.mul(power, _LN2), rest, power)


_PER_K = 2.0**-SINGLE.mantissa_bits


def _log_parts(b: Builder, x: Value) -> Pair:
    """K 2^23 as a float and log m, with normal x = 2^k m."""
    k, m = split_normal(b, x)
    f = b.sub(m, 1.0)
    return b.cast(k, float32), b.fma(b.mul(f, f), polynomial(b, f, _LOG1P), f)


def _with_poles(b: Builder, x: Value, result: Value) -> Value:
    """`result` for normal x, else infinity or NaN."""
    rank = b.sub(b.bitcast(x, uint32), 1 << SINGLE.mantissa_bits)
    is_normal = b.compare("lt", rank, (2 * SINGLE.bias) << SINGLE.mantissa_bits)
    return b.select(is_normal, result, b.approximate("log2", x))


def _log2_pair(b: Builder, size: Value) -> Pair:
    """The logarithm to base 2 of a number without sign, to about 2^-28."""
    k, m = split_normal(b, size)
    f = b.sub(m, 1.0)
    high, low = two_product(b, f, _LOG2_E[0])
    tail = b.mul(b.mul(f, f), polynomial(b, f, (-0.5, *LOG1P[SINGLE])))
    low = b.fma(tail, _LOG2_E[0], b.fma(f, _LOG2_E[1], low))
    total, error = fast_two_sum(b, b.mul(b.cast(k, float32), _PER_K), high)
    high, low = fast_two_sum(b, total, b.add(error, low))
    high = b.select(b.compare("lt", size, SINGLE.smallest_normal), -INFINITY, high)
    return b.select(b.compare("eq", size, INFINITY), INFINITY, high), low


def _sine(b: Builder, x: Value, quarters: int) -> Value:
    """sin(x + quarters pi/2)."""
    shifted = b.fma(x, 2.0 / 3.141592653589793, SINGLE.rounder)
    n, turns = b.sub(shifted, SINGLE.rounder), to_bits(b, shifted)
    r = x
    for word in _HALF_PI:
        r = b.fma(n, -word, r)
    r = b.binary("min", b.binary("max", r, -1.0), 1.0)  # of no account unless x is very large
    square = b.mul(r, r)
    sine = b.fma(b.mul(r, square), polynomial(b, square, _SIN), r)
    cosine = polynomial(b, square, _COS)
    turns = b.add(turns, quarters) if quarters else turns
    is_odd = b.compare("ne", b.and_(turns, 1), 0)
    sign = b.shl(b.and_(turns, 2), 30)
    return b.bitcast(b.xor(to_bits(b, b.select(is_odd, cosine, sine)), sign), float32)
