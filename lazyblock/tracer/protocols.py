"""NumPy's protocols: its ufuncs and functions record when they are given lazy arrays.

`NumPyProtocols` is a mixin of `Array`. Ufuncs are understood in `ufuncs.py` and `ufunc_methods.py`;
other functions go, by `numpy_calls.py`, to the function of the same name in the array's namespace,
which is `lazyblock` itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from lazyblock.errors import ValueRangeError
from lazyblock.lazy_imports import lazy_import
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.operands import is_operand_type

ufuncs = lazy_import("lazyblock.tracer.ufuncs")
ufunc_methods = lazy_import("lazyblock.tracer.ufunc_methods")
numpy_calls = lazy_import("lazyblock.tracer.numpy_calls")

_NAMESPACE = __name__.partition(".")[0]

_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def namespace() -> ModuleType:
    """The module whose functions take these arrays."""
    return sys.modules[_NAMESPACE]


class NumPyProtocols(Handle):
    """What makes `np.exp(x)`, `np.sum(x)` and `np_array + x` record."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Raises: ValueRangeError for versions of the array API standard that are not offered."""
        if api_version not in (None, *_API_VERSIONS):
            raise ValueRangeError(f"Version '{api_version}' of the array API is not offered.")
        return namespace()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """Record a ufunc or one of its methods; NotImplemented for operands of foreign types."""
        if method == "__call__" and not settings:  # for speed
            form = ufuncs.PLAIN_FORMS.get(ufunc)
            if form is not None:
                return form(*inputs)
        out = settings.pop("out", None)
        where = settings.pop("where", True)
        operands = inputs if method != "at" else (inputs[0], *inputs[2:])  # inputs[1] is an index
        for value in (*operands, *(out or ()), where):
            if value is not None and not is_operand(value):
                return NotImplemented
        if method == "__call__":
            return ufuncs.call(ufunc, inputs, out or (None,) * ufunc.nout, where, settings)
        if method == "reduce":
            settings["where"] = where
        record: Callable[..., Any] = getattr(ufunc_methods, _METHODS.get(method, method))
        if out is not None:
            settings["out"] = out if method == "outer" else out[0]
        return record(ufunc, *inputs, **settings)

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any, kwargs: Any
    ) -> Any:
        """Record a NumPy function by ours of the same name; NotImplemented for foreign types.

        Raises: UnsupportedTypeError for functions that are not offered.
        """
        if not all(issubclass(kind, Handle) or is_operand_type(kind) for kind in types):
            return NotImplemented
        return numpy_calls.call(func, args, kwargs)


_METHODS = {"reduce": "fold"}


def is_operand(value: Any) -> bool:
    """Whether recording knows what to do with a value."""
    return isinstance(value, Handle) or is_operand_type(type(value))
