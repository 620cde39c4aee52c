"""What NumPy itself computes on the values of arrays: functions without a form in kernels.

`evaluate_in_numpy` is for results whose shape or control flow depends on data: the operands
evaluate where it is called. Functions whose results have known shapes record a host call instead,
see `host_calls.py`; `ask_numpy` finds their dtypes, and their errors at the recording line.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyblock.dtypes import SUPPORTED
from lazyblock.errors import DTypeError, LazyBlockError
from lazyblock.tracer.array import Array, common_device
from lazyblock.tracer.creation import asarray

__all__ = [
    "apply_along_axis",
    "asarray_chkfinite",
    "bartlett",
    "bincount",
    "blackman",
    "frombuffer",
    "fromfile",
    "fromiter",
    "fromstring",
    "genfromtxt",
    "geomspace",
    "hamming",
    "hanning",
    "histogramdd",
    "intersect1d",
    "kaiser",
    "load",
    "loadtxt",
    "logspace",
    "poly",
    "polydiv",
    "polyfit",
    "ravel_multi_index",
    "roots",
    "setdiff1d",
    "setxor1d",
    "sort_complex",
    "union1d",
    "unique",
    "unravel_index",
]


def find_arrays(value: Any) -> list[Array]:
    """The lazy arrays in nested lists, tuples and dicts."""
    if isinstance(value, Array):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for item in value for x in find_arrays(item)] if _is_nest(value) else []


def _is_nest(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def to_host(value: Any, reason: str) -> Any:
    """A nest with the values of its lazy arrays, which evaluate."""
    if isinstance(value, Array):
        return value._values(reason)
    if isinstance(value, dict):
        return {name: to_host(item, reason) for name, item in value.items()}
    if _is_nest(value) and find_arrays(value):
        return type(value)(to_host(item, reason) for item in value)
    return value


def _to_lazy(value: Any, device: str | None) -> Any:
    """A nest with lazy arrays for those of NumPy's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return asarray(value, device=device) if value.dtype in SUPPORTED else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_to_lazy(item, device) for item in value))
    if _is_nest(value):
        return type(value)(_to_lazy(item, device) for item in value)
    return value


def evaluate_in_numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `function` gives for the values of the arrays, as lazy arrays of their device."""
    reason = f"np.{function.__name__}"
    device = common_device(*find_arrays([args, kwargs]))
    result = function(*to_host(args, reason), **to_host(kwargs, reason))
    return _to_lazy(result, device)


def ask_numpy(function: Callable[..., Any], arrays: Sequence[Any], **settings: Any) -> Any:
    """What `function` gives for ones in place of lazy arrays, one along each axis, for its dtypes.

    Raises: in NumPy's words, what it raises for the settings and dtypes.
    """
    small = [
        np.ones([min(n, 1) for n in x.shape], x.dtype) if isinstance(x, Array) else x
        for x in arrays
    ]
    with np.errstate(all="ignore"):
        try:
            return function(*small, **settings)
        except LazyBlockError:
            raise
        except TypeError as error:
            raise DTypeError(str(error)) from None


def _in_numpy(name: str) -> Callable[..., Any]:
    theirs: Callable[..., Any] = getattr(np, name)

    def evaluated(*args: Any, **kwargs: Any) -> Any:
        return evaluate_in_numpy(theirs, *args, **kwargs)

    evaluated.__name__ = evaluated.__qualname__ = name
    evaluated.__doc__ = f"`np.{name}` of the values of the arrays, which evaluate."
    with contextlib.suppress(ValueError):  # of those written in C, without a text of parameters
        evaluated.__signature__ = inspect.signature(theirs)  # type: ignore[attr-defined]
    return evaluated


apply_along_axis = _in_numpy("apply_along_axis")
asarray_chkfinite = _in_numpy("asarray_chkfinite")
bartlett = _in_numpy("bartlett")
bincount = _in_numpy("bincount")
blackman = _in_numpy("blackman")
frombuffer = _in_numpy("frombuffer")
fromfile = _in_numpy("fromfile")
fromiter = _in_numpy("fromiter")
fromstring = _in_numpy("fromstring")
genfromtxt = _in_numpy("genfromtxt")
geomspace = _in_numpy("geomspace")
hamming = _in_numpy("hamming")
hanning = _in_numpy("hanning")
histogramdd = _in_numpy("histogramdd")
intersect1d = _in_numpy("intersect1d")
kaiser = _in_numpy("kaiser")
loadtxt = _in_numpy("loadtxt")
logspace = _in_numpy("logspace")
poly = _in_numpy("poly")
polydiv = _in_numpy("polydiv")
polyfit = _in_numpy("polyfit")
ravel_multi_index = _in_numpy("ravel_multi_index")
roots = _in_numpy("roots")
setdiff1d = _in_numpy("setdiff1d")
setxor1d = _in_numpy("setxor1d")
sort_complex = _in_numpy("sort_complex")
union1d = _in_numpy("union1d")
unravel_index = _in_numpy("unravel_index")
load = _in_numpy("load")
unique = _in_numpy("unique")
