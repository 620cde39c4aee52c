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
from lazyblock.errors import DTypeError, UFuncTypeError
from lazyblock.graph import build
from lazyblock.graph.node import Node

Scalar = bool | int | float | complex
Operand = Node | Scalar
Kind = DType | type  # of an operand: a dtype, or the type of a weak scalar
Resolver = Callable[..., tuple[DType, ...]]  # kinds -> dtypes of the operands, then of the result


def _is_operand_type(kind: type) -> bool:
    """Whether values of this type, lazy arrays apart, can be operands.

    Subclasses of NumPy's array that have a meaning of their own cannot.
    """
    if issubclass(kind, np.ndarray):
        is_plain = kind.__array_ufunc__ is np.ndarray.__array_ufunc__
        return is_plain and not issubclass(kind, np.ma.MaskedArray)
    return issubclass(kind, (np.generic, bool, int, float, complex, list, tuple))


is_operand_type: Callable[[type], bool] = cache(_is_operand_type)


def as_node(operand: Operand, dtype: DType) -> Node:
    """The operand in `dtype`. Raises: OverflowError, as NumPy does, for ints that do not fit."""
    if isinstance(operand, Node):
        return operand if operand.dtype is dtype else build.cast(operand, dtype)
    # 0.0 equals -0.0, NaN nothing: no keys, nor are complex numbers made of them
    kind = type(operand)
    if kind is int or kind is bool or (kind is float and operand != 0 and operand == operand):
        return _constant(kind.__name__, operand, dtype)
    return build.constant(operand, dtype)


@lru_cache(maxsize=512)
def _constant(kind: str, value: Scalar, dtype: DType) -> Node:
    return build.constant(value, dtype)  # `kind` tells True from 1 and 1.0


def as_assigned(value: Any, dtype: DType, is_fancy: bool) -> Any:
    """What is no array, converted as NumPy does for an assignment.

    is_fancy: by array indices, which converts it first. Raises: what NumPy raises, such as
    ValueError and OverflowError for numbers that an integer dtype does not hold.
    """
    if is_fancy:
        return np.asarray(value, dtype)[()]
    room = np.empty(np.shape(value), dtype)
    room[...] = value
    return room[()]


def as_element(value: Any, dtype: DType) -> Any:
    """An array that has axes, or lists, as what NumPy assigns to one element: only bools take it.

    Raises: what NumPy raises for other dtypes, and for more than one value.
    """
    is_array = hasattr(value, "reshape")
    element = np.zeros(1, dtype)
    element[0] = np.zeros(value.shape, value.dtype) if is_array else value
    return value.reshape(()) if is_array else element[0]


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
        return resolve_loop(ufunc, (*kinds, *[None] * ufunc.nout))

    return resolve


@lru_cache(maxsize=4096)
def resolve_loop(
    ufunc: np.ufunc,
    kinds: tuple[Kind | None, ...],
    signature: Any = None,
    casting: Any = "same_kind",
) -> tuple[DType, ...]:
    """The dtypes in which a ufunc computes: of its operands, then of its results.

    kinds: of the operands, then of the arrays that take the results (None: new ones). signature:
    what NumPy calls so. Raises: DTypeError in NumPy's words.
    """
    half = dtypes.float32 if dtypes.float16 in kinds else dtypes.float16
    results = (None if kind == dtypes.bfloat16 else kind for kind in kinds[ufunc.nin :])
    shown = tuple(_for_numpy(kind, half) for kind in (*kinds[: ufunc.nin], *results))
    settings: dict[str, Any] = {"casting": casting}
    if isinstance(signature, tuple):
        signature = tuple(_for_numpy(kind, half) for kind in signature)
    if signature is not None:
        settings["signature"] = signature
    try:
        found = ufunc.resolve_dtypes(shown, **settings)
    except TypeError as error:
        is_cast = isinstance(error, UFuncTypeError.__bases__[-1])
        raise (UFuncTypeError if is_cast else DTypeError)(f"{error}") from None
    if dtypes.bfloat16 not in kinds or half is dtypes.float32:
        return tuple(found)
    return tuple(dtypes.bfloat16 if dtype == half else dtype for dtype in found)


def _for_numpy(kind: Any, half: DType) -> Any:
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


def check_cast(source: DType, target: DType, name: str) -> None:
    """NumPy's rule for writing the result of a ufunc. Raises: UFuncTypeError in its words."""
    if source is not target and not can_cast_same_kind(source, target):
        raise UFuncTypeError(
            f"Cannot cast ufunc '{name}' output from {source!r} to {target!r} with casting rule "
            "'same_kind'"
        )


def can_cast_same_kind(source: DType, target: DType) -> bool:
    """NumPy's casting rule of in-place operators, with bfloat16 as a float."""
    if source == dtypes.bfloat16:
        return dtypes.is_inexact(target)
    if target == dtypes.bfloat16:
        return not dtypes.is_complex(source)
    return bool(np.can_cast(source, target, "same_kind"))
