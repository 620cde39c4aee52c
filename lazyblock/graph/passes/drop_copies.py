"""Remove copies of what gets memory of its own anyway.

Takes: any graph. Gives: copies of inputs, constants and views only, which have no kernel that could
store them in C order. Keeps: values bit by bit. Cost: linear. Runs last, since what other passes
make of a computed operand may be a view.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.graph.node import Node
from lazyblock.graph.ops import CATEGORY, Category, Op
from lazyblock.graph.rewrite import Rule, rewrite

_COMPUTED = (
    *(Category.ELEMENTWISE, Category.REDUCTION, Category.SCAN),
    *(Category.CONTRACTION, Category.CALL),
)


def drop_copies(outputs: Sequence[Node]) -> list[Node]:
    """Run the pass; see the module's header."""
    return rewrite(outputs, _RULES)


def _of_computed(node: Node) -> Node | None:
    (operand,) = node.inputs
    return operand if CATEGORY[operand.op] in _COMPUTED else None


_RULES = (Rule(Op.COPY, _of_computed, "a copy has the elements of its operand"),)
