"""What a loop carries from one iteration to the next.

A name is carried if it has a value before the loop and the loop assigns it; its type stays. Flags
of ways out, and what a return gives, are carried beside.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.frontend.analysis import assigned_names, exits_of
from lazyblock.language.frontend.frame import Frame
from lazyblock.language.frontend.scope import (
    BREAK,
    CONTINUE,
    RETURN,
    UNSET,
    Missing,
    Scope,
    have_same_form,
    is_number,
    leaves_of,
    say,
    with_leaves,
)
from lazyblock.language.semantics.convert import to_tensor
from lazyblock.language.tensor import tensor
from lazyblock.tiler.ir import Value

Loop = ast.For | ast.While


def refuse_else(frame: Frame, node: Loop) -> None:
    """Say that loops have no `else`."""
    if node.orelse:
        raise frame.error(
            node.orelse[0],
            "A loop has no 'else' in a kernel.",
            hint="set a flag in the loop and test it behind the loop.",
        )


@dataclass
class Carried:
    """Values a loop carries: variables by name, flags of ways out, what a return gives."""

    frame: Frame
    node: Loop
    names: list[str]
    flags: list[str]
    has_returned: bool = False

    def state(self, scope: Scope) -> list[Any]:
        """The carried values at a point, flags as tensors."""
        values = [scope.values[name] for name in self.names]
        values += [scope.exits[flag] for flag in self.flags]
        return [*values, scope.returned] if self.has_returned else values

    def enter(self, before: Scope, leaves: Sequence[tensor]) -> Scope:
        """A scope inside the loop, or after it, with new carried values."""
        scope = before.copy()
        left = list(leaves)
        values = [with_leaves(value, left) for value in self.state(before)]
        if self.has_returned:
            scope.returned = values.pop()
        for flag in reversed(self.flags):
            scope.exits[flag] = values.pop()
        scope.values.update(zip(self.names, values, strict=True))
        return scope

    def initial(self) -> list[tensor]:
        return leaves_of(tuple(self.state(self.frame.scope)))

    def leave(self, before: Scope) -> list[tensor]:
        """The carried values at the end of an iteration; their types must be those before."""
        scope = self.frame.scope
        for name in self.names:
            self._check(name, before.values[name], scope)
        for flag in self.flags:
            scope.exits[flag] = as_tensor(scope.exits[flag])
        if self.has_returned and scope.returned is UNSET:
            scope.returned = before.returned
        return leaves_of(tuple(self.state(scope)))

    def _check(self, name: str, before: Any, scope: Scope) -> None:
        line = self.node.lineno
        if name not in scope.values:
            reason = scope.missing[name].reason if name in scope.missing else "was deleted"
            raise self._error(name, f"'{name}' {reason}, but the loop at line {line} carries it.")
        after = scope.values[name]
        if have_same_form(before, after):
            return
        if isinstance(before, tensor) and is_number(after):
            after = as_tensor(after)
        if not have_same_form(before, after):
            raise self._error(
                name,
                f"'{name}' is {say(before)} before the loop at line {line} and {say(after)} after"
                " an iteration.",
                hint=f"start '{name}' with the type it gets in the loop, or convert with .to(...).",
            )
        scope.values[name] = after

    def _error(self, name: str, message: str, hint: str = "") -> CompileError:
        node: ast.AST = self.node
        for inner in ast.walk(self.node):
            is_same = isinstance(inner, ast.Name) and inner.id == name
            if is_same and not isinstance(inner.ctx, ast.Load):  # type: ignore[attr-defined]
                node = inner
        return self.frame.error(node, message, hint=hint)


def as_tensor(value: Any) -> Any:
    """A number as a tensor."""
    return value if isinstance(value, tensor) else to_tensor(value)


def carry(frame: Frame, node: Loop) -> Carried:
    """What a loop carries; numbers among it become tensors."""
    exits = exits_of(node.body)
    flags = [flag for flag in (RETURN, BREAK) if flag in exits]
    scope = frame.scope
    read = frame.definition.names_in(node)
    names = [
        name
        for name in assigned_names([node])
        if name in scope.values and (name in read or frame.is_needed(name))
    ]
    for name in names:
        if is_number(scope.values[name]):
            scope.values[name] = to_tensor(scope.values[name])
    return Carried(frame, node, names, flags)


def finish_loop(carried: Carried, before: Scope, leaves: Sequence[tensor]) -> None:
    """Continue behind the loop; names it alone has assigned end with it."""
    frame, node = carried.frame, carried.node
    scope = carried.enter(before, leaves)
    scope.exits[BREAK] = scope.exits[CONTINUE] = False
    for name in assigned_names([node]):
        if name not in carried.names:
            reason = f"has a value only inside the loop at line {node.lineno}"
            scope.drop(name, Missing(reason, f"give '{name}' a value before the loop."))
    frame.scope = scope


def iterate(
    carried: Carried,
    before: Scope,
    values: Sequence[Value],
    target: str = "",
    index: tensor | None = None,
) -> list[Value]:
    """Run the body once on carried `values`; gives the next ones."""
    frame, node = carried.frame, carried.node
    scope = carried.enter(before, typed(values, leaves_of(tuple(carried.state(before)))))
    for value, name in zip(values, _leaf_names(carried, before), strict=False):
        value.hint = value.hint or name
    scope.exits = dict.fromkeys(scope.exits, False)
    if index is not None:
        index.handle.hint = index.handle.hint or target
        scope.set(target, index)
    frame.scope = scope
    with frame.followed_by(_parts(node), frozenset(carried.names)):
        frame.run(node.body)
    return [leaf.handle for leaf in carried.leave(before)]


def _parts(node: Loop) -> list[ast.AST]:
    return [node.test, *node.body] if isinstance(node, ast.While) else [*node.body]


def _leaf_names(carried: Carried, scope: Scope) -> list[str]:
    """A name per leaf of the carried variables."""
    return [name for name in carried.names for _ in leaves_of(scope.values[name])]


def typed(values: Sequence[Value], like: Sequence[tensor]) -> list[tensor]:
    """Values of the IR as tensors of the language's types."""
    return [tensor(value, leaf.type) for value, leaf in zip(values, like, strict=True)]
