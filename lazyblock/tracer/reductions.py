"""Reductions of the namespace. Axes: None (all), an int, or a tuple of distinct ints."""

from __future__ import annotations

from typing import Any

from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.folds import NOT_GIVEN, Axis, lost_freedom

__all__ = [
    "all",
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


def sum(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Sum; bools and ints add up in (u)int64, half types in float32."""
    return to_array(x).sum(axis, dtype, keepdims=keepdims)


def prod(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Product; dtypes as in `sum`."""
    return to_array(x).prod(axis, dtype, keepdims=keepdims)


def max(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Largest element; NaN if there is one."""
    return to_array(x).max(axis, keepdims=keepdims)


def min(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Smallest element; NaN if there is one."""
    return to_array(x).min(axis, keepdims=keepdims)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Where the largest element stands first, NaN above all; axis None counts in C order."""
    return to_array(x).argmax(axis, keepdims=keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Where the smallest element stands first, NaN below all; axis None counts in C order."""
    return to_array(x).argmin(axis, keepdims=keepdims)


def any(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Whether an element is not zero."""
    return to_array(x).any(axis, keepdims=keepdims)


def all(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Whether no element is zero."""
    return to_array(x).all(axis, keepdims=keepdims)


def mean(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Arithmetic mean; float64 for bools and ints."""
    return to_array(x).mean(axis, dtype, keepdims=keepdims)


def var(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float = 0,
    ddof: float = 0,
    keepdims: bool = False,
) -> Array:
    """Variance over count - correction (NumPy's word: ddof)."""
    ddof = lost_freedom(ddof, correction or NOT_GIVEN)
    return to_array(x).var(axis, dtype, ddof=ddof, keepdims=keepdims)


def std(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float = 0,
    ddof: float = 0,
    keepdims: bool = False,
) -> Array:
    """Standard deviation over count - correction (NumPy's word: ddof)."""
    ddof = lost_freedom(ddof, correction or NOT_GIVEN)
    return to_array(x).std(axis, dtype, ddof=ddof, keepdims=keepdims)
