"""Functions with NumPy's signatures where those of the namespace are the standard's.

What NumPy has as a method too is the method, which has NumPy's keywords.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.protocols import namespace

_METHODS = """
    all any argmax argmin cumprod cumsum max mean min prod round std sum var
"""
_NOT_GIVEN: Any = np._NoValue


def _as_method(name: str) -> Callable[..., Any]:
    def spelled(a: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(to_array(a), name)(*args, **kwargs)

    return spelled


def _clip(
    a: Any,
    a_min: Any = _NOT_GIVEN,
    a_max: Any = _NOT_GIVEN,
    out: Any = None,
    *,
    min: Any = _NOT_GIVEN,
    max: Any = _NOT_GIVEN,
    **settings: Any,
) -> Any:
    """Both bounds by position, or by other names. Raises: DTypeError, ValueRangeError."""
    is_named = a_min is _NOT_GIVEN and a_max is _NOT_GIVEN
    for name, bound in (("a_min", a_min), ("a_max", a_max)):
        if bound is _NOT_GIVEN and not is_named:
            raise DTypeError(f"clip() missing 1 required positional argument: '{name}'")
    if not is_named and (min is not _NOT_GIVEN or max is not _NOT_GIVEN):
        raise ValueRangeError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    bounds = (min, max) if is_named else (a_min, a_max)
    low, high = (None if bound is _NOT_GIVEN else bound for bound in bounds)
    return to_array(a).clip(low, high, out, **settings)


def _line(a: Any) -> Array:
    """NumPy takes a number for a line of one element where it looks along an axis."""
    x = to_array(a)
    return x.ravel() if x.ndim == 0 else x


def _take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    return _own("take")(_line(a), indices, axis, out, mode)


def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    return _own("repeat")(_line(a), repeats, axis)


def _argpartition(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _own("argpartition")(_line(a), *args, **kwargs)


def _own(name: str) -> Any:
    """Our function, which takes no other spelling."""
    function = getattr(namespace(), name)
    return getattr(function, "__wrapped__", function)


def _sorting(name: str) -> Callable[..., Any]:
    """Axis None sorts the elements in C order."""

    def spelled(
        a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Array:
        if order is not None:
            raise DTypeError("Cannot specify order when the array has no fields.")
        x = to_array(a) if axis is not None else to_array(a).ravel()
        result: Array = _own(name)(x, axis=-1 if axis is None else axis, kind=kind)
        return result

    return spelled


def _where(condition: Any, *choices: Any) -> Any:
    """With one argument, where it is not zero, which evaluates."""
    name = "where" if choices else "nonzero"
    return _own(name)(condition, *choices)


SPELLINGS: dict[str, Callable[..., Any]] = {
    **{name: _as_method(name) for name in _METHODS.split()},
    "amax": _as_method("max"),
    "amin": _as_method("min"),
    "argpartition": _argpartition,
    "argsort": lambda a, *args, **kwargs: _sorting("argsort")(_line(a), *args, **kwargs),
    "around": _as_method("round"),
    "clip": _clip,
    "repeat": _repeat,
    "row_stack": lambda *args, **kwargs: _own("vstack")(*args, **kwargs),
    "sort": _sorting("sort"),
    "take": _take,
    "where": _where,
}
