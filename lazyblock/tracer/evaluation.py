"""Evaluation: the points where recorded work runs, and the guard against unwanted ones.

Whole arrays evaluate into their cell, so that the graph is freed and views of it see the data. A
view evaluates its base if other handles share it, else only its own elements: its base from then.
Arrays that a loop writes evaluate along with what it asks about them: each step begins with data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lazyblock.errors import EvaluationForbiddenError
from lazyblock.graph.attrs import Placeholder
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from lazyblock.source import user_line
from lazyblock.tracer.cells import Cell, take_pending
from lazyblock.tracer.stages import pipeline

__all__ = [
    "eval",
    "forbid_eval",
]

if TYPE_CHECKING:
    from lazyblock.tracer.handle import Handle

_forbidden: ContextVar[str] = ContextVar("lazyblock_evaluation_forbidden", default="")


@contextmanager
def forbid_eval(where: str = "inside 'lb.forbid_eval()'") -> Iterator[None]:
    """Make evaluation an error, with the user's line, for the time of a `with` block.

    Raises (inside): EvaluationForbiddenError.
    """
    token = _forbidden.set(where)
    try:
        yield
    finally:
        _forbidden.reset(token)


def eval(*arrays: Handle) -> None:
    """Evaluate several arrays in one plan."""
    evaluate(arrays, "eval")


def evaluate(arrays: Sequence[Handle], reason: str) -> None:
    """Run what `arrays` wait for, in one plan."""
    # all before any result is written: handles of one cell see each other's writes
    pending: list[tuple[Handle, Node]] = []
    nodes: list[Node] = []
    for array in arrays:
        base = array._cell.node
        if base.op is not Op.INPUT:
            pending.append((array, base))
            nodes.append(base if array._view is None else _node_to_evaluate(array))
        elif isinstance(base.attrs.storage, Placeholder):  # type: ignore[union-attr]
            check_allowed(reason)  # it is not: a function is being traced
    if not pending:
        return
    check_allowed(reason)
    along = _written_on_the_way(nodes)
    results = pipeline.evaluate([*nodes, *along.values()], reason)
    for (cell, node), result in zip(along.items(), results[len(nodes) :], strict=True):
        if cell.node is node:
            cell.node = result
    for (array, base), node, result in zip(pending, nodes, results[: len(nodes)], strict=True):
        if node is base:
            array._cell.node = result
        else:
            array._rebase(result)


def _written_on_the_way(nodes: Sequence[Node]) -> dict[Cell, Node]:
    """Arrays that were written and whose value is computed for `nodes`, not only now."""
    waiting = {cell: cell.node for cell in take_pending()}
    if not waiting:
        return waiting
    reached = {*topological(nodes)}
    return {cell: node for cell, node in waiting.items() if node in reached}


def check_allowed(reason: str) -> None:
    """Raises: EvaluationForbiddenError inside `forbid_eval()`."""
    where = _forbidden.get()
    if where:
        raise EvaluationForbiddenError(f"'{reason}' at {user_line()} evaluates {where}.")


def _node_to_evaluate(array: Handle) -> Node:
    if _count_references(array) > _REFERENCES_OF_ONE_HANDLE:
        return array._cell.node
    return array.node


def _count_references(array: Any) -> int:
    """References to the array's cell; handles alone keep them, so more than one handle shows."""
    return sys.getrefcount(array._cell)


_REFERENCES_OF_ONE_HANDLE = _count_references(SimpleNamespace(_cell=object()))
