"""pow: x^y = e^(y log x), the logarithm as a pair, and NumPy's many special cases."""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.exponential import EXP_RANGE, exp_of_pair
from lazyblock.tiler.math.formats import (
    INFINITY,
    NAN,
    clamp,
    format_of,
    to_bits,
)
from lazyblock.tiler.math.logarithm import log_pair


def pow(b: Builder, x: Value, y: Value) -> Value:
    """x^y; NaN for x < 0 unless y is an integer, 1 for y == 0 or x == 1 even beside NaN."""
    return with_special_values(b, x, y, _power_of_size(b, b.abs(x), y))


def with_special_values(b: Builder, x: Value, y: Value, result: Value) -> Value:
    """x^y, where `result` is |x|^y."""
    form = format_of(x)
    size = b.abs(x)
    is_whole, is_odd = _parity(b, y)
    sign = b.select(is_odd, b.and_(to_bits(b, x), form.sign_bit), 0)
    result = b.bitcast(b.or_(to_bits(b, result), sign), form.scalar)
    is_below = b.and_(b.compare("lt", x, 0.0), is_whole)
    is_defined = b.or_(b.compare("ge", x, 0.0), b.or_(is_below, b.compare("eq", x, -INFINITY)))
    result = b.select(is_defined, result, NAN)
    is_one = b.and_(b.compare("eq", size, 1.0), b.compare("eq", b.abs(y), INFINITY))
    is_one = b.or_(b.or_(is_one, b.compare("eq", x, 1.0)), b.compare("eq", y, 0.0))
    return b.select(is_one, 1.0, result)


def _power_of_size(b: Builder, size: Value, y: Value) -> Value:
    form = format_of(size)
    log_high, log_low = log_pair(b, size)
    log_high = b.select(b.compare("eq", size, 0.0), -INFINITY, log_high)
    log_high = b.select(b.compare("eq", size, INFINITY), INFINITY, log_high)
    high = b.mul(y, log_high)
    low = b.fma(y, log_low, b.fma(y, log_high, b.neg(high)))
    low = b.select(b.compare("lt", b.abs(high), 2.0 * EXP_RANGE[form][1]), low, 0.0)
    return exp_of_pair(b, clamp(b, high, *EXP_RANGE[form]), low)


def _parity(b: Builder, y: Value) -> tuple[Value, Value]:
    """Whether y is an integer (infinities are), and whether an odd one."""
    half = b.mul(y, 0.5)
    is_whole = b.compare("eq", b.unary("trunc", y), y)
    is_even = b.compare("eq", b.unary("trunc", half), half)
    return is_whole, b.and_(is_whole, b.not_(is_even))
