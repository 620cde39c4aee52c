"""Complex arithmetic, comparisons and choices on pairs of real nodes: one form per op.

Each step is NumPy's own, special values included: products are naive, quotients Smith's, order is
lexicographic, and a number with a NaN part is a NaN.

Source: R. L. Smith, Algorithm 116: complex division, Communications of the ACM 5(8), 1962.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op


class Pair(NamedTuple):
    """Real and imaginary part of a complex value."""

    real: Node
    imag: Node


Form = Callable[..., Pair | Node]
Real = Callable[..., Node]  # of parts


def op_on_parts(op: Op) -> Real:
    """The op as a function of real nodes."""
    return partial(build.elementwise, op)


add, subtract, multiply, divide = map(op_on_parts, (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE))
negative, absolute, hypot, copysign = map(
    op_on_parts, (Op.NEGATIVE, Op.ABSOLUTE, Op.HYPOT, Op.COPYSIGN)
)
equal, not_equal, less = map(op_on_parts, (Op.EQUAL, Op.NOT_EQUAL, Op.LESS))
greater, greater_equal = map(op_on_parts, (Op.GREATER, Op.GREATER_EQUAL))
both, either, invert = map(op_on_parts, (Op.BITWISE_AND, Op.BITWISE_OR, Op.INVERT))
is_nan, is_inf, is_finite = map(op_on_parts, (Op.ISNAN, Op.ISINF, Op.ISFINITE))
where = build.where


def number(value: float, like: Node) -> Node:
    """A number that the form consists of, in the dtype of `like`."""
    return build.fixed(value, like.dtype)


def choose(condition: Node, on_true: Pair, on_false: Pair) -> Pair:
    """`where` of both parts."""
    return Pair(
        where(condition, on_true.real, on_false.real), where(condition, on_true.imag, on_false.imag)
    )


def each_part(op: Op) -> Form:
    """What `op` does on the real and on the imaginary parts."""

    def form(*operands: Pair) -> Pair:
        return Pair(*(build.elementwise(op, *parts) for parts in zip(*operands, strict=True)))

    return form


def _multiply(x: Pair, y: Pair) -> Pair:
    return Pair(
        subtract(multiply(x.real, y.real), multiply(x.imag, y.imag)),
        add(multiply(x.real, y.imag), multiply(x.imag, y.real)),
    )


def _divide(x: Pair, y: Pair) -> Pair:
    sizes = absolute(y.real), absolute(y.imag)
    is_wide = greater_equal(*sizes)
    larger, smaller = where(is_wide, y.real, y.imag), where(is_wide, y.imag, y.real)
    ratio = divide(smaller, larger)
    scale = divide(number(1, ratio), add(larger, multiply(smaller, ratio)))
    first, second = where(is_wide, x.real, x.imag), where(is_wide, x.imag, x.real)
    turned = multiply(first, ratio)
    imag = where(is_wide, subtract(second, turned), subtract(turned, second))
    real = add(first, multiply(second, ratio))
    quotient = Pair(multiply(real, scale), multiply(imag, scale))
    zero = number(0, ratio)
    is_zero = both(equal(sizes[0], zero), equal(sizes[1], zero))
    return choose(is_zero, Pair(divide(x.real, sizes[0]), divide(x.imag, sizes[0])), quotient)


def _reciprocal(x: Pair) -> Pair:
    is_wide = greater_equal(absolute(x.real), absolute(x.imag))
    larger, smaller = where(is_wide, x.real, x.imag), where(is_wide, x.imag, x.real)
    ratio = divide(smaller, larger)
    size = add(larger, multiply(smaller, ratio))
    one = number(1, ratio)
    wide = Pair(divide(one, size), divide(negative(ratio), size))
    high = Pair(divide(ratio, size), divide(negative(one), size))
    return choose(is_wide, wide, high)


def _absolute(x: Pair) -> Node:
    return hypot(x.real, x.imag)


def _sign(x: Pair) -> Pair:
    size, zero = hypot(x.real, x.imag), number(0, x.real)
    quotient = Pair(divide(x.real, size), divide(x.imag, size))
    finite = choose(equal(size, zero), Pair(zero, zero), quotient)
    toward = [where(is_inf(part), build.elementwise(Op.SIGN, part), zero) for part in x]
    infinite = Pair(*toward)
    nan = number(float("nan"), zero)
    is_undefined = either(is_nan(size), both(is_inf(x.real), is_inf(x.imag)))
    return choose(is_undefined, Pair(nan, nan), choose(is_inf(size), infinite, finite))


def _equal(x: Pair, y: Pair) -> Node:
    return both(equal(x.real, y.real), equal(x.imag, y.imag))


def _not_equal(x: Pair, y: Pair) -> Node:
    return either(not_equal(x.real, y.real), not_equal(x.imag, y.imag))


def _ordered(first: Op, second: Op) -> Callable[[Pair, Pair], Node]:
    """The real parts decide; where they are equal, the imaginary parts."""

    def form(x: Pair, y: Pair) -> Node:
        is_known = invert(either(is_nan(x.imag), is_nan(y.imag)))
        by_real = both(build.elementwise(first, x.real, y.real), is_known)
        by_imag = both(equal(x.real, y.real), build.elementwise(second, x.imag, y.imag))
        return either(by_real, by_imag)

    return form


_at_least = _ordered(Op.GREATER, Op.GREATER_EQUAL)
_at_most = _ordered(Op.LESS, Op.LESS_EQUAL)


def has_nan(x: Pair) -> Node:
    """Whether a part is NaN."""
    return either(is_nan(x.real), is_nan(x.imag))


def _extreme(holds: Callable[[Pair, Pair], Node], passes_nan: bool) -> Form:
    """The first operand where it `holds` against the second, or one of them is NaN."""

    def form(x: Pair, y: Pair) -> Pair:
        return choose(either(has_nan(x if passes_nan else y), holds(x, y)), x, y)

    return form


ARITHMETIC: dict[Op, Form] = {
    Op.ADD: each_part(Op.ADD),
    Op.SUBTRACT: each_part(Op.SUBTRACT),
    Op.MULTIPLY: _multiply,
    Op.DIVIDE: _divide,
    Op.NEGATIVE: each_part(Op.NEGATIVE),
    Op.RECIPROCAL: _reciprocal,
    Op.ABSOLUTE: _absolute,
    Op.SIGN: _sign,
    Op.RINT: each_part(Op.RINT),
    Op.EQUAL: _equal,
    Op.NOT_EQUAL: _not_equal,
    Op.LESS: _ordered(Op.LESS, Op.LESS),
    Op.LESS_EQUAL: _at_most,
    Op.GREATER: _ordered(Op.GREATER, Op.GREATER),
    Op.GREATER_EQUAL: _at_least,
    Op.MAXIMUM: _extreme(_at_least, passes_nan=True),
    Op.MINIMUM: _extreme(_at_most, passes_nan=True),
    Op.FMAX: _extreme(_at_least, passes_nan=False),
    Op.FMIN: _extreme(_at_most, passes_nan=False),
    Op.ISNAN: has_nan,
    Op.ISINF: lambda x: either(is_inf(x.real), is_inf(x.imag)),
    Op.ISFINITE: lambda x: both(is_finite(x.real), is_finite(x.imag)),
    Op.WHERE: choose,
}
