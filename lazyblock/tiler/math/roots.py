"""rsqrt, cbrt, hypot."""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.formats import (
    DOUBLE,
    INFINITY,
    SINGLE,
    copy_sign,
    format_of,
    to_bits,
)
from lazyblock.tiler.math.polynomial import two_product

# cbrt: a power of two whose exponent 3 divides, and the steps that suffice
_CBRT_SCALE = {SINGLE: 24, DOUBLE: 54}
_CBRT_STEPS = {SINGLE: 2, DOUBLE: 3}
# hypot: squares of numbers between these are normal
_HYPOT_SMALL = {SINGLE: 2.0**-40, DOUBLE: 2.0**-400}
_HYPOT_LARGE = {SINGLE: 2.0**60, DOUBLE: 2.0**500}


def rsqrt(b: Builder, x: Value) -> Value:
    """1 / sqrt(x)."""
    return b.div(b.full_like(x, 1.0), b.unary("sqrt", x))


def cbrt(b: Builder, x: Value) -> Value:
    """Cube root, negative for negative x.

    A third of the bits of x, taken from a constant, is x^(-1/3) to 3.6 percent; each step of
    z (1 + e/3 + 2 e^2/9), e = 1 - x z^3, cubes the error. One Newton step on x z^2 rounds well.
    """
    form = format_of(x)
    exponent = _CBRT_SCALE[form]
    size = b.abs(x)
    is_small = b.compare("lt", size, form.smallest_normal)
    size = b.select(is_small, b.mul(size, 2.0**exponent), size)
    z = _rough_inverse_cbrt(b, size)
    for _ in range(_CBRT_STEPS[form]):
        e = b.fma(b.mul(b.neg(size), z), b.mul(z, z), 1.0)
        z = b.fma(b.mul(z, e), b.fma(e, 2.0 / 9.0, 1.0 / 3.0), z)
    y = b.mul(b.mul(size, z), z)
    square, square_low = two_product(b, y, y)
    rest = b.fma(b.neg(square_low), y, b.fma(b.neg(square), y, size))
    y = b.fma(b.mul(rest, b.mul(z, z)), 1.0 / 3.0, y)
    y = b.select(is_small, b.mul(y, 2.0 ** -(exponent // 3)), y)
    is_itself = b.or_(b.compare("eq", size, 0.0), b.not_(b.compare("lt", size, INFINITY)))
    return b.select(is_itself, x, copy_sign(b, y, x))


def hypot(b: Builder, x: Value, y: Value) -> Value:
    """sqrt(x^2 + y^2) without overflow or underflow on the way; infinite if either is."""
    form = format_of(x)
    left, right = b.abs(x), b.abs(y)
    largest = b.select(b.compare("gt", left, right), left, right)
    small, large = _HYPOT_SMALL[form], _HYPOT_LARGE[form]
    is_small, is_large = b.compare("lt", largest, small), b.compare("gt", largest, large)

    def choose(if_small: float, if_large: float) -> Value:
        return b.select(is_small, if_small, b.select(is_large, if_large, b.full_like(x, 1.0)))

    down = choose(small**-2, large**-1.5)
    up = choose(small**2, large**1.5)
    left_scaled, right_scaled = b.mul(left, down), b.mul(right, down)
    squares = b.fma(left_scaled, left_scaled, b.mul(right_scaled, right_scaled))
    result = b.mul(b.unary("sqrt", squares), up)
    is_infinite = b.or_(b.compare("eq", left, INFINITY), b.compare("eq", right, INFINITY))
    return b.select(is_infinite, INFINITY, result)


def _rough_inverse_cbrt(b: Builder, x: Value) -> Value:
    form = format_of(x)
    # (bias - (bits / 2^m - bias) / 3) 2^m, less what balances the error
    start = int((4.0 / 3.0 * form.bias - 0.065) * 2.0**form.mantissa_bits)
    high = b.shr(to_bits(b, x), form.bits.bits - 32)  # the upper 32 bits suffice
    third = b.shl(b.div(high, 3), form.bits.bits - 32)
    return b.bitcast(b.sub(start, third), form.scalar)
