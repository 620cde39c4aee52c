"""Facts about statements that need no values: names assigned and read, ways out.

Nested functions and comprehensions have scopes of their own: what they assign stays inside, what
they read counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

Nodes = Sequence[ast.AST]
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def assigned_names(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """Names the statements bind, in order of first appearance."""
    return tuple(dict.fromkeys(_assigned(nodes)))


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, _OWN_SCOPE):
            if not isinstance(node, ast.Lambda):
                yield node.name
        elif isinstance(node, ast.comprehension):
            yield from _assigned([node.iter, *node.ifs])
        else:
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                base = base_name(node)
                if base:
                    yield base
            yield from _assigned(ast.iter_child_nodes(node))


def base_name(node: ast.expr) -> str:
    """`a` of `a.b.c`; empty if the base is no name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def loaded_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names the statements read."""
    found = set()
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                found.add(inner.id)
            elif isinstance(inner, ast.AugAssign):
                found.add(base_name(inner.target))
    return frozenset(found)


def captured_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that functions defined inside read, whenever they are called."""
    inner = (node for outer in nodes for node in ast.walk(outer) if isinstance(node, _OWN_SCOPE))
    return loaded_names(inner)


_WAYS_OUT = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


def exits_of(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Which of return, break and continue leave the statements."""
    found: set[str] = set()
    for node in nodes:
        if type(node) in _WAYS_OUT:
            found.add(_WAYS_OUT[type(node)])
        elif isinstance(node, (ast.For, ast.While)):
            found |= exits_of(node.body) & {"return"} | exits_of(node.orelse)
        elif isinstance(node, ast.stmt) and not isinstance(node, _OWN_SCOPE):
            found |= exits_of(ast.iter_child_nodes(node))
    return frozenset(found)


def returns_value(nodes: Iterable[ast.AST]) -> bool:
    """Whether one of the statements is `return x`."""
    return any(
        isinstance(inner, ast.Return) and inner.value is not None
        for node in nodes
        for inner in ast.walk(node)
    )


def always_exits(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements end in return, break or continue on every path."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return always_exits(last.body) and always_exits(last.orelse)
    return type(last) in _WAYS_OUT
