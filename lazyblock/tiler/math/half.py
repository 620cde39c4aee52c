"""Functions of float16 and bfloat16 numbers: shorter formulas, exact enough for 8 or 11 bits.

Arguments and results are float32 that come from and go to half types (save those of `fma`, which is
exact). Before they are rounded, results are within 2^-14 of the true value, so that they round as
it would but for near ties.
Coefficients: minimax fits of relative error, rounded to float32.
"""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.polynomial import polynomial
from lazyblock.tiler.types import float16, float32, float64, int32

# tanh x / x in x^2 on |x| <= 4.6, where tanh rounds to 1: numerator and denominator
_TANH = (0.9999678730964661, 0.1036243587732315, 0.000709574087522924)
_TANH_DENOMINATOR = (1.0, 0.4367467164993286, 0.013196952641010284)
_TANH_IS_ONE = 4.6


def tanh(b: Builder, x: Value) -> Value:
    """Hyperbolic tangent."""
    inside = b.binary("max", b.binary("min", x, _TANH_IS_ONE), -_TANH_IS_ONE)
    square = b.mul(inside, inside)
    numerator = b.mul(inside, polynomial(b, square, _TANH))
    denominator = polynomial(b, square, _TANH_DENOMINATOR)
    return b.mul(numerator, b.binary("div_normal", 1.0, denominator))


def fma(b: Builder, x: Value, y: Value, z: Value) -> Value:
    """x * y + z of halves, rounded once.

    The product is exact in float64. There the sum has so many bits that rounding it again is
    harmless for float16, whose range is small; else the bits that go are kept as an odd last bit.
    Source: as math/fma.py.
    """
    half = x.type.scalar
    wide = [b.cast(value, float64) for value in (x, y, z)]
    if half == float16:
        return b.cast(b.fma(*wide), half)
    product, addend = b.mul(wide[0], wide[1]), wide[2]
    total = b.add(product, addend)
    part = b.sub(total, product)
    error = b.add(b.sub(product, b.sub(total, part)), b.sub(addend, part))
    near = b.cast(total, float32)
    lost = b.sub(total, b.cast(near, float64))
    rest = b.select(b.compare("eq", lost, 0.0), error, lost)
    bits = b.bitcast(near, int32)
    is_below, is_above = b.compare("lt", rest, 0.0), b.compare("gt", rest, 0.0)
    moves = b.and_(b.or_(is_below, is_above), b.compare("eq", b.and_(bits, 1), 0))
    grows = b.compare("eq", is_below, b.compare("lt", bits, 0))
    moved = b.add(bits, b.select(grows, b.full_like(bits, 1), -1))
    return b.cast(b.bitcast(b.select(moves, moved, bits), float32), half)


# function(builder, *arguments), used where arguments and result are of a half type
HALF_EXPANSIONS = {"tanh": tanh}
