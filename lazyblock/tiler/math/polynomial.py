"""Polynomials and arithmetic on pairs of floats.

A pair (high, low) stands for the exact sum of two floats of which `low` is at most half a unit in
the last place of `high`: about twice the precision. The error-free steps are Dekker's and Knuth's,
with fma for products.
Source: T. J. Dekker, A floating-point technique for extending the available precision, 1971.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.tiler.builder import Builder, Operand
from lazyblock.tiler.ir import Value

Pair = tuple[Value, Value]


def polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Sum of coefficients[i] * x^i, by Horner's rule."""
    result: Operand = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = b.fma(x, result, coefficient)
    assert isinstance(result, Value), "a polynomial has at least two coefficients"
    return result


def fast_two_sum(b: Builder, x: Operand, y: Value) -> Pair:
    """x + y exactly, for |x| >= |y| or x == 0."""
    total = b.add(x, y)
    return total, b.add(b.sub(x, total), y)


def two_sum(b: Builder, x: Operand, y: Value) -> Pair:
    """x + y exactly."""
    total = b.add(x, y)
    part = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, part)), b.sub(y, part))


def two_product(b: Builder, x: Value, y: Operand) -> Pair:
    """x * y exactly, unless it underflows."""
    product = b.mul(x, y)
    return product, b.fma(x, y, b.neg(product))


def add_pairs(b: Builder, x: Pair, y: Pair) -> Pair:
    """x + y for |x| >= |y| or both of one sign."""
    high, low = two_sum(b, x[0], y[0])
    return fast_two_sum(b, high, b.add(low, b.add(x[1], y[1])))


def multiply_pairs(b: Builder, x: Pair, y: Pair) -> Pair:
    """x * y to about twice the precision."""
    high, low = two_product(b, x[0], y[0])
    return fast_two_sum(b, high, b.fma(x[0], y[1], b.fma(x[1], y[0], low)))


def multiply_pair(b: Builder, x: Value, words: Sequence[float]) -> Pair:
    """X times a constant of two words."""
    high, low = two_product(b, x, words[0])
    return fast_two_sum(b, high, b.fma(x, words[1], low))


def divide_pairs(b: Builder, x: Pair, y: Pair) -> Pair:
    """x / y to about twice the precision."""
    high = b.div(x[0], y[0])
    rest = b.fma(b.neg(high), y[0], x[0])
    rest = b.fma(b.neg(high), y[1], b.add(rest, x[1]))
    return fast_two_sum(b, high, b.div(rest, y[0]))


def square_root_pair(b: Builder, x: Pair) -> Pair:
    """Square root to about twice the precision; x > 0 (NaN in the low word at 0)."""
    high = b.unary("sqrt", x[0])
    rest = b.add(b.fma(b.neg(high), high, x[0]), x[1])
    return fast_two_sum(b, high, b.div(rest, b.add(high, high)))
