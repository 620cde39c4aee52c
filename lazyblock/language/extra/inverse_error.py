"""Inverses of the error function and of the normal distribution, and exp(x^2) erfc(x).

All compute in float64, float32 too. A polynomial gives the first digits, Newton's steps the others:
near 0 on erf, else on log(erfc), by way of the scaled erfc, so that nothing underflows.

The polynomials are least-squares fits in Chebyshev's basis, made with mpmath. Source of the series:
M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 7.1.23.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value

# erfinv(x) / x in x^2 up to 1/4, to 2^-34
_NEAR = (
    *(0.8862269254110078, 0.23201368757550403, 0.12755444303263963, 0.08660611651915212),
    *(0.06414157888091589, 0.0583471068312591, 0.014197291032166812, 0.09556823214496635),
)
# erfcinv(z) / sqrt(-log z) in 1 / sqrt(-log z), z from 2^-1074 to 1/2, to 2^-17
_FAR = (
    *(1.0003428204450406, -0.03056615533103388, -1.4930190648468435, 4.0039364689826575),
    *(-9.459698720682942, 18.09478560293801, -24.69019830711362, 22.655995608332457),
    *(-13.228853021121166, 4.431532062449887, -0.6475389734076974),
)
_SERIES_FROM = 16.0
_SERIES = tuple((-1.0) ** k * math.prod(range(1, 2 * k, 2)) / 2.0**k for k in range(10))
_HALF_SQRT_PI = math.sqrt(math.pi) / 2


def polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's rule; the constant coefficient comes first."""
    total = b.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = b.fma(total, x, coefficient)
    return total


def erfcx(b: Builder, x: Value) -> Value:
    """exp(x^2) erfc(x), by the product up to 16, by the asymptotic series from there."""
    kept = b.binary("max", b.binary("min", x, _SERIES_FROM), -27.0)  # beyond, it is infinite
    square = b.mul(kept, kept)
    rest = b.fma(kept, kept, b.neg(square))
    tail = b.math("erfc", kept)
    product = b.mul(b.math("exp", square), b.fma(tail, rest, tail))
    inverse = b.div(1.0, x)
    series = polynomial(b, b.mul(inverse, inverse), _SERIES)
    far = b.mul(b.mul(series, inverse), 1 / math.sqrt(math.pi))
    return b.select(b.compare("gt", x, _SERIES_FROM), far, b.select(b.is_nan(x), x, product))


def _near(b: Builder, x: Value) -> Value:
    """erfinv(x), x up to 1/2."""
    guess = b.mul(x, polynomial(b, b.mul(x, x), _NEAR))
    error = b.sub(b.math("erf", guess), x)
    slope = b.mul(b.math("exp", b.mul(guess, guess)), _HALF_SQRT_PI)
    return b.sub(guess, b.mul(error, slope))


def _far(b: Builder, z: Value, steps: int) -> Value:
    """erfcinv(z), z up to 1/2."""
    logarithm = b.neg(b.math("log", z))
    root = b.unary("sqrt", logarithm)
    y = b.mul(root, polynomial(b, b.div(1.0, root), _FAR))
    for _ in range(steps):
        scaled = erfcx(b, y)
        error = b.sub(b.fma(y, y, b.neg(b.math("log", scaled))), logarithm)
        y = b.sub(y, b.mul(b.mul(error, scaled), _HALF_SQRT_PI))
    return b.select(b.compare("eq", z, 0.0), math.inf, y)


def erfinv(b: Builder, x: Value, steps: int = 2) -> Value:
    """y with erf(y) = x."""
    size = b.abs(x)
    far = _far(b, b.sub(1.0, size), steps)
    found = b.select(b.compare("le", size, 0.5), _near(b, size), far)
    signed = b.select(b.compare("lt", x, 0.0), b.neg(found), found)
    return b.select(b.compare("eq", x, 0.0), x, signed)


def erfcinv(b: Builder, z: Value, steps: int = 2) -> Value:
    """y with erfc(y) = z."""
    x = b.sub(1.0, z)  # exact where it counts
    size = b.abs(x)
    far = _far(b, b.select(b.compare("lt", z, 1.0), z, b.sub(2.0, z)), steps)
    found = b.select(b.compare("le", size, 0.5), _near(b, size), far)
    return b.select(b.compare("lt", x, 0.0), b.neg(found), found)


def normcdfinv(b: Builder, p: Value, steps: int = 2) -> Value:
    """y below which a normally distributed number lies with probability p."""
    return b.mul(erfcinv(b, b.mul(p, 2.0), steps), -math.sqrt(2))
