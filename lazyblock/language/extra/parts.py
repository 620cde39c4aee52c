"""Names of libdevice about parts of numbers: exponents, halves of a double, bytes, remainders."""

from __future__ import annotations

import math
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import float32, float64, int32, int64, uint32, uint64
from lazyblock.language.extra import rounding
from lazyblock.language.extra.operands import document, meet
from lazyblock.language.semantics import arithmetic, elementwise
from lazyblock.language.semantics.convert import bitcast, cast, to_tensor
from lazyblock.language.semantics.elementwise import where
from lazyblock.language.tensor import tensor

Block = Any  # a tensor, whose operators mypy does not see
_HIGH = 0xFFFFFFFF_00000000


def _exponent(value: Block) -> Block:
    """floor(log2(|x|)) of ordinary numbers, int32."""
    wide = cast(value, float64).handle
    return cast(tensor(rounding.normalise(current_builder(), wide)[1]), int32)


def _ilogb(arg0: Any) -> tensor:
    (value,) = meet("ilogb", arg0)
    size: Block = elementwise.abs(value)
    found = where(size == math.inf, 2**31 - 1, _exponent(value))
    has_none = arithmetic.logical_or(value == 0.0, value != value)
    return where(has_none, cast(-(2**31), int32), found)


def _logb(arg0: Any) -> tensor:
    (value,) = meet("logb", arg0)
    size = elementwise.abs(value)
    found = where(value == 0.0, -math.inf, cast(_exponent(value), value.dtype))
    is_ordinary = arithmetic.compare("lt", size, math.inf)
    return where(is_ordinary, found, size)  # infinity, or NaN


def _remainder(arg0: Any, arg1: Any) -> tensor:
    """What fmod by 2y leaves is below 2y: y is taken away never, once or twice, exactly."""
    x, y = meet("remainder", arg0, arg1)
    size: Block = elementwise.abs(y)
    positive, twice = elementwise.abs(x), arithmetic.add(size, size)
    rest: Block = tensor(current_builder().binary("rem", positive.handle, twice.handle))
    is_above = rest > size - rest
    once = where(is_above, rest - size, rest)
    is_far = arithmetic.logical_and(is_above, arithmetic.compare("ge", once, size - once))
    found = where(is_far, arithmetic.sub(once, size), once)
    return where(_is_negative(x), arithmetic.negate(found), found)


def _is_negative(value: Block) -> Block:
    bits: Block = bitcast(value, int32 if value.dtype == float32 else int64)
    return bits < 0


# --- bits ----------------------------------------------------------------------------------------


def _double_bits(arg0: Any, name: str) -> Block:
    value = to_tensor(arg0)
    if value.dtype != float64:
        raise SemanticError(f"{name} is of fp64, got {value.dtype}.")
    return bitcast(value, uint64)


def _double2hiint(arg0: Any) -> tensor:
    return bitcast(cast(_double_bits(arg0, "double2hiint") >> 32, uint32), int32)


def _double2loint(arg0: Any) -> tensor:
    return bitcast(cast(_double_bits(arg0, "double2loint") & 0xFFFFFFFF, uint32), int32)


def _hiloint2double(arg0: Any, arg1: Any) -> tensor:
    high, low = (bitcast(cast(to_tensor(v), int32), uint32) for v in (arg0, arg1))
    upper: Block = cast(high, uint64)
    return bitcast((upper << 32) | cast(low, uint64), float64)


def _rcp64h(arg0: Any) -> tensor:
    (value,) = meet("rcp64h", cast(to_tensor(arg0), float64))
    quotient: Block = bitcast(arithmetic.compute("div", *meet("rcp64h", 1.0, value)), uint64)
    return bitcast(quotient & _HIGH, float64)


def _byte_perm(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    words: Block = [bitcast(cast(to_tensor(v), int32), uint32) for v in (arg0, arg1, arg2)]
    lower, upper, selector = cast(words[0], uint64), cast(words[1], uint64), words[2]
    pool: Block = arithmetic.binary("or", lower, arithmetic.binary("lshift", upper, 32))
    result: Block = None
    for place in range(4):
        chosen: Block = cast((selector >> (4 * place)) & 7, uint64)
        byte = ((pool >> (chosen * 8)) & 0xFF) << (8 * place)
        result = byte if result is None else result | byte
    return bitcast(cast(result, uint32), int32)


_TABLE = {
    "ilogb": (_ilogb, "The exponent of the highest bit, int32; its limits of 0, NaN and infinity."),
    "logb": (_logb, "The exponent of the highest bit, as a float."),
    "remainder": (_remainder, "x - y * n for the n next to x / y (the even one of two), exactly."),
    "double2hiint": (_double2hiint, "The upper 32 bits of a double, int32."),
    "double2loint": (_double2loint, "The lower 32 bits of a double, int32."),
    "hiloint2double": (_hiloint2double, "A double of its upper and lower 32 bits."),
    "rcp64h": (_rcp64h, "The upper 32 bits of 1 / x, as a double."),
    "byte_perm": (_byte_perm, "Bytes chosen from arg0 (0 to 3) and arg1 (4 to 7) by the nibbles."),
}
FUNCTIONS: dict[str, Any] = {
    name: document(function, name, text) for name, (function, text) in _TABLE.items()
}
