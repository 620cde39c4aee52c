"""Sums of exp(x - max(x)) in the walk that finds the maximum: softmax and logsumexp of long rows.

The sum so far is kept relative to the maximum so far and is rescaled when that rises, so that one
walk does for both. Rounding differs from two walks by few units in the last place.
Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import from_numpy


def find_online_sums(roots: Collection[Node]) -> dict[Node, Node]:
    """Sums among `roots` of exp(x - max(x)) over the axes of the maximum: to that maximum."""
    pairs = ((root, _maximum_below(root)) for root in roots)
    return {root: found for root, found in pairs if found is not None and found in roots}


def _maximum_below(root: Node) -> Node | None:
    """The maximum that a sum's terms are relative to."""
    if not _reduces(root, ReduceKind.SUM) or from_numpy(root.dtype).is_half:
        return None
    (exponential,) = root.inputs
    if exponential.op is not Op.EXP or exponential.inputs[0].op is not Op.SUBTRACT:
        return None
    operand, repeated = exponential.inputs[0].inputs
    highest = repeated.inputs[0] if repeated.op is Op.VIEW else repeated
    is_same = _reduces(highest, ReduceKind.MAX) and highest.inputs == (operand,)
    return highest if is_same and highest.attrs.axes == root.attrs.axes else None  # type: ignore[union-attr]


def _reduces(node: Node, kind: ReduceKind) -> bool:
    return isinstance(node.attrs, ReduceAttrs) and node.attrs.kind is kind


def continue_online(
    b: Builder, highest: Value, total: Value, tiles: Sequence[Value]
) -> tuple[Value, Value]:
    """The maxima and sums, lane by lane, after some tiles more."""
    raised = highest
    for tile in tiles:
        raised = b.binary("max", raised, tile)
    reference = _finite(b, raised)
    total = b.mul(total, b.math("exp", b.sub(highest, reference)))
    for tile in tiles:
        total = b.add(total, b.math("exp", b.sub(tile, reference)))
    return raised, total


def rescale(b: Builder, total: Value, highest: Value, overall: Value) -> Value:
    """Sums relative to each lane's maximum, made relative to the overall one."""
    return b.mul(total, b.math("exp", b.sub(highest, _finite(b, overall))))


def finish_online(b: Builder, total: Value, overall: Value) -> Value:
    """The sum of a row; NaN where all of it is -inf, as -inf - -inf is."""
    return b.select(b.compare("eq", overall, -math.inf), math.nan, total)


def _finite(b: Builder, highest: Value) -> Value:
    """What to subtract: 0 in place of -inf, which only -inf are below."""
    return b.select(b.compare("eq", highest, -math.inf), 0.0, highest)
