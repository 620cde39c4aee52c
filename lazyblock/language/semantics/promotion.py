"""In which type two operands meet, as a table of rules tried in order.

A literal counts only where its kind (bool < int < float) is above the other operand's. `divides`
stands for `/`, `//` and `%`, which leave the half types for float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lazyblock.errors import SemanticError
from lazyblock.language.dtypes import bfloat16, dtype, float16, float32, float64


class Rule(NamedTuple):
    """`applies(lhs, rhs, divides)`; then `result`, or what `choose(lhs, rhs)` gives."""

    applies: Callable[[dtype, dtype, bool], bool]
    result: dtype | None = None
    choose: Callable[[dtype, dtype], dtype] | None = None


def _one_is(wanted: dtype) -> Callable[[dtype, dtype, bool], bool]:
    return lambda lhs, rhs, divides: wanted in (lhs, rhs)


def promote_integers(lhs: dtype, rhs: dtype) -> dtype:
    """The wider wins; of two as wide the unsigned one."""
    if lhs.int_bitwidth != rhs.int_bitwidth:
        return lhs if lhs.int_bitwidth > rhs.int_bitwidth else rhs
    return lhs if lhs.is_int_unsigned() else rhs


RULES = (
    Rule(_one_is(float64), float64),
    Rule(lambda lhs, rhs, divides: divides and (lhs.is_floating() or rhs.is_floating()), float32),
    Rule(_one_is(float32), float32),
    Rule(_one_is(float16), float16),
    Rule(lambda lhs, rhs, divides: lhs == rhs == bfloat16, bfloat16),
    Rule(_one_is(bfloat16), float32),
    Rule(lambda lhs, rhs, divides: lhs.is_fp8() and lhs == rhs, choose=lambda lhs, rhs: lhs),
    Rule(lambda lhs, rhs, divides: lhs.is_fp8() and rhs.is_fp8(), float16),
    Rule(lambda lhs, rhs, divides: lhs.is_int() and rhs.is_int(), choose=promote_integers),
)


def promote(lhs: dtype, rhs: dtype, divides: bool = False) -> dtype:
    """Type in which operands of two number types meet."""
    for rule in RULES:
        if rule.applies(lhs, rhs, divides):
            found = rule.result if rule.choose is None else rule.choose(lhs, rhs)
            assert found is not None
            return found
    raise SemanticError(
        f"{lhs} and {rhs} have no common type.", hint="cast one of them with .to(...)."
    )


def promote_literal(operand: dtype, literal: dtype, divides: bool = False) -> dtype:
    """Type in which an operand meets a literal, whose own type is `literal`."""
    if literal.kind().value > operand.kind().value:
        return promote(operand, literal, divides)
    is_left = divides and operand.is_floating() and operand.primitive_bitwidth < 32
    return float32 if is_left else operand


def check_signedness(lhs: dtype, rhs: dtype, sign: str) -> None:
    """Integers of different signedness do not divide."""
    if lhs.is_int() and rhs.is_int() and lhs.int_signedness != rhs.int_signedness:
        raise SemanticError(
            f"'{sign}' of {lhs} and {rhs}, of which only one has a sign, is refused.",
            note="the result would hardly be what is wanted.",
            hint="cast both to one signedness with .to(...).",
        )


def literal_type(value: Any) -> dtype:
    """The type of a Python number standing alone."""
    for fits, type in _LITERALS:
        if fits(value):
            return type
    raise SemanticError(f"The integer {value} does not fit in 64 bits.")


def _is_normal_float32(value: float) -> bool:
    size = abs(value)
    is_special = size in (0.0, float("inf")) or value != value
    return is_special or 2.0**-126 <= size <= (2 - 2.0**-23) * 2.0**127


def _is_within(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and low <= value < high


_LITERALS: tuple[tuple[Callable[[Any], bool], dtype], ...] = (
    (lambda value: isinstance(value, bool), dtype("int1")),
    (_is_within(-(2**31), 2**31), dtype("int32")),
    (_is_within(2**31, 2**32), dtype("uint32")),
    (_is_within(-(2**63), 2**63), dtype("int64")),
    (_is_within(2**63, 2**64), dtype("uint64")),
    (lambda value: isinstance(value, float) and _is_normal_float32(value), float32),
    (lambda value: isinstance(value, float), float64),
)
