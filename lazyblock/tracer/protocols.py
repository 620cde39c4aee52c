"""NumPy's protocols: which of NumPy's functions record, and how their calls are understood.

`NumPyProtocols` is a base class of `Array`. Ufuncs go to the table of `functions.py`; other NumPy
functions go to the function of the same name in the array's namespace, which is `lazyblock` itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, UnsupportedError, ValueRangeError
from lazyblock.graph.ops import ReduceKind
from lazyblock.tracer.operands import can_cast_same_kind

_NAMESPACE = __name__.partition(".")[0]

# NumPy functions that record, by the name of ours where it differs.
_RENAMED: dict[Callable[..., Any], str] = {
    np.amax: "max",
    np.amin: "min",
    np.around: "round",
}
_SAME_NAME = """
    sum prod max min argmax argmin mean var std any all where clip round
    cumsum cumprod cumulative_sum cumulative_prod
    reshape transpose swapaxes moveaxis expand_dims squeeze broadcast_to broadcast_arrays ravel flip
    zeros_like ones_like full_like empty_like ndim shape size iscomplexobj isrealobj
    real imag angle iscomplex isreal
    result_type can_cast copy astype
"""
_FUNCTION_NAMES: dict[Any, str] = {
    **{getattr(np, name): name for name in _SAME_NAME.split()},
    **_RENAMED,
}
# Ufuncs whose `reduce` records, by the name of the reduction.
_REDUCTIONS: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}
# Ufuncs whose `accumulate` records, by what combines.
_ACCUMULATIONS: dict[np.ufunc, ReduceKind] = {
    np.add: ReduceKind.SUM,
    np.multiply: ReduceKind.PROD,
    np.maximum: ReduceKind.MAX,
    np.minimum: ReduceKind.MIN,
    np.logical_or: ReduceKind.ANY,
    np.logical_and: ReduceKind.ALL,
}
_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_KNOWN_OPERANDS = (np.ndarray, np.generic, bool, int, float, complex, list, tuple)


def namespace() -> ModuleType:
    """The module whose functions take these arrays."""
    return sys.modules[_NAMESPACE]


class NumPyProtocols:
    """What makes `np.exp(x)`, `np.sum(x)` and `np_array + x` record."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Raises: ValueRangeError for versions of the array API standard that are not offered."""
        if api_version not in (None, *_API_VERSIONS):
            raise ValueRangeError(f"Version '{api_version}' of the array API is not offered.")
        return namespace()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """Record a call, `reduce` or `accumulate` of a ufunc; NotImplemented if not known."""
        own = type(self)
        if not all(isinstance(x, (own, *_KNOWN_OPERANDS)) for x in inputs):
            return NotImplemented
        out = settings.pop("out", (None,))
        if settings.pop("where", True) is not True:
            return NotImplemented
        if method == "__call__" and set(settings) <= {"dtype", "casting"}:
            results = _call(ufunc, inputs, settings.get("dtype"))
        elif method == "reduce" and ufunc in _REDUCTIONS:
            results = _reduce(_REDUCTIONS[ufunc], *inputs, **settings)
        elif method == "accumulate" and ufunc in _ACCUMULATIONS:
            results = _accumulate(_ACCUMULATIONS[ufunc], *inputs, **settings)
        else:
            return NotImplemented
        return results if results is NotImplemented else _store(ufunc, results, out)

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any, kwargs: Any
    ) -> Any:
        """Record a NumPy function by ours of the same name."""
        own = type(self)
        if not all(issubclass(t, (own, np.ndarray)) for t in types):
            return NotImplemented
        name = _FUNCTION_NAMES.get(func)
        if name is None:
            raise UnsupportedTypeError(func)
        return getattr(namespace(), name)(*args, **kwargs)


class UnsupportedTypeError(UnsupportedError, TypeError):
    """A NumPy function that does not record; NumPy's own dispatch raises TypeError then."""

    def __init__(self, function: Callable[..., Any]) -> None:
        name = getattr(function, "__name__", repr(function))
        super().__init__(
            f"'np.{name}' of lazy arrays is not offered yet.",
            hint=f"evaluate first, 'np.{name}(x.numpy())'.",
        )


def _call(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any) -> Any:
    function = getattr(namespace(), ufunc.__name__, None)
    if function is None or getattr(np, ufunc.__name__, None) is not ufunc:
        return NotImplemented
    if dtype is not None:
        inputs = tuple(_convert(x, dtypes.as_dtype(dtype), ufunc) for x in inputs)
    return function(*inputs)


def _convert(operand: Any, dtype: dtypes.DType, ufunc: np.ufunc) -> Any:
    """The operand of a call with `dtype=`."""
    source = getattr(operand, "dtype", None)
    if source is None:
        return operand
    if not can_cast_same_kind(source, dtype):
        raise DTypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' input from {source!r} to {dtype!r} with casting "
            "rule 'same_kind'"
        )
    return operand.astype(dtype)


def _reduce(name: str, array: Any, axis: Any = 0, **settings: Any) -> Any:
    given = {key: value for key, value in settings.items() if value is not None}
    return getattr(namespace(), name)(array, axis=axis, **given)


def _accumulate(kind: ReduceKind, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    if array.ndim == 0:
        raise DTypeError("cannot accumulate on a scalar")
    if axis is None and array.ndim > 1:
        raise ValueRangeError("accumulate does not allow multiple axes")
    return array.accumulate(kind, axis, dtype)


def _store(ufunc: np.ufunc, results: Any, out: tuple[Any, ...]) -> Any:
    """Write results into the arrays given as `out=`, and give those."""
    if all(target is None for target in out):
        return results
    values = results if isinstance(results, tuple) else (results,)
    stored = tuple(
        value if target is None else _update(ufunc, target, value)
        for target, value in zip(out, values, strict=True)
    )
    return stored if isinstance(results, tuple) else stored[0]


def _update(ufunc: np.ufunc, target: Any, value: Any) -> Any:
    if not isinstance(target, NumPyProtocols):
        return NotImplemented
    return target.update(value, ufunc.__name__)  # type: ignore[attr-defined]
