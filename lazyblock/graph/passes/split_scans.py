"""Cut scans of few long rows into pieces that run in parallel.

The pieces are reduced, each piece's start is what those before it combine to, and the pieces are
scanned from there: three kernels, of which two read the operand.

Takes: any graph. Gives: no scan that leaves the device's units idle, if its rows are long enough.
Keeps: integers, max, min, any, all exactly; floating sums and products up to their order, which
stays the same in every run. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import ScanAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, scan_identity
from lazyblock.graph.rewrite import Rule, rewrite
from lazyblock.shapes import cdiv

_LEAST_ELEMENTS = 1 << 18  # below, one kernel is as fast as three
_LEAST_PIECE = 1 << 12  # elements that one program should scan at least
_LEAST_PARTS = 32  # fewer do not make up for reading twice
_MOST_PARTS = 2048
_ALIGNMENT = 1024  # of pieces, in elements, where the axis has no good divisor


def split_scans(outputs: Sequence[Node], num_programs: int) -> list[Node]:
    """Cut scans so that about `num_programs` programs share their work."""

    def split(node: Node) -> Node | None:
        return _split(node, num_programs)

    return rewrite(outputs, [Rule(Op.SCAN, split, "the combine is associative")])


def _split(node: Node, num_programs: int) -> Node | None:
    assert isinstance(node.attrs, ScanAttrs)
    extent = node.shape[node.attrs.axis]
    if node.size < _LEAST_ELEMENTS or len(node.inputs) > 1:
        return None
    parts = min(num_programs // (node.size // extent), extent // _LEAST_PIECE, _MOST_PARTS)
    return _scan_pieces(node, _length_of_pieces(extent, parts)) if parts >= _LEAST_PARTS else None


def _length_of_pieces(extent: int, parts: int) -> int:
    for number in range(parts, parts // 2, -1):
        if extent % (16 * number) == 0:
            return extent // number
    return cdiv(cdiv(extent, parts), _ALIGNMENT) * _ALIGNMENT


def _scan_pieces(node: Node, piece: int) -> Node:
    attrs, (operand,) = node.attrs, node.inputs
    assert isinstance(attrs, ScanAttrs)
    axis, extent = attrs.axis, node.shape[attrs.axis]
    parts = cdiv(extent, piece)
    identity = scan_identity(attrs.kind, node.dtype)
    pieces = build.cut(build.pad(operand, axis, 0, parts * piece - extent, identity), axis, piece)
    totals = build.reduce(attrs.kind, pieces, (axis + 1,))
    starts = _combine_before(totals, attrs)
    scanned = build.scan(attrs.kind, pieces, axis + 1, attrs.reverse, starts)
    whole = (*node.shape[:axis], parts * piece, *node.shape[axis + 1 :])
    return build.view(build.reshape(scanned, whole), index_map.identity(node.ndim), node.shape)


def _combine_before(totals: Node, attrs: ScanAttrs) -> Node:
    """For every piece, all totals before it in the order of the scan; the identity if none are.

    All pairs of pieces are looked at: they are few.
    """
    axis, parts = attrs.axis, totals.shape[attrs.axis]
    shape = (*totals.shape[:axis], parts, parts, *totals.shape[axis + 1 :])
    axes = [d if d < axis else d + 1 for d in range(totals.ndim)]
    others = build.view(totals, index_map.from_axes(axes, len(shape)), shape)
    order = Op.GREATER if attrs.reverse else Op.LESS
    is_before = build.elementwise(
        order, build.positions(shape, axis + 1), build.positions(shape, axis)
    )
    identity = build.fixed(scan_identity(attrs.kind, totals.dtype), totals.dtype)
    before = build.reduce(attrs.kind, build.where(is_before, others, identity), (axis + 1,))
    first = build.fixed(parts - 1 if attrs.reverse else 0, dtypes.int64)
    is_first = build.elementwise(Op.EQUAL, build.positions(totals.shape, axis), first)
    return build.where(is_first, identity, before)
