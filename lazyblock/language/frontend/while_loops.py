"""`while` loops, and whatever loop has a way out: While ops whose flags are carried too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from lazyblock.language import iterators
from lazyblock.language.frontend import logic
from lazyblock.language.frontend.analysis import returns_value
from lazyblock.language.frontend.branches import branch_values
from lazyblock.language.frontend.carried import (
    Carried,
    as_tensor,
    carry,
    finish_loop,
    iterate,
    refuse_else,
    typed,
)
from lazyblock.language.frontend.frame import Frame
from lazyblock.language.frontend.merge import zeros
from lazyblock.language.frontend.scope import RETURN, Scope, leaves_of, with_leaves
from lazyblock.language.semantics.convert import to_tensor
from lazyblock.language.tensor import tensor
from lazyblock.tiler.ir import Region, Value

Test = Callable[[Sequence[Value]], tensor]
Advance = Callable[[Sequence[Value]], tuple[list[Value], tensor | None]]


def run_while(frame: Frame, node: ast.While) -> None:
    """`while test`."""
    refuse_else(frame, node)
    if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node.test)):
        node = _without_walrus(node)
    if is_constantly(node.test, False):
        return
    carried = carry(frame, node)
    if not carried.flags and is_constantly(node.test, True):
        raise frame.error(
            node.test, "This loop never ends.", hint="leave it with 'break' or 'return'."
        )

    def test() -> tensor:
        value = frame.evaluate(node.test)
        if isinstance(value, iterators.condition):
            value = value.condition
        return logic.scalar_condition(as_tensor(value), "a loop")

    run_flagged(carried, [], lambda _: test(), lambda _: ([], None))


@lru_cache(maxsize=256)  # what is known of a tree is known by its nodes
def _without_walrus(node: ast.While) -> ast.While:
    """`while test: body` as `while True: if not test: break; body`."""
    negated = ast.UnaryOp(ast.Not(), node.test)
    leave = ast.If(negated, [ast.copy_location(ast.Break(), node.test)], [])
    for made in (negated, leave):
        ast.copy_location(made, node.test)
    test = ast.copy_location(ast.Constant(True), node.test)
    return ast.copy_location(ast.While(test, [leave, *node.body], []), node)


def is_constantly(test: ast.expr, value: bool) -> bool:
    """Whether a condition is known to be `value`, in every iteration."""
    return isinstance(test, ast.Constant) and bool(test.value) is value


def run_flagged(
    carried: Carried,
    extra: list[Value],
    test: Test,
    advance: Advance,
    target: str = "",
) -> None:
    """A While whose first carried values are `extra`, which `advance` steps."""
    frame, node = carried.frame, carried.node
    before = frame.scope
    if RETURN in carried.flags and returns_value(node.body):
        before.returned = _find_returned(carried, before, extra, advance, target)
        carried.has_returned = True
    for flag in carried.flags:
        before.exits[flag] = to_tensor(False)
    initial = carried.initial()
    count = len(extra)

    def condition(*values: Value) -> Value:
        frame.scope = carried.enter(before, typed(values[count:], initial))
        flags = frame.scope.exit_flags()
        frame.scope.exits = dict.fromkeys(frame.scope.exits, False)
        if not flags:
            return _handle(test(values))
        stays = logic.negate(logic.combine(False, flags))
        if isinstance(node, ast.While) and is_constantly(node.test, True):
            return _handle(stays)
        goes_on = branch_values(frame, stays, lambda: test(values), lambda: to_tensor(False))
        return _handle(goes_on)

    def body(*values: Value) -> list[Value]:
        following, index = advance(values[:count])
        after = iterate(carried, before, values[count:], target, index)
        return [*following, *after]

    starts = [*extra, *(leaf.handle for leaf in initial)]
    results = frame.builder.while_(starts, condition, body)
    finish_loop(carried, before, typed(results[count:], initial))


def _handle(value: tensor) -> Value:
    return value.handle


def _find_returned(
    carried: Carried,
    before: Scope,
    extra: list[Value],
    advance: Advance,
    target: str,
) -> Any:
    """A value of the form a `return` inside the loop gives; the body is evaluated once for it."""
    frame = carried.frame
    builder = frame.builder
    scratch = Carried(frame, carried.node, carried.names, [])
    values = [Value(leaf.handle.type) for leaf in scratch.initial()]
    with builder.open_region(Region()):
        _, index = advance([Value(value.type) for value in extra])
        iterate(scratch, before, values, target, index)
        returned = frame.scope.returned
    frame.scope = before
    leaves = [tensor(zeros(builder, leaf.handle), leaf.type) for leaf in leaves_of(returned)]
    return with_leaves(returned, leaves)
