"""Choosing elements by conditions and numbers, and comparing whole arrays. Signatures are NumPy's.

Choices between arrays are recorded; what picks a number of elements that depends on data evaluates
the condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, IndexingError, ShapeError, ValueRangeError
from lazyblock.shapes import broadcast_shapes, normalize_axis
from lazyblock.tracer import ufunc_methods
from lazyblock.tracer.arguments import as_arrays, as_operand, check_taken, floating_dtype, kind_of
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array, zeros_like
from lazyblock.tracer.elementwise import (
    absolute,
    isfinite,
    isinf,
    isnan,
    less_equal,
    logical_not,
    signbit,
    trunc,
    where,
)
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.manipulation import broadcast_arrays
from lazyblock.tracer.operands import check_cast
from lazyblock.tracer.taking import take
from lazyblock.tracer.ufuncs import write_out

__all__ = [
    "allclose",
    "argwhere",
    "array_equal",
    "array_equiv",
    "choose",
    "compress",
    "extract",
    "fix",
    "flatnonzero",
    "isclose",
    "isneginf",
    "isposinf",
    "piecewise",
    "select",
]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """The element of the choice whose condition is the first to hold, else of `default`."""
    if len(condlist) != len(choicelist):
        raise ShapeError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ShapeError("select with an empty condition list is not possible")
    conditions = as_arrays(*condlist)
    for number, condition in enumerate(conditions):
        if not dtypes.is_bool(condition.dtype):
            raise DTypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    operands = [as_operand(value) for value in (*choicelist, default)]
    kinds = [x.dtype if isinstance(x, Array) else type(x) for x in operands]
    dtype = dtypes.result_type(*kinds)
    broadcast_shapes(*(x.shape for x in (*conditions, *map(to_array, operands))))
    for choice in map(to_array, operands[:-1]):  # of which NumPy makes arrays, numbers too
        check_cast(choice.dtype, dtype, "copyto")
    *choices, result = [to_array(x).astype(dtype) for x in operands]
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = where(condition, choice, result)
    return result


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Element by element, the one of the choice whose number `a` gives.

    mode: "wrap" and "clip" bring numbers into range; "raise" evaluates `a` to find wrong ones.
    """
    number, *given = as_arrays(a, *choices)
    if number.dtype.kind not in "biu":
        raise DTypeError("Cannot cast array data from float64 to int64 according to 'safe'")
    if not given:
        raise ShapeError("0-length sequence.")
    number = number.astype(dtypes.int64)
    if mode == "wrap":
        number = number % len(given)
    elif mode == "clip":
        number = number.clip(0, len(given) - 1)
    elif bool(((number < 0) | (number >= len(given))).any()):
        raise ValueRangeError("invalid entry in choice array")
    dtype = dtypes.result_type(*map(kind_of, choices, given))
    number, *given = broadcast_arrays(number, *(x.astype(dtype) for x in given))
    result = given[0]
    for position, choice in enumerate(given[1:], 1):
        result = where(number == position, choice, result)
    if out is not None and out.shape != result.shape:
        raise DTypeError("choose: invalid shape for output array.")
    return ufunc_methods.store(result, out, "choose")


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """For each condition the number that belongs to it, or the function's value there.

    Functions are called with the elements for which their condition holds, which evaluates it.
    """
    array = to_array(x)
    is_single = np.ndim(condlist) == 0 or (np.ndim(condlist[0]) == 0 and array.ndim != 0)
    conditions = [
        c.astype(dtypes.bool_) for c in as_arrays(*([condlist] if is_single else condlist))
    ]
    count = len(funclist)
    if count == len(conditions) + 1:
        rest = conditions[0]
        for condition in conditions[1:]:
            rest = rest | condition
        conditions.append(logical_not(rest))
    elif count != len(conditions):
        raise ShapeError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    result = zeros_like(array)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
            continue
        mask = np.asarray(to_host(condition, "np.piecewise"))
        values = array[mask]
        if values.size:
            result[mask] = function(values, *args, **kw)
    return result


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """Slices along an axis for which the condition, which evaluates, holds."""
    x = to_array(a)
    mask = np.asarray(to_host(condition, "np.compress"))
    if mask.ndim != 1:
        raise ShapeError("condition must be a 1-d array")
    places = np.flatnonzero(mask)
    if axis is None or x.ndim == 0:
        x, axis = x.ravel(), axis or 0
    axis = normalize_axis(axis, x.ndim, "compress")
    check_taken(out, (*x.shape[:axis], places.size, *x.shape[axis + 1 :]), x.dtype)
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    if places.size and places[-1] >= x.shape[axis] and 0 not in others:
        raise IndexingError(
            f"index {places[-1]} is out of bounds for axis {axis} with size {x.shape[axis]}"
        )
    return take(x, places, axis=axis, out=out)


def extract(condition: Any, arr: Any) -> Array:
    """The elements, in C order, for which the condition, which evaluates, holds."""
    mask = np.ravel(to_host(condition, "np.extract"))
    return take(to_array(arr).ravel(), np.flatnonzero(mask), axis=0)


def flatnonzero(a: Any) -> Array:
    """Places in C order of what is not zero; evaluates."""
    return _like(np.flatnonzero(to_host(a, "np.flatnonzero")), a)


def argwhere(a: Any) -> Array:
    """Indices of what is not zero, one in each row; evaluates."""
    return _like(np.argwhere(to_host(a, "np.argwhere")), a)


def _like(values: Any, a: Any) -> Array:
    return as_arrays(values, a)[0]


# comparisons


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether |a - b| <= atol + rtol * |b|; infinities must be equal."""
    x, y = as_operand(a), as_operand(b)
    rtol, atol = as_operand(rtol), as_operand(atol)
    if isinstance(y, Array):
        y = y.astype(floating_dtype(y.dtype), copy=False)
    elif isinstance(y, int):
        y = float(y)
    near = less_equal(absolute(x - y), atol + rtol * abs(y)) & isfinite(y)
    result: Array = near | (x == y)
    return result | (isnan(x) & isnan(y)) if equal_nan else result


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close; evaluates."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and equal elements; evaluates."""
    x, y = as_arrays(a1, a2)
    return x.shape == y.shape and bool(_equal(x, y, equal_nan).all())


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays, broadcast to one shape, have equal elements; evaluates."""
    try:
        x, y = broadcast_arrays(*as_arrays(a1, a2))
    except ShapeError:
        return False
    return bool(_equal(x, y, False).all())


def _equal(x: Array, y: Array, equal_nan: bool) -> Array:
    result: Array = x == y
    if equal_nan:
        result = result | (isnan(x) & isnan(y))
    return result


def isneginf(x: Any, out: Any = None) -> Any:
    """Whether elements are minus infinity."""
    array = to_array(x)
    found = isinf(array) & signbit(array)
    return found if out is None else write_out(found, out, "isneginf")


def isposinf(x: Any, out: Any = None) -> Any:
    """Whether elements are plus infinity."""
    array = to_array(x)
    found = isinf(array) & logical_not(signbit(array))
    return found if out is None else write_out(found, out, "isposinf")


def fix(x: Any, out: Any = None) -> Any:
    """The integer next to zero."""
    return trunc(to_array(x)) if out is None else write_out(trunc(to_array(x)), out, "fix")
