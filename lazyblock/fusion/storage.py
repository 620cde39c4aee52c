"""Where a node's elements lie: the stored node behind it, and how it strides over that memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lazyblock.graph.attrs import InputAttrs, ViewAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Strides, contiguous_strides, reshape_strides


@dataclass(frozen=True)
class Strided:
    """Elements of a node in the memory of `base`; offset and strides count elements."""

    base: Node
    offset: int
    strides: Strides


def find_storage(node: Node, stored: Collection[Node]) -> Strided | None:
    """How `node` lies in the memory of an input or a node of `stored`; None if it has none.

    Stored nodes lie in C order; views and those reshapes that need no copy look through.
    """
    chain: list[Node] = []
    while node not in stored and node.op in (Op.VIEW, Op.RESHAPE):
        chain.append(node)
        node = node.inputs[0]
    if node in stored:
        offset, strides = 0, contiguous_strides(node.shape)
    elif isinstance(node.attrs, InputAttrs):
        offset, strides = node.attrs.offset, node.attrs.strides
    else:
        return None
    for step in reversed(chain):
        if isinstance(step.attrs, ViewAttrs):
            start, strides = step.attrs.map.strides(strides)
            offset += start
        else:
            reshaped = reshape_strides(step.inputs[0].shape, strides, step.shape)
            if reshaped is None:
                return None
            strides = reshaped
    return Strided(node, offset, strides)


def needed_in_memory(node: Node, stored: Collection[Node]) -> Node | None:
    """The node that must be stored next so that `node` has memory; None if it has some already.

    Views that only move elements are left to the reader; those that pick or repeat some are stored
    themselves, as are the operands of reshapes that need a copy.
    """
    if find_storage(node, stored) is not None:
        return None
    if node.op is Op.RESHAPE:
        return needed_in_memory(node.inputs[0], stored) or node.inputs[0]
    if node.op is Op.VIEW and _moves_only(node):
        return needed_in_memory(node.inputs[0], stored)
    return node


def _moves_only(node: Node) -> bool:
    """A view that reads every element of its operand once: permuted, flipped, unit axes changed."""
    assert isinstance(node.attrs, ViewAttrs)
    rows = node.attrs.map.coefficients
    used = sorted(axis for row in rows for axis, c in enumerate(row) if c)
    moving = [axis for axis, extent in enumerate(node.shape) if extent != 1]
    return node.size == node.inputs[0].size and used == moving
