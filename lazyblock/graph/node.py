"""Nodes of the expression graph and the table that makes equal nodes one object.

A node is frozen; shape and dtype are inferred by `infer.py`, never passed by callers. `line` (where
the user recorded it) takes no part in equality: the first recording of an expression names it. Only
arrays in memory (INPUT) stand outside the table: each is equal to itself alone.
"""

from __future__ import annotations

import weakref
from typing import Any

from lazyblock.dtypes import DType
from lazyblock.graph.attrs import NO_ATTRS, Attrs, InputAttrs
from lazyblock.graph.infer import infer
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape, size_of
from lazyblock.source import Place, SourceLine, line_of, user_place

_Key = tuple[Op, "tuple[Node, ...]", Attrs]


class Node:
    """One operation on whole arrays. Compare with `is`."""

    __slots__ = ("__weakref__", "_place", "attrs", "dtype", "inputs", "op", "shape")

    op: Op
    inputs: tuple[Node, ...]
    attrs: Attrs
    shape: Shape
    dtype: DType

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        attrs: Attrs,
        shape: Shape,
        dtype: DType,
        place: Place | SourceLine,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.shape = shape
        self.dtype = dtype
        self._place = place

    @property
    def line(self) -> SourceLine:
        """Where it was recorded."""
        return line_of(self._place)

    @property
    def size(self) -> int:
        """Number of elements."""
        return size_of(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Node({self.op.value}: {self.dtype}{list(self.shape)})"


class _Reference(weakref.ref[Node]):
    """A weak reference that knows its key in the table."""

    __slots__ = ("key",)
    key: _Key


_OWN_FRAMES = 3  # user_place, make_node and a constructor of build.py
_OWN_FRAMES_OF_OPERATORS = 4  # user_place, make_inferred, a method of Function and an operator
_table: dict[_Key, _Reference] = {}
_new = object.__new__


def make_node(
    op: Op, inputs: tuple[Node, ...], attrs: Attrs = NO_ATTRS, line: SourceLine | None = None
) -> Node:
    """Give the node of this op, operands and settings; the existing one if there is one."""
    reference = _table.get((op, inputs, attrs))
    node = reference() if reference is not None else None
    if node is not None:
        return node
    shape, dtype = infer(op, inputs, attrs)
    return make_inferred(op, inputs, shape, dtype, attrs, line or user_place(_OWN_FRAMES))


def make_inferred(
    op: Op,
    inputs: tuple[Node, ...],
    shape: Shape,
    dtype: DType,
    attrs: Attrs = NO_ATTRS,
    place: Place | SourceLine | None = None,
) -> Node:
    """As `make_node`, for callers that know the shape and the dtype of the result: fast."""
    key = (op, inputs, attrs)
    reference = _table.get(key)
    node = reference() if reference is not None else None
    if node is None:
        node = _new(Node)  # a third of the time that calling the class takes
        node.op = op
        node.inputs = inputs
        node.attrs = attrs
        node.shape = shape
        node.dtype = dtype
        node._place = place or user_place(_OWN_FRAMES_OF_OPERATORS)
        reference = _table[key] = _Reference(node, _forget)
        reference.key = key
    return node


def make_input(attrs: InputAttrs, line: SourceLine) -> Node:
    """Give a new INPUT node. These are not interned: memory handed in is nobody else's."""
    layout = attrs.layout
    return Node(Op.INPUT, (), attrs, layout.shape, layout.dtype, line)


def _forget(reference: Any) -> None:
    """Remove a dead node's entry, unless an equal node has taken its place."""
    key = reference.key
    if _table.get(key) is reference:
        del _table[key]
