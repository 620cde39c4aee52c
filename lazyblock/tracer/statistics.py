"""Averages, covariances and spreads, as compositions that fuse. Signatures are NumPy's."""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.shapes import normalize_axes
from lazyblock.tracer.arguments import as_arrays, deliver
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.diagonals import diag
from lazyblock.tracer.elementwise import clip, maximum, rint, sqrt, subtract
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.joining import concat
from lazyblock.tracer.manipulation import broadcast_to

__all__ = [
    "average",
    "corrcoef",
    "cov",
    "ptp",
]


def ptp(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest element less the smallest."""
    x = to_array(a)
    spread = subtract(x.max(axis, keepdims=keepdims), x.min(axis, keepdims=keepdims))
    return deliver(spread, out, "subtract")


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted mean; with `returned` also the sum of the weights, which evaluate.

    Raises: ZeroWeightsError when they sum to zero.
    """
    x = to_array(a)
    if weights is None:
        mean = x.mean(axis, keepdims=keepdims)
        count = to_array(x.size / mean.size).astype(mean.dtype)
        return (mean, broadcast_to(count, mean.shape)) if returned else mean
    x, given = as_arrays(a, weights)
    weight = _fitted_weights(given, x, axis)
    dtype = dtypes.result_type(x.dtype, weight.dtype)
    dtype = dtype if x.dtype.kind not in "biu" else dtypes.promote(dtype, dtypes.float64)
    scale = weight.sum(axis, dtype, keepdims=keepdims)
    if bool((scale == 0).any()):
        raise ZeroWeightsError("Weights sum to zero, can't be normalized")
    mean = (x.astype(dtype) * weight.astype(dtype)).sum(axis, keepdims=keepdims) / scale
    return (mean, broadcast_to(scale, mean.shape)) if returned else mean


class ZeroWeightsError(ValueRangeError, ZeroDivisionError):
    """Weights that cannot be normalized."""


def _fitted_weights(weight: Array, x: Array, axis: Axis) -> Array:
    """The weights in a shape that broadcasts to that of `x`."""
    if weight.shape == x.shape:
        return weight
    if axis is None:
        raise DTypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axes(axis, x.ndim, "average")
    given = axis if isinstance(axis, tuple) else (axis,)
    if weight.shape != tuple(x.shape[a] for a in given):
        raise ShapeError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = sorted(range(len(given)), key=lambda position: given[position] % x.ndim)
    shape = tuple(n if a in axes else 1 for a, n in enumerate(x.shape))
    return weight.transpose(tuple(order)).reshape(shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """Covariances of the rows (or columns, not `rowvar`) of `m` and `y`. Weights evaluate."""
    if ddof is not None and ddof != int(ddof):
        raise ValueRangeError("ddof must be integer")
    x = _variables(m, y, rowvar, dtype)
    if x.shape[0] == 0:
        return x[:, :0]
    weight = _observation_weights(fweights, aweights, x)
    taken_off = (0 if bias else 1) if ddof is None else ddof
    centred: Array = x - average(x, 1, weight, keepdims=True)
    weighted = centred if weight is None else centred * weight
    products: Array = (centred[:, None, :] * weighted.conj()[None, :, :]).sum(2)
    result: Array = products / _degrees_of_freedom(x, weight, aweights, taken_off)
    return result.squeeze()


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Array:
    """All variables as rows of one floating-point matrix."""
    given = as_arrays(m) if y is None else as_arrays(m, y)
    for name, array in zip("my", given, strict=False):
        if array.ndim > 2:
            raise ShapeError(f"{name} has more than 2 dimensions")
    found = dtypes.result_type(dtypes.float64, *(x.dtype for x in given))
    target = found if dtype is None else dtypes.as_dtype(dtype)
    rows = [x.astype(target).reshape((1, -1) if x.ndim < 2 else x.shape) for x in given]
    if not rowvar:
        first = rows[0] if given[0].ndim == 1 else rows[0].T
        rows = [first, *(x if x.shape[0] == 1 else x.T for x in rows[1:])]
    return rows[0] if len(rows) == 1 else concat(rows, axis=0)


def _degrees_of_freedom(x: Array, weight: Array | None, aweights: Any, ddof: float) -> Any:
    """What the sums of products are divided by; nothing below 0."""
    if weight is None:
        return max(x.shape[1] - ddof, 0)
    total = weight.sum()
    taken_off = ddof * (weight * to_array(aweights)).sum() / total if aweights is not None else ddof
    return maximum(total - taken_off, 0)


def _observation_weights(fweights: Any, aweights: Any, x: Array) -> Array | None:
    """One weight per observation. Raises: in NumPy's words, for what are no weights."""
    given = [("fweights", fweights), ("aweights", aweights)]
    result = None
    for name, weights in given:
        if weights is not None:
            weight = to_array(weights).astype(dtypes.float64)
            _check_weights(weight, name, x)
            result = weight if result is None else result * weight
    return result


def _check_weights(weight: Array, name: str, x: Array) -> None:
    if name == "fweights" and bool((weight != rint(weight)).any()):
        raise DTypeError("fweights must be integer")
    if weight.ndim > 1:
        raise WeightsShapeError(f"cannot handle multidimensional {name}")
    if weight.shape[0] != x.shape[1]:
        raise WeightsShapeError(f"incompatible numbers of samples and {name}")
    if bool((weight < 0).any()):
        raise ValueRangeError(f"{name} cannot be negative")


class WeightsShapeError(ShapeError, RuntimeError):
    """Weights whose shape does not fit the observations."""


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """Correlation coefficients of the rows (or columns, not `rowvar`) of `x` and `y`."""
    covariance = cov(x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        ratio: Array = covariance / covariance
        return ratio
    deviation = sqrt(diag(covariance).real)
    scaled: Array = covariance / deviation[:, None] / deviation[None, :]
    if not dtypes.is_complex(scaled.dtype):
        return clip(scaled, -1, 1)
    scaled.real, scaled.imag = clip(scaled.real, -1, 1), clip(scaled.imag, -1, 1)
    return scaled
