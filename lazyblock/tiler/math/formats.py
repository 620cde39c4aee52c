"""The two binary formats functions are written for, and exact constants in them.

A constant is given as a decimal string and split into words of a format: the nearest number, the
nearest to what is left, and so on. Powers of two are made by writing the exponent field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import ScalarType, float32, float64, int32, int64, to_numpy

LN2 = "0.69314718055994530941723212145817656807550013436025525412068"
LN10 = "2.3025850929940456840179914546843642076011014886287729760333"
PI = "3.1415926535897932384626433832795028841971693993751058209749"
SQRT_TAU = "2.5066282746310005024157652848110452530069867406099383166299"


@dataclass(frozen=True)
class Format:
    """A float type, the integer type of its bits, its stored mantissa bits and exponent bias."""

    scalar: ScalarType
    bits: ScalarType
    mantissa_bits: int
    bias: int

    @property
    def rounder(self) -> float:
        """1.5 * 2^mantissa_bits: adding it rounds to an integer, left in the lowest bits."""
        return 1.5 * 2.0**self.mantissa_bits

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits.bits - 1)

    def words(self, value: str | Fraction, count: int = 2) -> tuple[float, ...]:
        """`value` as an unevaluated sum of `count` numbers of this format."""
        rest = Fraction(value)
        found = []
        for _ in range(count):
            found.append(float(to_numpy(self.scalar).type(float(rest))))
            rest -= Fraction(found[-1])
        return tuple(found)


SINGLE = Format(float32, int32, 23, 127)
DOUBLE = Format(float64, int64, 52, 1023)
_FORMATS = {float32: SINGLE, float64: DOUBLE}


def format_of(x: Value) -> Format:
    """The format of a float32 or float64 value."""
    return _FORMATS[x.type.scalar]


def to_bits(b: Builder, x: Value) -> Value:
    """The bits of a float as a signed integer."""
    return b.bitcast(x, format_of(x).bits)


def power_of_two(b: Builder, exponent: Value, form: Format) -> Value:
    """2^exponent for an integer exponent of a normal number."""
    field = b.shl(b.add(exponent, form.bias), form.mantissa_bits)
    return b.bitcast(field, form.scalar)


def scale(b: Builder, x: Value, exponent: Value) -> Value:
    """x * 2^exponent for x far from the extremes; overflows, and rounds to subnormals once."""
    form = format_of(x)
    half = b.shr(exponent, 1)
    near = b.mul(x, power_of_two(b, half, form))
    return b.mul(near, power_of_two(b, b.sub(exponent, half), form))


def clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    """X kept in [low, high]; NaN stays."""
    below = b.select(b.compare("gt", x, high), high, x)
    return b.select(b.compare("lt", below, low), low, below)


def copy_sign(b: Builder, size: Value, sign: Value) -> Value:
    """`size`, which has no sign bit, with the sign of `sign`."""
    form = format_of(size)
    signed = b.or_(to_bits(b, size), b.and_(to_bits(b, sign), form.sign_bit))
    return b.bitcast(signed, form.scalar)


def is_negative(b: Builder, x: Value) -> Value:
    """Whether the sign bit is set, also of -0.0."""
    return b.compare("lt", to_bits(b, x), 0)


def round_to_integer(b: Builder, x: Value, factor: float) -> tuple[Value, Value]:
    """Nearest integer to x * factor, as float and integer; |x * factor| < 2^(mantissa_bits - 1)."""
    form = format_of(x)
    shifted = b.fma(x, factor, form.rounder)
    start = int(to_numpy(form.scalar).type(form.rounder).view(to_numpy(form.bits)))
    return b.sub(shifted, form.rounder), b.sub(to_bits(b, shifted), start)


INFINITY, NAN = math.inf, math.nan
