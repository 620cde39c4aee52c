"""Operators: how operands meet, and which op of the block IR computes them.

Rows of `ARITHMETIC`, `COMPARISONS`... say which types an operator takes. Integers wrap, `//` and
`%` truncate, `/` of halves and integers gives float32, `>>` keeps the sign of a signed left side.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from lazyblock.errors import KernelWarning, SemanticError
from lazyblock.language.context import current, current_builder
from lazyblock.language.dtypes import dtype, float32, int1, int32, int64
from lazyblock.language.semantics.convert import (
    bitcast,
    cast,
    check_range,
    is_number,
    retype,
    scalar,
    to_tensor,
    unwrap_number,
    widen_small,
)
from lazyblock.language.semantics.debug import check_overflow
from lazyblock.language.semantics.promotion import (
    check_signedness,
    literal_type,
    promote,
    promote_literal,
)
from lazyblock.language.semantics.shapes import stretch_together
from lazyblock.language.tensor import composite, describe, tensor


class Operator(NamedTuple):
    """What a binary operator takes: "f" floats, "i" integers; and what it is in the block IR."""

    sign: str
    kind: str
    takes: str
    divides: bool = False


ARITHMETIC = {
    "add": Operator("+", "add", "fi"),
    "sub": Operator("-", "sub", "fi"),
    "mul": Operator("*", "mul", "fi"),
    "truediv": Operator("/", "div", "fi", divides=True),
    "floordiv": Operator("//", "div", "i", divides=True),
    "mod": Operator("%", "rem", "fi", divides=True),
    "and": Operator("&", "and", "i"),
    "or": Operator("|", "or", "i"),
    "xor": Operator("^", "xor", "i"),
    "lshift": Operator("<<", "shl", "i"),
    "rshift": Operator(">>", "shr", "i"),
}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def meet(sign: str, lhs: Any, rhs: Any, divides: bool = False) -> tuple[tensor, tensor]:
    """Both operands in the type and shape in which they meet; neither is a pointer."""
    left, right = unwrap_number(lhs), unwrap_number(rhs)
    for value in (left, right):
        if not isinstance(value, tensor) and not is_number(value):
            hint = "load it first." if isinstance(value, composite) else ""
            raise SemanticError(_no_meaning(sign, left, right), hint=hint)
        if isinstance(value, tensor) and value.dtype.is_ptr():
            raise SemanticError(_no_meaning(sign, lhs, rhs), hint="load what it points to.")
    type = _common_type(sign, left, right, divides)
    values = [_adapt(value, type) for value in (left, right)]
    first, second = stretch_together(*values, operation=f"'{sign}'")
    return first, second


def _no_meaning(sign: str, lhs: Any, rhs: Any) -> str:
    return f"'{sign}' has no meaning for {describe(lhs)} and {describe(rhs)}."


def _common_type(sign: str, left: Any, right: Any, divides: bool) -> dtype:
    if is_number(left) == is_number(right):
        lhs, rhs = to_tensor(left).dtype, to_tensor(right).dtype
    else:
        literal, operand = (left, right) if is_number(left) else (right, left)
        lhs, rhs = operand.dtype, literal_type(literal)
        type = promote_literal(lhs, rhs, divides)
        if type.is_int() and isinstance(literal, int) and not isinstance(literal, bool):
            check_range(literal, type)
        if rhs.kind().value <= lhs.kind().value:
            return type
    if divides:
        check_signedness(lhs, rhs, sign)
    return promote(lhs, rhs, divides)


def _adapt(value: Any, type: dtype) -> tensor:
    return scalar(value, type) if is_number(value) else cast(value, type)


# --- arithmetic ----------------------------------------------------------------------------------


def binary(name: str, lhs: Any, rhs: Any) -> tensor:
    """One of ARITHMETIC on numbers."""
    operator = ARITHMETIC[name]
    left, right = meet(operator.sign, lhs, rhs, operator.divides)
    if operator.sign in ("<<", ">>"):
        _warn_of_wide_shift(operator.sign, left.dtype, unwrap_number(rhs))
    if name == "truediv" and left.dtype.is_int():
        left, right = cast(left, float32), cast(right, float32)
    type = left.dtype
    if ("f" if type.is_floating() else "i") not in operator.takes:
        hint = "use tl.floor(x / y)." if name == "floordiv" else "bitcast to an integer type."
        raise SemanticError(f"'{operator.sign}' is of integers, got {type}.", hint=hint)
    return compute(operator.kind, left, right)


def compute(kind: str, left: tensor, right: tensor) -> tensor:
    """A Binary of the block IR on operands of one type; float8 by way of float32."""
    wide = [widen_small(value).handle for value in (left, right)]
    return cast(tensor(current_builder().binary(kind, *wide)), left.dtype)


def add(lhs: Any, rhs: Any, sanitize_overflow: bool = True) -> tensor:
    """Sum; pointer + integer counts elements."""
    left, right = unwrap_number(lhs), unwrap_number(rhs)
    pointers = [_is_pointer(value) for value in (left, right)]
    if all(pointers):
        raise SemanticError(f"Two pointers cannot be added: {describe(lhs)} and {describe(rhs)}.")
    if any(pointers):
        return move(left, right, "add") if pointers[0] else move(right, left, "add")
    return _checked("add", left, right, sanitize_overflow)


def sub(lhs: Any, rhs: Any, sanitize_overflow: bool = True) -> tensor:
    """Difference; pointer - integer counts elements."""
    left, right = unwrap_number(lhs), unwrap_number(rhs)
    if _is_pointer(left) and not _is_pointer(right):
        return move(left, right, "sub")
    return _checked("sub", left, right, sanitize_overflow)


def mul(lhs: Any, rhs: Any, sanitize_overflow: bool = True) -> tensor:
    """Product."""
    return _checked("mul", lhs, rhs, sanitize_overflow)


def _checked(name: str, lhs: Any, rhs: Any, sanitize_overflow: bool) -> tensor:
    result = binary(name, lhs, rhs)
    if current().debug and sanitize_overflow and result.dtype.is_int():
        left, right = meet(ARITHMETIC[name].sign, lhs, rhs)
        check_overflow(ARITHMETIC[name], left, right)
    return result


def add_plain(lhs: Any, rhs: Any) -> tensor:
    """Sum of numbers that is not watched for overflow."""
    return binary("add", lhs, rhs)


def _is_pointer(value: Any) -> bool:
    return isinstance(value, tensor) and bool(value.dtype.is_ptr())


def move(pointer: tensor, offset: Any, name: str) -> tensor:
    """`pointer` moved by elements; offsets without a sign count as such below 64 bits."""
    sign, given = ARITHMETIC[name].sign, unwrap_number(offset)
    is_value = isinstance(given, tensor) or is_number(given)
    if not is_value or not to_tensor(given).dtype.is_int():
        raise SemanticError(
            _no_meaning(sign, pointer, given), hint="pointers move by integers, in elements."
        )
    value = _as_offset(to_tensor(given))
    b = current_builder()
    place, value = stretch_together(pointer, value, operation=f"pointer {sign} offset")
    step = b.neg(value.handle) if name == "sub" else value.handle
    return retype(b.add_pointer(place.handle, step), pointer.dtype)


def _as_offset(value: tensor) -> tensor:
    if value.dtype.is_int_unsigned():
        return bitcast(value, int64) if value.dtype.primitive_bitwidth == 64 else cast(value, int64)
    return cast(value, int32) if value.dtype.primitive_bitwidth < 32 else value


# --- bits ----------------------------------------------------------------------------------------


def _warn_of_wide_shift(sign: str, type: dtype, count: Any) -> None:
    """Warn of a known count that leaves no bit; Triton leaves the result undefined."""
    bits = type.primitive_bitwidth
    if isinstance(count, int) and not 0 <= count < bits:
        text = f"'{sign}' by {count} leaves nothing of the {bits} bits of {type}."
        warnings.warn_explicit(text, KernelWarning, *current_builder().line)


def shift_right(lhs: Any, rhs: Any) -> tensor:
    """`>>`: copies of the sign come in if the left operand has one, else zeros."""
    lhs, rhs = unwrap_number(lhs), unwrap_number(rhs)
    named = lhs if isinstance(lhs, tensor) else to_tensor(rhs)
    left, right = meet(">>", lhs, rhs)
    type = left.dtype
    _warn_of_wide_shift(">>", type, rhs)
    if type.is_floating():
        raise SemanticError(_no_meaning(">>", lhs, rhs), hint="bitcast to an integer type.")
    if type.is_bool():
        return binary("rshift", left, right)
    kind = "i" if named.dtype.is_int_signed() else "u"
    as_kept = dtype(f"{'u' if kind == 'u' else ''}int{type.primitive_bitwidth}")
    shifted = binary("rshift", bitcast(left, as_kept), bitcast(right, as_kept))
    return bitcast(shifted, type)


def invert(value: Any) -> tensor:
    """`~`: every bit flipped; of int1, not."""
    operand = to_tensor(value)
    if not operand.dtype.is_int():
        raise SemanticError(f"'~' is of integers, got {describe(operand)}.")
    return tensor(current_builder().not_(operand.handle))


def negate(value: Any) -> tensor:
    """`-`: integers wrap."""
    operand = to_tensor(value)
    if operand.dtype.is_ptr():
        raise SemanticError(f"'-' has no meaning for {describe(operand)}.")
    return cast(tensor(current_builder().neg(widen_small(operand).handle)), operand.dtype)


def positive(value: Any) -> tensor:
    """`+`: the value itself."""
    return to_tensor(value)


# --- comparisons and logic -----------------------------------------------------------------------


def compare(name: str, lhs: Any, rhs: Any) -> tensor:
    """One of COMPARISONS, to int1; ordered, save that NaN != anything. Pointers by address."""
    lhs, rhs = unwrap_number(lhs), unwrap_number(rhs)
    if _is_pointer(lhs) and _is_pointer(rhs):
        lhs, rhs = cast(lhs, int64), cast(rhs, int64)
    left, right = (widen_small(value) for value in meet(COMPARISONS[name], lhs, rhs))
    return tensor(current_builder().compare(name, left.handle, right.handle))


def to_condition(value: Any) -> tensor:
    """`value != 0` as int1."""
    return cast(to_tensor(value), int1)


def logical(name: str, lhs: Any, rhs: Any) -> tensor:
    """`and` and `or` of conditions, both evaluated."""
    return binary(name, to_condition(lhs), to_condition(rhs))


def logical_and(lhs: Any, rhs: Any) -> tensor:
    """Both differ from 0."""
    return logical("and", lhs, rhs)


def logical_or(lhs: Any, rhs: Any) -> tensor:
    """At least one differs from 0."""
    return logical("or", lhs, rhs)


def logical_not(value: Any) -> tensor:
    """`value == 0`."""
    return invert(to_condition(value))


def operators() -> dict[str, Callable[..., tensor]]:
    """Python's special methods of tensors, the reflected ones included."""
    found: dict[str, Callable[..., tensor]] = {}
    special: dict[str, Callable[..., tensor]] = {
        "add": add,
        "sub": sub,
        "mul": mul,
        "rshift": shift_right,
    }
    for name in ARITHMETIC:
        function = special.get(name, _named(binary, name))
        found[f"__{name}__"] = function
        found[f"__r{name}__"] = _reflected(function)
    for name in COMPARISONS:
        found[f"__{name}__"] = _named(compare, name)
    found["__pow__"] = found["__rpow__"] = _refuse_power
    found |= {"__neg__": negate, "__pos__": positive, "__invert__": invert}
    found |= {"logical_and": logical_and, "logical_or": logical_or, "__not__": logical_not}
    return found


def _refuse_power(lhs: Any, rhs: Any) -> tensor:
    raise SemanticError(
        _no_meaning("**", lhs, rhs), hint="multiply, or use tl.extra.libdevice.pow."
    )


def _named(function: Callable[..., tensor], name: str) -> Callable[..., tensor]:
    return lambda lhs, rhs: function(name, lhs, rhs)


def _reflected(function: Callable[..., tensor]) -> Callable[..., tensor]:
    return lambda rhs, lhs: function(lhs, rhs)
