"""What an expression is, apart from the data in its leaves: the key of the plan cache.

Two lists of outputs have equal fingerprints when one plan serves both: the same ops, settings,
shapes and sharing; input arrays may differ in storage (not in layout), scalars in value.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lazyblock.graph.attrs import InputAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op


def fingerprint(outputs: Sequence[Node]) -> tuple[Hashable, list[Node]]:
    """Give the key of an expression and its leaves (inputs and constants) in order of first use.

    Takes time linear in the graph: `traverse.topological`, written out for speed.
    """
    position: dict[Node, int] = {}
    leaves: list[Node] = []
    entries: list[Hashable] = []
    stack = list(reversed(outputs))
    while stack:
        node = stack[-1]
        if node in position:
            stack.pop()
            continue
        depth = len(stack)
        for operand in reversed(node.inputs):
            if operand not in position:
                stack.append(operand)
        if len(stack) > depth:
            continue
        position[node] = len(position)
        stack.pop()
        if node.op is Op.INPUT:
            assert isinstance(node.attrs, InputAttrs)
            leaves.append(node)
            entries.append(node.attrs.layout)
        elif node.op is Op.CONSTANT:
            leaves.append(node)
            entries.append(node.dtype)
        else:
            entries.append((node.op, node.attrs, *[position[operand] for operand in node.inputs]))
    entries.append(tuple(position[node] for node in outputs))
    return tuple(entries), leaves
