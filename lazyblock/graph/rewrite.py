"""Local rewrites as tables of rules, applied from the leaves up until nothing changes.

A rule is an op, a function from a node of that op to its replacement (or None) and a reason why it
is exact. Passes under `passes/` are such tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lazyblock.graph.node import Node, make_node
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological

_MOST_ROUNDS = 20  # of one node through one table; more means that rules undo each other


@dataclass(frozen=True)
class Rule:
    """`replace(node)` gives an equal node or None; `reason` says why values survive bit by bit."""

    op: Op
    replace: Callable[[Node], Node | None]
    reason: str


def rewrite(outputs: Sequence[Node], rules: Sequence[Rule]) -> list[Node]:
    """Rewrite everything below `outputs`; unchanged nodes stay the same objects.

    Raises: AssertionError when a node does not settle.
    """
    by_op: dict[Op, list[Rule]] = {}
    for rule in rules:
        by_op.setdefault(rule.op, []).append(rule)
    new: dict[Node, Node] = {}
    for node in topological(outputs):
        same = with_inputs(node, [new[operand] for operand in node.inputs])
        new[node] = _settle(same, by_op) if same.op in by_op else same
    return [new[node] for node in outputs]


def replace_nodes(outputs: Sequence[Node], replacements: Mapping[Node, Node]) -> list[Node]:
    """The graph below `outputs` with some nodes replaced."""
    new: dict[Node, Node] = dict(replacements)
    for node in topological(outputs):
        if node not in new:
            new[node] = with_inputs(node, [new[operand] for operand in node.inputs])
    return [new[node] for node in outputs]


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """`node` on other operands; the same object if they are its own."""
    given = tuple(inputs)  # nodes are equal only to themselves
    return node if given == node.inputs else make_node(node.op, given, node.attrs, node.line)


def _settle(node: Node, by_op: dict[Op, list[Rule]]) -> Node:
    for _ in range(_MOST_ROUNDS):
        replacement = _first_match(node, by_op)
        if replacement is None:
            return node
        node = replacement
    raise AssertionError(f"rules do not settle on {node!r}")


def _first_match(node: Node, by_op: dict[Op, list[Rule]]) -> Node | None:
    for rule in by_op.get(node.op, ()):
        replacement = rule.replace(node)
        if replacement is not None and replacement is not node:
            return replacement
    return None
