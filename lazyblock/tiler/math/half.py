"""Functions of float16 and bfloat16 numbers: shorter formulas, exact enough for 8 or 11 bits.

Arguments and results are float32 that come from and go to half types. Before they are rounded,
results are within 2^-14 of the true value, so that they round as it would but for near ties.
Coefficients: minimax fits of relative error, rounded to float32.
"""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.polynomial import polynomial

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


# function(builder, *arguments), used where arguments and result are of a half type
HALF_EXPANSIONS = {"tanh": tanh}
