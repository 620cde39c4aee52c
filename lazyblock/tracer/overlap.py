"""Whether arrays show elements of one base: NumPy's `shares_memory`. Nothing evaluates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.graph.ops import Op
from lazyblock.shapes import contiguous_strides, strided_view
from lazyblock.tracer.array import Array
from lazyblock.tracer.views import whole

__all__ = ["may_share_memory", "shares_memory"]

NDArray = npt.NDArray[Any]


def shares_memory(a: Any, b: Any, /, max_work: int | None = None) -> bool:
    """Whether a write to one array may be seen in the other."""
    return _compare(np.shares_memory, a, b, max_work)


def may_share_memory(a: Any, b: Any, /, max_work: int | None = None) -> bool:
    """Whether the places between the first and the last element of two arrays overlap."""
    return _compare(np.may_share_memory, a, b, max_work)


def _compare(function: Callable[..., bool], a: Any, b: Any, max_work: int | None) -> bool:
    lazy = [x for x in (a, b) if isinstance(x, Array)]
    if not lazy:
        return function(a, b, max_work)
    if len(lazy) < 2 or a._cell is not b._cell:
        return False
    node = a._cell.node
    room = np.empty(node.size, node.dtype)
    return function(_show(a, room), _show(b, room), max_work)


def _show(array: Array, room: NDArray) -> NDArray:
    """The view of an array, taken from memory as large as its base."""
    view = array._view or whole(array.shape)
    if not array.size:
        return room[:0]
    offset, strides = view.map.strides(contiguous_strides(view.base_shape))
    shown = strided_view(room[offset:], view.shape, strides)
    if view.part is not None:
        shown = shown.real if view.part is Op.REAL else shown.imag
    return shown if view.bits is None else shown.view(view.bits)
