"""Cut scans of few long rows into pieces that run in parallel.

Where programs may wait for each other and rows lie together in memory, the scan is marked: one
kernel passes on what comes before a piece. Else the pieces are reduced, the totals scanned, and the
pieces scanned from the total before them: three kernels, of which two read the operand.

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
from lazyblock.shapes import cdiv, next_power_of_2, size_of

_LEAST_PROGRAMS = 64  # of the device; with fewer, a row for each keeps the memory busy
_LEAST_GAIN = 4  # programs for every one without cutting
_SHORT_ROW, _SHORT_COLUMN = 1 << 16, 1 << 10  # one kernel walks up to these as fast as three
_PIECES = 1 << 11, 1 << 13  # shortest and longest piece of a row that lies together in memory
_COLUMNS = 512  # that a program takes side by side where rows do not
_STEP = 16  # elements by which the length of such pieces grows


def split_scans(outputs: Sequence[Node], num_programs: int, may_wait: bool = False) -> list[Node]:
    """Cut scans so that about `num_programs` programs, or more, share their work.

    may_wait: programs may wait for earlier ones.
    """

    def split(node: Node) -> Node | None:
        attrs = node.attrs
        assert isinstance(attrs, ScanAttrs)
        piece = None if attrs.is_cut else _length_of_pieces(node, num_programs)
        if piece is None:
            return None
        if may_wait and size_of(node.shape[attrs.axis + 1 :]) == 1:
            return build.scan(attrs.kind, node.inputs[0], attrs.axis, attrs.reverse, is_cut=True)
        return _scan_pieces(node, piece)

    return rewrite(outputs, [Rule(Op.SCAN, split, "the combine is associative")])


def _length_of_pieces(node: Node, num_programs: int) -> int | None:
    """How long pieces should be; None to leave the scan in one."""
    assert isinstance(node.attrs, ScanAttrs)
    axis = node.attrs.axis
    extent, side_by_side = node.shape[axis], size_of(node.shape[axis + 1 :])
    is_short = extent <= (_SHORT_ROW if side_by_side == 1 else _SHORT_COLUMN)
    if is_short or not node.size or num_programs < _LEAST_PROGRAMS or len(node.inputs) > 1:
        return None
    gain = num_programs // (size_of(node.shape[:axis]) * cdiv(side_by_side, _COLUMNS))
    if gain < _LEAST_GAIN:
        return None
    piece = cdiv(extent, gain)
    if side_by_side == 1:
        shortest, longest = _PIECES
        piece = min(max(next_power_of_2(piece), shortest), longest)
    else:
        piece = cdiv(piece, _STEP) * _STEP
    return piece if cdiv(extent, piece) >= _LEAST_GAIN else None


def _scan_pieces(node: Node, piece: int) -> Node:
    attrs, (operand,) = node.attrs, node.inputs
    assert isinstance(attrs, ScanAttrs)
    axis, extent = attrs.axis, node.shape[attrs.axis]
    padding = -extent % piece
    identity = scan_identity(attrs.kind, node.dtype)
    pieces = build.cut(build.pad(operand, axis, 0, padding, identity), axis, piece)
    totals = build.reduce(attrs.kind, pieces, (axis + 1,))
    starts = _combine_before(build.scan(attrs.kind, totals, axis, attrs.reverse), attrs)
    scanned = build.scan(attrs.kind, pieces, axis + 1, attrs.reverse, starts)
    whole = (*node.shape[:axis], extent + padding, *node.shape[axis + 1 :])
    return build.view(build.reshape(scanned, whole), index_map.identity(node.ndim), node.shape)


def _combine_before(scanned: Node, attrs: ScanAttrs) -> Node:
    """The scan one place before every place; the identity before the first."""
    rank, step = scanned.ndim, 1 if attrs.reverse else -1
    starts = [step if axis == attrs.axis else 0 for axis in range(rank)]
    before = build.view(
        scanned, index_map.slices(starts, [1] * rank), scanned.shape, may_leave=True
    )
    place = build.positions(scanned.shape, attrs.axis)
    first = scanned.shape[attrs.axis] - 1 if attrs.reverse else 0
    is_first = build.elementwise(Op.EQUAL, place, build.fixed(first, dtypes.int64))
    identity = build.fixed(scan_identity(attrs.kind, scanned.dtype), scanned.dtype)
    return build.where(is_first, identity, before)
