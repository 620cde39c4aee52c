"""Functions of CUDA's libdevice that have a meaning on every device, by their names there.

Some are functions of the block IR, the others compositions of the language. All are of float32 and
float64 unless they say so; roundings to nearest are exact, approximations ("fast_...") are not
used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import dtype, float32, float64, int32, int64, uint32, uint64
from lazyblock.language.extra import directed, integers, parts, special
from lazyblock.language.extra.operands import document, meet
from lazyblock.language.semantics import arithmetic, elementwise
from lazyblock.language.semantics.convert import bitcast, cast, to_tensor
from lazyblock.language.semantics.create import full_like
from lazyblock.language.semantics.elementwise import where
from lazyblock.language.tensor import tensor

Block = Any  # a tensor, whose operators mypy does not see


def _math(name: str, kind: str = "") -> Any:
    def function(*arguments: Any) -> tensor:
        handles = [value.handle for value in meet(name, *arguments)]
        return tensor(current_builder().math(kind or name, *handles))

    return document(function, name, f"The function `{kind or name}`.")


def _unary(name: str, kind: str = "") -> Any:
    def function(arg0: Any) -> tensor:
        (value,) = meet(name, arg0)
        return tensor(current_builder().unary(kind or name, value.handle))

    return document(function, name, f"The function `{kind or name}`.")


def _binary(name: str, kind: str) -> Any:
    def function(arg0: Any, arg1: Any) -> tensor:
        left, right = meet(name, arg0, arg1)
        return arithmetic.compute(kind, left, right)

    return document(function, name, f"`{kind}` of floats, rounded to nearest.")


# --- functions of integers and of the block IR -------------------------------------------------

brev, clz, ffs, popc = integers.brev, integers.clz, integers.ffs, integers.popc
hadd, rhadd, mul24, sad = integers.hadd, integers.rhadd, integers.mul24, integers.sad
acos, acosh, asin, asinh = (_math(name) for name in ("acos", "acosh", "asin", "asinh"))
atan, atan2, atanh, cbrt = (_math(name) for name in ("atan", "atan2", "atanh", "cbrt"))
cos, cosh, erf, erfc, exp = (_math(name) for name in ("cos", "cosh", "erf", "erfc", "exp"))
exp2, expm1, hypot, lgamma = (_math(name) for name in ("exp2", "expm1", "hypot", "lgamma"))
log, log10, log1p, log2 = (_math(name) for name in ("log", "log10", "log1p", "log2"))
rsqrt, sin, sinh, tan = (_math(name) for name in ("rsqrt", "sin", "sinh", "tan"))
tanh, tgamma = _math("tanh"), _math("tgamma")
fast_cosf, fast_sinf, fast_tanf = (_math(f"fast_{name}f", name) for name in ("cos", "sin", "tan"))
fast_expf, fast_logf = _math("fast_expf", "exp"), _math("fast_logf", "log")
fast_log2f, fast_log10f = _math("fast_log2f", "log2"), _math("fast_log10f", "log10")
fast_powf, fast_tanhf = _math("fast_powf", "pow"), _math("fast_tanhf", "tanh")
rsqrt_rn = _math("rsqrt_rn", "rsqrt")

floor, ceil, trunc, rint = (_unary(name) for name in ("floor", "ceil", "trunc", "rint"))
nearbyint = _unary("nearbyint", "rint")
sqrt, sqrt_rn = _unary("sqrt"), _unary("sqrt_rn", "sqrt")

add_rn, sub_rn, mul_rn = (
    _binary("add_rn", "add"),
    _binary("sub_rn", "sub"),
    _binary("mul_rn", "mul"),
)
div_rn, fast_dividef = _binary("div_rn", "div"), _binary("fast_dividef", "div")
fmod = _binary("fmod", "rem")
fma = elementwise.fma
fma_rn = elementwise.fma
mulhi = elementwise.umulhi


@builtin
def pow(arg0: Any, arg1: Any) -> tensor:
    """arg0 to the power arg1, which may be an integer."""
    left, right = meet("pow", arg0, cast_integer(arg1, to_tensor(arg0)))
    return tensor(current_builder().math("pow", left.handle, right.handle))


def cast_integer(value: Any, like: tensor) -> tensor:
    """An integer operand as the float type of the other."""
    operand = to_tensor(value)
    return cast(operand, like.dtype) if operand.dtype.is_int() else operand


@builtin
def abs(arg0: Any) -> tensor:
    """Absolute value of floats or integers."""
    return elementwise.abs(arg0)


fabs = abs


@builtin
def max(arg0: Any, arg1: Any) -> tensor:
    """The larger one; a number wins over NaN."""
    return elementwise.maximum(arg0, arg1)


@builtin
def min(arg0: Any, arg1: Any) -> tensor:
    """The smaller one; a number wins over NaN."""
    return elementwise.minimum(arg0, arg1)


fmax, fmin = max, min


# --- signs and classes ---------------------------------------------------------------------------


def _integers(value: tensor) -> dtype:
    """Integers as wide as a float."""
    return int32 if value.dtype == float32 else int64


def _sign_bit(value: tensor) -> Block:
    bits: Block = bitcast(value, _integers(value))
    return bits < 0


@builtin
def signbit(arg0: Any) -> tensor:
    """1 where the sign bit is set, else 0; int32."""
    (value,) = meet("signbit", arg0)
    return cast(_sign_bit(value), int32)


@builtin
def isnan(arg0: Any) -> tensor:
    """Where there is no number, int1."""
    (value,) = meet("isnan", arg0)
    return arithmetic.compare("ne", value, value)


@builtin
def isinf(arg0: Any) -> tensor:
    """Where there is an infinity, int1."""
    (value,) = meet("isinf", arg0)
    return arithmetic.compare("eq", elementwise.abs(value), math.inf)


@builtin
def finitef(arg0: Any) -> tensor:
    """Where there is neither NaN nor an infinity, int1."""
    (value,) = meet("finitef", arg0)
    return arithmetic.compare("lt", elementwise.abs(value), math.inf)


isfinited = finitef


@builtin
def copysign(arg0: Any, arg1: Any) -> tensor:
    """The size of arg0 with the sign of arg1."""
    left, right = meet("copysign", arg0, arg1)
    size = elementwise.abs(left)
    return where(_sign_bit(right), arithmetic.negate(size), size)


@builtin
def fdim(arg0: Any, arg1: Any) -> tensor:
    """arg0 - arg1 where that is positive, else 0."""
    left, right = meet("fdim", arg0, arg1)
    difference: Block = arithmetic.sub(left, right)
    return where(arithmetic.compare("le", left, right), 0.0, difference)


@builtin
def saturatef(arg0: Any) -> tensor:
    """Kept within 0 and 1; NaN gives 0."""
    (value,) = meet("saturatef", arg0)
    return elementwise.clamp(value, 0.0, 1.0)


# --- rounding ------------------------------------------------------------------------------------


@builtin
def round(arg0: Any) -> tensor:
    """The nearest integer, halves away from zero, as a float."""
    (value,) = meet("round", arg0)
    whole: Block = tensor(current_builder().unary("trunc", value.handle))
    is_half = arithmetic.compare("ge", elementwise.abs(value - whole), 0.5)
    return where(is_half, whole + copysign(full_like(value, 1.0), value), whole)


_ROUNDERS: dict[str, Callable[[Any], tensor]] = {"rn": rint, "rz": trunc, "rd": floor, "ru": ceil}
_INTEGERS = {"int": int32, "uint": uint32, "ll": int64, "ull": uint64}


def _to_integer(name: str, type: dtype, round_first: Callable[[Any], tensor]) -> Any:
    def function(arg0: Any) -> tensor:
        return cast(round_first(arg0), type)

    return document(function, name, f"Rounded, as {type}; out of range it saturates.")


llrint, llround = _to_integer("llrint", int64, rint), _to_integer("llround", int64, round)
for _source in ("float", "double"):
    for _target, _type in _INTEGERS.items():
        for _mode, _rounder in _ROUNDERS.items():
            _name = f"{_source}2{_target}_{_mode}"
            globals()[_name] = _to_integer(_name, _type, _rounder)


def _cast_to(name: str, type: dtype) -> Any:
    return document(lambda arg0: cast(to_tensor(arg0), type), name, f"As {type}, to nearest.")


int2float_rn, uint2float_rn = _cast_to("int2float_rn", float32), _cast_to("uint2float_rn", float32)
ll2float_rn, ull2float_rn = _cast_to("ll2float_rn", float32), _cast_to("ull2float_rn", float32)
ll2double_rn, ull2double_rn = _cast_to("ll2double_rn", float64), _cast_to("ull2double_rn", float64)
int2double_rn, uint2double_rn = (
    _cast_to("int2double_rn", float64),
    _cast_to("uint2double_rn", float64),
)
double2float_rn = _cast_to("double2float_rn", float32)


def _bits_as(name: str, type: dtype) -> Any:
    return document(lambda arg0: bitcast(to_tensor(arg0), type), name, f"The bits as {type}.")


float_as_int, int_as_float = _bits_as("float_as_int", int32), _bits_as("int_as_float", float32)
float_as_uint, uint_as_float = _bits_as("float_as_uint", uint32), _bits_as("uint_as_float", float32)
double_as_longlong = _bits_as("double_as_longlong", int64)
longlong_as_double = _bits_as("longlong_as_double", float64)


# --- compositions --------------------------------------------------------------------------------


@builtin
def exp10(arg0: Any) -> tensor:
    """10 to the power."""
    (value,) = meet("exp10", arg0)
    return pow(full_like(value, 10.0), value)


fast_exp10f = exp10


def _reciprocal(value: Any) -> tensor:
    left, right = meet("rcp_rn", 1.0, value)
    return arithmetic.compute("div", left, right)


@builtin
def rcp_rn(arg0: Any) -> tensor:
    """1 / x, rounded to nearest."""
    return _reciprocal(arg0)


@builtin
def rcbrt(arg0: Any) -> tensor:
    """1 / cube root."""
    return _reciprocal(cbrt(arg0))


@builtin
def rhypot(arg0: Any, arg1: Any) -> tensor:
    """1 / hypot."""
    return _reciprocal(hypot(arg0, arg1))


@builtin
def norm3d(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """Length of a vector of three."""
    length: tensor = hypot(hypot(arg0, arg1), arg2)
    return length


@builtin
def norm4d(arg0: Any, arg1: Any, arg2: Any, arg3: Any) -> tensor:
    """Length of a vector of four."""
    length: tensor = hypot(hypot(arg0, arg1), hypot(arg2, arg3))
    return length


@builtin
def rnorm3d(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """1 / length of a vector of three."""
    return _reciprocal(norm3d(arg0, arg1, arg2))


@builtin
def rnorm4d(arg0: Any, arg1: Any, arg2: Any, arg3: Any) -> tensor:
    """1 / length of a vector of four."""
    return _reciprocal(norm4d(arg0, arg1, arg2, arg3))


@builtin
def normcdf(arg0: Any) -> tensor:
    """Probability that a normally distributed number is smaller."""
    (value,) = meet("normcdf", arg0)
    return arithmetic.mul(0.5, erfc(arithmetic.mul(value, -math.sqrt(0.5))))


def _of_pi(name: str, function: Any) -> Any:
    def of_pi(arg0: Any) -> tensor:
        (value,) = meet(name, arg0)
        turns: Block = value - 2.0 * rint(value * 0.5)  # exact
        found: tensor = function(turns * math.pi)
        return found

    return document(of_pi, name, f"`{name[:3]}` of pi times the argument.")


sinpi, cospi = _of_pi("sinpi", sin), _of_pi("cospi", cos)


# --- bits of floats ------------------------------------------------------------------------------


@builtin
def nextafter(arg0: Any, arg1: Any) -> tensor:
    """The next float from arg0 towards arg1."""
    left, right = meet("nextafter", arg0, arg1)
    type = _integers(left)
    bits: Block = bitcast(left, type)
    grows = arithmetic.binary("xor", arithmetic.compare("lt", left, right), bits < 0)
    moved = bits + where(grows, 1, -1)
    smallest = where(_sign_bit(right), type.get_int_min_value() + 1, 1)
    moved = where(left == 0.0, cast(smallest, type), cast(moved, type))
    moved = where(left == right, bitcast(right, type), moved)
    nan = arithmetic.add(left, right)
    return where(
        arithmetic.compare("ne", nan, nan), _nan_of(left, right), bitcast(moved, left.dtype)
    )


def _nan_of(left: Block, right: Block) -> tensor:
    """NaN where either is; opposite infinities are numbers still."""
    either = arithmetic.logical_or(left != left, right != right)
    return where(either, math.nan, _step_from_infinity(left))


def _step_from_infinity(left: Block) -> tensor:
    """From an infinity towards the other: the largest float."""
    largest = 3.4028234663852886e38 if left.dtype == float32 else 1.7976931348623157e308
    return copysign(full_like(left, largest), left)


@builtin
def ldexp(arg0: Any, arg1: Any) -> tensor:
    """arg0 times 2 to the integer arg1, in steps that round once."""
    (value,) = meet("ldexp", arg0)
    power: Block = to_tensor(arg1)
    if not power.dtype.is_int():
        raise SemanticError("ldexp takes an integer power.")
    exact = cast(elementwise.maximum(elementwise.minimum(power, 4200), -4200), float64)
    two = full_like(exact, 2.0)
    half = tensor(current_builder().unary("trunc", arithmetic.mul(exact, 0.5).handle))
    quarter = tensor(current_builder().unary("trunc", arithmetic.mul(half, 0.5).handle))
    wide: Block = cast(value, float64)
    for step in (quarter, arithmetic.sub(half, quarter), arithmetic.sub(exact, half)):
        wide = wide * pow(two, step)
    return cast(wide, value.dtype)


scalbn = ldexp


# --- names that are made by tables ---------------------------------------------------------------

globals().update(directed.FUNCTIONS | parts.FUNCTIONS | special.FUNCTIONS)
