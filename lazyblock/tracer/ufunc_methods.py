"""Methods of NumPy's ufuncs on lazy arrays: reduce, accumulate, reduceat, outer, at.

`fold` is behind `np.add.reduce(x)` and `x.sum()` alike. What has an associative combine is a
reduction or scan of the graph; the rest keeps NumPy's order of steps as a host function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, IndexingError, ShapeError, ValueRangeError
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ReduceKind, reduce_identity
from lazyblock.shapes import folded_shape, normalize_axes, normalize_axis
from lazyblock.tracer import folds
from lazyblock.tracer.array import Array, record
from lazyblock.tracer.folds import NOT_GIVEN, Axis
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.operands import resolve_loop
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.ufuncs import as_mask, check_out, check_shape_of_out, write_out
from lazyblock.tracer.updates_at import at as at  # one of the methods

NDArray = npt.NDArray[Any]

COMBINES: dict[np.ufunc, ReduceKind] = {
    np.add: ReduceKind.SUM,
    np.multiply: ReduceKind.PROD,
    np.maximum: ReduceKind.MAX,
    np.minimum: ReduceKind.MIN,
    np.logical_or: ReduceKind.ANY,
    np.logical_and: ReduceKind.ALL,
}
_TRUTHS = (ReduceKind.ANY, ReduceKind.ALL)
_EXTREMES = (ReduceKind.MAX, ReduceKind.MIN)


def check_binary(ufunc: np.ufunc, method: str) -> None:
    """Raises: ValueRangeError for ufuncs that do not have this method."""
    if ufunc.nin != 2:
        raise ValueRangeError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueRangeError(f"{method} only supported for functions returning a single value")
    if ufunc.signature is not None:
        raise DTypeError(f"{method} not defined for ufunc {ufunc.__name__} with a signature")


# reduce


def fold(
    ufunc: np.ufunc,
    array: Any,
    axis: Axis = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """What `ufunc.reduce` gives, by one reduction where the combine is associative."""
    check_binary(ufunc, "reduce")
    x = namespace().asarray(array)
    dtype = computed_dtype(ufunc, x, dtype, out)
    axes = _axes_of(ufunc, axis, x.ndim)
    result = _fold_kind(ufunc, x, axes, dtype, bool(keepdims), initial, where)
    if out is not None and out.ndim != result.ndim:
        raise ShapeError(
            f"output parameter for reduction operation {ufunc.__name__} has the wrong number of "
            f"dimensions: Found {out.ndim} but expected {result.ndim}"
        )
    return store(result, out, ufunc.__name__)


def computed_dtype(ufunc: np.ufunc, x: Array, dtype: Any, out: Any) -> Any:
    """The setting `dtype`, which an array for the result has a say in."""
    check_out(out)
    if dtype is not None or out is None or COMBINES.get(ufunc) in _TRUTHS:
        return dtype
    return resolve_loop(ufunc, (dtypes.as_dtype(out.dtype), x.dtype, None))[-1]


def _axes_of(ufunc: np.ufunc, axis: Axis, ndim: int) -> tuple[int, ...]:
    if ndim == 0 and axis in (0, -1):
        return ()
    axes = normalize_axes(axis, ndim, ufunc.__name__)
    if len(axes) > 1 and not _is_reorderable(ufunc):
        raise ValueRangeError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may "
            "be specified"
        )
    return axes


def _is_reorderable(ufunc: np.ufunc) -> bool:
    return ufunc.identity is not None or ufunc in COMBINES or ufunc in _REORDERABLE


_REORDERABLE = (np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot, np.gcd, np.lcm)


def _fold_kind(
    ufunc: np.ufunc,
    x: Array,
    axes: tuple[int, ...],
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    if ufunc not in COMBINES:
        return _fold_on_host(ufunc, x, axes, dtype, keepdims, initial, where)
    kind = COMBINES[ufunc]
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
        if kind in _TRUTHS:
            resolve_loop(ufunc, (dtypes.bool_, dtypes.bool_, None), (None, None, dtype))
        if kind in _EXTREMES:
            x = x.astype(dtype, copy=False)
    if where is not True:
        x = _masked(ufunc, kind, x, as_mask(where), dtype, initial)
    is_empty = 0 in (x.shape[a] for a in axes)
    if is_empty and (initial is None or (initial is NOT_GIVEN and kind in _EXTREMES)):
        raise ValueRangeError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    if is_empty and kind in _EXTREMES:
        shape = folded_shape(x.shape, axes, keepdims)
        return namespace().full(shape, initial, dtype=x.dtype)  # type: ignore[no-any-return]
    result = x._with(_fold_node(kind, x.node, axes, dtype, keepdims))
    if initial is NOT_GIVEN or initial is None:
        return result
    given = np.asarray(initial, result.dtype) if type(initial) in dtypes.WEAK_TYPES else initial
    start = namespace().asarray(given).astype(result.dtype)
    return record(FUNCTIONS[ufunc.__name__], result, start)


def _fold_node(
    kind: ReduceKind, x: Node, axes: tuple[int, ...], dtype: Any, keepdims: bool
) -> Node:
    if kind in _EXTREMES:
        return folds.extreme(kind, x, axes, keepdims)
    if kind in _TRUTHS:
        return folds.truth(kind, x, axes, keepdims)
    return folds.total(kind, x, axes, dtype, keepdims)


def _masked(
    ufunc: np.ufunc, kind: ReduceKind, x: Array, mask: Array, dtype: Any, initial: Any
) -> Array:
    """Elements outside the mask replaced by what leaves the result alone."""
    if kind in _EXTREMES and (initial is NOT_GIVEN or initial is None):
        raise ValueRangeError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
            "mask one has to specify 'initial'"
        )
    if mask.ndim > x.ndim:
        raise ShapeError("input operand has more dimensions than allowed by the axis remapping")
    if dtype is not None and kind not in _TRUTHS:
        x = x.astype(dtype, copy=False)
    neutral = initial if kind in _EXTREMES else reduce_identity(kind, dtypes.int64)
    other = namespace().asarray(neutral).astype(x.dtype)
    result = record(FUNCTIONS["where"], mask, x, other)
    if result.shape != x.shape:
        raise ShapeError(f"where= of shape {mask.shape} does not broadcast to {x.shape}.")
    return result


def _fold_on_host(
    ufunc: np.ufunc,
    x: Array,
    axes: tuple[int, ...],
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    settings: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if dtype is not None:
        settings["dtype"] = dtypes.as_dtype(dtype)
    if initial is not NOT_GIVEN:
        settings["initial"] = initial.item() if isinstance(initial, Array) else initial
    masks = [] if where is True else [as_mask(where)]
    found = _probe(lambda a: ufunc.reduce(a, **settings), x)
    specs = [(folded_shape(x.shape, axes, keepdims), found)]
    return host_call(_reduce_on_host, [x, *masks], specs, ufunc=ufunc, **settings)[0]


def _reduce_on_host(x: NDArray, mask: Any = True, *, ufunc: np.ufunc, **settings: Any) -> Any:
    return ufunc.reduce(x, where=mask, **settings)


def _probe(function: Callable[[NDArray], Any], x: Array) -> DType:
    """The dtype of a result, asked of NumPy with as few elements as there can be."""
    small = np.ones([min(n, 1) for n in x.shape], x.dtype)
    with np.errstate(all="ignore"):
        try:
            found = function(small)
        except TypeError as error:
            raise DTypeError(str(error)) from None
    return dtypes.as_dtype(np.asarray(found).dtype)


def store(result: Array, out: Any, name: str) -> Any:
    """Write into `out`, if there is one, by any cast. Raises: ShapeError."""
    check_shape_of_out(result, out, name)
    return result if out is None else write_out(result, out, name, "unsafe")


# accumulate, reduceat, outer


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """What `ufunc.accumulate` gives: one scan where the combine is associative."""
    check_binary(ufunc, "accumulate")
    x = namespace().asarray(array)
    if x.ndim == 0:
        raise DTypeError("cannot accumulate on a scalar")
    if isinstance(axis, (tuple, list)) and len(axis) == 1:
        (axis,) = axis
    if isinstance(axis, (tuple, list)) or (axis is None and x.ndim > 1):
        raise ValueRangeError("accumulate does not allow multiple axes")
    dtype = computed_dtype(ufunc, x, dtype, out)
    place = normalize_axis(axis or 0, x.ndim, ufunc.__name__)
    if ufunc in COMBINES:
        result = x.accumulate(COMBINES[ufunc], place, dtype)
    else:
        settings: dict[str, Any] = {} if dtype is None else {"dtype": dtypes.as_dtype(dtype)}
        found = _probe(lambda a: ufunc.accumulate(a, axis=place, **settings), x)
        specs = [(x.shape, found)]
        (result,) = host_call(_accumulate_on_host, [x], specs, ufunc=ufunc, axis=place, **settings)
    return result if out is None else write_out(result, out, ufunc.__name__, "unsafe")


def _accumulate_on_host(x: NDArray, *, ufunc: np.ufunc, **settings: Any) -> Any:
    return ufunc.accumulate(x, **settings)


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """What `ufunc.reduceat` gives, on the host. Known indices are checked here."""
    check_binary(ufunc, "reduceat")
    x = namespace().asarray(array)
    if x.ndim == 0:
        raise DTypeError("cannot reduceat on a scalar")
    place = normalize_axis(axis, x.ndim, ufunc.__name__)
    if np.ndim(indices) > 1:
        raise ShapeError("object too deep for desired array")
    if not isinstance(indices, Array):
        _check_reduceat(ufunc, np.asarray(indices), x.shape[place])
    starts = namespace().asarray(indices)
    dtype = computed_dtype(ufunc, x, dtype, out)
    settings: dict[str, Any] = {} if dtype is None else {"dtype": dtypes.as_dtype(dtype)}
    found = _probe(lambda a: ufunc.reduceat(np.ones(1, a.dtype), [0], **settings), x)
    shape = (*x.shape[:place], starts.size, *x.shape[place + 1 :])
    (result,) = host_call(
        _reduceat_on_host, [x, starts], [(shape, found)], ufunc=ufunc, axis=place, **settings
    )
    return store(result, out, ufunc.__name__)


def _check_reduceat(ufunc: np.ufunc, indices: NDArray, extent: int) -> None:
    for index in indices.ravel().tolist():
        if not 0 <= index < extent:
            raise IndexingError(
                f"index {index} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})"
            )


def _reduceat_on_host(x: NDArray, indices: NDArray, *, ufunc: np.ufunc, **settings: Any) -> Any:
    return ufunc.reduceat(x, indices, **settings)


def outer(ufunc: np.ufunc, left: Any, right: Any, **settings: Any) -> Any:
    """Every element of `left` with every element of `right`."""
    if ufunc.nin != 2:
        raise ValueRangeError("outer product only supported for binary functions")
    a, b = namespace().asarray(left), namespace().asarray(right)
    return ufunc(a.reshape((*a.shape, *[1] * b.ndim)), b, **settings)
