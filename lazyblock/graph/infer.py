"""Shape, dtype rules of every op. Operands are already promoted and broadcast by `build.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ShapeError
from lazyblock.graph.attrs import Attrs, IotaAttrs
from lazyblock.graph.ops import ELEMENTWISE, Op, ReduceKind, kind_of, result_dtype
from lazyblock.shapes import Shape, broadcast_shapes, size_of

if TYPE_CHECKING:
    from lazyblock.graph.node import Node

Inferred = tuple[Shape, DType]


def infer(op: Op, inputs: tuple[Node, ...], attrs: Attrs) -> Inferred:
    """Shape and dtype of a node. Raises: DTypeError, ShapeError when operands do not fit."""
    rule = _RULES.get(op)
    return _elementwise(op, inputs) if rule is None else rule(inputs, attrs)


def _elementwise(op: Op, inputs: tuple[Node, ...]) -> Inferred:
    dtype, shape = inputs[0].dtype, inputs[0].shape
    for node in inputs:
        if node.dtype is not dtype and node.dtype != dtype:
            listed = [str(node.dtype) for node in inputs]
            raise DTypeError(f"Operands of '{op.value}' have dtypes {listed}.")
        if node.shape != shape and node.shape:
            shape = _common_shape(op, inputs) if shape else node.shape
    result = _RESULT_DTYPE.get((op, dtype))
    if result is None:
        raise DTypeError(f"'{op.value}' is not supported for dtype {dtype}.")
    return shape, result


# The dtype of every elementwise op's result, by op and operand dtype.
_RESULT_DTYPE: dict[tuple[Op, DType], DType] = {
    (op, dtype): result_dtype(op, dtype)
    for op, info in ELEMENTWISE.items()
    for dtype in dtypes.SUPPORTED
    if kind_of(dtype) in info.domain and not (op is Op.COMPLEX and dtypes.is_half(dtype))
}


def _common_shape(op: Op, inputs: tuple[Node, ...]) -> Shape:
    shape = max((node.shape for node in inputs), key=len)
    if any(node.shape not in ((), shape) for node in inputs):
        raise ShapeError(f"Operands of '{op.value}' have shapes {[n.shape for n in inputs]}.")
    return shape


def _where(inputs: tuple[Node, ...], attrs: Attrs) -> Inferred:
    condition, on_true, on_false = inputs
    if condition.dtype != dtypes.bool_ or on_true.dtype != on_false.dtype:
        raise DTypeError("'where' takes a bool condition and two operands of one dtype.")
    return _common_shape(Op.WHERE, inputs), on_true.dtype


def _cast(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    return inputs[0].shape, attrs.dtype


def _bitcast(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    dtype = inputs[0].dtype
    for kind in (dtype, attrs.dtype):
        if kind.itemsize != dtype.itemsize or dtypes.is_bool(kind) or dtypes.is_complex(kind):
            raise DTypeError(f"The bits of {dtype} are not those of {attrs.dtype}.")
    return inputs[0].shape, attrs.dtype


def _view(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    return attrs.shape, inputs[0].dtype


def _reshape(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    if size_of(attrs.shape) != inputs[0].size:
        raise ShapeError(f"Cannot reshape {inputs[0].shape} to {attrs.shape}.")
    return attrs.shape, inputs[0].dtype


def _gather(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    operand, *positions = inputs
    if len(positions) != len(attrs.axes) or attrs.map.operand_rank != operand.ndim:
        raise ShapeError(f"Cannot gather along {attrs.axes} of {operand.shape}.")
    for node in positions:
        if node.dtype != dtypes.int64 or node.shape not in ((), attrs.shape):
            raise DTypeError(f"Positions of a gather are int64{list(attrs.shape)}, not {node!r}.")
    return attrs.shape, operand.dtype


def _update(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    operand, value = inputs
    if attrs.map.operand_rank != operand.ndim or value.dtype != operand.dtype:
        raise ShapeError(f"Cannot write {value.dtype} into {attrs.map} of {operand!r}.")
    if broadcast_shapes(value.shape, attrs.shape) != attrs.shape:
        raise ShapeError(f"Cannot write {value.shape} into {attrs.shape}.")
    return operand.shape, operand.dtype


def _reduce(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    (operand,) = inputs
    _check_kind(attrs.kind, operand.dtype)
    kept = tuple(n for axis, n in enumerate(operand.shape) if axis not in attrs.axes)
    return kept, operand.dtype


def _input(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    return attrs.shape, attrs.dtype


def _scan(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    operand, *start = inputs
    _check_kind(attrs.kind, operand.dtype)
    if not 0 <= attrs.axis < operand.ndim:
        raise ShapeError(f"Cannot scan axis {attrs.axis} of {operand.shape}.")
    rows = operand.shape[: attrs.axis] + operand.shape[attrs.axis + 1 :], operand.dtype
    if any((node.shape, node.dtype) != rows for node in start):
        raise ShapeError(f"A scan of {operand.shape} starts from {rows[0]} of {rows[1]}.")
    return operand.shape, operand.dtype


def _contract(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    a, b = inputs
    fits = a.ndim == b.ndim == 3 and a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]
    if not fits or a.dtype != b.dtype:
        raise ShapeError(f"Cannot contract {a.dtype}{a.shape} and {b.dtype}{b.shape}.")
    return (*a.shape[:2], b.shape[2]), attrs.dtype


def _check_kind(kind: ReduceKind, dtype: DType) -> None:
    if kind in (ReduceKind.ANY, ReduceKind.ALL) and dtype != dtypes.bool_:
        raise DTypeError(f"'{kind.value}' reduces bool, not {dtype}.")
    if dtypes.is_complex(dtype) and kind is not ReduceKind.SUM:
        raise DTypeError(f"'{kind.value}' does not reduce {dtype}.")


def _leaf(inputs: tuple[Node, ...], attrs: Any) -> Inferred:
    return ((attrs.size,) if isinstance(attrs, IotaAttrs) else ()), attrs.dtype


_RULES: dict[Op, Callable[[tuple[Node, ...], Any], Inferred]] = {
    Op.INPUT: _input,
    **dict.fromkeys((Op.CONSTANT, Op.IOTA), _leaf),
    Op.WHERE: _where,
    Op.CAST: _cast,
    Op.BITCAST: _bitcast,
    Op.VIEW: _view,
    Op.RESHAPE: _reshape,
    Op.GATHER: _gather,
    Op.UPDATE: _update,
    Op.REDUCE: _reduce,
    Op.SCAN: _scan,
    Op.CONTRACT: _contract,
    **dict.fromkeys((Op.CALL, Op.HOST), _input),
}
