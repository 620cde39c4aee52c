"""The graph as a `networkx.MultiDiGraph`, for drawing and for NetworkX's algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazyblock.graph.node import Node
from lazyblock.graph.traverse import topological
from lazyblock.lazy_imports import lazy_import

networkx = lazy_import("networkx")


def to_networkx(outputs: Sequence[Node]) -> Any:
    """Nodes are numbered in topological order, with attribute `node`; edges carry `position`."""
    graph = networkx.MultiDiGraph()
    number: dict[Node, int] = {}
    for node in topological(outputs):
        number[node] = len(number)
        graph.add_node(number[node], node=node, label=repr(node))
        for position, operand in enumerate(node.inputs):
            graph.add_edge(number[operand], number[node], position=position)
    return graph
