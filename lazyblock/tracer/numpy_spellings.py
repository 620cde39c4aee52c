"""Functions with NumPy's signatures where those of the namespace are the standard's.

What NumPy has as a method too is the method, which has NumPy's keywords.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock.tracer.creation import to_array

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
    """Both bounds by position or by either name."""
    low = min if a_min is _NOT_GIVEN else a_min
    high = max if a_max is _NOT_GIVEN else a_max
    low, high = (None if bound is _NOT_GIVEN else bound for bound in (low, high))
    return to_array(a).clip(low, high, out, **settings)


SPELLINGS: dict[str, Callable[..., Any]] = {
    **{name: _as_method(name) for name in _METHODS.split()},
    "amax": _as_method("max"),
    "amin": _as_method("min"),
    "around": _as_method("round"),
    "clip": _clip,
}
