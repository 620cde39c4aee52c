"""Products of matrices.

Which types meet, and in what they are added up, is the table `RESULTS`. More than three axes fold
into the batch; `dot_scaled` scales its operands first, which is exact.
"""

from __future__ import annotations

import math
from typing import Any

from lazyblock import config
from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import (
    bfloat16,
    dtype,
    float8e4nv,
    float8e5,
    float16,
    float32,
    float64,
    int8,
    int32,
    uint8,
)
from lazyblock.language.semantics import arithmetic
from lazyblock.language.semantics.convert import bitcast, cast, retype, to_tensor
from lazyblock.language.semantics.create import zeros
from lazyblock.language.semantics.elementwise import where
from lazyblock.language.semantics.shapes import (
    Shape,
    broadcast_to,
    expand_dims,
    interleave,
    reshape,
    trans,
)
from lazyblock.language.tensor import describe, tensor

RESULTS: dict[dtype, tuple[dtype, ...]] = {  # of operands' type, the default first
    int8: (int32,),
    uint8: (int32,),
    float16: (float32, float16),
    bfloat16: (float32,),
    float32: (float32,),
    float64: (float64,),
}
PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


@builtin
def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = None,
) -> tensor:
    """input @ other (+ acc) of the last two axes.

    input_precision: how float32 operands may be rounded, "ieee" (default), "tf32", "tf32x3",
    "bf16x3", "bf16x6". out_dtype: float16 operands may give float16; others have one result.
    """
    left, right = to_tensor(input), to_tensor(other)
    _check_shapes(left, right)
    left, right = _same_types(left, right)
    result = _result_type(left.dtype, acc, out_dtype)
    shape = (*left.handle.shape[:-1], right.handle.shape[-1])
    start = zeros(shape, result) if acc is None else _accumulator(acc, shape, result)
    x, y, total = (_fold(value).handle for value in (left, right, start))
    asked = _precision(input_precision, allow_tf32)
    precision = asked if left.dtype == float32 else "ieee"
    product = current_builder().dot(x, y, total, precision=precision)
    return reshape(retype(product, result), shape)


def _check_shapes(left: tensor, right: tensor) -> None:
    a, b = left.handle.shape, right.handle.shape
    if len(a) < 2 or len(a) != len(b):
        raise SemanticError(
            f"tl.dot is of two blocks of two axes or more, got {describe(left)} and"
            f" {describe(right)}."
        )
    if a[-1] != b[-2] or a[:-2] != b[:-2]:
        raise SemanticError(
            f"tl.dot of shapes {a} and {b}: expected (..., M, K) and (..., K, N).",
            hint="transpose an operand with tl.trans." if a[-1] == b[-1] else "",
        )


def _same_types(left: tensor, right: tensor) -> tuple[tensor, tensor]:
    if left.dtype.is_fp8() and right.dtype.is_fp8():
        return cast(left, float16), cast(right, float16)  # holds every float8
    if left.dtype != right.dtype:
        raise SemanticError(
            f"tl.dot is of operands of one type, got {left.dtype} and {right.dtype}.",
            hint="cast one of them with .to(...).",
        )
    if left.dtype not in RESULTS:
        names = ", ".join(str(type) for type in RESULTS)
        raise SemanticError(f"tl.dot is not for {left.dtype}; it is for {names} and float8.")
    return left, right


def _result_type(type: dtype, acc: Any, wanted: Any) -> dtype:
    """What is asked for where operands leave a choice; otherwise their one result, as in Triton."""
    results = RESULTS[type]
    if wanted is None:
        wanted = acc.dtype if isinstance(acc, tensor) else results[0]
    is_known = wanted in results or (len(results) == 1 and wanted != bfloat16)
    if not is_known and not type.is_int():
        names = " or ".join(str(result) for result in results)
        raise SemanticError(f"tl.dot of {type} gives {names}, not {wanted}.")
    return wanted if wanted in results else results[0]


def _accumulator(acc: Any, shape: Shape, type: dtype) -> tensor:
    start = to_tensor(acc)
    if start.handle.shape != shape and start.ndim:
        raise SemanticError(f"tl.dot adds to a block of shape {shape}, got {describe(start)}.")
    if start.dtype != type:
        raise SemanticError(
            f"tl.dot adds to a block of {type}, got {describe(start)}.", hint="cast acc."
        )
    return start if start.ndim else broadcast_to(start, shape)


def _fold(value: tensor) -> tensor:
    """All but the last two axes as one."""
    shape = value.handle.shape
    if len(shape) <= 3:
        return value
    return reshape(value, (math.prod(shape[:-2]), *shape[-2:]))


def _precision(input_precision: Any, allow_tf32: Any) -> str:
    if input_precision is not None and allow_tf32 is not None:
        raise SemanticError("tl.dot takes input_precision or allow_tf32, not both.")
    if allow_tf32 is not None:
        return "tf32" if allow_tf32 else "ieee"
    precision = input_precision or config.current.dot_precision
    if precision not in PRECISIONS:
        listed = ", ".join(map(repr, PRECISIONS))
        raise SemanticError(f"input_precision is {precision!r}, expected one of {listed}.")
    return str(precision)


# --- scaled --------------------------------------------------------------------------------------

_FORMATS = {"e4m3": float8e4nv, "e5m2": float8e5, "bf16": bfloat16, "fp16": float16}
_SCALED = 32  # elements per scale


@builtin
def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: str,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: str,
    acc: Any = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: Any = float32,
) -> tensor:
    """Product of matrices in the MX formats, each 32 elements along K times a power of two.

    Formats: "e2m1" (two per byte, the low nibble first), "e4m3", "e5m2", "bf16", "fp16". Scales are
    e8m0 bytes of shape (M, K / 32) and (N, K / 32), or None. The result is float32.
    """
    if out_dtype != float32:
        raise SemanticError(f"tl.dot_scaled gives fp32, not {out_dtype}.")
    left = _decode(to_tensor(lhs), lhs_format, -1 if lhs_k_pack else -2)
    right = _decode(to_tensor(rhs), rhs_format, -2 if rhs_k_pack else -1)
    left = _scale(left, lhs_scale, "lhs_scale")
    if rhs_scale is not None:
        right = trans(_scale(trans(right), rhs_scale, "rhs_scale"))
    if "fp16" not in (lhs_format, rhs_format):  # bfloat16 holds the others, scaled too
        left, right = cast(left, bfloat16), cast(right, bfloat16)
    return dot(left, right, acc, input_precision="ieee", out_dtype=float32)


def _decode(value: tensor, format: str, packed_axis: int) -> tensor:
    """Elements of an MX format as float32."""
    if format == "e2m1":
        return _unpack(value, packed_axis)
    if format not in _FORMATS:
        raise SemanticError(f"tl.dot_scaled knows no format {format!r}.", hint="e2m1, e4m3, e5m2.")
    type = _FORMATS[format]
    given = bitcast(value, type) if value.dtype != type else value
    return cast(given, float32)


def _unpack(value: tensor, packed_axis: int) -> tensor:
    """Two e2m1 numbers of each byte, neighbours along an axis."""
    if value.dtype not in (uint8, int8):
        raise SemanticError(f"e2m1 comes two per byte, got {describe(value)}.")
    byte = cast(bitcast(value, uint8), int32)
    low = _from_e2m1(arithmetic.binary("and", byte, 15))
    high = _from_e2m1(arithmetic.binary("rshift", byte, 4))
    if packed_axis == -1:
        return interleave(low, high)
    return trans(interleave(trans(low), trans(high)))


def _from_e2m1(code: tensor) -> tensor:
    """Sign, two bits of exponent, one of mantissa; exponent 0 is subnormal."""
    size = arithmetic.binary("and", code, 7)
    doubled = arithmetic.add(arithmetic.binary("and", size, 1), 2)  # the mantissa, in halves
    exponent = arithmetic.binary("rshift", size, 1)
    shifted = arithmetic.binary("lshift", doubled, _at_least(arithmetic.sub(exponent, 1)))
    halves = where(arithmetic.compare("eq", exponent, 0), size, shifted)
    value = arithmetic.mul(cast(halves, float32), 0.5)
    is_negative = arithmetic.compare("ge", code, 8)
    return where(is_negative, arithmetic.negate(value), value)


def _at_least(value: tensor) -> tensor:
    return where(arithmetic.compare("lt", value, 0), 0, value)


def _scale(value: tensor, scale: Any, name: str) -> tensor:
    """Each 32 neighbours along the last axis times 2^(byte - 127); 255 is NaN."""
    if scale is None:
        return value
    factor = to_tensor(scale)
    rows, depth = value.handle.shape[-2:]
    if factor.dtype not in (uint8, int8) or factor.handle.shape[-2:] != (rows, depth // _SCALED):
        raise SemanticError(
            f"'{name}' has a byte per {_SCALED} elements, of shape {(rows, depth // _SCALED)}; got"
            f" {describe(factor)}."
        )
    factors = _from_e8m0(bitcast(factor, uint8))
    wide = (*factors.handle.shape, _SCALED)
    spread = reshape(broadcast_to(expand_dims(factors, -1), wide), value.handle.shape)
    return arithmetic.mul(value, spread)


def _from_e8m0(byte: tensor) -> tensor:
    """2^(byte - 127), by its bits; the smallest is subnormal."""
    code = cast(byte, int32)
    bits = arithmetic.binary("lshift", code, 23)
    bits = where(arithmetic.compare("eq", code, 0), 1 << 22, bits)
    bits = where(arithmetic.compare("eq", code, 255), 0x7FC00000, bits)
    return bitcast(bits, float32)
