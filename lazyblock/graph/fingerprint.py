"""What an expression is, apart from the data in its leaves: the key of the plan cache.

Two lists of outputs have equal fingerprints when one plan serves both: the same ops, settings,
shapes and sharing; input arrays may differ in storage (not in layout), scalars in value.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lazyblock.graph.attrs import ConstantAttrs, InputAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological


def fingerprint(outputs: Sequence[Node]) -> tuple[Hashable, list[Node]]:
    """Give the key of an expression and its leaves (inputs, numbers) in order of first use.

    Takes time linear in the graph.
    """
    position: dict[Node, int] = {}
    leaves: list[Node] = []
    entries: list[Hashable] = []
    for node in topological(outputs):
        position[node] = len(position)
        if node.op is Op.INPUT:
            assert isinstance(node.attrs, InputAttrs)
            leaves.append(node)
            entries.append(node.attrs.layout)
        elif isinstance(node.attrs, ConstantAttrs) and not node.attrs.is_fixed:
            leaves.append(node)
            entries.append(node.dtype)
        else:
            entries.append((node.op, node.attrs, *[position[operand] for operand in node.inputs]))
    entries.append(tuple(position[node] for node in outputs))
    return tuple(entries), leaves
