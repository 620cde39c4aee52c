"""Functions defined inside a kernel: `def` and `lambda`, which see the kernel's names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from lazyblock.language.frontend.definition import (
    REQUIRED,
    Definition,
    Parameter,
    read_annotation,
)
from lazyblock.language.frontend.frame import Frame, current_frame


class LocalFunction(Definition):
    """A function that belongs to a call; free names mean what they mean there when it is called."""

    def __init__(
        self, frame: Frame, name: str, parameters: Sequence[Parameter], body: Sequence[ast.stmt]
    ) -> None:
        self.frame = frame
        self.name = name
        self.file = frame.definition.file
        self.parameters = tuple(parameters)
        self.statements = body

    @classmethod
    def of(cls, frame: Frame, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
        """Make a function of its tree."""
        parameters = _read_parameters(frame, node.args)
        if isinstance(node, ast.FunctionDef):
            return cls(frame, node.name, parameters, node.body)
        body = ast.copy_location(ast.Return(node.body), node.body)
        return cls(frame, "lambda", parameters, [body])

    @property
    def body(self) -> Sequence[ast.stmt]:
        return self.statements

    def resolve(self, name: str) -> Any:
        scope = self.frame.scope
        if (
            name in scope.values
            or name in scope.missing
            or name in self.frame.definition.local_names
        ):
            return self.frame.lookup(name)
        return self.frame.definition.resolve(name)

    def visible_names(self) -> Sequence[str]:
        return [*self.frame.scope.values, *self.frame.definition.visible_names()]

    def inline(self, *arguments: Any, **named: Any) -> Any:
        """Evaluate the body in the current builder."""
        return (current_frame() or self.frame).call(self, *arguments, **named)


def _read_parameters(frame: Frame, arguments: ast.arguments) -> list[Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += [*arguments.defaults, *arguments.kw_defaults]
    found = []
    for argument, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True):
        annotation = None if argument.annotation is None else frame.evaluate(argument.annotation)
        value = REQUIRED if default is None else frame.evaluate(default)
        found.append(Parameter(argument.arg, value, **read_annotation(annotation)))
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, is_variadic=True))
    return found
