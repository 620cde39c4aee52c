"""Functions of elements: choosing, extremes, and mathematics of float32 and float64."""

from __future__ import annotations

import enum
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import dtype
from lazyblock.language.semantics import arithmetic
from lazyblock.language.semantics.convert import (
    cast,
    is_number,
    require_float,
    retype,
    to_tensor,
    unwrap_number,
    widen_bfloat16,
    widen_small,
)
from lazyblock.language.semantics.shapes import stretch, stretch_together
from lazyblock.language.tensor import describe, tensor


class PropagateNan(enum.Enum):
    """What an extreme of NaN and a number is: the number (NONE) or NaN (ALL)."""

    NONE = 0
    ALL = 0xFFFF


@builtin
def where(condition: Any, x: Any, y: Any) -> tensor:
    """`x` where `condition` holds, else `y`; both are evaluated, and promote as in `x + y`."""
    chooser = arithmetic.to_condition(condition)
    left, right = _alternatives(unwrap_number(x), unwrap_number(y))
    if chooser.handle.shape:
        chooser, left = stretch_together(chooser, left, operation="tl.where")
        right = stretch(right, left.handle.shape)
    chooser = stretch(chooser, left.handle.shape)
    handle = current_builder().select(chooser.handle, left.handle, right.handle)
    return retype(handle, left.dtype)


def _alternatives(x: Any, y: Any) -> tuple[tensor, tensor]:
    pointers = [isinstance(v, tensor) and v.dtype.is_ptr() for v in (x, y)]
    if not any(pointers):
        return arithmetic.meet("tl.where", x, y)
    if not all(pointers) or x.dtype != y.dtype:
        raise SemanticError(
            f"tl.where chooses between pointers of one type, got {describe(x)} and {describe(y)}."
        )
    left, right = stretch_together(x, y, operation="tl.where")
    return left, right


# --- extremes ------------------------------------------------------------------------------------


def _extreme(kind: str, x: Any, y: Any, propagate_nan: PropagateNan) -> tensor:
    first, second = (widen_bfloat16(to_tensor(value)) for value in (x, y))
    left, right = arithmetic.meet(f"tl.{kind}imum", first, second)
    return arithmetic.compute(extreme_kind(kind, left.dtype, propagate_nan), left, right)


def extreme_kind(kind: str, type: dtype, propagate_nan: PropagateNan) -> str:
    """The Binary kind of an extreme, by what it does with NaN."""
    if not isinstance(propagate_nan, PropagateNan):
        raise SemanticError(f"propagate_nan is {propagate_nan!r}, expected a tl.PropagateNan.")
    skips = type.is_floating() and propagate_nan is PropagateNan.NONE
    return f"{kind}num" if skips else kind


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The larger of each pair; NaN loses unless it propagates. bfloat16 gives float32."""
    return _extreme("max", x, y, propagate_nan)


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The smaller of each pair; NaN loses unless it propagates. bfloat16 gives float32."""
    return _extreme("min", x, y, propagate_nan)


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """`x` kept between `min` and `max`; floats only. NaN gives `min` unless it propagates."""
    wide = [widen_bfloat16(to_tensor(value)) for value in (x, min, max)]
    low, high = arithmetic.meet("tl.clamp", wide[1], wide[2])
    value, low = arithmetic.meet("tl.clamp", wide[0], low)
    value, high = arithmetic.meet("tl.clamp", value, high)
    if not value.dtype.is_floating():
        raise SemanticError(
            f"tl.clamp is of floats, got {describe(value)}.", hint="use tl.minimum and tl.maximum."
        )
    return minimum(maximum(value, low, propagate_nan), high, propagate_nan)


# --- one operand ---------------------------------------------------------------------------------


@builtin
def abs(x: Any) -> tensor:
    """Absolute value; integers wrap."""
    value = to_tensor(x)
    if value.dtype.is_int_unsigned():
        return value
    return cast(tensor(current_builder().abs(widen_small(value).handle)), value.dtype)


def _of_float(name: str, kind: str, is_unary: bool, does: str) -> Any:
    def function(x: Any) -> tensor:
        value = require_float(to_tensor(x), name)
        b = current_builder()
        handle = value.handle
        return tensor(b.unary(kind, handle) if is_unary else b.math(kind, handle))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{does} of each element; float32 and float64 only."
    return builtin(function)


floor = _of_float("floor", "floor", True, "Largest integer not above")
ceil = _of_float("ceil", "ceil", True, "Smallest integer not below")
sqrt = _of_float("sqrt", "sqrt", True, "Square root")
sqrt_rn = _of_float("sqrt_rn", "sqrt", True, "Correctly rounded square root")
rsqrt = _of_float("rsqrt", "rsqrt", False, "1 / square root")
exp = _of_float("exp", "exp", False, "e to the power")
exp2 = _of_float("exp2", "exp2", False, "2 to the power")
log = _of_float("log", "log", False, "Natural logarithm")
log2 = _of_float("log2", "log2", False, "Logarithm to base 2")
sin = _of_float("sin", "sin", False, "Sine")
cos = _of_float("cos", "cos", False, "Cosine")
erf = _of_float("erf", "erf", False, "Error function")


@builtin
def sigmoid(x: Any) -> tensor:
    """1 / (1 + exp(-x))."""
    value = to_tensor(x)
    below = arithmetic.add(1, exp(arithmetic.negate(value)))
    return arithmetic.binary("truediv", 1, below)


# --- two and three operands ----------------------------------------------------------------------


@builtin
def fma(x: Any, y: Any, z: Any) -> tensor:
    """x * y + z, rounded once."""
    first, second = arithmetic.meet("tl.fma", x, y)
    third, first = arithmetic.meet("tl.fma", z, first)
    third, second = arithmetic.meet("tl.fma", third, second)
    third, first = stretch_together(third, first)
    type, b = third.dtype, current_builder()
    if not type.is_floating():
        raise SemanticError(f"tl.fma is of floats, got {describe(third)}.", hint="write x * y + z.")
    wide = (widen_small(value).handle for value in (first, second, third))
    return cast(tensor(b.fma(*wide)), type)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: bool = False) -> tensor:
    """x / y of floats, in their own type."""
    left, right = arithmetic.meet("tl.fdiv", x, y)
    if not left.dtype.is_floating():
        raise SemanticError(f"tl.fdiv is of floats, got {describe(left)}.", hint="write x / y.")
    return arithmetic.compute("div", left, right)


@builtin
def div_rn(x: Any, y: Any) -> tensor:
    """x / y rounded to nearest; float32 and float64."""
    left, right = arithmetic.meet("tl.div_rn", x, y)
    return arithmetic.compute("div", require_float(left, "div_rn"), right)


@builtin
def umulhi(x: Any, y: Any) -> tensor:
    """Upper half of the product of 32 or 64-bit integers, taken as unsigned."""
    left, right = arithmetic.meet("tl.umulhi", to_tensor(x), to_tensor(y))
    type = left.dtype
    if not type.is_int() or type.primitive_bitwidth < 32:
        raise SemanticError(f"tl.umulhi is of 32 and 64-bit integers, got {type}.")
    return tensor(current_builder().binary("mulhi", left.handle, right.handle))


@builtin
def cdiv(x: Any, div: Any) -> Any:
    """(x + div - 1) // div: the quotient rounded up, of numbers that are not negative."""
    x, div = unwrap_number(x), unwrap_number(div)
    if is_number(x) and is_number(div):
        return (x + div - 1) // div
    above = arithmetic.add(x, arithmetic.sub(div, 1) if isinstance(div, tensor) else div - 1)
    return arithmetic.binary("floordiv", above, div)


add = builtin(arithmetic.add)
sub = builtin(arithmetic.sub)
mul = builtin(arithmetic.mul)
