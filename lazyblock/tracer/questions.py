"""Questions about dtypes and costs that need no elements, and arrays as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock.dtypes import DType
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.host_functions import evaluate_in_numpy
from lazyblock.tracer.protocols import namespace

__all__ = [
    "asanyarray",
    "ascontiguousarray",
    "asfortranarray",
    "common_type",
    "einsum_path",
    "min_scalar_type",
    "real_if_close",
]


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None) -> Array:
    """As `asarray`: there are no subclasses."""
    return asarray(a, dtype, device=device)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """An array with at least one axis; results lie in memory in C order anyway."""
    x = asarray(a, dtype)
    return x.reshape((1,)) if x.ndim == 0 else x


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """As `ascontiguousarray`: the order in memory is not a user's business here."""
    return ascontiguousarray(a, dtype)


def common_type(*arrays: Any) -> type:
    """The inexact scalar type that all arrays convert to."""
    return np.common_type(*(np.empty(0, to_array(x).dtype) for x in arrays))


def min_scalar_type(a: Any, /) -> DType:
    """The dtype of an array; of a number, which evaluates, the smallest that holds it."""
    x = to_array(a)
    return x.dtype if x.ndim else np.min_scalar_type(x._values("np.min_scalar_type")[()])


def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real parts if all imaginary ones are close to 0; complex arrays evaluate."""
    x = to_array(a)
    if x.dtype.kind != "c":
        return x
    is_real = not evaluate_in_numpy(np.iscomplexobj, np.real_if_close(x.numpy(), tol))
    return namespace().real(x) if is_real else x


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """NumPy's order of contractions for `einsum`, which shapes alone decide."""
    shown = [
        np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, Array) else x
        for x in operands
    ]
    return np.einsum_path(*shown, optimize=optimize)
