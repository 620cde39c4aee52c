"""Reductions and scans on nodes: NumPy's result dtypes, explicit accumulators.

Bools and ints sum to (u)int64; half types accumulate in float32 and come back rounded once; the
number of elements enters as a constant. Variance is the corrected two-pass algorithm.

Source: T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, The
American Statistician 37(3), 1983.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind, reduce_identity
from lazyblock.shapes import normalize_axes, normalize_axis, size_of
from lazyblock.tracer import complex_folds
from lazyblock.tracer.complex_folds import first_place
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.operands import as_node

Axis = int | tuple[int, ...] | None


NOT_GIVEN: Any = np._NoValue  # tells a setting that is None from none


def lost_freedom(ddof: float, correction: Any) -> float:
    """What a variance loses, by either name, of its count. Raises: ValueRangeError for both."""
    if correction is NOT_GIVEN:
        return ddof
    if ddof != 0:
        raise ValueRangeError("ddof and correction can't be provided simultaneously.")
    return correction  # type: ignore[no-any-return]


def total(kind: ReduceKind, x: Node, axis: Axis, dtype: Any, keepdims: bool) -> Node:
    """SUM or PROD; `dtype` (None = NumPy's choice) is that of the accumulator and the result."""
    result = _total_dtype(x.dtype) if dtype is None else dtypes.as_dtype(dtype)
    axes = _folded_axes(axis, x.ndim, kind.value)
    if dtypes.is_complex(result) and kind is ReduceKind.PROD:
        return complex_folds.product(build.cast(x, result), axes, keepdims)
    wide = build.cast(build.cast(x, result), dtypes.accumulator_dtype(result))
    return build.cast(_reduce(_kind_on(result, kind), wide, axes, keepdims), result)


def _total_dtype(dtype: DType) -> DType:
    if dtypes.is_unsigned(dtype):
        return dtypes.uint64
    return dtype if dtypes.is_inexact(dtype) else dtypes.int64


def extreme(kind: ReduceKind, x: Node, axis: Axis, keepdims: bool) -> Node:
    """MAX or MIN. Raises: ValueRangeError when there is nothing to choose from."""
    axes = _folded_axes(axis, x.ndim, kind.value)
    if 0 in (x.shape[a] for a in axes):
        name = "maximum" if kind is ReduceKind.MAX else "minimum"
        raise ValueRangeError(
            f"zero-size array to reduction operation {name} which has no identity"
        )
    if dtypes.is_complex(x.dtype):
        return complex_folds.extreme(kind, x, axes, keepdims)
    return _reduce(_kind_on(x.dtype, kind), x, axes, keepdims)


def _kind_on(dtype: DType, kind: ReduceKind) -> ReduceKind:
    """Sums and maxima of bools are ANY, products and minima ALL."""
    return _ON_BOOL.get(kind, kind) if dtypes.is_bool(dtype) else kind


_ON_BOOL = {
    ReduceKind.SUM: ReduceKind.ANY,
    ReduceKind.MAX: ReduceKind.ANY,
    ReduceKind.PROD: ReduceKind.ALL,
    ReduceKind.MIN: ReduceKind.ALL,
}


def running(
    kind: ReduceKind, x: Node, axis: Any, dtype: Any, operation: str, include_initial: bool = False
) -> Node:
    """Every element combined with all before it; axis None scans all elements in C order.

    dtype (None = NumPy's choice) is that of the result; half types add up in float32.
    include_initial puts the combination of nothing first.
    """
    is_total = kind in (ReduceKind.SUM, ReduceKind.PROD)
    chosen = _total_dtype(x.dtype) if is_total else x.dtype
    if kind in (ReduceKind.ANY, ReduceKind.ALL):
        chosen = dtypes.bool_
    result = chosen if dtype is None else dtypes.as_dtype(dtype)
    if axis is None or x.ndim == 0:
        axis = normalize_axis(axis or 0, 1, operation)
        x = build.reshape(x, (x.size,))
    axis = normalize_axis(axis, x.ndim, operation)
    wide = dtypes.accumulator_dtype(result) if is_total else result
    operand = build.cast(build.cast(x, result), wide)
    if dtypes.is_complex(result) and kind is not ReduceKind.SUM:
        return complex_folds.running(kind, operand, axis, include_initial)
    kind = _kind_on(result, kind)
    scanned = build.cast(build.scan(kind, operand, axis), result)
    return build.pad(scanned, axis, int(include_initial), 0, reduce_identity(kind, result))


def place_of_extreme(kind: ReduceKind, x: Node, axis: Any, keepdims: bool) -> Node:
    """Where MAX or MIN stands first, as int64; NaN wins. axis None counts in C order.

    It is the least of the places that hold the extreme: two reductions of the same rows.
    """
    name = f"arg{kind.value}"
    axes = _folded_axes(axis if axis is None else operator.index(axis), x.ndim, name)
    size = size_of([x.shape[a] for a in axes])
    if size == 0:
        raise ValueRangeError(f"attempt to get {name} of an empty sequence")
    if not axes:
        return build.constant(0, dtypes.int64)
    if dtypes.is_complex(x.dtype):
        place = complex_folds.place_of_extreme(kind, x, axes)
        return build.cast(place if keepdims else build.squeeze(place, axes), dtypes.int64)
    best = build.reduce_keepdims(_kind_on(x.dtype, kind), x, axes)
    is_best = build.elementwise(Op.EQUAL, x, best)
    if dtypes.is_floating(x.dtype):
        is_best = build.elementwise(Op.BITWISE_OR, is_best, build.elementwise(Op.ISNAN, x))
    place = first_place(is_best, axes)
    return build.cast(place if keepdims else build.squeeze(place, axes), dtypes.int64)


def truth(kind: ReduceKind, x: Node, axis: Axis, keepdims: bool) -> Node:
    """ANY or ALL."""
    axes = _folded_axes(axis, x.ndim, kind.value)
    return _reduce(kind, build.cast(x, dtypes.bool_), axes, keepdims)


def mean(x: Node, axis: Axis, dtype: Any, keepdims: bool) -> Node:
    """Arithmetic mean."""
    axes = normalize_axes(axis, x.ndim, "mean")
    result, wide = _floating(x, dtype)
    return build.cast(_mean(wide, axes, 0, keepdims), result)


def variance(x: Node, axis: Axis, dtype: Any, ddof: float, keepdims: bool) -> Node:
    """Mean squared distance from the mean, over count - ddof."""
    result, value = _variance(x, axis, dtype, ddof, keepdims, "var")
    return build.cast(value, result)


def deviation(x: Node, axis: Axis, dtype: Any, ddof: float, keepdims: bool) -> Node:
    """Square root of the variance, rounded once."""
    result, value = _variance(x, axis, dtype, ddof, keepdims, "std")
    return build.cast(build.elementwise(Op.SQRT, value), result)


def _variance(
    x: Node, axis: Axis, dtype: Any, ddof: float, keepdims: bool, name: str
) -> tuple[DType, Node]:
    axes = normalize_axes(axis, x.ndim, name)
    result, wide = _floating(x, dtype)
    if dtypes.is_complex(wide.dtype):
        parts = (build.elementwise(op, wide) for op in (Op.REAL, Op.IMAG))
        values = [_variance(part, axis, None, ddof, keepdims, name)[1] for part in parts]
        return dtypes.part_dtype(result), build.elementwise(Op.ADD, *values)
    centred = build.elementwise(Op.SUBTRACT, wide, _mean(wide, axes, 0, True))
    squares = _reduce(ReduceKind.SUM, FUNCTIONS["square"](centred), axes, keepdims)
    squares = _less_rounding_of_mean(squares, centred, axes, keepdims)
    return result, _over_count(squares, wide, axes, ddof)


def _less_rounding_of_mean(
    squares: Node, centred: Node, axes: tuple[int, ...], keepdims: bool
) -> Node:
    """The sum of squares without what a rounded mean adds to it; as it is where that overflows."""
    rest = _reduce(ReduceKind.SUM, centred, axes, keepdims)
    excess = _over_count(FUNCTIONS["square"](rest), centred, axes, 0)
    is_part = build.elementwise(Op.LESS, excess, squares)
    return build.where(is_part, build.elementwise(Op.SUBTRACT, squares, excess), squares)


def _floating(x: Node, dtype: Any) -> tuple[DType, Node]:
    """The dtype of a mean, and `x` in the dtype it is computed in."""
    if dtype is not None:
        result = dtypes.as_dtype(dtype)
    else:
        result = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.float64
    computed = dtypes.accumulator_dtype(result) if dtypes.is_inexact(result) else dtypes.float64
    return result, build.cast(x, computed)


def _mean(x: Node, axes: tuple[int, ...], ddof: float, keepdims: bool) -> Node:
    return _over_count(_reduce(ReduceKind.SUM, x, axes, keepdims), x, axes, ddof)


def _over_count(total: Node, x: Node, axes: tuple[int, ...], ddof: float) -> Node:
    """`total` over the number of elements of `x` along `axes`, less `ddof`."""
    count = size_of([x.shape[a] for a in axes])
    return build.elementwise(Op.DIVIDE, total, as_node(max(count - ddof, 0), x.dtype))


def _folded_axes(axis: Axis, ndim: int, name: str) -> tuple[int, ...]:
    """The axes that disappear. A number has none, but NumPy folds it along 0 or -1 too."""
    return () if ndim == 0 and axis in (0, -1) else normalize_axes(axis, ndim, name)


def _reduce(kind: ReduceKind, x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    if not axes:
        return x
    return build.reduce_keepdims(kind, x, axes) if keepdims else build.reduce(kind, x, axes)
