"""Operands of recorded functions, and the dtypes in which they meet.

An operand is a node or a weak Python scalar. NumPy itself is asked which dtypes a ufunc computes in
(`ufunc.resolve_dtypes`), so promotion is NumPy's by construction; bfloat16, which NumPy does not
know, takes the place of float16, and the two meet in float32.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError
from lazyblock.graph import build
from lazyblock.graph.node import Node

Scalar = bool | int | float | complex
Operand = Node | Scalar
Kind = DType | type  # of an operand: a dtype, or the type of a weak scalar
Resolver = Callable[..., tuple[DType, ...]]  # kinds -> dtypes of the operands, then of the result


def as_node(operand: Operand, dtype: DType) -> Node:
    """The operand in `dtype`. Raises: OverflowError, as NumPy does, for ints that do not fit."""
    if isinstance(operand, Node):
        return operand if operand.dtype is dtype else build.cast(operand, dtype)
    # 0.0 equals -0.0, NaN nothing: no keys, nor are complex numbers made of them
    if operand == 0 or operand != operand or isinstance(operand, complex):
        return build.constant(operand, dtype)
    return _constant(type(operand).__name__, operand, dtype)


@lru_cache(maxsize=512)
def _constant(kind: str, value: Scalar, dtype: DType) -> Node:
    return build.constant(value, dtype)  # `kind` tells True from 1 and 1.0


def convert(node: Node, dtype: DType) -> Node:
    """Cast as NumPy does when asked to: imaginary parts are dropped with a warning."""
    keeps_parts = dtypes.is_complex(dtype) or dtypes.is_bool(dtype)
    if dtypes.is_complex(node.dtype) and not keeps_parts:
        words = "Casting complex values to real discards the imaginary part"
        warnings.warn(words, np.exceptions.ComplexWarning, stacklevel=4)
    return build.cast(node, dtype)


def resolve_like(ufunc: np.ufunc) -> Resolver:
    """The dtype rule of a NumPy ufunc. Raises: DTypeError in NumPy's words."""

    @cache
    def resolve(*kinds: Kind) -> tuple[DType, ...]:
        half = dtypes.float32 if dtypes.float16 in kinds else dtypes.float16
        shown = [_for_numpy(kind, half) for kind in kinds]
        try:
            found = ufunc.resolve_dtypes((*shown, *[None] * ufunc.nout))
        except TypeError as error:
            raise DTypeError(f"{error}.".replace("..", ".")) from None
        if dtypes.bfloat16 not in kinds or half is dtypes.float32:
            return tuple(found)
        return tuple(dtypes.bfloat16 if dtype == half else dtype for dtype in found)

    return resolve


def _for_numpy(kind: Kind, half: DType) -> Kind:
    """Python bools are not weak, so that NumPy takes only their dtype."""
    if kind is bool:
        return dtypes.bool_
    return half if kind == dtypes.bfloat16 else kind


def resolve_together(first: int) -> Resolver:
    """Rule of `where` and `clip`: operands from `first` on share a dtype, those before are bool."""

    @cache
    def resolve(*kinds: Kind) -> tuple[DType, ...]:
        result = dtypes.result_type(*kinds[first:])
        return (*[dtypes.bool_] * first, *[result] * (len(kinds) - first + 1))

    return resolve


def is_out_of_range(operand: Any, dtype: DType) -> bool:
    """Whether `operand` is a Python int that integer `dtype` does not hold."""
    if type(operand) is not int or not dtypes.is_integer(dtype):
        return False
    low, high = _LIMITS[dtype]
    return not low <= operand <= high


_LIMITS = {
    dtype: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    for dtype in (*dtypes.SIGNED, *dtypes.UNSIGNED)
}


def can_cast_same_kind(source: DType, target: DType) -> bool:
    """NumPy's casting rule of in-place operators, with bfloat16 as a float."""
    if dtypes.bfloat16 in (source, target):
        return dtypes.is_floating(target)
    return bool(np.can_cast(source, target, "same_kind"))
