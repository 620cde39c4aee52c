"""Remove work that does nothing.

Takes: any graph. Gives: fewer nodes. Keeps: values bit by bit, NaN payloads aside. Cost: linear.
Values of constants are never looked at: they are arguments of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.graph import build
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.rewrite import Rule, rewrite


def simplify(outputs: Sequence[Node]) -> list[Node]:
    """Run the pass; see the module's header."""
    return rewrite(outputs, _RULES)


def holds_all_values(wide: DType, narrow: DType) -> bool:
    """Whether every value of `narrow` is a value of `wide`."""
    if dtypes.bfloat16 in (wide, narrow):
        return narrow == dtypes.bfloat16 and wide in (dtypes.float32, dtypes.float64)
    return bool(np.can_cast(narrow, wide, "safe")) and not (
        dtypes.is_floating(wide) and dtypes.is_integer(narrow) and narrow.itemsize > 4
    )


def _cast_of_cast(node: Node) -> Node | None:
    (inner,) = node.inputs
    if inner.op is Op.CAST and holds_all_values(inner.dtype, inner.inputs[0].dtype):
        return build.cast(inner.inputs[0], node.dtype)
    return None


def _twice(node: Node) -> Node | None:
    (inner,) = node.inputs
    return inner.inputs[0] if inner.op is node.op else None


def _once(node: Node) -> Node | None:
    (inner,) = node.inputs
    return inner if inner.op is node.op else None


def _same_branches(node: Node) -> Node | None:
    _, on_true, on_false = node.inputs
    return on_true if on_true is on_false and on_true.shape == node.shape else None


def _unit_reduction(node: Node) -> Node | None:
    assert isinstance(node.attrs, ReduceAttrs)
    (operand,) = node.inputs
    is_float_sum = node.attrs.kind is ReduceKind.SUM and dtypes.is_floating(node.dtype)
    if not is_float_sum and all(operand.shape[axis] == 1 for axis in node.attrs.axes):
        return build.squeeze(operand, node.attrs.axes)
    return None


def _unit_scan(node: Node) -> Node | None:
    assert isinstance(node.attrs, ScanAttrs)
    is_unit = node.shape[node.attrs.axis] == 1 and len(node.inputs) == 1
    return node.inputs[0] if is_unit else None


_RULES = (
    Rule(Op.CAST, _cast_of_cast, "the inner cast changes no value"),
    Rule(Op.NEGATIVE, _twice, "flips the sign bit twice, or wraps twice"),
    Rule(Op.INVERT, _twice, "flips every bit twice"),
    Rule(Op.ABSOLUTE, _once, "the sign is gone already"),
    *(
        Rule(op, _once, "an integral value stays itself")
        for op in (Op.FLOOR, Op.CEIL, Op.TRUNC, Op.RINT)
    ),
    Rule(Op.WHERE, _same_branches, "both branches are one value"),
    Rule(Op.SCAN, _unit_scan, "the first element stays itself"),
    Rule(Op.REDUCE, _unit_reduction, "one element is its own reduction, save -0.0"),
)
