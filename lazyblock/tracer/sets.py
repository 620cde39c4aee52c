"""Arrays as sets. How many distinct elements there are is data: `unique_*` evaluate.

Distinct values come sorted; every NaN is one of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import ValueRangeError
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.sorting import comparable

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]

NDArray = npt.NDArray[Any]


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Array
    inverse_indices: Array


def unique_all(x: Any, /) -> UniqueAll:
    """Distinct values, where each stands first, which of them every element is, their counts."""
    return UniqueAll(*_unique(x, index=True, inverse=True, counts=True))


def unique_counts(x: Any, /) -> UniqueCounts:
    """Distinct values and how often each occurs."""
    return UniqueCounts(*_unique(x, counts=True))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Distinct values and which of them every element is."""
    return UniqueInverse(*_unique(x, inverse=True))


def unique_values(x: Any, /) -> Array:
    """Distinct values."""
    return _unique(x)[0]


def _unique(
    x: Any, index: bool = False, inverse: bool = False, counts: bool = False
) -> list[Array]:
    array = to_array(x)
    given = array._values("unique")
    settings = {"return_index": index, "return_inverse": inverse, "return_counts": counts}
    find_unique: Any = np.unique
    found = find_unique(comparable(given), **settings, equal_nan=False)
    values, *rest = found if isinstance(found, tuple) else (found,)
    return [
        asarray(values.astype(given.dtype), device=array.device),
        *(asarray(places, device=array.device) for places in rest),
    ]


def isin(
    x1: Any,
    x2: Any,
    /,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Array:
    """Whether each element of `x1` is one of `x2` (invert: is none of them).

    assume_unique, kind: what NumPy could save by; the result is the same.
    """
    if kind not in (None, "sort", "table"):
        raise ValueRangeError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    arrays = [to_array(x) for x in (x1, x2)]
    results = [(arrays[0].shape, dtypes.bool_)]
    (found,) = host_call(is_one_of, arrays, results, invert=invert)
    return found._as_array()


def is_one_of(x1: NDArray, x2: NDArray, *, invert: bool) -> NDArray:
    """NumPy's isin, for all dtypes."""
    return np.isin(comparable(x1), comparable(x2), invert=invert)
