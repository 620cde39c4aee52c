"""asinh, acosh, atanh: logarithms of pairs.

asinh x = log(x + sqrt(x^2 + 1)), acosh x = log(x + sqrt(x^2 - 1)),
2 atanh x = log((1 + x) / (1 - x)); arguments carried to twice the precision lose nothing near 1,
where these logarithms are small.
"""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.formats import INFINITY, NAN, copy_sign, format_of
from lazyblock.tiler.math.logarithm import is_tiny, log_of_pair
from lazyblock.tiler.math.polynomial import (
    Pair,
    divide_pairs,
    square_root_pair,
    two_product,
    two_sum,
)


def asinh(b: Builder, x: Value) -> Value:
    """Inverse hyperbolic sine."""
    size = b.abs(x)
    result = copy_sign(b, _log_of_sum(b, size, _square_plus(b, size, 1.0)), x)
    return b.select(is_tiny(b, x, 2), x, result)


def acosh(b: Builder, x: Value) -> Value:
    """Inverse hyperbolic cosine; NaN below 1."""
    result = _log_of_sum(b, x, _square_plus(b, x, -1.0))
    result = b.select(b.compare("eq", x, 1.0), 0.0, result)
    return b.select(b.compare("lt", x, 1.0), NAN, result)


def atanh(b: Builder, x: Value) -> Value:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond."""
    size = b.abs(x)
    ratio = divide_pairs(b, two_sum(b, 1.0, size), two_sum(b, 1.0, b.neg(size)))
    result = b.mul(log_of_pair(b, *ratio), 0.5)
    result = b.select(b.compare("eq", size, 1.0), INFINITY, result)
    result = b.select(b.compare("gt", size, 1.0), NAN, result)
    return b.select(is_tiny(b, x, 2), x, copy_sign(b, b.select(b.is_nan(x), x, result), x))


def _square_plus(b: Builder, x: Value, addend: float) -> Pair:
    square, square_low = two_product(b, x, x)
    high, low = two_sum(b, addend, square)
    return high, b.add(low, square_low)


def _log_of_sum(b: Builder, x: Value, radicand: Pair) -> Value:
    """log(x + sqrt(radicand)), and log(2 x) where x is large; halved, as the sum may overflow."""
    root, root_low = square_root_pair(b, radicand)
    total, low = two_sum(b, x, root)
    low = b.add(low, root_low)
    is_large = b.compare("gt", x, 2.0 ** (format_of(x).mantissa_bits + 4))
    high = b.select(is_large, x, b.mul(total, 0.5))
    result = log_of_pair(b, high, b.select(is_large, 0.0, b.mul(low, 0.5)), extra=1.0)
    return b.select(b.compare("lt", x, INFINITY), result, x)
