"""Walks over the graph: loops, never recursion, each node once, always in the same order."""

from __future__ import annotations

from collections.abc import Iterable

from lazyblock.graph.node import Node


def topological(outputs: Iterable[Node]) -> list[Node]:
    """All nodes below `outputs`, operands first, in depth-first order of the operands."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(list(outputs))]
    while stack:
        node, operands_done = stack.pop()
        if operands_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.inputs))
    return order


def users(order: Iterable[Node]) -> dict[Node, list[Node]]:
    """For every node of `order`: the nodes that read it, once each, in order."""
    found: dict[Node, list[Node]] = {}
    for node in order:
        found.setdefault(node, [])
        for operand in dict.fromkeys(node.inputs):
            found.setdefault(operand, []).append(node)
    return found
