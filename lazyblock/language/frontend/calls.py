"""Calls: functions of the language, functions compiled in place, Python's builtins.

A function of the user's is evaluated in a frame of its own, its ops go where the call stands.
Plain Python functions run at compile time, on known arguments.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.aggregate import Aggregate
from lazyblock.language.constexpr import constexpr, unwrap
from lazyblock.language.frontend.builtins import BUILTINS
from lazyblock.language.frontend.definition import Definition
from lazyblock.language.frontend.expressions import evaluate_items, plain_to_constexpr
from lazyblock.language.frontend.frame import Frame, Rules
from lazyblock.language.frontend.local import LocalFunction
from lazyblock.language.frontend.scope import RETURN, UNSET, Scope, leaves_of, say
from lazyblock.language.tensor import tensor


def evaluate_call(frame: Frame, node: ast.Call) -> Any:
    """`function(*arguments, **named)`."""
    function = frame.evaluate(node.func)
    arguments = evaluate_items(frame, node.args)
    named: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise frame.error(
                keyword.value,
                "'**' cannot spread arguments in a kernel.",
                hint="pass them one by one.",
            )
        named[keyword.arg] = frame.evaluate(keyword.value)
    outer = frame.node
    frame.stand_at(node)
    try:
        return call(frame, function, arguments, named)
    finally:
        frame.node = outer


def call(frame: Frame, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Call a value."""
    if isinstance(function, constexpr):
        function = function.value
    if isinstance(function, MethodType) and isinstance(function.__func__, Definition):
        function, arguments = function.__func__, [function.__self__, *arguments]
    if isinstance(function, functools.partial):
        named = {**function.keywords, **named}
        return call(frame, function.func, [*function.args, *arguments], named)
    if isinstance(function, Definition):
        return evaluate_in_place(frame.rules, frame, function, arguments, named)[0]
    if isinstance(function, type) and issubclass(function, Aggregate):
        return _construct(frame, function, arguments, named)
    builtin = BUILTINS.get(function) if _is_hashable(function) else None
    if builtin is not None:
        return builtin(*arguments, **named)
    return _call_python(function, arguments, named)


def _is_hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None


# --- compiled in place ---------------------------------------------------------------------------


def evaluate_in_place(
    rules: Rules,
    caller: Frame | None,
    definition: Definition,
    arguments: list[Any],
    named: dict[str, Any],
) -> tuple[Any, Scope]:
    """What a function returns, and its names at the end."""
    bound = definition.bind(arguments, named)
    inside = Frame(definition, Scope(), rules, caller)
    for parameter in definition.parameters:
        inside.scope.set(parameter.name, as_argument(bound[parameter.name]))
    with inside.entered():
        inside.run(definition.body)
    return returned_value(inside), inside.scope


def as_argument(value: Any) -> Any:
    """An argument as the function sees it: plain values are constexprs.

    A parameter annotated as tl.constexpr takes tensors too: many a kernel counts on it.
    """
    if isinstance(value, (tensor, constexpr, tuple, Aggregate, Definition)) or value is None:
        return value
    return plain_to_constexpr(value)


def returned_value(frame: Frame) -> Any:
    """What the call returns, once its body has been run."""
    scope = frame.scope
    if scope.returned is UNSET:
        return None
    if scope.exits[RETURN] is not True and scope.returned is not None:
        raise CompileError(
            f"'{frame.definition.name}' returns {say(scope.returned)} on some paths and nothing on"
            " others.",
            hint="end the function with a 'return' of the same type.",
        )
    return scope.returned


def _construct(
    frame: Frame, cls: type[Aggregate], arguments: list[Any], named: dict[str, Any]
) -> Any:
    """An object of an aggregate, as its `__init__` leaves it."""
    made = object.__new__(cls)
    initialise: Any = vars(cls).get("__init__", cls.__init__)
    if isinstance(initialise, Definition):
        scope = evaluate_in_place(frame.rules, frame, initialise, [made, *arguments], named)[1]
        made = scope.values[initialise.parameters[0].name]
    else:
        initialise(made, *arguments, **named)
    for name in cls.field_names:
        if name not in made.fields():
            raise CompileError(f"'{cls.__name__}' leaves its field '{name}' without a value.")
    return made


# --- run by Python -------------------------------------------------------------------------------


def _call_python(function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not callable(function):
        raise CompileError(f"{say(function)} cannot be called.")
    if is_of_language(function) or _makes_tuples(function):
        return plain_to_constexpr(function(*arguments, **named))
    if leaves_of((*arguments, *named.values())):
        name = getattr(function, "__name__", type(function).__name__)
        raise CompileError(
            f"'{name}' is a plain Python function, which cannot compute with values of a kernel.",
            hint=f"decorate it with @lb.jit, or use a function of lazyblock.language: tl.{name}"
            if isinstance(function, FunctionType)
            else "use a function of lazyblock.language.",
        )
    plain = {name: unwrap(value) for name, value in named.items()}
    result = function(*map(unwrap, arguments), **plain)
    return constexpr(result) if isinstance(result, list) else plain_to_constexpr(result)


def is_of_language(function: Any) -> bool:
    """Whether a callable takes tensors: one of lazyblock's own, or marked as such."""
    if getattr(function, "is_builtin", False):
        return True
    owner = function
    if isinstance(function, (MethodType, BuiltinFunctionType)):
        holder = getattr(function, "__self__", None)
        owner = type(holder) if holder is not None else function
    module = getattr(owner, "__module__", None) or type(owner).__module__
    return str(module).startswith("lazyblock.")


def _makes_tuples(function: Any) -> bool:
    return isinstance(function, type) and issubclass(function, tuple)


def evaluate_lambda(frame: Frame, node: ast.Lambda) -> Any:
    """A function of one expression."""
    return LocalFunction.of(frame, node)


CALLS: dict[type[ast.expr], Callable[[Frame, Any], Any]] = {
    ast.Call: evaluate_call,
    ast.Lambda: evaluate_lambda,
}
