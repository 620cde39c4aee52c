"""Graph reductions as block reductions."""

from __future__ import annotations

from lazyblock.dtypes import DType
from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ReduceKind, reduce_identity
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import from_numpy, int1

_COMBINES = {
    ReduceKind.SUM: "add",
    ReduceKind.PROD: "mul",
    ReduceKind.MAX: "max",
    ReduceKind.MIN: "min",
    ReduceKind.ANY: "or",
    ReduceKind.ALL: "and",
}
_ON_BOOL = {
    ReduceKind.SUM: "or",
    ReduceKind.PROD: "and",
    ReduceKind.MAX: "or",
    ReduceKind.MIN: "and",
}


def combine_kind(kind: ReduceKind, value: Value) -> str:
    """The Binary kind that combines elements of `value`."""
    on_bool = value.type.element == int1
    return _ON_BOOL.get(kind, _COMBINES[kind]) if on_bool else _COMBINES[kind]


def fill_identity(
    b: Builder, kind: ReduceKind, dtype: DType, value: Value, mask: Value | None
) -> Value:
    """`value` with the combine's identity where `mask` is false."""
    if mask is None:
        return value
    return b.select(mask, value, reduce_identity(kind, dtype))


def start_from_zero(b: Builder, kind: ReduceKind, total: Value) -> Value:
    """A sum as if it had started from 0.0: nothing but -0.0s gives 0.0, as in NumPy.

    For sums of whole tiles; those that met an identity, in a mask or an accumulator, did start so.
    """
    starts = kind is ReduceKind.SUM and total.type.scalar.is_floating
    return b.add(total, 0.0) if starts else total


def identity_block(b: Builder, node: Node, shape: tuple[int, ...]) -> Value:
    """What a loop's accumulator starts from."""
    assert isinstance(node.attrs, ReduceAttrs)
    identity = reduce_identity(node.attrs.kind, node.dtype)
    return b.constant(identity, from_numpy(node.dtype), shape)
