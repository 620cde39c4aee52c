"""`pad`: longer axes. Constants and repeated elements are recorded, other modes run in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.graph.node import Node
from lazyblock.shapes import Shape
from lazyblock.tracer.array import Array, ArrayCell, Cell
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.host_functions import evaluate_in_numpy
from lazyblock.tracer.stages import pipeline

__all__ = ["pad"]

NDArray = npt.NDArray[Any]
Widths = list[tuple[int, int]]  # before and after, by axis

_OF_OTHERS = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    **dict.fromkeys(("maximum", "mean", "median", "minimum"), ("stat_length",)),
    **dict.fromkeys(("reflect", "symmetric"), ("reflect_type",)),
    **dict.fromkeys(("edge", "wrap", "empty"), ()),
}


def pad(array: Any, /, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """An array with elements added at both ends of its axes.

    Parameters: pad_width, (before, after) for every axis or for all, a dict by axis, or one int;
    mode and keywords, as NumPy's. A function as mode evaluates.
    Raises: ValueRangeError, DTypeError as NumPy does.
    """
    x = to_array(array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return evaluate_in_numpy(np.pad, x, widths, mode, **kwargs)  # type: ignore[no-any-return]
    if mode not in _OF_OTHERS:
        raise ValueRangeError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - set(_OF_OTHERS[mode])
    if unknown:
        raise ValueRangeError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if mode in ("constant", "empty"):
        node = _pad_constant(x.node, widths, kwargs.get("constant_values", 0))
        return Array(ArrayCell(node, x._cell.device))
    is_plain = kwargs.get("reflect_type", "even") == "even"
    if mode in _SOURCES and is_plain and x.size:
        return _pad_repeating(x, widths, _SOURCES[mode])
    empty = [axis for axis, n in enumerate(x.shape) if n == 0 and widths[axis] != (0, 0)]
    if empty:
        raise ValueRangeError(
            f"can't extend empty axis {empty[0]} using modes other than 'constant' or 'empty'"
        )
    if np.any(np.asarray(kwargs.get("stat_length") or 1) < 0):
        raise ValueRangeError("index can't contain negative values")
    settings = {key: _frozen(value) for key, value in kwargs.items()}
    (result,) = host_call(
        _pad_on_host,
        [x],
        [(_padded(x.shape, widths), x.dtype)],
        widths=tuple(widths),
        mode=mode,
        **settings,
    )
    return result._as_array()


def _pad_on_host(array: NDArray, widths: Widths, mode: Any, **settings: Any) -> NDArray:
    return np.pad(array, widths, mode, **settings) if array.ndim else array.copy()


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple, np.ndarray)) else value


def _widths(pad_width: Any, ndim: int) -> Widths:
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = (width, width) if isinstance(width, (int, np.integer)) else tuple(width)
        pad_width = pairs
    given = np.asarray(pad_width)
    if not ndim and not given.size:
        return []
    if given.dtype.kind not in "iu":
        raise DTypeError("`pad_width` must be of integral type.")
    if given.size and given.min() < 0:
        raise ValueRangeError("index can't contain negative values")
    return [(int(before), int(after)) for before, after in _as_pairs(given, ndim)]


def _as_pairs(given: Any, ndim: int) -> Any:
    try:
        return np.broadcast_to(given, (ndim, 2)).tolist()
    except ValueError as error:
        raise ValueRangeError(str(error)) from None


def _padded(shape: Shape, widths: Widths) -> Shape:
    return tuple(n + before + after for n, (before, after) in zip(shape, widths, strict=True))


def _pad_constant(node: Node, widths: Widths, values: Any) -> Node:
    """Axis by axis, so that later axes' values win in the corners."""
    fills = _as_pairs(np.asarray(values), node.ndim) if node.ndim else []
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, fills, strict=True)):
        fills_alike = before == 0 or after == 0 or first == last
        if fills_alike:
            node = build.pad(node, axis, before, after, _as(node, last if after else first))
            continue
        node = build.pad(node, axis, before, 0, _as(node, first))
        node = build.pad(node, axis, 0, after, _as(node, last))
    return node


def _as(node: Node, value: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(node.dtype)


# Modes that repeat elements: every element of the result has one source.


def _edge(place: NDArray, extent: int) -> NDArray:
    return np.clip(place, 0, extent - 1)


def _wrap(place: NDArray, extent: int) -> NDArray:
    return place % extent


def _reflect(place: NDArray, extent: int) -> NDArray:
    if extent == 1:
        return np.zeros_like(place)
    folded = place % (2 * extent - 2)
    return np.where(folded < extent, folded, 2 * extent - 2 - folded)


def _symmetric(place: NDArray, extent: int) -> NDArray:
    folded = place % (2 * extent)
    return np.where(folded < extent, folded, 2 * extent - 1 - folded)


_SOURCES: dict[str, Callable[[NDArray, int], NDArray]] = {
    "edge": _edge,
    "wrap": _wrap,
    "reflect": _reflect,
    "symmetric": _symmetric,
}


def _pad_repeating(x: Array, widths: Widths, find: Callable[[NDArray, int], NDArray]) -> Array:
    shape, device = _padded(x.shape, widths), x.device
    rows: list[int | None] = list(range(x.ndim))
    positions = {}
    for axis, (before, after) in enumerate(widths):
        if before or after:
            source = find(np.arange(-before, x.shape[axis] + after), x.shape[axis])
            node = pipeline.from_numpy(source.astype(np.int64), device)
            over = index_map.from_axes([axis], x.ndim)
            positions[axis] = build.view(node, over, shape)
            rows[axis] = None
    if not positions:
        return x.copy()
    free = index_map.from_axes(rows, x.ndim)
    return Array(Cell(build.gather(x.node, free, positions, shape), device))
