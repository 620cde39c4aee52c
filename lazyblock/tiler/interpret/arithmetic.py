"""Numbers as the block interpreter computes them: what the ops document, of NumPy arrays.

`Math` and `Approximate` are computed in float64, to be rounded once; all else is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock.tiler.interpret.memory import Array
from lazyblock.tiler.types import FLOAT8_FORMATS, ScalarType, decode, encode, int1, to_numpy

# --- arithmetic ----------------------------------------------------------------------------------


def compute_in(compute: Callable[..., Array], scalar: ScalarType, *values: Array) -> Array:
    """Apply a function in `scalar`'s arithmetic; i1 computes in the lowest bit of a byte."""
    if scalar != int1:
        return np.asarray(compute(*values), to_numpy(scalar))
    return (np.asarray(compute(*(value.astype(np.uint8) for value in values))) & 1).astype(bool)


def cast(value: Array, before: ScalarType, after: ScalarType) -> Array:
    """The conversion that `Cast` documents."""
    value = decode(value, before)
    if after == int1:
        return np.asarray(value != 0)
    if before.is_floating and after.is_integer:
        return _to_integer(value, to_numpy(after))
    return np.asarray(encode(value, after))


def cast_toward_zero(value: Array, before: ScalarType, after: ScalarType) -> Array:
    """The conversion to a narrower float that drops bits; beyond the largest number that stays."""
    value, near = decode(value, before).astype(np.float64), cast(value, before, after)
    back = decode(near, after).astype(np.float64)
    codes = np.array(near).view(f"u{after.nbytes}")
    is_beyond = np.abs(back) > np.abs(value)
    codes = codes - is_beyond.astype(codes.dtype)
    if after in FLOAT8_FORMATS:
        form, sign = FLOAT8_FORMATS[after], np.signbit(value) * np.uint8(0x80)
        codes = np.where(is_beyond & (codes == form.nan) & (form.nan == 0x80), 0, codes)
        is_lost = np.isnan(back) & np.isfinite(value)
        codes = np.where(is_lost, sign | form.largest, codes)
    return np.asarray(codes.astype(f"u{after.nbytes}").view(to_numpy(after)))


def round_to(value: Array, dtype: np.dtype[Any]) -> Array:
    """The nearest values of a type."""
    return np.asarray(value).astype(dtype)


def _to_integer(value: Array, dtype: np.dtype[Any]) -> Array:
    """Towards zero, saturating, NaN to 0."""
    limits = np.iinfo(dtype)
    whole = np.trunc(value.astype(np.float64))
    too_low, too_high = whole < float(limits.min), whole >= float(limits.max + 1)
    fits = ~(too_low | too_high | np.isnan(whole))
    result = np.where(fits, whole, 0.0).astype(dtype)
    result = np.where(too_low, dtype.type(limits.min), result)
    return np.where(too_high, dtype.type(limits.max), result)


def _divide_integers(a: Array, b: Array) -> Array:
    """Truncated; x / 0 is 0, MIN / -1 is MIN."""
    is_special = (b == 0) | (b == -1)
    safe = np.where(is_special, np.ones_like(b), b)
    quotient = np.floor_divide(a - np.fmod(a, safe), safe)
    special = np.where(b == 0, np.zeros_like(a), np.negative(a))
    return np.where(is_special, special, quotient)


def _remainder_integers(a: Array, b: Array) -> Array:
    """Sign of the dividend; x % 0 is 0."""
    is_special = (b == 0) | (b == -1)
    return np.where(is_special, np.zeros_like(a), np.fmod(a, np.where(is_special, 1, b)))


def _shift_left(a: Array, b: Array) -> Array:
    return np.where(_is_within(a, b), np.left_shift(a, _count(a, b)), np.zeros_like(a))


def _shift_right(a: Array, b: Array) -> Array:
    emptied = np.where(a < 0, np.full_like(a, -1), 0) if a.dtype.kind == "i" else np.zeros_like(a)
    return np.where(_is_within(a, b), np.right_shift(a, _count(a, b)), emptied)


def _is_within(a: Array, b: Array) -> Array:
    return np.asarray((b >= 0) & (b < 8 * a.dtype.itemsize))


def _count(a: Array, b: Array) -> Array:
    return np.where(_is_within(a, b), b, np.zeros_like(b))


def _extreme(is_better: Callable[[Array, Array], Array], sign_wins: bool) -> Any:
    """max or min of floats: NaN wins over numbers, +0 stands above -0."""

    def compute(a: Array, b: Array) -> Array:
        prefers_a = is_better(a, b) | ((a == b) & (np.signbit(a) == sign_wins))
        return np.where(np.isnan(a), a, np.where(np.isnan(b) | ~prefers_a, b, a))

    return compute


def _skip_nan(extreme: Callable[[Array, Array], Array]) -> Any:
    def compute(a: Array, b: Array) -> Array:
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, extreme(a, b)))

    return compute


def _multiply_high(a: Array, b: Array) -> Array:
    """By halves of the unsigned operands, so that no product needs more bits than there are."""
    bits = 8 * a.dtype.itemsize
    x, y = (value.view(f"u{a.dtype.itemsize}").astype(np.uint64) for value in (a, b))
    if bits < 64:
        return (x * y >> np.uint64(bits)).astype(f"u{a.dtype.itemsize}").view(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    middle = (x >> half) * (y & low) + ((x & low) * (y & low) >> half)
    carry = (x & low) * (y >> half) + (middle & low)
    high = (x >> half) * (y >> half) + (middle >> half) + (carry >> half)
    return np.asarray(high).view(a.dtype)


def _fmod(a: Array, b: Array) -> Array:
    """C's fmod, exact in float64 for every type."""
    return round_to(np.fmod(a.astype(np.float64), b.astype(np.float64)), a.dtype)


UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "not": np.invert,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
}
_MAX, _MIN = _extreme(np.greater, False), _extreme(np.less, True)
FLOAT_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "div_normal": np.divide,
    "rem": _fmod,
    "max": _MAX,
    "min": _MIN,
    "maxnum": _skip_nan(_MAX),
    "minnum": _skip_nan(_MIN),
}
INTEGER_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide_integers,
    "rem": _remainder_integers,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": _shift_left,
    "shr": _shift_right,
    "max": np.maximum,
    "min": np.minimum,
    "mulhi": _multiply_high,
}
COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


# --- functions -----------------------------------------------------------------------------------


def _each(function: Callable[[float], float], at_pole: Callable[[float], float]) -> Any:
    """Vectorise a function of `math`; `at_pole` gives the value where it raises."""

    def one(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return at_pole(x)

    return np.vectorize(one, otypes=[np.float64])


def _lgamma_pole(x: float) -> float:
    return math.inf


def _tgamma_pole(x: float) -> float:
    """Overflow and 0 give infinity; negative integers and -inf have no value."""
    if x == 0:
        return math.copysign(math.inf, x)
    return math.inf if x > 0 else math.nan


def _rsqrt(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x))


MATH: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log1p", "log2")},
    **{name: getattr(np, name) for name in ("log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2},
    **{"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh},
    **{"rsqrt": _rsqrt, "cbrt": np.cbrt, "pow": np.power, "hypot": np.hypot},
    **{name: np.vectorize(getattr(math, name), otypes=[float]) for name in ("erf", "erfc")},
    **{"lgamma": _each(math.lgamma, _lgamma_pole), "tgamma": _each(math.gamma, _tgamma_pole)},
}

APPROXIMATIONS: dict[str, Callable[[Array], Any]] = {
    **{"exp2": np.exp2, "log2": np.log2, "sqrt": np.sqrt},
    **{"reciprocal": np.reciprocal, "rsqrt": _rsqrt},
}
