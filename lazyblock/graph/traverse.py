"""Walks over the graph: loops, never recursion, each node once, always in the same order."""

from __future__ import annotations

from collections.abc import Iterable

from lazyblock.graph.node import Node


def topological(outputs: Iterable[Node]) -> list[Node]:
    """All nodes below `outputs`, operands first, in depth-first order of the operands."""
    order: list[Node] = []
    done: set[Node] = set()
    stack = list(outputs)[::-1]
    while stack:
        node = stack[-1]
        if node not in done:
            depth = len(stack)
            stack += [operand for operand in node.inputs[::-1] if operand not in done]
            if len(stack) > depth:
                continue
            done.add(node)
            order.append(node)
        stack.pop()
    return order


def users(order: Iterable[Node]) -> dict[Node, list[Node]]:
    """For every node of `order`: the nodes that read it, once each, in order."""
    found: dict[Node, list[Node]] = {}
    for node in order:
        found.setdefault(node, [])
        for operand in dict.fromkeys(node.inputs):
            found.setdefault(operand, []).append(node)
    return found
