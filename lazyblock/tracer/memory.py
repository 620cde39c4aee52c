"""Arrays as memory for block kernels: evaluated, in C order, written without anybody noticing.

A kernel writes into the buffer of an array in place when nothing else holds its value; otherwise
the array gets a copy first, so that recorded expressions, views handed out and memory that is
somebody else's keep what they had.
"""

from __future__ import annotations

import functools
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lazyblock.dtypes import DType
from lazyblock.errors import UnsupportedError
from lazyblock.graph import build
from lazyblock.graph.attrs import Placeholder
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape, Strides, contiguous_strides
from lazyblock.tracer.evaluation import evaluate
from lazyblock.tracer.stages import pipeline

if TYPE_CHECKING:
    from lazyblock.tracer.array import Array
    from lazyblock.tracer.cells import Cell
    from lazyblock.tracer.handle import Handle

_REASON = "kernel launch"
_ALIGNMENT = 16  # of the buffers that copies go to, at least


def find_memory(array: Array, is_written: bool) -> tuple[str, int, DType, Any]:
    """Where an array's elements lie: device, address of the first one, their dtype.

    Evaluates it; elements that do not lie in C order are copied. What comes last must be kept: a
    buffer that the array does not hold (None: it holds it). is_written: the caller is about to
    write there, and handles of the same base shall see it.
    Raises: UnsupportedError for writing into a view that does not lie in C order.
    """
    is_unwritten = array._view is None and array._cell.is_unwritten
    if is_written or is_unwritten:
        node = _node_to_write(array)  # nobody may hold the node meanwhile
    elif array._view is None and array._cell.node.op is Op.INPUT:
        node = array._cell.node
    else:
        node = array.stored(_REASON)
    attrs: Any = node.attrs
    _refuse_placeholder(attrs.storage)
    if not _is_usable(attrs):
        (node,) = pipeline.evaluate([build.copy(node)], _REASON)
        attrs = node.attrs
        if array._view is None:
            array._cell.node = node
    layout, buffer = attrs.layout, attrs.storage
    if is_unwritten:
        buffer.forget_written()
    address = buffer.pointer
    if layout.offset:
        address += layout.offset * layout.dtype.itemsize
    is_held = array._cell.node.attrs.storage is buffer  # type: ignore[union-attr]
    return buffer.device.name, address, layout.dtype, None if is_held else buffer


def _is_usable(attrs: Any) -> bool:
    """In C order, and as aligned as a copy of the base would be, in case there will be one."""
    layout = attrs.layout
    if layout.offset and attrs.storage.pointer % _ALIGNMENT:
        return False
    return is_in_order(layout.shape, layout.strides)


def find_base(array: Array) -> tuple[Array, int, int]:
    """The array that `array` is a view of, and which of its elements in memory comes first.

    Last comes a number that all views of one base share. For a view whose elements do not lie in C
    order it is about a copy.
    """
    if array._view is not None:
        array.stored(_REASON)
    if array._view is None:  # or no more: it had no siblings
        return array, 0, id(array._cell)
    base = type(array)(array._cell)
    node = array._view.of_input(array._cell.node)
    is_part = array._view.part is not None  # the base's strides count other elements
    if node is None or is_part or not is_in_order(node.shape, node.attrs.strides):  # type: ignore[union-attr]
        return array.copy(), 0, id(array)
    first = node.attrs.offset - array._cell.node.attrs.offset  # type: ignore[union-attr]
    return base, first, id(array._cell)


@functools.cache
def is_in_order(shape: Shape, strides: Strides) -> bool:
    """Whether elements lie one after the other in C order."""
    order = zip(shape, strides, contiguous_strides(shape), strict=True)
    return 0 in shape or all(n == 1 or stride == step for n, stride, step in order)


def _node_to_write(array: Array) -> Node:
    """The elements in a buffer that only handles of this base see."""
    if array._cell.node.op is not Op.INPUT:
        evaluate([array], _REASON)
    make_private(array)
    base = array._cell.node
    node = base if array._view is None else array._view.of_input(base)
    if node is None or not is_in_order(node.shape, node.attrs.strides):  # type: ignore[union-attr]
        raise UnsupportedError(
            f"A kernel cannot write into a view of shape {array.shape} that skips elements.",
            hint="write into an array of its own, then assign it to the view.",
        )
    return node


def make_private(array: Handle) -> None:
    """Give an evaluated base a buffer that nothing but its cell holds."""
    cell = array._cell
    _refuse_placeholder(cell.node.attrs.storage)  # type: ignore[union-attr]
    if not _is_private(cell):
        (cell.node,) = pipeline.evaluate([build.copy(cell.node)], _REASON)
    attrs: Any = cell.node.attrs
    attrs.maker = None  # what computed it is not what it will hold
    cell.device = attrs.storage.device.name


def _refuse_placeholder(storage: Any) -> None:
    if isinstance(storage, Placeholder):
        raise UnsupportedError(
            "A function that 'lb.compile' traces cannot launch kernels.",
            hint="record the launch, 'lb.call(kernel, grid, ..., out=...)'.",
        )


def holds_alone(cell: Cell) -> bool:
    """Whether no recorded expression holds the cell's value."""
    return _count_references(cell) <= _REFERENCES_OF_ONE_CELL


def _is_private(cell: Cell) -> bool:
    """Whether nothing else holds the cell's value, in C order in memory of lazyblock's own."""
    if not holds_alone(cell) or not pipeline.owns_memory(cell.node):
        return False
    attrs: Any = cell.node.attrs
    if sys.getrefcount(attrs.storage) > _REFERENCES_OF_ONE_CELL:  # a slot holds it, as in a cell
        return False
    return is_in_order(attrs.shape, attrs.strides)


def _count_references(cell: Any) -> int:
    return sys.getrefcount(cell.node)


_REFERENCES_OF_ONE_CELL = _count_references(SimpleNamespace(node=object()))
