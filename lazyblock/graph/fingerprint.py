"""What an expression is, apart from the data in its leaves: the key of the plan cache.

Two lists of outputs have equal fingerprints when one plan serves both: the same ops, settings,
shapes and sharing; input arrays may differ in storage (not in layout), scalars in value.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lazyblock.graph.attrs import ConstantAttrs, InputAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op


def fingerprint(outputs: Sequence[Node]) -> tuple[Hashable, list[Node]]:
    """Give the key of an expression and its leaves (inputs, numbers), always in the same order.

    Takes time linear in the graph, and little: every evaluation waits for it.
    """
    position: dict[Node, int] = {}
    leaves: list[Node] = []
    entries: list[Hashable] = []
    find = position.__getitem__
    stack = list(outputs[::-1])
    while stack:
        node = stack[-1]
        if node not in position:
            inputs, depth = node.inputs, len(stack)
            for operand in inputs[::-1]:
                if operand in position:
                    continue
                if operand.op is Op.INPUT:
                    position[operand] = len(entries)
                    entries.append(operand.attrs.layout)  # type: ignore[union-attr]
                    leaves.append(operand)
                else:
                    stack.append(operand)
            if len(stack) > depth:
                continue
            position[node] = len(entries)
            if inputs:
                entries.append((node.op, node.attrs, *map(find, inputs)))
            else:
                entries.append(_leaf_entry(node, leaves))
        stack.pop()
    entries.append(tuple(map(find, outputs)))
    return tuple(entries), leaves


def _leaf_entry(node: Node, leaves: list[Node]) -> Hashable:
    """What the plan depends on of a leaf, which joins `leaves` if it is given at every call."""
    attrs = node.attrs
    if isinstance(attrs, InputAttrs):
        leaves.append(node)
        return attrs.layout
    if isinstance(attrs, ConstantAttrs) and not attrs.is_fixed:
        leaves.append(node)
        return attrs.dtype
    return node.op, attrs
