"""Checked constructors of nodes: the only way the other rooms make them.

Operands broadcast here (a VIEW where needed); dtypes must be equal already, save through `cast`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ShapeError
from lazyblock.graph import index_map
from lazyblock.graph.attrs import (
    NO_ATTRS,
    CallAttrs,
    CastAttrs,
    ConstantAttrs,
    ContractAttrs,
    GatherAttrs,
    InputAttrs,
    IotaAttrs,
    Layout,
    ReduceAttrs,
    ReshapeAttrs,
    ScanAttrs,
    Storage,
    UpdateAttrs,
    ViewAttrs,
)
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node, make_input, make_node
from lazyblock.graph.ops import CATEGORY, Category, Op, ReduceKind
from lazyblock.shapes import Shape, Strides, broadcast_shapes, contiguous_strides
from lazyblock.source import SourceLine, user_line

_OWN_FRAMES = 2  # user_line and a constructor


def input_array(
    storage: Storage, shape: Shape, dtype: DType, strides: Strides | None = None, offset: int = 0
) -> Node:
    """An array in memory; strides (default C order) and offset count elements."""
    strides = contiguous_strides(shape) if strides is None else strides
    layout = Layout(shape, dtype, strides, offset)
    return make_input(InputAttrs(storage, layout), user_line(_OWN_FRAMES))


def constant(value: Any, dtype: DType) -> Node:
    """One number, shape (). A plan is made for any value of it."""
    if dtypes.is_complex(dtype):
        return _of_parts(constant, value, dtype)
    return make_node(Op.CONSTANT, (), ConstantAttrs(np.asarray(value, dtype).tobytes(), dtype))


def fixed(value: Any, dtype: DType) -> Node:
    """A number that the plan may rely on: all constants that passes make are of this kind."""
    if dtypes.is_complex(dtype):
        return _of_parts(fixed, value, dtype)
    attrs = ConstantAttrs(np.asarray(value, dtype).tobytes(), dtype, is_fixed=True)
    return make_node(Op.CONSTANT, (), attrs)


def _of_parts(make: Callable[[Any, DType], Node], value: Any, dtype: DType) -> Node:
    """A complex number as the numbers it consists of."""
    number, part = np.asarray(value, dtype), dtypes.part_dtype(dtype)
    return elementwise(Op.COMPLEX, make(number.real, part), make(number.imag, part))


def iota(size: int, dtype: DType) -> Node:
    """0, 1, ..., size - 1."""
    return make_node(Op.IOTA, (), IotaAttrs(size, dtype))


def cast(node: Node, dtype: DType) -> Node:
    """Convert to `dtype`; the node itself if it has it."""
    return node if node.dtype == dtype else make_node(Op.CAST, (node,), _cast_attrs(dtype))


def bitcast(node: Node, dtype: DType) -> Node:
    """The same bits as another real dtype of that size; the node itself if it has it."""
    if node.op is Op.BITCAST:
        (node,) = node.inputs
    return node if node.dtype == dtype else make_node(Op.BITCAST, (node,), _cast_attrs(dtype))


_cast_attrs = cache(CastAttrs)


def call(call: Any, operands: Sequence[Node], results: Sequence[tuple[Shape, DType]]) -> list[Node]:
    """The results of a block kernel, whose operands lie in memory in C order."""
    inputs = tuple(operand if _is_in_memory(operand) else copy(operand) for operand in operands)
    return _results(Op.CALL, inputs, call, tuple(results))


def host_call(
    call: Any, operands: Sequence[Node], results: Sequence[tuple[Shape, DType]]
) -> list[Node]:
    """The results of a NumPy function that runs on the host."""
    return _results(Op.HOST, tuple(operands), call, tuple(results))


def results_of_call(node: Node) -> list[Node]:
    """All results of the call that `node` is one of."""
    attrs = node.attrs
    assert isinstance(attrs, CallAttrs)
    return _results(node.op, node.inputs, attrs.call, attrs.results, node.line)


def _results(
    op: Op,
    inputs: tuple[Node, ...],
    call: Any,
    results: tuple[tuple[Shape, DType], ...],
    line: SourceLine | None = None,
) -> list[Node]:
    line = line or user_line(_OWN_FRAMES)
    numbers = range(len(results))
    return [make_node(op, inputs, CallAttrs(call, results, n), line) for n in numbers]


def _is_in_memory(node: Node) -> bool:
    """Whether a node is sure to have memory of its own, at an aligned address, in C order."""
    attrs = node.attrs
    if isinstance(attrs, InputAttrs):
        return attrs.offset == 0 and attrs.strides == contiguous_strides(attrs.shape)
    return CATEGORY[node.op] is Category.CALL


def copy(node: Node) -> Node:
    """The same elements: as an output, in memory of their own and in C order."""
    return make_node(Op.COPY, (node,))


def view(node: Node, map: IndexMap, shape: Shape, may_leave: bool = False) -> Node:
    """result[i] = node[map(i)] for i in `shape`.

    Every index must fall inside `node`, unless it `may_leave`: then the value is any.
    """
    if shape == node.shape and map.is_identity:
        return node
    return make_node(Op.VIEW, (node,), _view_attrs(map, shape, node.shape, may_leave))


@lru_cache(maxsize=4096)
def _view_attrs(map: IndexMap, shape: Shape, operand_shape: Shape, may_leave: bool) -> ViewAttrs:
    return ViewAttrs(map.normalized(shape, operand_shape), shape, may_leave)


def pad(node: Node, axis: int, before: int, after: int, value: Any) -> Node:
    """Lengthen an axis at both ends by elements of `value`."""
    extent = node.shape[axis]
    if not before and not after:
        return node
    shape = (*node.shape[:axis], before + extent + after, *node.shape[axis + 1 :])
    fill = fixed(value, node.dtype)
    if 0 in node.shape:
        return broadcast_to(fill, shape)
    starts = [-before if d == axis else 0 for d in range(node.ndim)]
    moved = view(node, index_map.slices(starts, [1] * node.ndim), shape, may_leave=True)
    place = positions(shape, axis)
    if before:
        moved = where(elementwise(Op.LESS, place, fixed(before, dtypes.int64)), fill, moved)
    if after:
        end = fixed(before + extent, dtypes.int64)
        moved = where(elementwise(Op.GREATER_EQUAL, place, end), fill, moved)
    return moved


def cut(node: Node, axis: int, piece: int) -> Node:
    """Cut an axis into equal pieces: two axes, the number of a piece and the place in it."""
    extent = node.shape[axis]
    shape = (*node.shape[:axis], extent // piece, piece, *node.shape[axis + 1 :])
    rows = []
    for d in range(node.ndim):
        row = [0] * len(shape)
        row[d if d <= axis else d + 1] = 1
        if d == axis:
            row[axis], row[axis + 1] = piece, 1
        rows.append(tuple(row))
    return view(node, IndexMap((0,) * node.ndim, tuple(rows), len(shape)), shape)


def positions(shape: Shape, axis: int) -> Node:
    """The index along `axis` of every element."""
    line = iota(shape[axis], dtypes.int64)
    return view(line, index_map.from_axes([axis], len(shape)), shape)


def reshape(node: Node, shape: Shape) -> Node:
    """The same elements in C order."""
    return node if node.shape == shape else make_node(Op.RESHAPE, (node,), ReshapeAttrs(shape))


def gather(
    node: Node,
    map: IndexMap,
    positions: Mapping[int, Node],
    shape: Shape,
    is_checked: bool = False,
) -> Node:
    """result[i] = node[map(i) + positions], these being nodes by axis, where `map` is 0.

    is_checked: evaluation raises IndexError for a position outside its axis.
    """
    axes = tuple(sorted(positions))
    spread = (broadcast_to(cast(positions[axis], dtypes.int64), shape) for axis in axes)
    attrs = GatherAttrs(map.normalized(shape, node.shape), axes, shape, is_checked)
    return make_node(Op.GATHER, (node, *spread), attrs)


def update(node: Node, map: IndexMap, shape: Shape, value: Node) -> Node:
    """`node` with `value`, which broadcasts to `shape`, at map(i) for i in `shape`."""
    return make_node(Op.UPDATE, (node, value), _update_attrs(map, shape, node.shape))


@lru_cache(maxsize=4096)
def _update_attrs(map: IndexMap, shape: Shape, operand_shape: Shape) -> UpdateAttrs:
    return UpdateAttrs(map.normalized(shape, operand_shape), shape)


def is_outside(position: Node, extent: int) -> Node:
    """Where a position is none of an axis of `extent` elements."""
    below = elementwise(Op.LESS, position, fixed(0, dtypes.int64))
    above = elementwise(Op.GREATER_EQUAL, position, fixed(extent, dtypes.int64))
    return elementwise(Op.BITWISE_OR, below, above)


def permute(node: Node, axes: Sequence[int]) -> Node:
    """Result axis i is operand axis axes[i]."""
    shape = tuple(node.shape[axis] for axis in axes)
    return view(node, index_map.permutation(axes), shape)


def broadcast_to(node: Node, shape: Shape) -> Node:
    """NumPy's broadcast_to. Raises: ShapeError."""
    if node.shape == shape:
        return node
    lead = len(shape) - len(node.shape)
    if lead < 0 or any(n not in (1, shape[lead + d]) for d, n in enumerate(node.shape)):
        raise ShapeError(f"Cannot broadcast {node.shape} to {shape}.")
    return view(node, index_map.broadcast(node.shape, shape), shape)


def expand_dims(node: Node, positions: Sequence[int]) -> Node:
    """Insert unit axes that stand at `positions` (sorted, non-negative) of the result."""
    extents = iter(node.shape)
    rank = node.ndim + len(positions)
    shape = tuple(1 if axis in positions else next(extents) for axis in range(rank))
    return view(node, index_map.inserted_axes(node.ndim, positions), shape)


def squeeze(node: Node, positions: Sequence[int]) -> Node:
    """Remove the unit axes at `positions`."""
    shape = tuple(n for axis, n in enumerate(node.shape) if axis not in positions)
    return view(node, index_map.removed_axes(node.ndim, positions, [0] * len(positions)), shape)


def elementwise(op: Op, *operands: Node) -> Node:
    """Apply an elementwise op. Raises: ShapeError, DTypeError."""
    shape: Shape = ()
    for node in operands:
        if node.shape and node.shape != shape:
            if shape:
                return make_node(op, _broadcast(op, operands), NO_ATTRS)
            shape = node.shape
    return make_node(op, operands, NO_ATTRS)


def where(condition: Node, on_true: Node, on_false: Node) -> Node:
    """`condition` picks element by element; both branches have one dtype."""
    return elementwise(Op.WHERE, condition, on_true, on_false)


def reduce(kind: ReduceKind, operand: Node, axes: tuple[int, ...]) -> Node:
    """Combine the elements along `axes` (sorted, non-negative), which disappear."""
    if not axes:
        return operand
    return make_node(Op.REDUCE, (operand,), ReduceAttrs(kind, axes))


def reduce_keepdims(kind: ReduceKind, operand: Node, axes: tuple[int, ...]) -> Node:
    """As `reduce`, the axes staying with extent 1."""
    return expand_dims(reduce(kind, operand, axes), axes)


def contract(a: Node, b: Node, dtype: DType) -> Node:
    """a @ b for stacks of matrices (B, M, K) and (B, K, N) of one dtype, rounded once."""
    return make_node(Op.CONTRACT, (a, b), ContractAttrs(dtype))


def scan(
    kind: ReduceKind,
    operand: Node,
    axis: int,
    reverse: bool = False,
    start: Node | None = None,
    is_cut: bool = False,
) -> Node:
    """Combine every element with all before it along `axis` (reverse: with all behind it).

    start: what every row starts from, without the axis. is_cut: see ScanAttrs.
    """
    inputs = (operand,) if start is None else (operand, start)
    return make_node(Op.SCAN, inputs, ScanAttrs(kind, axis, reverse, is_cut))


def _broadcast(op: Op, operands: tuple[Node, ...]) -> tuple[Node, ...]:
    shape = broadcast_shapes(*(node.shape for node in operands), operation=op.value)
    return tuple(node if node.shape == () else broadcast_to(node, shape) for node in operands)


def constant_value(node: Node) -> Any:
    """The number of a CONSTANT node as a NumPy scalar."""
    assert isinstance(node.attrs, ConstantAttrs)
    return np.frombuffer(node.attrs.data, dtypes.as_dtype(node.dtype))[0]
