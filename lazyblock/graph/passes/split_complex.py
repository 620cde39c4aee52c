"""Write complex values as pairs of real ones.

Takes: any graph. Gives: a graph without complex dtypes; a complex output becomes the real array of
its parts, which stand side by side along a last axis of 2 (NumPy's layout of complex elements).
Keeps: values as the forms of complex_arithmetic.py and complex_functions.py state them. Cost:
linear. Runs first: what follows knows no complex numbers.

A complex INPUT is the array of its parts in the same memory, read through two views. What treats
both parts alike (sums, views, copies) is also written over that array as a whole, so that results
come out in NumPy's layout; only other results are put together by a WHERE over the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import (
    CallAttrs,
    CastAttrs,
    InputAttrs,
    Layout,
    ReduceAttrs,
    ReshapeAttrs,
    ViewAttrs,
)
from lazyblock.graph.node import Node, make_input, make_node
from lazyblock.graph.ops import Op
from lazyblock.graph.passes.complex_arithmetic import ARITHMETIC, Pair
from lazyblock.graph.passes.complex_functions import FUNCTIONS
from lazyblock.graph.region_write import RegionWrite
from lazyblock.graph.rewrite import with_inputs
from lazyblock.graph.traverse import topological
from lazyblock.shapes import Shape
from lazyblock.source import at_line

NDArray = npt.NDArray[Any]
_FORMS = ARITHMETIC | FUNCTIONS


@dataclass(frozen=True, eq=False, slots=True)
class _Split:
    """A complex value. joined: the array of its parts, if there is one without a WHERE."""

    pair: Pair
    joined: Node | None = None

    @property
    def as_one(self) -> Node:
        return _join(self.pair) if self.joined is None else self.joined

    @property
    def as_output(self) -> Node:
        """As one array, in which both parts of every element stay side by side in memory."""
        return build.copy(self.as_one) if self.joined is None else self.joined


_Value = Node | _Split


def split_complex(outputs: Sequence[Node]) -> list[Node]:
    """Run the pass; see the module's header."""
    order = topological(outputs)
    if not any(dtypes.is_complex(node.dtype) for node in order):
        return list(outputs)
    new: dict[Node, _Value] = {}
    for node in order:
        operands = [new[operand] for operand in node.inputs]
        if dtypes.is_complex(node.dtype) or any(isinstance(o, _Split) for o in operands):
            with at_line(node.line):
                new[node] = _split(node, operands)
        else:
            new[node] = with_inputs(node, operands)  # type: ignore[arg-type]
    found = [new[node] for node in outputs]
    return [value.as_output if isinstance(value, _Split) else value for value in found]


def split_input(node: Node) -> Node:
    """The array of the parts of a complex INPUT, in the same memory."""
    attrs = node.attrs
    assert isinstance(attrs, InputAttrs)
    strides = (*(2 * stride for stride in attrs.strides), 1)
    part = dtypes.part_dtype(node.dtype)
    layout = Layout((*node.shape, 2), part, strides, 2 * attrs.offset)
    return make_input(InputAttrs(attrs.storage, layout), node.line)


def join_layout(layout: Layout, dtype: DType) -> Layout:
    """How complex elements lie in memory where the array of their parts lies as `layout`."""
    strides = tuple(stride // 2 for stride in layout.strides[:-1])
    return Layout(layout.shape[:-1], dtype, strides, layout.offset // 2)


def complex_of(parts: Node) -> Node:
    """The complex value whose parts stand side by side along the last axis."""
    return build.elementwise(Op.COMPLEX, *_parts_of(parts))


def _split(node: Node, operands: list[_Value]) -> _Value:
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(node, *operands)
    pairs = [value.pair if isinstance(value, _Split) else value for value in operands]
    result = _FORMS[node.op](*pairs)
    if not isinstance(result, Pair):
        return build.broadcast_to(result, node.shape)
    fitted = Pair(*(build.broadcast_to(part, node.shape) for part in result))
    return _Split(fitted, _joined(node, operands))


# The array of both parts


def _joined(node: Node, operands: Sequence[_Value]) -> Node | None:
    """The result for the array of both parts, where the op treats them alike."""
    if node.op not in (Op.ADD, Op.SUBTRACT, Op.NEGATIVE, Op.RINT, Op.WHERE):
        return None
    wholes = []
    for value in operands:
        whole = value.joined if isinstance(value, _Split) else _twice(value)
        if whole is None:
            return None
        wholes.append(whole)
    shape = (*node.shape, 2)
    return build.elementwise(node.op, *(_stretched(whole, shape) for whole in wholes))


def _stretched(joined: Node, shape: Shape) -> Node:
    """The parts of a number, or of an array of the same shape, over `shape`."""
    return joined if joined.shape == () else build.broadcast_to(joined, shape)


def _twice(node: Node) -> Node:
    """A real value for both parts."""
    if node.shape == ():
        return node
    axes = range(node.ndim)
    return build.view(node, index_map.from_axes(axes, node.ndim + 1), (*node.shape, 2))


def _join(pair: Pair) -> Node:
    shape = (*pair.real.shape, 2)
    place = build.view(
        build.iota(2, dtypes.int32), index_map.from_axes([len(shape) - 1], len(shape)), shape
    )
    is_real = build.elementwise(Op.EQUAL, place, build.fixed(0, dtypes.int32))
    return build.where(is_real, *map(_twice, pair))


def _parts_of(joined: Node) -> Pair:
    axis = joined.ndim - 1
    return Pair(
        *(
            build.view(joined, index_map.removed_axes(joined.ndim, [axis], [at]), joined.shape[:-1])
            for at in (0, 1)
        )
    )


def _of_joined(joined: Node) -> _Split:
    return _Split(_parts_of(joined), joined)


# Ops that are no function of their operands' elements alone


def _input(node: Node) -> _Split:
    return _of_joined(split_input(node))


def _complex(node: Node, real: Node, imag: Node) -> _Split:
    pair = Pair(*(build.broadcast_to(part, node.shape) for part in (real, imag)))
    if real.op is Op.VIEW:
        (joined,) = real.inputs
        if joined.shape == (*node.shape, 2) and _parts_of(joined) == pair:
            return _Split(pair, joined)
    return _Split(pair)


def _real(node: Node, operand: _Split) -> Node:
    return operand.pair.real


def _imag(node: Node, operand: _Split) -> Node:
    return operand.pair.imag


def _copy(node: Node, operand: _Split) -> _Split:
    return _of_joined(build.copy(operand.as_one))


def _cast(node: Node, operand: _Value) -> _Value:
    assert isinstance(node.attrs, CastAttrs)
    dtype = node.attrs.dtype
    part = dtypes.part_dtype(dtype)
    if not isinstance(operand, _Split):
        zero = build.broadcast_to(build.fixed(0, part), node.shape)
        return _Split(Pair(build.cast(operand, part), zero))
    if dtypes.is_bool(dtype):
        return build.elementwise(Op.BITWISE_OR, *(build.cast(x, dtype) for x in operand.pair))
    if not dtypes.is_complex(dtype):
        return build.cast(operand.pair.real, dtype)
    joined = None if operand.joined is None else build.cast(operand.joined, part)
    return _Split(Pair(*(build.cast(x, part) for x in operand.pair)), joined)


def _each_part(node: Node, *operands: _Value) -> _Split:
    """The op on the real parts and on the imaginary parts; real operands as they are."""
    inputs = zip(*(o.pair if isinstance(o, _Split) else (o, o) for o in operands), strict=True)
    return _Split(Pair(*(make_node(node.op, given, node.attrs, node.line) for given in inputs)))


def _view(node: Node, operand: _Split) -> _Split:
    assert isinstance(node.attrs, ViewAttrs)
    split, joined = _each_part(node, operand), operand.joined
    if joined is None:
        return split
    map, shape = node.attrs.map.with_axis(), (*node.shape, 2)
    return _Split(split.pair, build.view(joined, map, shape, node.attrs.may_leave))


def _reshape(node: Node, operand: _Split) -> _Split:
    """Of the array of both parts: reading parts out of it is affine, reshaping parts is not."""
    assert isinstance(node.attrs, ReshapeAttrs)
    if operand.joined is None:
        return _each_part(node, operand)
    return _of_joined(build.reshape(operand.joined, (*node.shape, 2)))


def _reduce(node: Node, operand: _Split) -> _Split:
    """Sums. Along other axes than the last, both parts of a column are reduced side by side."""
    assert isinstance(node.attrs, ReduceAttrs)
    split, axes = _each_part(node, operand), node.attrs.axes
    if operand.joined is None or node.inputs[0].ndim - 1 in axes:
        return split
    return _Split(split.pair, build.reduce(node.attrs.kind, operand.joined, axes))


# Calls


@dataclass(frozen=True)
class _CallOnParts:
    """A call on the host that takes and gives arrays of parts where `call` has complex ones."""

    call: Any
    operands: tuple[DType, ...]
    results: tuple[tuple[Shape, DType], ...]

    @property
    def name(self) -> str:
        name: str = self.call.name
        return name

    def __repr__(self) -> str:
        return repr(self.call)

    def run(
        self, operands: Sequence[NDArray], results: Sequence[tuple[Shape, DType]]
    ) -> list[NDArray]:
        given = [_as_complex(x, dtype) for x, dtype in zip(operands, self.operands, strict=True)]
        return [_as_parts(x) for x in self.call.run(given, self.results)]


def _as_complex(array: NDArray, dtype: DType) -> NDArray:
    is_complex = dtypes.is_complex(dtype)
    return np.ascontiguousarray(array).view(dtype)[..., 0] if is_complex else array


def _as_parts(array: NDArray) -> NDArray:
    if not dtypes.is_complex(array.dtype):
        return array
    return np.stack((array.real, array.imag), axis=-1)


def _call(node: Node, *operands: _Value) -> _Value:
    attrs = node.attrs
    assert isinstance(attrs, CallAttrs)
    inputs = tuple(o.as_one if isinstance(o, _Split) else o for o in operands)
    results = tuple(
        ((*shape, 2), dtypes.part_dtype(dtype)) if dtypes.is_complex(dtype) else (shape, dtype)
        for shape, dtype in attrs.results
    )
    if isinstance(attrs.call, RegionWrite):
        call: Any = attrs.call.on_parts()
    else:
        call = _CallOnParts(attrs.call, tuple(x.dtype for x in node.inputs), attrs.results)
    result = make_node(node.op, inputs, CallAttrs(call, results, attrs.index), node.line)
    return _of_joined(result) if dtypes.is_complex(node.dtype) else result


_RULES: dict[Op, Callable[..., _Value]] = {
    Op.INPUT: _input,
    Op.COMPLEX: _complex,
    Op.REAL: _real,
    Op.IMAG: _imag,
    Op.COPY: _copy,
    Op.CAST: _cast,
    Op.VIEW: _view,
    Op.RESHAPE: _reshape,
    Op.REDUCE: _reduce,
    Op.GATHER: _each_part,
    Op.SCAN: _each_part,
    Op.HOST: _call,
}
