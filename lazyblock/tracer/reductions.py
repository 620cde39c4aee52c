"""Reductions of the namespace, which are the methods of arrays.

Axes: None (all), an int, or a tuple of distinct ints.
"""

from __future__ import annotations

from typing import Any

from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.folds import NOT_GIVEN, Axis, lost_freedom

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def sum(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Array:
    """Sum; bools and ints add up in (u)int64, half types in float32."""
    return to_array(x).sum(axis, dtype, out, keepdims, initial, where)


def prod(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Array:
    """Product; dtypes as in `sum`."""
    return to_array(x).prod(axis, dtype, out, keepdims, initial, where)


def max(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Array:
    """Largest element; NaN if there is one."""
    return to_array(x).max(axis, out, keepdims, initial, where)


def min(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Array:
    """Smallest element; NaN if there is one."""
    return to_array(x).min(axis, out, keepdims, initial, where)


def argmax(x: Any, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """Where the largest element stands first, NaN above all; axis None counts in C order."""
    return to_array(x).argmax(axis, out, keepdims=keepdims)


def argmin(x: Any, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """Where the smallest element stands first, NaN below all; axis None counts in C order."""
    return to_array(x).argmin(axis, out, keepdims=keepdims)


def any(
    x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Array:
    """Whether an element is not zero."""
    return to_array(x).any(axis, out, keepdims, where=where)


def all(
    x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Array:
    """Whether no element is zero."""
    return to_array(x).all(axis, out, keepdims, where=where)


def mean(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Array:
    """Arithmetic mean; float64 for bools and ints."""
    return to_array(x).mean(axis, dtype, out, keepdims, where=where)


def var(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float = 0,
    where: Any = True,
    mean: Any = NOT_GIVEN,
) -> Array:
    """Variance over count - correction (NumPy's word: ddof)."""
    ddof = lost_freedom(ddof, correction or NOT_GIVEN)
    return to_array(x).var(axis, dtype, out, ddof, keepdims, where=where, mean=mean)


def std(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float = 0,
    where: Any = True,
    mean: Any = NOT_GIVEN,
) -> Array:
    """Standard deviation over count - correction (NumPy's word: ddof)."""
    ddof = lost_freedom(ddof, correction or NOT_GIVEN)
    return to_array(x).std(axis, dtype, out, ddof, keepdims, where=where, mean=mean)


amax, amin = max, min
