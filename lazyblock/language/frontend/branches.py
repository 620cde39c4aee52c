"""Branches on run-time conditions become `If` ops.

What follows an `if` that leaves on one path (return, break, continue) is evaluated inside the other
branch; where both may leave, it is guarded by the flags of the ways out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.frontend import logic
from lazyblock.language.frontend.analysis import always_exits
from lazyblock.language.frontend.frame import Frame
from lazyblock.language.frontend.merge import Merge, Side
from lazyblock.language.frontend.scope import say
from lazyblock.language.frontend.variables import as_variable
from lazyblock.language.tensor import tensor
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Region

Run = Callable[[], None]


def run_block(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """Run statements; those behind a possible exit run only where control has not left."""
    for position, statement in enumerate(statements):
        rest = statements[position + 1 :]
        if isinstance(statement, ast.If):
            if _run_if(frame, statement, rest):
                return
        else:
            with frame.followed_by(rest):
                frame.execute(statement)
        if frame.scope.has_left():
            return
        if frame.scope.exit_flags():
            if rest:
                run_unless_left(frame, lambda: frame.run(rest))  # noqa: B023 (leaves the loop)
            return


def _run_if(frame: Frame, node: ast.If, rest: Sequence[ast.stmt]) -> bool:
    """Run an `if`; tells whether `rest` was run as part of it."""
    frame.stand_at(node)
    with frame.locating(node.test), frame.followed_by([*node.body, *node.orelse, *rest]):
        condition = frame.evaluate(node.test)
        if isinstance(condition, tensor):
            condition = logic.scalar_condition(condition, "an 'if'")
        else:
            is_true = bool(condition)
    if not isinstance(condition, tensor):
        with frame.followed_by(rest):
            frame.run(node.body if is_true else node.orelse)
        return False
    leaves = always_exits(node.body), always_exits(node.orelse)
    takes_rest = leaves[0] is not leaves[1]
    after_body = rest if takes_rest and leaves[1] else ()
    after_orelse = rest if takes_rest and leaves[0] else ()
    with frame.locating(node.test), frame.followed_by(() if takes_rest else rest):
        branch(
            frame,
            condition,
            lambda: frame.run([*node.body, *after_body]),
            lambda: frame.run([*node.orelse, *after_orelse]),
            node.lineno,
        )
    return takes_rest


def run_unless_left(frame: Frame, run: Run) -> None:
    """Run what follows a possible exit, where it was not taken."""
    flags = frame.scope.exit_flags()
    left = logic.combine(False, flags)
    before = frame.scope

    def stay() -> None:
        frame.scope.exits.update(dict.fromkeys(frame.scope.exits, False))
        run()

    def leave() -> None:
        if len(flags) == 1:
            name = next(name for name, flag in before.exits.items() if flag is flags[0])
            frame.scope.exits[name] = True

    branch(frame, logic.negate(left), stay, leave, is_left=(False, True))


def branch(
    frame: Frame,
    condition: tensor,
    then: Run,
    otherwise: Run,
    line: int = 0,
    is_left: tuple[bool, bool] = (False, False),
) -> None:
    """Evaluate both branches and merge their scopes."""
    builder, before, here = frame.builder, frame.scope, frame.builder.line
    sides = []
    for run, left in zip((then, otherwise), is_left, strict=True):
        region = Region()
        frame.scope = before.copy()
        with builder.open_region(region):
            run()
        sides.append(Side(frame.scope, region, left or frame.scope.has_left()))
    builder.line = here
    merge = Merge(builder, (sides[0], sides[1]), line)
    merge.add_exits(frame.is_followed())
    if merge.sides[0].is_left and merge.sides[1].is_left:
        merge.scope.values = {}
    merge.add_names(frame.is_needed)
    results = _append_if(frame, condition, merge)
    frame.scope = merge.finish(results)


def _append_if(frame: Frame, condition: tensor, merge: Merge) -> list[tensor]:
    for number, side in enumerate(merge.sides):
        with frame.builder.open_region(side.region):
            frame.builder.yield_(*(pair[number].handle for pair in merge.yields))
    regions = {"then": merge.sides[0].region, "otherwise": merge.sides[1].region}
    op = frame.builder.append(ops.If, condition=condition.handle, **regions)
    types = [pair[0].type for pair in merge.yields]
    return [tensor(result, type) for result, type in zip(op.results, types, strict=True)]


def branch_values(
    frame: Frame, condition: tensor, then: Callable[[], Any], otherwise: Callable[[], Any]
) -> Any:
    """`then() if condition else otherwise()` of tensors and numbers."""
    condition = logic.scalar_condition(condition, "a conditional expression")
    before, values, sides = frame.scope, [], []
    for compute in (then, otherwise):
        region = Region()
        frame.scope = before.copy()
        with frame.builder.open_region(region):
            values.append(as_variable(compute()))
        sides.append(Side(frame.scope, region, False))
    frame.scope = before
    merge = Merge(frame.builder, (sides[0], sides[1]), 0)
    pair = merge.pair(values)
    if pair is None:
        raise CompileError(
            "The two values of a conditional expression must have one type, got"
            f" {say(values[0])} and {say(values[1])}.",
            hint="convert one of them with .to(...).",
        )
    chosen: list[Any] = []
    merge.choose(pair, chosen.append)
    merge.finish(_append_if(frame, condition, merge))
    return chosen[0]
