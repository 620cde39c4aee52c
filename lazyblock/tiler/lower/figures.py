"""A kernel's name, and what it moves and computes at least: for people and rooflines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from lazyblock.fusion.plan import FusionGroup
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ELEMENTWISE, Op
from lazyblock.shapes import size_of
from lazyblock.tiler.lower.walk import Access
from lazyblock.tiler.types import from_numpy


def count_bytes(group: FusionGroup, accesses: Iterable[Access]) -> int:
    """Bytes moved: every array element the space touches once, outputs included."""
    touched: dict[Node, int] = {}
    for access in dict.fromkeys(accesses):
        if access.base.op is not Op.IOTA:
            before = touched.get(access.base, 0)
            touched[access.base] = min(before + _touched(access, group), access.base.size)
    read = sum(count * base.dtype.itemsize for base, count in touched.items())
    return read + sum(node.nbytes for node in group.stored)


def _touched(access: Access, group: FusionGroup) -> int:
    """Elements that an access reaches."""
    shape = group.space.shape
    if access.gathered:
        return min(size_of(shape), access.base.size)
    return size_of([n for n, s in zip(shape, access.strides, strict=True) if s])


def count_flops(group: FusionGroup, read: Collection[Node]) -> int:
    """Rough arithmetic, every node once; `read`, roots apart, comes from memory."""
    seen: set[Node] = set()
    stack = list(group.roots)
    total = 0
    while stack:
        node = stack.pop()
        if node in seen or (node in read and node not in group.roots):
            continue
        seen.add(node)
        info = ELEMENTWISE.get(node.op)
        operand_size = node.inputs[0].size if node.op is Op.REDUCE else node.size
        total += operand_size * (info.flops if info else node.op in (Op.REDUCE, Op.SCAN))
        stack.extend(node.inputs)
    return total


def name_kernel(group: FusionGroup, is_boundary: Callable[[Node], bool]) -> str:
    """Content and order: the first four ops, then the dtype of the last result."""
    words: dict[str, None] = {}
    seen: set[Node] = set()
    stack = [(root, False) for root in reversed(group.roots)]
    while stack:
        node, operands_done = stack.pop()
        if operands_done:
            words[_word(node)] = None
        elif node not in seen and node.inputs:
            seen.add(node)
            stack.append((node, True))
            below = [n for n in reversed(node.inputs) if n in group.roots or not is_boundary(n)]
            stack.extend((operand, False) for operand in below)
    listed = [word for word in words if word][:4] or ["copy"]
    return "_".join(["fused", *listed, str(from_numpy(group.roots[-1].dtype))])


def _word(node: Node) -> str:
    if isinstance(node.attrs, ReduceAttrs):
        return node.attrs.kind.value
    if isinstance(node.attrs, ScanAttrs):
        return f"cum{node.attrs.kind.value}"
    return "" if node.op in (Op.VIEW, Op.RESHAPE, Op.CAST) else node.op.value
