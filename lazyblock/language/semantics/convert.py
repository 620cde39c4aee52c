"""Literals become tensors, tensors change their type."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, unwrap
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import (
    bfloat16,
    block_type,
    dtype,
    float16,
    float32,
    float64,
    int1,
    int64,
)
from lazyblock.language.semantics.promotion import literal_type
from lazyblock.language.tensor import describe, tensor
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import FLOAT8_FORMATS, SCALARS, ScalarType, decode, to_numpy

Number = bool | int | float
ROUNDINGS = ("rtne", "rtz")


def is_number(value: Any) -> TypeGuard[Number]:
    """Whether it is a Python number: a literal."""
    return isinstance(value, (bool, int, float))


def unwrap_number(value: Any) -> Any:
    """The Python number in a constexpr or NumPy scalar; anything else as it is."""
    value = unwrap(value)
    return value.item() if isinstance(value, np.generic) else value


def to_tensor(value: Any) -> tensor:
    """`value` as a tensor: a literal becomes a scalar of the first type that holds it.

    bool: int1. int: int32, uint32, int64, uint64. float: float32, float64 outside its normal range.
    """
    value = unwrap_number(value)
    if isinstance(value, tensor):
        return value
    if not is_number(value):
        raise SemanticError(f"Expected a number or a block, got {describe(value)}.")
    return scalar(value, literal_type(value))


def scalar(value: Number, type: dtype) -> tensor:
    """A constant scalar of a number type; an integer must be in its range."""
    if type.is_ptr():
        return cast(scalar(value, int64), type)
    if type.is_int() and isinstance(value, int):
        check_range(value, type)
    return tensor(_constant(value, type), type)


def _constant(value: Number, type: dtype) -> Value:
    return current_builder().constant(value, type.ir)


def check_range(value: int, type: dtype) -> None:
    """A literal must be a value of the type it adapts to."""
    low, high = type.get_int_min_value(), type.get_int_max_value()
    if type.is_bool() or low <= value <= high:
        return
    if value < 0 and type.is_int_unsigned():
        raise SemanticError(
            f"The negative literal {value} meets {type}, which has no sign.",
            hint="cast one of them to a signed type.",
        )
    raise SemanticError(
        f"The literal {value} is out of range for {type}, which holds {low} to {high}.",
        hint="cast the other operand to a wider type.",
    )


def retype(handle: Value, like: dtype) -> tensor:
    """A tensor of `handle`'s shape whose element type is `like` (const pointers stay const)."""
    return tensor(handle, block_type(like, handle.shape) if handle.shape else like)


# --- casts ---------------------------------------------------------------------------------------


def cast(value: Any, type: dtype, fp_downcast_rounding: str | None = None) -> tensor:
    """`value` as elements of `type`; block types count by their element. To float8s saturates."""
    operand, target = to_tensor(value), _element(type)
    source = operand.dtype
    narrows = (
        source.is_floating()
        and target.is_floating()
        and target.primitive_bitwidth < source.primitive_bitwidth
    )
    _check_rounding(fp_downcast_rounding, narrows, source, target)
    if source == target:
        return operand
    if source.is_ptr() or target.is_ptr():
        return _cast_pointer(operand, target)
    rounding = fp_downcast_rounding if fp_downcast_rounding == "rtz" else ""
    handle = operand.handle
    if target.is_fp8() and source.is_standard_floating():
        handle = _clamp(handle, target.ir)
    return tensor(current_builder().cast(handle, target.ir, rounding))


def _clamp(value: Value, target: ScalarType) -> Value:
    """Within the numbers of a float8, where infinity is none of Triton's results; NaN stays."""
    code = np.array([FLOAT8_FORMATS[target].largest], np.uint8)
    largest = float(decode(code.view(to_numpy(target)), target)[0])
    b = current_builder()
    return b.binary("max", b.binary("min", value, largest), -largest)


def _element(type: Any) -> dtype:
    type = unwrap(type)
    if not isinstance(type, dtype):
        raise SemanticError(
            f"{describe(type)} is no type of the language.", hint="use tl.float32, tl.int32..."
        )
    found: dtype = type.scalar
    return found


def _check_rounding(rounding: Any, narrows: bool, source: dtype, target: dtype) -> None:
    if rounding is None:
        return
    if rounding not in ROUNDINGS:
        raise SemanticError(
            f"fp_downcast_rounding is {rounding!r}, expected {' or '.join(map(repr, ROUNDINGS))}."
        )
    if not narrows and source != target:
        raise SemanticError(
            f"fp_downcast_rounding is for casts to narrower floats, not from {source} to {target}."
        )


def _cast_pointer(value: tensor, target: dtype) -> tensor:
    """Pointers convert to pointers, 64-bit integers and (not null) int1; integers to pointers."""
    source, b = value.dtype, current_builder()
    if source.is_floating() or target.is_floating():
        raise SemanticError(f"{source} does not convert to {target}.")
    if source.is_ptr() and target.is_ptr():
        return retype(b.bitcast(value.handle, target.ir), target)
    if target.is_ptr():
        wide = cast(value, int64) if source.primitive_bitwidth < 64 else value
        return retype(b.bitcast(wide.handle, target.ir), target)
    if target.primitive_bitwidth not in (1, 64):
        raise SemanticError(f"{source} does not fit in {target}.", hint="convert to tl.int64.")
    address = tensor(b.bitcast(value.handle, SCALARS["i64"]))
    return cast(address, int1) if target == int1 else bitcast(address, target)


def bitcast(value: Any, type: dtype) -> tensor:
    """The same bits as another type of equal width."""
    operand, target = to_tensor(value), _element(type)
    source = operand.dtype
    if source == target:
        return operand
    if source.is_ptr() or target.is_ptr():
        return _cast_pointer(operand, target)
    if source.primitive_bitwidth != target.primitive_bitwidth:
        raise SemanticError(
            f"A bitcast keeps the width, but {source} has {source.primitive_bitwidth} bits and"
            f" {target} {target.primitive_bitwidth}."
        )
    return tensor(current_builder().bitcast(operand.handle, target.ir))


def widen_bfloat16(value: tensor) -> tensor:
    """bfloat16 as float32: what extremes of it are computed in."""
    return cast(value, float32) if value.dtype == bfloat16 else value


def widen_small(value: tensor) -> tensor:
    """float8 as float32: what arithmetic on it runs in."""
    return cast(value, float32) if value.dtype.is_fp8() else value


def require_float(value: tensor, function: str) -> tensor:
    """Transcendental functions are of float32 and float64."""
    if value.dtype not in (float32, float64):
        hint = (
            "cast it with .to(tl.float32)."
            if value.dtype != float16
            else ("cast it with .to(tl.float32), and the result back.")
        )
        raise SemanticError(
            f"tl.{function} is of fp32 and fp64, but got {describe(value)}.", hint=hint
        )
    return value


# --- what kernels call ---------------------------------------------------------------------------


def _cast_function(
    input: Any, dtype: dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """`input` as elements of `dtype`: converted, or with bitcast=True the same bits.

    fp_downcast_rounding: "rtne" (default) or "rtz", for narrower floats.
    """
    return _bitcast(input, dtype) if bitcast else cast(input, dtype, fp_downcast_rounding)


_bitcast = bitcast
cast_function = builtin(_cast_function)
to_tensor_function = builtin(to_tensor)
