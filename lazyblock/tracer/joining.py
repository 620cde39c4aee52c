"""Joining arrays along an axis, and cutting them: one kernel computes and joins what is joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.joining import concatenate as concatenate_nodes
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array, Cell, common_device
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.manipulation import expand_dims
from lazyblock.tracer.operands import can_cast_same_kind

__all__ = [
    "array_split",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "vsplit",
    "vstack",
]


def concat(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Array:
    """Arrays after each other along an axis (None: all elements in C order).

    Raises: ShapeError when other extents or that of `out` differ, DTypeError when `casting` forbids
    `dtype`.
    """
    if out is not None and dtype is not None:
        raise DTypeError("concatenate() only takes `out` or `dtype` as an argument, not both.")
    given = _listed(arrays, "concatenate")
    if axis is None:
        given = [x.ravel() for x in given]
    first = given[0]
    if any(x.ndim == 0 for x in given):
        raise ShapeError("zero-dimensional arrays cannot be concatenated")
    along = normalize_axis(axis or 0, first.ndim, "concatenate")
    for number, x in enumerate(given):
        _check_joins(first, x, along, number)
    extent = sum(x.shape[along] for x in given)
    if out is not None and out.shape != (*first.shape[:along], extent, *first.shape[along + 1 :]):
        raise ShapeError("Output array is the wrong shape")
    weak = [type(x) for x in arrays if type(x) in dtypes.WEAK_TYPES]
    kinds = [x.dtype for x, y in zip(given, arrays, strict=True) if type(y) not in weak] + weak
    target = dtype if out is None else out.dtype
    target = dtypes.result_type(*kinds) if target is None else dtypes.as_dtype(target)
    _check_casts(given, target, casting)
    nodes = [build.cast(x.node, target) for x in given]
    result = Array(Cell(concatenate_nodes(nodes, along), common_device(*given)))
    delivered: Array = deliver(result, out, "concatenate")
    return delivered


concatenate = concat


def _listed(arrays: Any, name: str) -> list[Array]:
    if isinstance(arrays, Array):
        arrays = list(arrays)
    elif not isinstance(arrays, (list, tuple, np.ndarray)):
        raise DTypeError(f"'{name}' takes a sequence of arrays, not a {type(arrays).__name__}.")
    given = [to_array(x) for x in arrays]
    if not given:
        raise ValueRangeError(f"need at least one array to {name}")
    return given


def _check_joins(first: Array, x: Array, axis: int, number: int) -> None:
    if x.ndim != first.ndim:
        raise ShapeError(
            "all the input arrays must have same number of dimensions, but the array at index 0 "
            f"has {first.ndim} dimension(s) and the array at index {number} has {x.ndim} "
            "dimension(s)"
        )
    for other, (mine, its) in enumerate(zip(first.shape, x.shape, strict=True)):
        if other != axis and mine != its:
            raise ShapeError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension {other}, the array at index 0 has size {mine} and "
                f"the array at index {number} has size {its}"
            )


def _check_casts(given: Sequence[Array], target: DType, casting: str) -> None:
    for x in given:
        is_fine = (
            can_cast_same_kind(x.dtype, target)
            if casting == "same_kind"
            else casting == "unsafe" or np.can_cast(x.dtype, target, casting)  # type: ignore[arg-type]
        )
        if not is_fine:
            raise DTypeError(
                f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule "
                f"'{casting}'"
            )


def stack(
    arrays: Any,
    /,
    axis: int = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Array:
    """Arrays of one shape side by side along a new axis. Raises: ShapeError."""
    given = _listed(arrays, "stack")
    if any(x.shape != given[0].shape for x in given):
        raise ShapeError("all input arrays must have the same shape")
    along = normalize_axis(axis, given[0].ndim + 1, "stack")
    return concat([expand_dims(x, along) for x in given], along, out, dtype=dtype, casting=casting)


def vstack(tup: Any, /, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays on top of each other; one axis counts as a row."""
    rows = [_at_least_2d(x) for x in _listed(tup, "concatenate")]
    return concat(rows, 0, dtype=dtype, casting=casting)


def hstack(tup: Any, /, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays after each other along the second axis; of one axis along that."""
    given = [x.reshape(1) if x.ndim == 0 else x for x in _listed(tup, "concatenate")]
    return concat(given, 0 if given[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any, /) -> Array:
    """Arrays behind each other along the third axis."""
    given = [_at_least_2d(x) for x in _listed(tup, "concatenate")]
    return concat([x[:, :, None] if x.ndim == 2 else x for x in given], 2)


def column_stack(tup: Any, /) -> Array:
    """Arrays of one axis as columns, others as they are, side by side."""
    given = _listed(tup, "concatenate")
    return concat([_at_least_2d(x).T if x.ndim < 2 else x for x in given], 1)


def _at_least_2d(x: Array) -> Array:
    return x.reshape(1, -1) if x.ndim < 2 else x


# Cutting


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of consecutive parts: so many, nearly equal ones, or cut at the indices given."""
    array = to_array(ary)
    along = normalize_axis(axis, array.ndim, "split")
    extent = array.shape[along]
    ends: list[int | None]
    if isinstance(indices_or_sections, (int, np.integer)):
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueRangeError("number sections must be larger than 0.")
        least, more = divmod(extent, count)
        cuts = [least * n + min(n, more) for n in range(1, count)]
    else:
        cuts = [int(cut) for cut in indices_or_sections]
    ends = [*cuts, None]
    lead = (slice(None),) * along
    return [array[(*lead, slice(a, b))] for a, b in zip([0, *cuts], ends, strict=True)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of consecutive parts: so many equal ones, or cut at the indices given.

    Raises: ValueRangeError when they are not equal.
    """
    array = to_array(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        if indices_or_sections <= 0:
            raise ValueRangeError("number sections must be larger than 0.")
        extent = array.shape[normalize_axis(axis, array.ndim, "split")]
        if extent % int(indices_or_sections):
            raise ValueRangeError("array split does not result in an equal division")
    return array_split(array, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the second axis (of one axis: along that)."""
    array = to_array(ary)
    if not array.ndim:
        raise ValueRangeError("hsplit only works on arrays of 1 or more dimensions")
    return split(array, indices_or_sections, 1 if array.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the first axis of at least two."""
    array = to_array(ary)
    if array.ndim < 2:
        raise ValueRangeError("vsplit only works on arrays of 2 or more dimensions")
    return split(array, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the third axis."""
    array = to_array(ary)
    if array.ndim < 3:
        raise ValueRangeError("dsplit only works on arrays of 3 or more dimensions")
    return split(array, indices_or_sections, 2)
