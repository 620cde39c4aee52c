"""Arithmetic of floats rounded down, up or toward zero: exact, on every device.

What is nearest is one of the two neighbours of the exact result; where that lies on its other side,
the other neighbour is taken. On which side it lies is found without error: of float32 in float64,
of float64 by sums of numbers that do not overlap, after the operands' exponents are taken out.

Source: T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math.
18, 1971; D. E. Knuth, The Art of Computer Programming 2, 4.2.2; J.-M. Muller et al., Handbook of
Floating-Point Arithmetic, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import ScalarType, float32, float64, int32, int64

MODES = ("rd", "ru", "rz")
_FAR = 300  # bits; terms that far apart do not meet
_BIAS, _FRACTION_BITS = 1023, 52  # of float64
_PASSES = 4  # after which sums of four terms do not overlap


class Exact:
    """The side of a float on which the exact result lies: above it, below it, or neither."""

    def __init__(self, above: Value, below: Value) -> None:
        self.above, self.below = above, below


def apply_mode(b: Builder, mode: str, near: Value, exact: Exact) -> Value:
    """The float that `mode` rounds to, from the nearest one."""
    if mode == "rd":
        return b.select(exact.below, _next(b, near, -1), near)
    if mode == "ru":
        return b.select(exact.above, _next(b, near, 1), near)
    is_over = b.and_(exact.below, b.compare("gt", near, 0.0))
    is_under = b.and_(exact.above, b.compare("lt", near, 0.0))
    toward = b.select(is_under, _next(b, near, 1), near)
    return b.select(is_over, _next(b, near, -1), toward)


def _next(b: Builder, value: Value, direction: int) -> Value:
    """The neighbour above (1) or below (-1)."""
    integer = int32 if value.type.scalar == float32 else int64
    bits = b.bitcast(value, integer)
    grows = b.compare("ge" if direction > 0 else "lt", bits, 0)
    moved = b.add(bits, b.select(grows, b.full_like(bits, 1), -1))
    smallest = 1 if direction > 0 else 1 - 2 ** (integer.bits - 1)
    moved = b.select(b.compare("eq", value, 0.0), b.full_like(moved, smallest), moved)
    return b.bitcast(moved, value.type.scalar)


# --- sums without error --------------------------------------------------------------------------


def _two_sum(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """x + y as the nearest float and what is left."""
    total = b.add(x, y)
    part = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, part)), b.sub(y, part))


def _two_product(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    product = b.mul(x, y)
    return product, b.fma(x, y, b.neg(product))


def _side(b: Builder, near: Value, high: Value, low: Value | None) -> Exact:
    """Where high + low, whose nearest float is `high`, lies from `near`; both are f64."""
    above, below = b.compare("gt", high, near), b.compare("lt", high, near)
    if low is None:
        return Exact(above, below)
    is_equal = b.compare("eq", high, near)
    return Exact(
        b.or_(above, b.and_(is_equal, b.compare("gt", low, 0.0))),
        b.or_(below, b.and_(is_equal, b.compare("lt", low, 0.0))),
    )


def _swap_where(b: Builder, condition: Value, side: Exact) -> Exact:
    return Exact(
        b.select(condition, side.below, side.above), b.select(condition, side.above, side.below)
    )


def _with_overflow(b: Builder, near: Value, operands: Sequence[Value], side: Exact) -> Exact:
    """An infinity that finite operands gave is beyond the exact result."""
    finite = _is_finite(b, operands[0])
    for operand in operands[1:]:
        finite = b.and_(finite, _is_finite(b, operand))
    return Exact(
        b.or_(side.above, b.and_(finite, b.compare("eq", near, -math.inf))),
        b.or_(side.below, b.and_(finite, b.compare("eq", near, math.inf))),
    )


def _is_finite(b: Builder, value: Value) -> Value:
    return b.compare("lt", b.abs(value), math.inf)


def _with_zero(b: Builder, mode: str, result: Value, side: Exact, *terms: Value) -> Value:
    """Rounded down, a sum of exactly nothing is -0 unless both terms are +0."""
    if mode != "rd":
        return result
    is_zero = b.and_(b.compare("eq", result, 0.0), b.not_(b.or_(side.above, side.below)))
    integer = int32 if result.type.scalar == float32 else int64
    first, second = (b.bitcast(term, integer) for term in terms)
    is_negative = b.and_(is_zero, b.compare("ne", b.or_(first, second), 0))
    return b.select(is_negative, -0.0, result)


# --- exponents -----------------------------------------------------------------------------------


def power_of_two(b: Builder, exponent: Value) -> Value:
    """2 to an i64 between -1022 and 1023, f64."""
    return b.bitcast(b.shl(b.add(exponent, _BIAS), _FRACTION_BITS), float64)


def normalise(b: Builder, value: Value) -> tuple[Value, Value]:
    """An f64 as m * 2^e, 1 <= |m| < 2, e an i64; zeros, infinities and NaN stay, with e = 0."""
    size = b.abs(value)
    is_small = b.compare("lt", size, 2.0**-1022)
    scaled = b.select(is_small, b.mul(value, 2.0**54), value)
    field = b.and_(b.shr(b.bitcast(scaled, int64), _FRACTION_BITS), 2047)
    exponent = b.sub(field, b.select(is_small, b.full_like(field, _BIAS + 54), _BIAS))
    kept = b.and_(b.bitcast(scaled, int64), ~(2047 << _FRACTION_BITS))
    mantissa = b.bitcast(b.or_(kept, _BIAS << _FRACTION_BITS), float64)
    is_special = b.or_(b.compare("eq", size, 0.0), b.not_(_is_finite(b, value)))
    return b.select(is_special, value, mantissa), b.select(is_special, 0, exponent)


def _scaled(b: Builder, value: Value, exponent: Value) -> Value:
    """value * 2^exponent, the exponent kept within 300 of 0."""
    near = b.binary("max", b.binary("min", exponent, _FAR), -_FAR)
    return b.mul(value, power_of_two(b, near))


# --- operations ----------------------------------------------------------------------------------


def add(b: Builder, mode: str, x: Value, y: Value) -> Value:
    """x + y."""
    near = b.add(x, y)
    wide = [b.cast(value, float64) for value in (x, y)]
    side = _side(b, b.cast(near, float64), *_two_sum(b, *wide))
    side = _with_overflow(b, near, (x, y), side)
    return _with_zero(b, mode, apply_mode(b, mode, near, side), side, x, y)


def sub(b: Builder, mode: str, x: Value, y: Value) -> Value:
    """x - y."""
    return add(b, mode, x, b.neg(y))


def mul(b: Builder, mode: str, x: Value, y: Value) -> Value:
    """x * y."""
    near = b.mul(x, y)
    if x.type.scalar == float32:
        side = _side(b, b.cast(near, float64), b.mul(*_widened(b, x, y)), None)
    else:
        (mx, ex), (my, ey), (mn, en) = (normalise(b, value) for value in (x, y, near))
        side = _side(b, _scaled(b, mn, b.sub(b.sub(en, ex), ey)), *_two_product(b, mx, my))
        side = _with_overflow(b, near, (x, y), side)
    return apply_mode(b, mode, near, side)


def div(b: Builder, mode: str, x: Value, y: Value) -> Value:
    """x / y: the exact result lies where x does from near * y."""
    near = b.div(x, y)
    if x.type.scalar == float32:
        wide_x, wide_y, wide_near = _widened(b, x, y, near)
        high, low = b.mul(wide_near, wide_y), None
        given = wide_x
    else:
        (given, ex), (my, ey), (mn, en) = (normalise(b, value) for value in (x, y, near))
        close = _scaled(b, mn, b.add(b.sub(en, ex), ey))
        high, low = _two_product(b, close, my)
    back = _side(b, given, high, low)
    side = _swap_where(b, b.compare("gt", y, 0.0), back)
    return apply_mode(b, mode, near, side)


def sqrt(b: Builder, mode: str, x: Value) -> Value:
    """The square root: the exact one lies where x does from near * near."""
    near = b.unary("sqrt", x)
    if x.type.scalar == float32:
        given, wide = _widened(b, x, near)
        high, low = b.mul(wide, wide), None
    else:
        given, exponent = normalise(b, x)
        is_odd = b.compare("ne", b.and_(exponent, 1), 0)
        given = b.select(is_odd, b.mul(given, 2.0), given)
        close = b.mul(near, power_of_two(b, b.neg(b.shr(exponent, 1))))
        high, low = _two_product(b, close, close)
    back = _side(b, given, high, low)
    return apply_mode(b, mode, near, Exact(back.below, back.above))


def fma(b: Builder, mode: str, x: Value, y: Value, z: Value) -> Value:
    """x * y + z."""
    near = b.fma(x, y, z)
    if x.type.scalar == float32:
        wide_x, wide_y, wide_z = _widened(b, x, y, z)
        total = _two_sum(b, b.mul(wide_x, wide_y), wide_z)
        side = _side(b, b.cast(near, float64), *total)
    else:
        side = _with_overflow(b, near, (x, y, z), _side_of_fma(b, near, x, y, z))
    return _with_zero(b, mode, apply_mode(b, mode, near, side), side, b.mul(x, y), z)


def _side_of_fma(b: Builder, near: Value, x: Value, y: Value, z: Value) -> Exact:
    """By the sign of x * y + z - near, its terms scaled by one power of two."""
    (mx, ex), (my, ey), (mz, ez), (mn, en) = (normalise(b, value) for value in (x, y, z, near))
    exponent = b.add(ex, ey)
    top = b.select(b.compare("eq", z, 0.0), exponent, b.binary("max", exponent, ez))
    is_zero = b.or_(b.compare("eq", x, 0.0), b.compare("eq", y, 0.0))
    top = b.select(is_zero, ez, top)
    product = _two_product(b, mx, my)
    terms = [
        _scaled(b, mz, b.sub(ez, top)),
        b.neg(_scaled(b, mn, b.sub(en, top))),
        *(_scaled(b, part, b.sub(exponent, top)) for part in product),
    ]
    for _ in range(_PASSES):
        for number in range(len(terms) - 1):
            total, rest = _two_sum(b, terms[number + 1], terms[number])
            terms[number], terms[number + 1] = rest, total
    sign = terms[0]
    for term in terms[1:]:
        sign = b.select(b.compare("ne", term, 0.0), term, sign)
    return Exact(b.compare("gt", sign, 0.0), b.compare("lt", sign, 0.0))


def _widened(b: Builder, *values: Value) -> list[Value]:
    return [b.cast(value, float64) for value in values]


# --- conversions ---------------------------------------------------------------------------------


def to_float(b: Builder, mode: str, value: Value, target: ScalarType) -> Value:
    """A double or an integer as a float of `target`."""
    near, source = b.cast(value, target), value.type.scalar
    high, low = b.cast(value, float64), None
    if source.is_integer and source.bits == 64:
        upper = b.cast(b.shr(value, 32), float64)
        lower = b.cast(b.and_(value, 2**32 - 1), float64)
        high, low = _two_sum(b, b.mul(upper, 2.0**32), lower)
    return apply_mode(b, mode, near, _side(b, b.cast(near, float64), high, low))


__all__ = ["MODES", "add", "div", "fma", "mul", "normalise", "sqrt", "sub", "to_float"]
