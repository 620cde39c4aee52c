"""log, log2, log10, log1p, and logarithms of pairs for other functions.

x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, log x = k ln 2 + log1p(f), and
log1p(f) = f - f^2/2 + f^3 P(f). Subnormal arguments are scaled up first.
Coefficients: minimax fits of relative error (Remez), rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.formats import (
    DOUBLE,
    INFINITY,
    LN2,
    LN10,
    NAN,
    SINGLE,
    Format,
    format_of,
    to_bits,
)
from lazyblock.tiler.math.polynomial import (
    Pair,
    add_pairs,
    divide_pairs,
    fast_two_sum,
    multiply_pair,
    multiply_pairs,
    polynomial,
    two_product,
    two_sum,
)

# (log1p(f) - f + f^2/2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1], error of log1p: 2^-27.3 and 2^-59.1
LOG1P = {
    SINGLE: (
        *(0.3333333134651184, -0.2500082552433014, 0.20001265406608582, -0.16623219847679138),
        *(0.14200717210769653, -0.13160495460033417, 0.12769564986228943, -0.07644040882587433),
    ),
    DOUBLE: (
        *(0.33333333333333454, -0.24999999999998915, 0.1999999999994562, -0.16666666666914948),
        *(0.1428571429390977, -0.12499999982059151, 0.11111110511760083, -0.10000000376078949),
        *(0.0909093364946942, -0.08333346129804249, 0.07691711827978998, -0.07141990726857686),
        *(0.06675172481757921, -0.06269927055174257, 0.05817729357297953, -0.05325928826831184),
        *(0.054152153741711784, -0.06277060679329771, 0.057010264961912874),
        *(-0.024297889141552904,),
    ),
}
# (2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2 on [0, 0.02945], error of atanh: 2^-35.8 and 2^-72.2
_ATANH = {
    SINGLE: (0.40000152587890625, 0.2854709029197693, 0.23419679701328278),
    DOUBLE: (
        *(0.3999999999999998, 0.2857142857144385, 0.22222222217785337, 0.18181818844680636),
        *(0.15384558374202995, 0.1333626680945685, 0.11675730247754285, 0.11982198025141827),
    ),
}


def log(b: Builder, x: Value) -> Value:
    """Natural logarithm."""
    form = format_of(x)
    whole, f = _reduce(b, x)
    ln2 = form.words(LN2)
    if form is SINGLE:
        return _with_special_values(b, x, b.fma(whole, ln2[0], _log1p_single(b, f)))
    high, low = two_product(b, whole, ln2[0])
    total, error = two_sum(b, high, f)
    rest = b.add(b.fma(whole, ln2[1], low), b.add(error, _tail(b, f)))
    return _with_special_values(b, x, b.add(total, rest))


def log2(b: Builder, x: Value) -> Value:
    """Logarithm to base 2; exact for powers of two."""
    form = format_of(x)
    whole, f = _reduce(b, x)
    per_log = form.words(1 / Fraction(LN2))
    if form is SINGLE:
        return _with_special_values(b, x, b.fma(_log1p_single(b, f), per_log[0], whole))
    high, low = _scaled_log1p(b, f, per_log)
    total, error = two_sum(b, whole, high)
    return _with_special_values(b, x, b.add(total, b.add(error, low)))


def log10(b: Builder, x: Value) -> Value:
    """Logarithm to base 10; exact for powers of ten."""
    form = format_of(x)
    whole, f = _reduce(b, x)
    high, low = _scaled_log1p(b, f, form.words(1 / Fraction(LN10)))
    log10_2 = form.words(Fraction(LN2) / Fraction(LN10))
    product, product_low = two_product(b, whole, log10_2[0])
    total, error = two_sum(b, product, high)
    rest = b.add(b.fma(whole, log10_2[1], product_low), b.add(error, low))
    return _with_special_values(b, x, b.add(total, rest))


def log1p(b: Builder, x: Value) -> Value:
    """log(1 + x)."""
    form = format_of(x)
    total, error = two_sum(b, 1.0, x)
    error = b.select(b.compare("lt", x, 2.0 ** (2 * form.mantissa_bits)), error, 0.0)
    result = _with_special_values(b, total, log_of_pair(b, total, error))
    return b.select(is_tiny(b, x), x, result)


def is_tiny(b: Builder, x: Value, order: int = 1) -> Value:
    """Whether 1 + |x|^order rounds to 1 with much to spare."""
    return b.compare("lt", b.abs(x), 2.0 ** -((format_of(x).mantissa_bits + 4) // order))


def log_of_pair(b: Builder, high: Value, low: Value, extra: float = 0.0) -> Value:
    """Give log(high + low) + extra ln 2 for normal, finite high > 0 and a small low."""
    form = format_of(high)
    k, m = split_normal(b, high)
    f, rest = fast_two_sum(b, b.sub(m, 1.0), _scale_down(b, low, k))
    rest = b.fma(b.neg(f), rest, rest)  # rest / (1 + f), nearly
    whole = _whole(b, k)
    if extra:
        whole = b.add(whole, extra)
    ln2_high, ln2_low = form.words(LN2)
    product, product_low = two_product(b, whole, ln2_high)
    total, error = two_sum(b, product, f)
    rest = b.add(b.fma(whole, ln2_low, product_low), b.add(rest, _tail(b, f)))
    return b.add(total, b.add(error, rest))


def log_pair(b: Builder, high: Value, low: Value | None = None) -> Pair:
    """log(high + low) to half as much again as the precision; high > 0 and finite.

    By 2 atanh(s), s = f / (2 + f), whose two first terms are pairs.
    """
    form = format_of(high)
    k, m, subnormal = _split(b, high)
    f = (b.sub(m, 1.0), b.full_like(m, 0.0))
    if low is not None:
        f = fast_two_sum(b, f[0], _scale_down(b, low, k))
    above, above_low = fast_two_sum(b, 2.0, f[0])
    s = divide_pairs(b, f, (above, b.add(above_low, f[1])))
    square = multiply_pairs(b, s, s)
    third = [b.full_like(m, word) for word in form.words(Fraction(2, 3))]
    tail = fast_two_sum(b, third[0], b.mul(square[0], polynomial(b, square[0], _ATANH[form])))
    tail = (tail[0], b.add(tail[1], third[1]))
    cubic = multiply_pairs(b, multiply_pairs(b, s, square), tail)
    near = add_pairs(b, (b.add(s[0], s[0]), b.add(s[1], s[1])), cubic)
    return add_pairs(b, multiply_pair(b, _whole(b, k, subnormal), form.words(LN2)), near)


def _log1p_single(b: Builder, f: Value) -> Value:
    inner = polynomial(b, f, (-0.5, *LOG1P[SINGLE]))
    return b.fma(b.mul(f, f), inner, f)


def _scaled_log1p(b: Builder, f: Value, words: tuple[float, ...]) -> Pair:
    """log1p(f) times a constant; the low word is not small compared with the high one."""
    high, low = two_product(b, f, words[0])
    return high, b.fma(_tail(b, f), words[0], b.fma(f, words[1], low))


def _tail(b: Builder, f: Value) -> Value:
    """log1p(f) - f."""
    square = b.mul(f, f)
    cubic = b.mul(b.mul(square, f), polynomial(b, f, LOG1P[format_of(f)]))
    return b.fma(square, -0.5, cubic)


def _reduce(b: Builder, x: Value) -> Pair:
    """K as a float, and f."""
    k, m, subnormal = _split(b, x)
    return _whole(b, k, subnormal), b.sub(m, 1.0)


def _split(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Give k 2^mantissa_bits, m and whether x is subnormal (then k is mantissa_bits too high)."""
    form = format_of(x)
    subnormal = b.compare("lt", x, form.smallest_normal)
    k, m = split_normal(b, b.select(subnormal, b.mul(x, 2.0**form.mantissa_bits), x))
    return k, m, subnormal


def split_normal(b: Builder, x: Value) -> Pair:
    """K 2^mantissa_bits as an integer, and m, of a normal number."""
    form = format_of(x)
    bits = to_bits(b, x)
    k = b.and_(b.sub(bits, _SQRT_HALF_BITS[form]), -1 << form.mantissa_bits)
    return k, b.bitcast(b.sub(bits, k), form.scalar)


def _scale_down(b: Builder, x: Value, k: Value) -> Value:
    """X * 2^-k, or 0 where 2^-k is below the normal numbers."""
    form = format_of(x)
    field = b.binary("max", b.sub(form.bias << form.mantissa_bits, k), 0)
    return b.mul(x, b.bitcast(field, form.scalar))


def _whole(b: Builder, k: Value, subnormal: Value | None = None) -> Value:
    """K as a float."""
    form = SINGLE if k.type.scalar == SINGLE.bits else DOUBLE
    whole = b.cast(b.shr(k, form.mantissa_bits), form.scalar)
    if subnormal is None:
        return whole
    return b.select(subnormal, b.sub(whole, float(form.mantissa_bits)), whole)


def _with_special_values(b: Builder, x: Value, result: Value) -> Value:
    """`result` with the logarithm's values where x is not positive and finite."""
    result = b.select(b.compare("lt", x, INFINITY), result, x)
    result = b.select(b.compare("eq", x, 0.0), -INFINITY, result)
    return b.select(b.compare("lt", x, 0.0), NAN, result)


def _bits_of_sqrt_half(form: Format) -> int:
    mantissa = math.isqrt(1 << (2 * form.mantissa_bits + 1)) - (1 << form.mantissa_bits)
    return ((form.bias - 1) << form.mantissa_bits) + mantissa


_SQRT_HALF_BITS = {form: _bits_of_sqrt_half(form) for form in (SINGLE, DOUBLE)}
