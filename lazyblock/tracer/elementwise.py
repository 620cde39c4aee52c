"""Elementwise functions of the namespace, under the array API's names and NumPy's.

All record one function of the table in `functions.py`; operands are arrays, NumPy arrays and
scalars, nested lists, and Python numbers, which are weak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.lazy_imports import lazy_import
from lazyblock.tracer.array import Array, ArrayCell, record, recorder
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.functions import FUNCTIONS, Function
from lazyblock.tracer.operators import binary, unary
from lazyblock.tracer.protocols import namespace

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "round",
    "rsqrt",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "tgamma",
    "true_divide",
    "trunc",
    "where",
]

ufuncs = lazy_import("lazyblock.tracer.ufuncs")

_NOT_GIVEN: Any = object()

Elementwise = Callable[..., Array]


def _checked(result: Array, function: Function, *values: Any) -> Array:
    """Raises: DTypeError when `record` did not know a value."""
    if result is NotImplemented:
        kinds = ", ".join(type(value).__name__ for value in values)
        raise DTypeError(f"'{function.name}' takes arrays and numbers, not ({kinds}).")
    return result


def _unary(name: str) -> Elementwise:
    function, compute, of_array = FUNCTIONS[name], recorder(name), unary(name)

    def recorded(x: Any, /, out: Any = None, **settings: Any) -> Array:
        if out is not None or settings:
            updated: Array = _call_as_ufunc(name, (x,), out, **settings)
            return updated
        result = of_array(x) if type(x) is Array else compute(x)
        return _checked(result, function, x) if result is NotImplemented else result

    return _named(recorded, name)


def _binary(name: str) -> Elementwise:
    function, compute, of_array = FUNCTIONS[name], recorder(name), binary(name)

    def recorded(x1: Any, x2: Any, /, out: Any = None, **settings: Any) -> Array:
        if out is not None or settings:
            updated: Array = _call_as_ufunc(name, (x1, x2), out, **settings)
            return updated
        result = of_array(x1, x2) if type(x1) is Array else compute(x1, x2)
        return _checked(result, function, x1, x2) if result is NotImplemented else result

    for method in ("accumulate", "at", "outer", "reduce", "reduceat"):
        setattr(recorded, method, _ufunc_method(name, method))
    return _named(recorded, name)


def _call_as_ufunc(
    name: str, inputs: tuple[Any, ...], out: Any, where: Any = True, **settings: Any
) -> Any:
    """With the settings of NumPy's ufunc of that name. Raises: DTypeError where there is none."""
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc):
        targets = (None,) * ufunc.nout if out is None else out
        targets = targets if isinstance(targets, tuple) else (targets,)
        return ufuncs.call(ufunc, inputs, targets, where, settings)
    if settings or where is not True:
        unknown = next(iter(settings), "where")
        raise DTypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    return ufuncs.write_out(recorder(name)(*inputs), out, name)


def _in_numpy(name: str) -> Callable[..., Any]:
    """A function that has no form in kernels."""

    def recorded(x: Any, /, *others: Any, out: Any = None, **settings: Any) -> Any:
        return _call_as_ufunc(name, (x, *others), out, **settings)

    recorded.is_on_host = True  # type: ignore[attr-defined]
    return _named(recorded, name)


def _ufunc_method(name: str, method: str) -> Callable[..., Any]:
    """`np.add.reduce` of lazy arrays, as `lb.add.reduce`."""
    function = getattr(getattr(np, name), method)
    change = (lambda x: x) if method == "at" else to_array
    return lambda x, *args, **settings: function(change(x), *args, **settings)


def _named(function: Callable[..., Array], name: str) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise '{name}'; dtypes and special values are NumPy's."
    return function


abs = absolute = _unary("absolute")
acos = arccos = _unary("arccos")
acosh = arccosh = _unary("arccosh")
asin = arcsin = _unary("arcsin")
asinh = arcsinh = _unary("arcsinh")
atan = arctan = _unary("arctan")
atanh = arctanh = _unary("arctanh")
cbrt = _unary("cbrt")
ceil = _unary("ceil")
conj = conjugate = _unary("conjugate")
cos = _unary("cos")
cosh = _unary("cosh")
deg2rad = _unary("deg2rad")
degrees = _unary("degrees")
erf = _unary("erf")
erfc = _unary("erfc")
exp = _unary("exp")
exp2 = _unary("exp2")
expm1 = _unary("expm1")
fabs = _unary("fabs")
floor = _unary("floor")
bitwise_invert = bitwise_not = invert = _unary("invert")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
lgamma = _unary("lgamma")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
logical_not = _unary("logical_not")
negative = _unary("negative")
positive = _unary("positive")
rad2deg = _unary("rad2deg")
radians = _unary("radians")
reciprocal = _unary("reciprocal")
rint = _unary("rint")
rsqrt = _unary("rsqrt")
sign = _unary("sign")
signbit = _unary("signbit")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")
tgamma = _unary("tgamma")
trunc = _unary("trunc")

add = _binary("add")
atan2 = arctan2 = _binary("arctan2")
bitwise_and = _binary("bitwise_and")
bitwise_or = _binary("bitwise_or")
bitwise_xor = _binary("bitwise_xor")
copysign = _binary("copysign")
true_divide = divide = _binary("divide")
equal = _binary("equal")
float_power = _binary("float_power")
floor_divide = _binary("floor_divide")
fmax = _binary("fmax")
fmin = _binary("fmin")
fmod = _binary("fmod")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
heaviside = _binary("heaviside")
hypot = _binary("hypot")
bitwise_left_shift = left_shift = _binary("left_shift")
less = _binary("less")
less_equal = _binary("less_equal")
logaddexp = _binary("logaddexp")
logaddexp2 = _binary("logaddexp2")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
nextafter = _binary("nextafter")
not_equal = _binary("not_equal")
pow = power = _binary("power")
mod = remainder = _binary("remainder")
bitwise_right_shift = right_shift = _binary("right_shift")
subtract = _binary("subtract")

frexp = _in_numpy("frexp")
gcd = _in_numpy("gcd")
lcm = _in_numpy("lcm")
ldexp = _in_numpy("ldexp")
modf = _in_numpy("modf")
spacing = _in_numpy("spacing")


@overload
def where(condition: Any, /) -> tuple[Array, ...]: ...


@overload
def where(condition: Any, x1: Any, x2: Any, /) -> Array: ...


def where(condition: Any, x1: Any = _NOT_GIVEN, x2: Any = _NOT_GIVEN, /) -> Any:
    """Elements of `x1` where `condition` holds, of `x2` elsewhere; alone, its `nonzero`."""
    if x1 is _NOT_GIVEN or x2 is _NOT_GIVEN:
        if x1 is x2:
            return namespace().nonzero(condition)
        raise ValueRangeError("either both or neither of x and y should be given")
    function = FUNCTIONS["where"]
    found = _checked(record(function, condition, x1, x2), function, condition, x1, x2)
    return Array(ArrayCell(found._cell.node, found._cell.device))  # without axes: no number


def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """Move elements into min..max; None leaves a side open."""
    return to_array(x).clip(min, max)


def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """Floor quotient and remainder."""
    return floor_divide(x1, x2), remainder(x1, x2)


def round(x: Any, /, decimals: int = 0) -> Array:
    """Nearest integral values, halves to even."""
    return to_array(x).round(decimals)


around = round
