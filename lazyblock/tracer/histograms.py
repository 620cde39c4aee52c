"""Histograms: NumPy counts on the host. With a known number of bins that is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.errors import ShapeError
from lazyblock.tracer.arguments import as_arrays
from lazyblock.tracer.array import Array
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.host_functions import ask_numpy, evaluate_in_numpy

NDArray = npt.NDArray[Any]

__all__ = [
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
]


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]:
    """How many elements fall into each bin, and the edges of the bins.

    Bins by name ("auto"...) evaluate; what the elements themselves make an error raises then too.
    """
    if isinstance(bins, str):
        return evaluate_in_numpy(np.histogram, a, bins, range, density, weights)  # type: ignore[no-any-return]
    has_edges = np.ndim(bins) > 0
    arrays = as_arrays(a, *([bins] if has_edges else []), *([] if weights is None else [weights]))
    if weights is not None and arrays[-1].shape != arrays[0].shape:
        raise ShapeError("weights should have the same shape as a.")
    settings = {"bins": None if has_edges else bins, "has_weights": weights is not None}
    settings["span"] = None if range is None else tuple(map(float, range))
    settings["span_dtype"] = range.dtype.name if isinstance(range, (Array, np.ndarray)) else None
    settings["density"] = bool(density)
    asked: list[Any] = list(arrays)
    if has_edges:
        asked[1] = (
            np.asarray(bins)
            if not isinstance(bins, Array)
            else np.arange(bins.size).reshape(bins.shape)
        )
    counts, edges = ask_numpy(_histogram, asked, **settings)
    specs = [
        (counts.shape, counts.dtype),
        (edges.shape, arrays[1].dtype if has_edges else edges.dtype),
    ]
    found = host_call(_histogram, arrays, specs, **settings)
    return found[0], found[1]


def _histogram(
    a: NDArray,
    *others: NDArray,
    bins: Any,
    span: Any,
    span_dtype: str | None,
    has_weights: bool,
    density: bool,
) -> tuple[NDArray, NDArray]:
    given = list(others)
    if span_dtype is not None:
        span = np.asarray(span, span_dtype)
    weights = given.pop() if has_weights else None
    return np.histogram(a, given[0] if given else bins, span, density, weights)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of the bins of a histogram."""
    if isinstance(bins, str):
        found = evaluate_in_numpy(np.histogram_bin_edges, a, bins, range, weights)
        return found  # type: ignore[no-any-return]
    return histogram(a, bins, range, None, weights)[1]


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array, Array]:
    """How many points fall into each cell, and the edges along both axes; evaluates."""
    found = evaluate_in_numpy(np.histogram2d, x, y, bins, range, density, weights)
    return found  # type: ignore[no-any-return]
