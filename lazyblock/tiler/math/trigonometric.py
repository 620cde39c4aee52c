"""sin, cos, tan for every finite argument.

|x| = n pi/2 + r with |r| <= pi/4, nearly. Usual arguments take n times three words of pi/2 away
(Cody and Waite's method); with fused multiply-adds, the first difference is exact.
Others are rare: |x| 2/pi = n + h with |h| <= 1/2 is found modulo 4 from the stored bits of 2/pi.
Only a window of them counts, chosen by the exponent of x (Payne and Hanek's method); everything
above it gives a multiple of 4. float32 multiplies its 24 bits by the window in 64-bit integers;
float64 takes words of 53 bits, whose products with x are exact pairs, and keeps h to three words,
as doubles come as near as 2^-61 to multiples of pi/2.
Coefficients: minimax fits of relative error (Remez), rounded one by one with a new fit of the rest.
Sources: W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980. M. Payne,
R. Hanek, Radian reduction for trigonometric functions, SIGNUM 18(1), 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.formats import (
    DOUBLE,
    INFINITY,
    NAN,
    PI,
    SINGLE,
    format_of,
    to_bits,
)
from lazyblock.tiler.math.polynomial import (
    Pair,
    divide_pairs,
    fast_two_sum,
    multiply_pairs,
    polynomial,
    two_product,
    two_sum,
)
from lazyblock.tiler.math.two_over_pi import TWO_OVER_PI, TWO_OVER_PI_BITS
from lazyblock.tiler.types import float64, int32, int64, uint32, uint64

# (sin r - r) / r^3 in r^2, |r| <= 1 and |r| <= 1.01 pi / 4, error 2^-31.5 and 2^-63.2 of sin
_SIN = {
    SINGLE: (
        *(-0.1666666716337204, 0.008333354257047176, -0.00019842384790536016),
        *(2.7262710773356957e-06,),
    ),
    DOUBLE: (
        *(-0.16666666666666666, 0.008333333333333047, -0.0001984126984097323),
        *(2.755731908165722e-06, -2.5052073383161506e-08, 1.6054675389586647e-10),
        *(-7.409661525069068e-13,),
    ),
}
# (cos r - 1 + r^2/2) / r^4 in r^2, same ranges, error 2^-29.3 and 2^-63.7 of cos
_COS = {
    SINGLE: (0.04166657477617264, -0.0013884694781154394, 2.420134114800021e-05),
    DOUBLE: (
        *(0.04166666666666658, -0.001388888888887097, 2.4801587287528005e-05),
        *(-2.755731379159448e-07, 2.0875647496081923e-09, -1.1355744412741424e-11),
    ),
}


_FAR = {SINGLE: 2.0**16, DOUBLE: 2.0**24}  # from here on, arguments are rare

_OfReduced = Callable[[Builder, Value, Value, Pair], Value]  # of x, and |x| as n and r


def sin(b: Builder, x: Value) -> Value:
    """Sine of x in radians."""
    return _near_or_far(b, x, _sin)


def cos(b: Builder, x: Value) -> Value:
    """Cosine of x in radians."""
    return _near_or_far(b, x, _cos)


def tan(b: Builder, x: Value) -> Value:
    """Tangent of x in radians."""
    return _near_or_far(b, x, _tan)


def _near_or_far(b: Builder, x: Value, function: _OfReduced) -> Value:
    def far(x: Value) -> Value:
        return _nan_unless_finite(b, x, function(b, x, *_reduce_far(b, b.abs(x))))

    size = b.abs(x)
    near = function(b, x, *_reduce_near(b, size))
    return b.rarely(b.compare("ge", size, _FAR[format_of(x)]), near, far, x)


def _sin(b: Builder, x: Value, n: Value, r: Pair) -> Value:
    sign = b.and_(to_bits(b, x), format_of(x).sign_bit)
    return _flip_sign(b, _turn(b, n, *_sin_and_cos(b, r)), sign)


def _cos(b: Builder, x: Value, n: Value, r: Pair) -> Value:
    return _turn(b, b.add(n, 1), *_sin_and_cos(b, r))


def _tan(b: Builder, x: Value, n: Value, r: Pair) -> Value:
    form = format_of(x)
    sine, cosine = (fast_two_sum(b, *words) for words in _sin_and_cos(b, r))
    is_odd = b.compare("ne", b.and_(n, 1), 0)
    above, below = (
        (b.select(is_odd, first[0], second[0]), b.select(is_odd, first[1], second[1]))
        for first, second in ((cosine, sine), (sine, cosine))
    )
    ratio = divide_pairs(b, above, below)[0] if form is DOUBLE else b.div(above[0], below[0])
    sign = b.and_(b.xor(to_bits(b, x), b.shl(n, form.bits.bits - 1)), form.sign_bit)
    return _flip_sign(b, ratio, sign)


def sin_of_pi(b: Builder, x: Value) -> Value:
    """sin(pi x) in float64, exactly 0 at integers; |x| < 2^50."""
    doubled = b.unary("rint", b.add(x, x))
    fraction = b.fma(doubled, -0.5, x)
    high, low = two_product(b, fraction, DOUBLE.words(PI)[0])
    r = fast_two_sum(b, high, b.fma(fraction, DOUBLE.words(PI)[1], low))
    return _turn(b, b.cast(doubled, int64), *_sin_and_cos(b, r))


def _turn(b: Builder, n: Value, sine: Pair, cosine: Pair) -> Value:
    """sin(r + n pi / 2)."""
    is_odd = b.compare("ne", b.and_(n, 1), 0)
    result = b.select(is_odd, b.add(*cosine), b.add(*sine))
    sign = b.shl(b.and_(n, 2), format_of(result).bits.bits - 2)
    return _flip_sign(b, result, sign)


def _flip_sign(b: Builder, x: Value, sign: Value) -> Value:
    """X, negated where the sign bit is set in `sign`, whose other bits are 0."""
    return b.bitcast(b.xor(to_bits(b, x), sign), x.type.scalar)


def _nan_unless_finite(b: Builder, x: Value, result: Value) -> Value:
    return b.select(b.compare("lt", b.abs(x), INFINITY), result, NAN)


def _sin_and_cos(b: Builder, r: Pair) -> tuple[Pair, Pair]:
    """sin(r) and cos(r) as pairs; the low word of r counts in float64 only."""
    high, low = r
    form = format_of(high)
    square = b.mul(high, high)
    half = b.mul(square, 0.5)
    sine = b.mul(b.mul(square, high), polynomial(b, square, _SIN[form]))
    cosine = b.mul(b.mul(square, square), polynomial(b, square, _COS[form]))
    if form is DOUBLE:
        sine = b.add(sine, b.fma(b.neg(low), half, low))
        cosine = b.fma(b.neg(low), high, cosine)
    main, rest = fast_two_sum(b, 1.0, b.neg(half))
    return (high, sine), (main, b.add(rest, cosine))


# --- reduction ------------------------------------------------------------------------------------


# Both give an integer n, whose two lowest bits count, and r with |x| = n pi/2 + r modulo 2 pi.


def _reduce_near(b: Builder, size: Value) -> tuple[Value, Pair]:
    """Of |x| below _FAR: whatever pi/2 has beyond three words is too small to count."""
    form = format_of(size)
    shifted = b.fma(size, float(2 / Fraction(PI)), form.rounder)
    turns = b.sub(shifted, form.rounder)
    first, second, third = form.words(Fraction(PI) / 2, 3)
    rest = b.fma(turns, -first, size)
    product, error = two_product(b, turns, second)
    high, lost = two_sum(b, rest, b.neg(product))
    low = b.sub(lost, b.fma(turns, third, error))
    pair = fast_two_sum(b, high, low)
    return to_bits(b, shifted), pair if form is DOUBLE else (pair[0], b.full_like(high, 0.0))


def _reduce_far(b: Builder, size: Value) -> tuple[Value, Pair]:
    return (_reduce_double if format_of(size) is DOUBLE else _reduce_single)(b, size)


# For 1 <= x < 2 the window's first bit has weight 2 in units of x's last place.
_LEADING_ZEROS = 25
_WINDOW_WORDS = [
    (TWO_OVER_PI << 256 >> (TWO_OVER_PI_BITS + _LEADING_ZEROS)) >> shift & (2**64 - 1)
    for shift in (192, 128, 64, 0)
]


def _reduce_single(b: Builder, size: Value) -> tuple[Value, Pair]:
    bits = b.bitcast(size, uint32)
    mantissa = b.cast(b.or_(b.and_(bits, 0x7FFFFF), 0x800000), uint64)
    exponent = b.sub(b.shr(bits, 23), SINGLE.bias)
    is_far = b.compare("ge", exponent, 64)
    first, second, third = (
        b.select(is_far, b.full_like(mantissa, far), b.full_like(mantissa, near))
        for near, far in pairwise(_WINDOW_WORDS)
    )
    left = b.cast(b.and_(exponent, 63), uint64)
    right = b.sub(64, left)
    high = b.or_(b.shl(first, left), b.shr(second, right))
    low = b.or_(b.shl(second, left), b.shr(third, right))
    carried = b.shr(b.mul(mantissa, b.shr(low, 32)), 32)
    quarters = b.add(b.mul(mantissa, high), carried)  # in 2^-62
    n = b.cast(b.shr(b.add(quarters, 1 << 61), 62), int32)
    fraction = b.cast(b.bitcast(b.shl(quarters, 2), int64), float64)  # in 2^-64, signed
    r = b.cast(b.mul(fraction, float(Fraction(PI) / 2**65)), SINGLE.scalar)
    return n, (r, b.full_like(r, 0.0))


_WORD = 53
_NUM_WORDS = 23
_WORDS = [  # consecutive 53-bit words of 2/pi, each as a number in [0, 1)
    (TWO_OVER_PI >> (TWO_OVER_PI_BITS - _WORD * (i + 1)) & (2**_WORD - 1)) / 2**_WORD
    for i in range(_NUM_WORDS)
]


def _reduce_double(b: Builder, size: Value) -> tuple[Value, Pair]:
    exponent = b.sub(b.shr(to_bits(b, size), DOUBLE.mantissa_bits), DOUBLE.bias)
    # words before this one give multiples of 4; 1237 / 2^16 is 1 / 53, nearly
    first = b.shr(b.mul(b.binary("max", b.sub(exponent, 54), 0), 1237), 16)
    scaled = b.sub(to_bits(b, size), b.shl(b.mul(first, _WORD), DOUBLE.mantissa_bits))
    factor = b.bitcast(scaled, float64)
    terms: list[Value] = []
    for word in _select_words(b, first, 5):
        terms += two_product(b, factor, word)
        factor = b.mul(factor, 2.0**-_WORD)
    terms[:3] = [_modulo_4(b, term) for term in terms[:3]]
    total, errors = _sum_exactly(b, terms[:6])
    whole = b.unary("rint", total)
    middle, errors = _sum_exactly(b, errors + terms[6:7])
    last = b.add(terms[7], terms[8])
    for error in errors:
        last = b.add(last, error)
    high, low = two_sum(b, b.sub(total, whole), middle)
    half_pi = tuple(b.full_like(size, word) for word in DOUBLE.words(Fraction(PI) / 2))
    assert len(half_pi) == 2
    r = multiply_pairs(b, fast_two_sum(b, high, b.add(low, last)), half_pi)
    return b.cast(whole, int64), r


def _select_words(b: Builder, first: Value, count: int) -> list[Value]:
    """Words first, first + 1, ... of 2/pi: one binary digit of `first` after the other."""
    words = [b.constant(word, float64, first.shape) for word in _WORDS]
    for step in (16, 8, 4, 2, 1):
        is_set = b.compare("ne", b.and_(first, step), 0)
        kept = min(len(words), count + step - 1)
        words = [
            b.select(is_set, words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(kept)
        ]
    return words


def _modulo_4(b: Builder, x: Value) -> Value:
    return b.fma(b.unary("rint", b.mul(x, 0.25)), -4.0, x)


def _sum_exactly(b: Builder, terms: Sequence[Value]) -> tuple[Value, list[Value]]:
    """Rounded sum of all terms, and the errors of the additions."""
    total, errors = terms[0], []
    for term in terms[1:]:
        total, error = two_sum(b, total, term)
        errors.append(error)
    return total, errors
