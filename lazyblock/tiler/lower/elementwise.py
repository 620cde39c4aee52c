"""Graph ops as block ops: one row per op, NumPy's values to the bit.

Compositions on half types (floor division, remainder, ...) run in float32 and round once, as
NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import (
    SCALARS,
    ScalarType,
    float32,
    from_numpy,
    int1,
)

Rule = Callable[..., Value]


def lower_elementwise(b: Builder, node: Node, operands: list[Value]) -> Value:
    """Block ops for one elementwise node; operands have one shape."""
    if node.op is Op.CAST:
        return b.cast(operands[0], from_numpy(node.dtype))
    if node.op is Op.BITCAST:
        return b.bitcast(operands[0], from_numpy(node.dtype))
    if node.op is Op.COPY:
        return operands[0]
    if node.op is Op.WHERE:
        return b.select(*operands)
    if operands[0].type.element == int1 and node.op in _ON_BOOL:
        return _ON_BOOL[node.op](b, *operands)
    rule = _RULES[node.op]
    if node.op in _ROUND_ONCE and operands[0].type.scalar.is_half:
        wide = rule(b, *(b.cast(value, float32) for value in operands))
        return b.cast(wide, operands[0].type.scalar)
    return rule(b, *operands)


def _unary(kind: str) -> Rule:
    return lambda b, x: b.unary(kind, x)


def _binary(kind: str) -> Rule:
    return lambda b, x, y: b.binary(kind, x, y)


def _compare(kind: str) -> Rule:
    return lambda b, x, y: b.compare(kind, x, y)


def _math(function: str) -> Rule:
    return lambda b, *arguments: b.math(function, *arguments)


def _is_float(x: Value) -> bool:
    return x.type.scalar.is_floating


def _bits(b: Builder, x: Value) -> Value:
    return b.bitcast(x, _bits_type(x))


def _bits_type(x: Value) -> ScalarType:
    return SCALARS[f"i{x.type.scalar.bits}"]


def _sign_mask(x: Value) -> int:
    return 1 << (x.type.scalar.bits - 1)


def _copysign(b: Builder, x: Value, y: Value) -> Value:
    mask = _sign_mask(x)
    sign = b.and_(_bits(b, y), mask)
    return b.bitcast(b.or_(b.and_(_bits(b, x), mask - 1), sign), x.type.scalar)


def _nextafter(b: Builder, x: Value, y: Value) -> Value:
    """The number next to `x` towards `y`: its bits, without the sign, are one more or one less."""
    bits = _bits(b, x)
    grows = b.compare("eq", b.compare("gt", y, x), b.compare("gt", x, 0.0))
    moved = b.bitcast(b.select(grows, b.add(bits, 1), b.sub(bits, 1)), x.type.scalar)
    smallest = b.bitcast(b.or_(b.and_(_bits(b, y), _sign_mask(x)), 1), x.type.scalar)
    result = b.select(b.compare("eq", x, 0.0), smallest, moved)
    result = b.select(b.compare("eq", x, y), y, result)
    return b.select(b.or_(b.is_nan(x), b.is_nan(y)), b.add(x, y), result)


def _signbit(b: Builder, x: Value) -> Value:
    return b.compare("lt", _bits(b, x), 0)


def _isinf(b: Builder, x: Value) -> Value:
    return b.compare("eq", b.abs(x), float("inf"))


def _isfinite(b: Builder, x: Value) -> Value:
    return b.compare("lt", b.abs(x), float("inf"))


def _absolute(b: Builder, x: Value) -> Value:
    scalar = x.type.scalar
    return b.abs(x) if scalar.is_floating or scalar.is_signed else x


def _sign(b: Builder, x: Value) -> Value:
    """1, 0 or -1; NaN stays NaN, zeros become +0."""
    one = b.select(b.compare("gt", x, 0), 1, b.full_like(x, 0))
    if x.type.scalar.is_signed or _is_float(x):
        one = b.select(b.compare("lt", x, 0), -1, one)
    return b.select(b.is_nan(x), x, one) if _is_float(x) else one


def _floor_mod(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """C's fmod and the remainder with the divisor's sign, for floats."""
    mod = b.rem(x, y)
    nonzero = b.compare("ne", mod, 0.0)
    differs = b.compare("ne", b.compare("lt", y, 0.0), b.compare("lt", mod, 0.0))
    shifted = b.select(differs, b.add(mod, y), mod)
    signed_zero = _copysign(b, b.full_like(y, 0.0), y)
    return mod, b.select(nonzero, shifted, signed_zero)


def _remainder(b: Builder, x: Value, y: Value) -> Value:
    if _is_float(x):
        mod, floored = _floor_mod(b, x, y)
        return b.select(b.compare("eq", y, 0.0), mod, floored)
    mod = b.rem(x, y)
    if not x.type.scalar.is_signed:
        return mod
    return b.select(_needs_shift(b, mod, y), b.add(mod, y), mod)


def _needs_shift(b: Builder, mod: Value, y: Value) -> Value:
    """Truncated and floored division differ: a remainder whose sign is not the divisor's."""
    differs = b.compare("lt", b.xor(mod, y), 0)
    return b.and_(b.compare("ne", mod, 0), differs)


def _floor_divide(b: Builder, x: Value, y: Value) -> Value:
    if _is_float(x):
        return _float_floor_divide(b, x, y)
    quotient = b.div(x, y)
    if not x.type.scalar.is_signed:
        return quotient
    is_lower = b.and_(_needs_shift(b, b.rem(x, y), y), b.compare("ne", y, 0))
    return b.select(is_lower, b.sub(quotient, 1), quotient)


def _float_floor_divide(b: Builder, x: Value, y: Value) -> Value:
    mod, floored = _floor_mod(b, x, y)
    quotient = b.div(b.sub(x, mod), y)
    was_shifted = b.and_(b.compare("ne", mod, 0.0), b.compare("ne", mod, floored))
    quotient = b.select(was_shifted, b.sub(quotient, 1.0), quotient)
    down = b.unary("floor", quotient)
    rounded = b.select(b.compare("gt", b.sub(quotient, down), 0.5), b.add(down, 1.0), down)
    zero = _copysign(b, b.full_like(x, 0.0), b.div(x, y))
    result = b.select(b.compare("ne", quotient, 0.0), rounded, zero)
    return b.select(b.compare("eq", y, 0.0), b.div(x, y), result)


def _power(b: Builder, x: Value, y: Value) -> Value:
    return b.math("pow", x, y) if _is_float(x) else _integer_power(b, x, y)


def _integer_power(b: Builder, x: Value, y: Value) -> Value:
    """By squaring over all bits of the exponent; wraps. Negative exponents 1 / x**-y, truncated."""
    scalar = x.type.scalar
    result, square, exponent = b.full_like(x, 1), x, y
    if scalar.is_signed:
        exponent = b.abs(y)
    for _ in range(scalar.bits - scalar.is_signed):
        is_odd = b.compare("ne", b.and_(exponent, 1), 0)
        result = b.select(is_odd, b.mul(result, square), result)
        square = b.mul(square, square)
        exponent = b.shr(exponent, 1)
    if not scalar.is_signed:
        return result
    inverse = b.div(b.full_like(x, 1), result)
    return b.select(b.compare("lt", y, 0), inverse, result)


_RULES: dict[Op, Rule] = {
    Op.ADD: _binary("add"),
    Op.SUBTRACT: _binary("sub"),
    Op.MULTIPLY: _binary("mul"),
    Op.DIVIDE: _binary("div"),
    Op.FLOOR_DIVIDE: _floor_divide,
    Op.REMAINDER: _remainder,
    Op.FMOD: _binary("rem"),
    Op.POWER: _power,
    Op.NEGATIVE: _unary("neg"),
    Op.ABSOLUTE: _absolute,
    Op.SIGN: _sign,
    Op.SQRT: _unary("sqrt"),
    Op.RECIPROCAL: lambda b, x: b.div(1.0, x),
    Op.MAXIMUM: _binary("max"),
    Op.MINIMUM: _binary("min"),
    Op.FMAX: _binary("maxnum"),
    Op.FMIN: _binary("minnum"),
    Op.COPYSIGN: _copysign,
    Op.NEXTAFTER: _nextafter,
    Op.EQUAL: _compare("eq"),
    Op.NOT_EQUAL: _compare("ne"),
    Op.LESS: _compare("lt"),
    Op.LESS_EQUAL: _compare("le"),
    Op.GREATER: _compare("gt"),
    Op.GREATER_EQUAL: _compare("ge"),
    Op.ISNAN: lambda b, x: b.is_nan(x),
    Op.ISINF: _isinf,
    Op.ISFINITE: _isfinite,
    Op.SIGNBIT: _signbit,
    Op.BITWISE_AND: _binary("and"),
    Op.BITWISE_OR: _binary("or"),
    Op.BITWISE_XOR: _binary("xor"),
    Op.INVERT: _unary("not"),
    Op.LEFT_SHIFT: _binary("shl"),
    Op.RIGHT_SHIFT: _binary("shr"),
    Op.FLOOR: _unary("floor"),
    Op.CEIL: _unary("ceil"),
    Op.TRUNC: _unary("trunc"),
    Op.RINT: _unary("rint"),
    Op.ARCSIN: _math("asin"),
    Op.ARCCOS: _math("acos"),
    Op.ARCTAN: _math("atan"),
    Op.ARCTAN2: _math("atan2"),
    Op.ARCSINH: _math("asinh"),
    Op.ARCCOSH: _math("acosh"),
    Op.ARCTANH: _math("atanh"),
    **{
        Op(name): _math(name)
        for name in (
            *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh", "cbrt", "hypot", "rsqrt", "erf", "erfc"),
            *("lgamma", "tgamma"),
        )
    },
}

# bool arithmetic: addition is or, multiplication is and
_ON_BOOL: dict[Op, Rule] = {
    Op.ADD: _binary("or"),
    Op.MULTIPLY: _binary("and"),
    Op.MAXIMUM: _binary("or"),
    Op.MINIMUM: _binary("and"),
    Op.ABSOLUTE: lambda b, x: x,
    Op.EQUAL: lambda b, x, y: b.not_(b.xor(x, y)),
    Op.NOT_EQUAL: _binary("xor"),
    Op.LESS: lambda b, x, y: b.and_(b.not_(x), y),
    Op.LESS_EQUAL: lambda b, x, y: b.or_(b.not_(x), y),
    Op.GREATER: lambda b, x, y: b.and_(x, b.not_(y)),
    Op.GREATER_EQUAL: lambda b, x, y: b.or_(x, b.not_(y)),
}

_ROUND_ONCE = frozenset({Op.FLOOR_DIVIDE, Op.REMAINDER, Op.FMOD, Op.SIGN})
