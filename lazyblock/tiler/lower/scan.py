"""Graph scans as block scans: of a tile, and of a row that is walked tile by tile."""

from __future__ import annotations

from lazyblock.graph.attrs import ScanAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ReduceKind, scan_identity
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.reduction import combine_kind
from lazyblock.tiler.types import from_numpy, int1


def _settings(node: Node) -> ScanAttrs:
    assert isinstance(node.attrs, ScanAttrs)
    return node.attrs


def is_reverse(node: Node) -> bool:
    """Whether `node` is a scan that walks its rows from the end."""
    return isinstance(node.attrs, ScanAttrs) and node.attrs.reverse


def start_of_scan(b: Builder, node: Node, shape: tuple[int, ...]) -> Value:
    """What changes nothing when it is carried into the first tile of a row."""
    identity = scan_identity(_settings(node).kind, node.dtype)
    return b.constant(identity, from_numpy(node.dtype), shape)


def fill_before(b: Builder, node: Node, value: Value, mask: Value | None) -> Value:
    """The operand such that what is masked off changes nothing; it matters if it comes first."""
    if mask is None or not is_reverse(node):
        return value
    return b.select(mask, value, scan_identity(_settings(node).kind, node.dtype))


def scan_tile(b: Builder, node: Node, value: Value, axis: int) -> Value:
    """The scan of a tile along an axis of the block."""
    kind = combine_kind(_settings(node).kind, value)
    return b.scan_with(kind, value, axis, is_reverse(node))


def continue_scan(b: Builder, node: Node, before: Value, value: Value) -> Value:
    """Combine what came before, broadcast, with a scanned tile."""
    kind = combine_kind(_settings(node).kind, value)
    return b.binary(kind, b.broadcast_to(before, value.shape), value)


def end_of_scan(b: Builder, node: Node, scanned: Value, axis: int) -> Value:
    """The element of a scanned tile that the scan came to last; `axis` disappears.

    All others become zeros that change no sum: the sum is that element, bit for bit.
    """
    extent = scanned.shape[axis]
    place = b.arange(0, extent)
    for other in range(len(scanned.shape)):
        if other != axis:
            place = b.expand_dims(place, other)
    is_last = b.compare("eq", place, 0 if is_reverse(node) else extent - 1)
    zero = scan_identity(ReduceKind.SUM, node.dtype)
    alone = b.select(b.broadcast_to(is_last, scanned.shape), scanned, zero)
    return b.reduce_with("or" if scanned.type.element == int1 else "add", alone, axis)


def last_of_scan(b: Builder, node: Node, scanned: Value) -> Value:
    """The same of a block of one axis, by a reduction that keeps the order of elements."""
    place = 0 if is_reverse(node) else 1
    return b.reduce([scanned], 0, lambda *pair: [pair[place]])[0]
