"""Rules for statements other than `if`, which `branches.py` runs."""

from __future__ import annotations

import ast
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.constexpr import constexpr, unwrap
from lazyblock.language.context import current
from lazyblock.language.frontend.definition import read_annotation
from lazyblock.language.frontend.expressions import apply_binary
from lazyblock.language.frontend.frame import Frame, StatementRule
from lazyblock.language.frontend.local import LocalFunction
from lazyblock.language.frontend.loops import run_for
from lazyblock.language.frontend.scope import BREAK, CONTINUE, RETURN, Missing
from lazyblock.language.frontend.variables import as_variable, assign
from lazyblock.language.frontend.while_loops import run_while
from lazyblock.language.semantics.debug import device_assert
from lazyblock.language.tensor import tensor


def _expression(frame: Frame, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring
        frame.evaluate(node.value)


def _assign(frame: Frame, node: ast.Assign) -> None:
    value = as_variable(frame.evaluate(node.value))
    for target in node.targets:
        assign(frame, target, value)


def _assign_annotated(frame: Frame, node: ast.AnnAssign) -> None:
    if node.value is None:
        return
    value = frame.evaluate(node.value)
    annotation = frame.evaluate(node.annotation)
    if not read_annotation(annotation).get("is_constexpr"):
        assign(frame, node.target, as_variable(value))
        return
    if not isinstance(node.target, ast.Name):
        raise frame.error(node.target, "A tl.constexpr is a name.")
    value = value if isinstance(value, (tensor, constexpr, tuple)) else constexpr(value)
    frame.scope.set(node.target.id, value)


def _assign_augmented(frame: Frame, node: ast.AugAssign) -> None:
    target = node.target
    if isinstance(target, ast.Subscript):
        assign(frame, target, None)
    reads: Any = type(target)(**{**dict(ast.iter_fields(target)), "ctx": ast.Load()})
    before = frame.evaluate(ast.copy_location(reads, target))
    with frame.locating(node):
        value = apply_binary(node.op, before, frame.evaluate(node.value))
    assign(frame, target, as_variable(value))


def _return(frame: Frame, node: ast.Return) -> None:
    frame.scope.returned = None if node.value is None else frame.evaluate(node.value)
    frame.scope.exits[RETURN] = True


def _break(frame: Frame, node: ast.Break) -> None:
    refuse_if_strict("'break'")
    frame.scope.exits[BREAK] = True


def _continue(frame: Frame, node: ast.Continue) -> None:
    refuse_if_strict("'continue'")
    frame.scope.exits[CONTINUE] = True


def _pass(frame: Frame, node: ast.Pass) -> None:
    """Does nothing."""


def _assert(frame: Frame, node: ast.Assert) -> None:
    """Checked now if known now, else when the kernel runs."""
    condition = frame.evaluate(node.test)
    text = "" if node.msg is None else unwrap(frame.evaluate(node.msg))
    if isinstance(text, tensor):
        raise frame.error(node.msg or node, "The message of an assert is a string.")
    if isinstance(condition, tensor):
        device_assert(condition, text or ast.unparse(node.test))
    elif not condition:
        message = f": {text}" if text else ""
        raise CompileError(f"The assertion '{ast.unparse(node.test)}' does not hold{message}.")


def _delete(frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        if not isinstance(target, ast.Name):
            raise frame.error(target, "Only names can be deleted in a kernel.")
        frame.lookup(target.id)
        frame.scope.drop(target.id, Missing(f"was deleted at line {node.lineno}"))


def _define(frame: Frame, node: ast.FunctionDef) -> None:
    refuse_if_strict("A function inside a function")
    frame.scope.set(node.name, LocalFunction.of(frame, node))


def refuse_if_strict(what: str) -> None:
    """Triton's language has no such thing."""
    if current().strict:
        raise CompileError(f"{what} is no part of the language in strict mode.")


STATEMENTS: dict[type[ast.stmt], StatementRule] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _assign_annotated,
    ast.AugAssign: _assign_augmented,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.FunctionDef: _define,
    ast.For: run_for,
    ast.While: run_while,
}

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Dict: ("There are no dicts", "use a tuple, or a class made by @lb.aggregate."),
    ast.DictComp: ("There are no dicts", "use a tuple, or a class made by @lb.aggregate."),
    ast.Set: ("There are no sets", "use a tuple."),
    ast.SetComp: ("There are no sets", "use a tuple."),
    ast.Try: ("Exceptions cannot be caught", "test the condition with 'if' instead."),
    ast.Raise: (
        "Exceptions cannot be raised",
        "use tl.static_assert for constants and tl.device_assert for data.",
    ),
    ast.With: ("There is no 'with'", "write its body alone."),
    ast.AsyncWith: ("There is no 'with'", "write its body alone."),
    ast.ClassDef: ("Classes cannot be defined", "define it outside, with @lb.aggregate."),
    ast.Import: ("Nothing can be imported", "import it at the top of the file."),
    ast.ImportFrom: ("Nothing can be imported", "import it at the top of the file."),
    ast.Global: ("Global names cannot be assigned to", "return the value, or store it in memory."),
    ast.Nonlocal: ("Outer names cannot be assigned to", "return the value."),
    ast.Yield: ("There are no generators", "return a tuple."),
    ast.YieldFrom: ("There are no generators", "return a tuple."),
    ast.Await: ("There is no 'await'", "call the function directly."),
    ast.AsyncFor: ("There is no 'async'", "use a plain 'for'."),
    ast.AsyncFunctionDef: ("There is no 'async'", "use a plain 'def'."),
    ast.Match: ("There is no 'match'", "use 'if' and 'elif'."),
    ast.Starred: ("'*' stands only in calls, tuples and targets", ""),
}
