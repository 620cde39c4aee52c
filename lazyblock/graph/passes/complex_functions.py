"""Functions of complex numbers as formulas in real functions of both parts.

Special values are those of C99's annex G, as NumPy takes them (and of expm1, where NumPy does not);
finite results are within a few ULP of either part, unless NumPy's own formula loses more (expm1,
log1p).

Sources: W. Kahan, Branch cuts for complex elementary functions, in: The State of the Art in
Numerical Analysis, 1987; T. J. Dekker, A floating-point technique for extending the available
precision, Numerische Mathematik 18(3), 1971.
"""

from __future__ import annotations

import math

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.graph.passes.complex_arithmetic import (
    Form,
    Pair,
    Real,
    absolute,
    add,
    both,
    choose,
    copysign,
    divide,
    equal,
    greater,
    greater_equal,
    hypot,
    invert,
    is_finite,
    is_inf,
    is_nan,
    less,
    multiply,
    negative,
    number,
    op_on_parts,
    subtract,
    where,
)

exp, expm1, log, log1p, sqrt = map(op_on_parts, (Op.EXP, Op.EXPM1, Op.LOG, Op.LOG1P, Op.SQRT))
sin, cos, tan, sinh, cosh = map(op_on_parts, (Op.SIN, Op.COS, Op.TAN, Op.SINH, Op.COSH))
arctan2, maximum, minimum = map(op_on_parts, (Op.ARCTAN2, Op.MAXIMUM, Op.MINIMUM))

_INF = math.inf


def _is_single(node: Node) -> bool:
    return node.dtype == dtypes.float32


def _scaled(factor: float, x: Pair) -> Pair:
    return Pair(multiply(x.real, number(factor, x.real)), multiply(x.imag, number(factor, x.real)))


def _turned(x: Pair) -> Pair:
    """i * x."""
    return Pair(negative(x.imag), x.real)


def _turned_back(x: Pair) -> Pair:
    """-i * x."""
    return Pair(x.imag, negative(x.real))


# Roots


def _sqrt(x: Pair) -> Pair:
    """Of |x|, scaled so that neither it nor its parts overflow or lose bits.

    t is the larger part of the root, from a sum without cancellation; the other is |imag| / 2t.
    """
    zero, half = number(0, x.real), number(0.5, x.real)
    scale, unscale = _root_scales(x)
    real, imag = (absolute(multiply(part, scale)) for part in x)
    larger = sqrt(multiply(add(real, hypot(real, imag)), half))
    smaller = where(equal(larger, zero), zero, divide(imag, add(larger, larger)))
    infinity = number(_INF, zero)
    smaller = where(is_inf(x.imag), infinity, smaller)
    larger = where(is_inf(x.imag), infinity, larger)
    is_right = greater_equal(x.real, zero)
    root_real, root_imag = (
        multiply(part, unscale)
        for part in (where(is_right, larger, smaller), where(is_right, smaller, larger))
    )
    is_unknown = both(is_nan(x.real), invert(is_inf(x.imag)))
    nan = number(math.nan, zero)
    return Pair(
        where(is_unknown, nan, root_real),
        where(is_unknown, nan, copysign(root_imag, x.imag)),
    )


def _root_scales(x: Pair) -> tuple[Node, Node]:
    """A power of 4 that brings x to a safe size, and the square root of its inverse."""
    size = maximum(absolute(x.real), absolute(x.imag))
    most, least, power = (126, -100, 24) if _is_single(size) else (1022, -960, 54)
    is_large = greater(size, number(2.0**most, size))
    is_small = less(size, number(2.0**least, size))

    def pick(large: float, small: float) -> Node:
        one = number(1, size)
        return where(is_large, number(large, size), where(is_small, number(small, size), one))

    return pick(2.0**-4, 2.0**power), pick(2.0**2, 2.0 ** (-power // 2))


# Exponentials


def _exp(x: Pair) -> Pair:
    size, factor = _exp_in_parts(x.real)
    parts = (multiply(multiply(size, wave), factor) for wave in (cos(x.imag), sin(x.imag)))
    real, imag = parts
    zero = number(0, size)
    is_turnless = invert(is_finite(x.imag))
    is_low = both(is_turnless, equal(x.real, number(-_INF, size)))
    is_high = both(is_turnless, equal(x.real, number(_INF, size)))
    real = where(is_high, x.real, where(is_low, zero, real))
    imag = where(equal(x.imag, zero), x.imag, where(is_low, copysign(zero, x.imag), imag))
    return Pair(real, imag)


def _exp_in_parts(x: Node) -> tuple[Node, Node]:
    """Two numbers whose product is exp(x), neither of which overflows before half of it would."""
    step = 88.0 if _is_single(x) else 709.0
    highest = number(step, x)
    is_large = greater(x, highest)
    rest = where(is_large, subtract(x, highest), x)
    factor = where(is_large, exp(highest), number(1, x))
    return exp(rest), factor


def _expm1(x: Pair) -> Pair:
    zero, infinity = number(0, x.real), number(_INF, x.real)
    wave = sin(multiply(x.imag, number(0.5, x.imag)))
    twice = multiply(multiply(number(2, wave), wave), wave)
    real = subtract(multiply(expm1(x.real), cos(x.imag)), twice)
    imag = multiply(exp(x.real), sin(x.imag))
    is_turnless, is_low = invert(is_finite(x.imag)), equal(x.real, number(-_INF, zero))
    is_high = both(is_turnless, equal(x.real, infinity))
    real = where(is_low, number(-1, zero), where(is_high, infinity, real))
    imag = where(both(is_turnless, is_low), copysign(zero, x.imag), imag)
    imag = where(equal(x.imag, zero), x.imag, imag)
    return Pair(real, imag)


def _exp2(x: Pair) -> Pair:
    return _exp(_scaled(math.log(2), x))


# Logarithms


def _log(x: Pair) -> Pair:
    return Pair(_log_of_size(x), arctan2(x.imag, x.real))


def _log_of_size(x: Pair) -> Node:
    """log|x|; near |x| = 1 from |x|**2 - 1 without rounding, for very large and small x scaled."""
    sizes = absolute(x.real), absolute(x.imag)
    larger, smaller = maximum(*sizes), minimum(*sizes)
    most, least, power = (126, -100, 40) if _is_single(larger) else (1022, -960, 80)
    is_large = greater(larger, number(2.0**most, larger))
    is_small = less(larger, number(2.0**least, larger))

    def pick(large: float, small: float, usual: float) -> Node:
        usual_number, small_number = number(usual, larger), number(small, larger)
        return where(is_large, number(large, larger), where(is_small, small_number, usual_number))

    scale = pick(0.25, 2.0**power, 1.0)
    shift = pick(2 * math.log(2), -power * math.log(2), 0.0)
    far = add(log(hypot(*(multiply(size, scale) for size in sizes))), shift)
    is_near = both(
        both(greater(larger, number(0.5, larger)), less(larger, number(1.5, larger))),
        less(smaller, number(1.5, larger)),
    )
    return where(is_near, _log_near_one(larger, smaller), far)


def _log_near_one(larger: Node, smaller: Node) -> Node:
    if _is_single(larger):  # squares are exact in float64
        wide = [build.cast(part, dtypes.float64) for part in (larger, smaller)]
        first, second = (multiply(part, part) for part in wide)
        excess = add(subtract(first, number(1, first)), second)
        return build.cast(multiply(log1p(excess), number(0.5, excess)), larger.dtype)
    (first, first_rest), (second, second_rest) = map(_exact_square, (larger, smaller))
    excess = add(subtract(first, number(1, first)), second)
    excess = add(excess, add(first_rest, second_rest))
    return multiply(log1p(excess), number(0.5, excess))


def _exact_square(x: Node) -> tuple[Node, Node]:
    """The square, rounded, and what rounding took away (Dekker's product)."""
    square = multiply(x, x)
    split = multiply(x, number(2.0**27 + 1, x))
    high = subtract(split, subtract(split, x))
    low = subtract(x, high)
    crossed = multiply(multiply(number(2, x), high), low)
    rest = add(add(subtract(multiply(high, high), square), crossed), multiply(low, low))
    return square, rest


def _log1p(x: Pair) -> Pair:
    real = add(x.real, number(1, x.real))
    return Pair(log(hypot(real, x.imag)), arctan2(x.imag, real))


def _log2(x: Pair) -> Pair:
    return _scaled(1 / math.log(2), _log(x))


def _log10(x: Pair) -> Pair:
    return _scaled(1 / math.log(10), _log(x))


# Hyperbolic and trigonometric


def _halves_of_exp(x: Node) -> tuple[Node, Node, Node]:
    """Whether cosh(x) is about to overflow; exp|x| / 2 as a product then."""
    size = absolute(x)
    is_large = greater(size, number(88.0 if _is_single(x) else 709.0, x))
    half, factor = _exp_in_parts(size)
    return is_large, half, multiply(factor, number(0.5, x))


def _sinh(x: Pair) -> Pair:
    real, imag = _hyperbolic(sinh, cosh, x)
    zero = number(0, real)
    is_turnless = invert(is_finite(x.imag))
    real = where(both(is_turnless, equal(x.real, zero)), x.real, real)
    real = where(both(is_turnless, is_inf(x.real)), number(_INF, zero), real)
    return Pair(real, where(equal(x.imag, zero), x.imag, imag))


def _sin(x: Pair) -> Pair:
    real, imag = _turned_back(_sinh(_turned(x)))
    is_undefined = both(invert(is_finite(x.real)), is_inf(x.imag))
    return Pair(real, where(is_undefined, number(_INF, imag), imag))


def _cosh(x: Pair) -> Pair:
    real, imag = _hyperbolic(cosh, sinh, x)
    zero = number(0, real)
    is_turnless = invert(is_finite(x.imag))
    real = where(both(is_turnless, is_inf(x.real)), absolute(x.real), real)
    imag = where(both(is_turnless, equal(x.real, zero)), zero, imag)
    signed_zero = multiply(copysign(number(1, zero), x.real), x.imag)
    signed_zero = where(is_nan(x.real), x.imag, signed_zero)
    return Pair(real, where(equal(x.imag, zero), signed_zero, imag))


def _hyperbolic(of_cosine: Real, of_sine: Real, x: Pair) -> Pair:
    """of_cosine(real) * cos(imag) + i * of_sine(real) * sin(imag)."""
    is_large, half, factor = _halves_of_exp(x.real)

    def part(function: Real, wave: Node) -> Node:
        usual = multiply(function(x.real), wave)
        huge = multiply(multiply(half, wave), factor)
        signed = multiply(copysign(number(1, huge), x.real), huge) if function is sinh else huge
        return where(is_large, signed, usual)

    return Pair(part(of_cosine, cos(x.imag)), part(of_sine, sin(x.imag)))


def _tanh(x: Pair) -> Pair:
    """Products of the real functions; the first terms where tanh(real) is 1 to the last bit."""
    one, zero, size = number(1, x.real), number(0, x.real), absolute(x.real)
    is_large = greater(size, number(11.0 if _is_single(size) else 22.0, size))
    is_turnless, is_infinite = invert(is_finite(x.imag)), is_inf(x.real)
    small, (wave, slope) = where(is_large, zero, x.real), (sin(x.imag), cos(x.imag))
    height, waves = sinh(small), multiply(wave, slope)
    below = add(multiply(height, height), multiply(slope, slope))
    near = Pair(divide(multiply(height, cosh(small)), below), divide(waves, below))
    decay = exp(negative(size))
    limit = multiply(multiply(multiply(number(4, zero), waves), decay), decay)
    is_unknown = both(is_turnless, invert(is_infinite))
    far = Pair(
        where(is_unknown, waves, copysign(one, x.real)),
        where(both(is_turnless, is_infinite), copysign(zero, x.imag), limit),
    )
    real, imag = choose(is_large, far, near)
    return Pair(
        where(both(is_turnless, equal(x.real, zero)), x.real, real),
        where(equal(x.imag, zero), x.imag, imag),
    )


FUNCTIONS: dict[Op, Form] = {
    Op.SQRT: _sqrt,
    Op.EXP: _exp,
    Op.EXP2: _exp2,
    Op.EXPM1: _expm1,
    Op.LOG: _log,
    Op.LOG2: _log2,
    Op.LOG10: _log10,
    Op.LOG1P: _log1p,
    Op.SINH: _sinh,
    Op.COSH: _cosh,
    Op.TANH: _tanh,
    Op.SIN: _sin,
    Op.COS: lambda x: _cosh(_turned(x)),
    Op.TAN: lambda x: _turned_back(_tanh(_turned(x))),
}
