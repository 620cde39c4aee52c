"""Rewrites of arithmetic that numerics="fast" allows.

Takes: a program whose halves are legalised. Gives: divisions, roots and reciprocal roots of f32 as
approximations; signs and masks where `contract` finds products. Keeps: float32 results to a few
units in the last place; not the sign of zeros and NaNs; 0 for quotients by numbers beyond 2^126,
and subnormal operands of these operations may count as zeros. Cost: one copy, linear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Op, Program, Value
from lazyblock.tiler.passes.expand import Expansion, expand_ops
from lazyblock.tiler.passes.fold_constants import constant_of
from lazyblock.tiler.types import float32

Rule = Callable[..., Value | None]


def relax_arithmetic(program: Program) -> Program:
    """Run the pass; see the module's header."""
    return expand_ops(program, _find)


def _find(op: Op) -> Expansion | None:
    if not isinstance(op, (ops.Unary, ops.Binary, ops.Math)):
        return None
    scalar = op.result.type.scalar
    name = op.function if isinstance(op, ops.Math) else op.kind
    rule = _SINGLE.get(name) if scalar == float32 else None
    if rule is None and scalar.is_floating:
        rule = _ANY_FLOAT.get(name)
    return (lambda b, operands: rule(b, *operands)) if rule else None


def _owner(value: Value, kind: type[Op], name: str) -> Any:
    """The op that makes `value`, if it is this one."""
    owner: Any = value.owner
    if not isinstance(owner, kind):
        return None
    return owner if owner.attributes[_NAMED_BY[kind]] == name else None


_NAMED_BY: dict[type[Op], str] = {ops.Unary: "kind", ops.Approximate: "function"}


def _divide(b: Builder, x: Value, y: Value) -> Value:
    negated = _unsigned(y)
    if negated:
        x, y = b.neg(x), negated
    root = _owner(y, ops.Approximate, "sqrt")
    inverse = b.approximate("rsqrt", root.value) if root else b.approximate("reciprocal", y)
    if constant_of(x) == 1.0:
        return inverse
    return _multiply(b, x, inverse) or b.mul(x, inverse)


def _unsigned(value: Value) -> Value | None:
    """X where `value` is -x."""
    negation = _owner(value, ops.Unary, "neg")
    return negation.value if negation else None


def _multiply(b: Builder, x: Value, y: Value) -> Value | None:
    left, right = _unsigned(x), _unsigned(y)
    if left and right:
        return b.mul(left, right)
    if left or right:
        return b.neg(b.mul(left or x, right or y))
    return None


def _add(b: Builder, x: Value, y: Value) -> Value | None:
    left, right = _unsigned(x), _unsigned(y)
    if right:
        return b.sub(x, right)
    if left:
        return b.sub(y, left)
    return _add_masked(b, x, y) or _add_masked(b, y, x)


def _add_masked(b: Builder, x: Value, y: Value) -> Value | None:
    """x + (mask ? v : 0) is mask ? x + v : x, whose sum may take a product in."""
    choice = y.owner
    if isinstance(choice, ops.Select) and constant_of(choice.on_false) == 0.0:
        return b.select(choice.condition, b.add(x, choice.on_true), x)
    return None


def _subtract(b: Builder, x: Value, y: Value) -> Value | None:
    right = _unsigned(y)
    return b.add(x, right) if right else None


def _odd(function: str) -> Rule:
    """F(-x) is -f(x)."""

    def rule(b: Builder, x: Value) -> Value | None:
        unsigned = _unsigned(x)
        return b.neg(b.math(function, unsigned)) if unsigned else None

    return rule


_ODD_FUNCTIONS = ["erf", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt"]
_SINGLE: dict[str, Rule] = {
    "div": _divide,
    "sqrt": lambda b, x: b.approximate("sqrt", x),
    "rsqrt": lambda b, x: b.approximate("rsqrt", x),
}
_ANY_FLOAT: dict[str, Rule] = {
    **{"mul": _multiply, "add": _add, "sub": _subtract},
    **{function: _odd(function) for function in _ODD_FUNCTIONS},
}
