"""What an expression is, apart from the data in its leaves: the key of the plan cache.

Two lists of outputs have equal fingerprints when one plan serves both: the same ops, settings,
shapes and sharing; input arrays may differ in storage (not in layout), scalars in value.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lazyblock.graph.attrs import ConstantAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op


def fingerprint(outputs: Sequence[Node]) -> tuple[Hashable, list[Node]]:
    """Give the key of an expression and its leaves (inputs, numbers) in order of first use.

    Takes time linear in the graph: `traverse.topological`, written out for speed.
    """
    position: dict[Node, int] = {}
    leaves: list[Node] = []
    entries: list[Hashable] = []
    find = position.__getitem__
    stack = list(reversed(outputs))
    while stack:
        node = stack[-1]
        if node in position:
            stack.pop()
            continue
        inputs = node.inputs
        if inputs:
            depth = len(stack)
            for operand in reversed(inputs):
                if operand not in position:
                    stack.append(operand)
            if len(stack) > depth:
                continue
            entries.append((node.op, node.attrs, *map(find, inputs)))
        elif node.op is Op.INPUT:
            leaves.append(node)
            entries.append(node.attrs.layout)  # type: ignore[union-attr]
        elif isinstance(node.attrs, ConstantAttrs) and not node.attrs.is_fixed:
            leaves.append(node)
            entries.append(node.dtype)
        else:
            entries.append((node.op, node.attrs))
        position[node] = len(position)
        stack.pop()
    entries.append(tuple(map(find, outputs)))
    return tuple(entries), leaves
