"""Reductions on nodes: NumPy's result dtypes, explicit accumulators.

Bools and ints sum to (u)int64; half types accumulate in float32 and come back rounded once; the
number of elements enters as a constant. Variance is the corrected two-pass algorithm.

Source: T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, The
American Statistician 37(3), 1983.
"""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.shapes import normalize_axes, size_of
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.operands import as_node

Axis = int | tuple[int, ...] | None


def total(kind: ReduceKind, x: Node, axis: Axis, dtype: Any, keepdims: bool) -> Node:
    """SUM or PROD; `dtype` (None = NumPy's choice) is that of the accumulator and the result."""
    result = _total_dtype(x.dtype) if dtype is None else dtypes.as_dtype(dtype)
    axes = normalize_axes(axis, x.ndim, kind.value)
    if dtypes.is_bool(result):
        kind = ReduceKind.ANY if kind is ReduceKind.SUM else ReduceKind.ALL
    wide = build.cast(build.cast(x, result), dtypes.accumulator_dtype(result))
    return build.cast(_reduce(kind, wide, axes, keepdims), result)


def _total_dtype(dtype: DType) -> DType:
    if dtypes.is_unsigned(dtype):
        return dtypes.uint64
    return dtype if dtypes.is_floating(dtype) else dtypes.int64


def extreme(kind: ReduceKind, x: Node, axis: Axis, keepdims: bool) -> Node:
    """MAX or MIN. Raises: ValueRangeError when there is nothing to choose from."""
    axes = normalize_axes(axis, x.ndim, kind.value)
    if 0 in (x.shape[a] for a in axes):
        name = "maximum" if kind is ReduceKind.MAX else "minimum"
        raise ValueRangeError(
            f"zero-size array to reduction operation {name} which has no identity"
        )
    if dtypes.is_bool(x.dtype):
        kind = ReduceKind.ANY if kind is ReduceKind.MAX else ReduceKind.ALL
    return _reduce(kind, x, axes, keepdims)


def truth(kind: ReduceKind, x: Node, axis: Axis, keepdims: bool) -> Node:
    """ANY or ALL."""
    axes = normalize_axes(axis, x.ndim, kind.value)
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
        result = x.dtype if dtypes.is_floating(x.dtype) else dtypes.float64
    computed = dtypes.accumulator_dtype(result) if dtypes.is_floating(result) else dtypes.float64
    return result, build.cast(x, computed)


def _mean(x: Node, axes: tuple[int, ...], ddof: float, keepdims: bool) -> Node:
    return _over_count(_reduce(ReduceKind.SUM, x, axes, keepdims), x, axes, ddof)


def _over_count(total: Node, x: Node, axes: tuple[int, ...], ddof: float) -> Node:
    """`total` over the number of elements of `x` along `axes`, less `ddof`."""
    count = size_of([x.shape[a] for a in axes])
    return build.elementwise(Op.DIVIDE, total, as_node(max(count - ddof, 0), x.dtype))


def _reduce(kind: ReduceKind, x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    if not axes:
        return x
    return build.reduce_keepdims(kind, x, axes) if keepdims else build.reduce(kind, x, axes)
