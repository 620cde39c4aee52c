"""One call of a function while it is evaluated: its names, where it stands, who called it.

The rules for expressions and statements are tables handed in by `evaluator.py`, so that the modules
which hold the rules need not know each other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.constexpr import constexpr
from lazyblock.language.context import current_builder
from lazyblock.language.frontend.definition import Definition
from lazyblock.language.frontend.errors import (
    USER_MISTAKES,
    CompilationError,
    Place,
    StaticAssertionFailure,
    UnsupportedSyntax,
    explain,
)
from lazyblock.language.frontend.scope import Scope
from lazyblock.language.semantics.debug import StaticAssertionError
from lazyblock.source import SourceLine
from lazyblock.tiler.builder import Builder

MOST_CALLS = 50  # of functions inside each other

ExpressionRule = Callable[["Frame", Any], Any]
StatementRule = Callable[["Frame", Any], None]


@dataclass(frozen=True)
class Rules:
    """What to do with each kind of node; `refused` has a sentence and a hint for the others."""

    expressions: Mapping[type[ast.expr], ExpressionRule]
    statements: Mapping[type[ast.stmt], StatementRule]
    block: Callable[[Frame, Sequence[ast.stmt]], None]
    call: Callable[[Frame, Any, list[Any], dict[str, Any]], Any]
    refused: Mapping[type[ast.AST], tuple[str, str]]


_current: ContextVar[Frame | None] = ContextVar("lazyblock_frame", default=None)


def current_frame() -> Frame | None:
    """The call being evaluated, if any."""
    return _current.get()


class Frame:
    """A call of `definition`."""

    def __init__(
        self, definition: Definition, scope: Scope, rules: Rules, caller: Frame | None = None
    ) -> None:
        self.definition = definition
        self.scope = scope
        self.rules = rules
        self.caller = caller
        self.node: ast.AST | None = None  # the statement or call at hand
        self.depth: int = caller.depth + 1 if caller else 0
        self._later: list[frozenset[str] | None] = []  # None: nothing follows
        if self.depth > MOST_CALLS:
            raise RecursionError

    @property
    def builder(self) -> Builder:
        return current_builder()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The frame is the current one for the time of a `with` block."""
        token, line = _current.set(self), self.builder.line
        try:
            yield
        finally:
            _current.reset(token)
            self.builder.line = line

    # --- evaluating ----------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression."""
        rule = self.rules.expressions.get(type(node))
        if rule is None:
            raise self.refuse(node)
        with self.locating(node):
            return rule(self, node)

    def execute(self, node: ast.stmt) -> None:
        """Run one statement."""
        rule = self.rules.statements.get(type(node))
        if rule is None:
            raise self.refuse(node)
        self.stand_at(node)
        with self.locating(node):
            rule(self, node)

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Run statements until control leaves them."""
        self.rules.block(self, statements)

    def call(self, function: Any, *arguments: Any, **named: Any) -> Any:
        """Call any callable value as the kernel would."""
        return self.rules.call(self, function, list(arguments), named)

    def stand_at(self, node: ast.AST) -> None:
        """Ops made from now on belong to `node`'s line."""
        self.node = node
        line = getattr(node, "lineno", 0)
        self.builder.line = SourceLine(self.definition.file, line)

    # --- names ---------------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """The value of a name here."""
        scope = self.scope
        if name in scope.values:
            return scope.values[name]
        if name in scope.missing:
            missing = scope.missing[name]
            raise CompileError(f"'{name}' {missing.reason}.", hint=missing.hint)
        if name in self.definition.local_names:
            raise CompileError(f"'{name}' is read before it is assigned.")
        try:
            value = self.definition.resolve(name)
        except KeyError:
            hint = self.definition.suggest(name)
            raise CompileError(f"'{name}' is not defined.", hint=hint) from None
        return check_global(name, value)

    def is_needed(self, name: str) -> bool:
        """Whether what follows in this call may read the name."""
        is_read = any(names is not None and name in names for names in self._later)
        return is_read or name in self.definition.captured_names

    def is_followed(self) -> bool:
        """Whether anything of this call follows."""
        return any(names is not None for names in self._later)

    @contextmanager
    def followed_by(
        self, nodes: Sequence[ast.AST], names: frozenset[str] = frozenset()
    ) -> Iterator[None]:
        """What is run in a `with` block is followed by `nodes`, and by readers of `names`."""
        later = names.union(*map(self.definition.names_in, nodes))
        self._later.append(later if nodes else None)
        try:
            yield
        finally:
            self._later.pop()

    # --- errors --------------------------------------------------------------------------------

    def place_of(self, node: ast.AST) -> Place:
        return Place.of(node, self.definition.file, self.definition.name)

    def calls(self) -> list[tuple[str, Place]]:
        """The calls around this one, innermost first."""
        found = []
        frame = self
        while frame.caller is not None:
            node = frame.caller.node
            if node is not None:
                found.append((frame.definition.name, frame.caller.place_of(node)))
            frame = frame.caller
        return found

    def error(
        self, node: ast.AST, message: str, *, note: str = "", hint: str = ""
    ) -> CompilationError:
        """An error at `node`."""
        return self._error(CompilationError, node, message, note, hint)

    def _error(
        self, kind: type[CompilationError], node: ast.AST, message: str, note: str, hint: str
    ) -> CompilationError:
        return kind(message, self.place_of(node), self.calls(), note=note, hint=hint)

    def refuse(self, node: ast.AST) -> CompilationError:
        """The error for a kind of node that the language does not have."""
        kind = type(node).__name__
        message, hint = self.rules.refused.get(type(node), (f"'{kind}' has no meaning", ""))
        return self._error(UnsupportedSyntax, node, f"{message} in a kernel.", "", hint)

    @contextmanager
    def locating(self, node: ast.AST) -> Iterator[None]:
        """Errors raised in a `with` block are told at `node`, unless they have a place."""
        try:
            yield
        except CompilationError:
            raise
        except USER_MISTAKES as error:
            is_static = isinstance(error, StaticAssertionError)
            kind = StaticAssertionFailure if is_static else CompilationError
            raise self._error(kind, node, *explain(error)) from None
        except Exception as error:
            message = f"The compiler failed with {type(error).__name__}: {error}."
            raise self.error(node, message, note="this is a mistake of lazyblock.") from error


_READABLE = (bool, int, float, str, type(None), constexpr, ModuleType, type)


def check_global(name: str, value: Any) -> Any:
    """A value found outside the function as the kernel sees it; numbers become constexprs."""
    if isinstance(value, tuple):
        for item in value:
            check_global(name, item)
        return value
    if isinstance(value, _READABLE) or callable(value) or _is_of_language(value):
        return constexpr(value) if isinstance(value, (bool, int, float, str)) else value
    raise CompileError(
        f"'{name}' is a {type(value).__name__} from outside the kernel, which it cannot read.",
        note="a kernel is compiled once, for any data; outside it may read constants, types,"
        " functions and modules.",
        hint=f"pass '{name}' as an argument.",
    )


def _is_of_language(value: Any) -> bool:
    return type(value).__module__.startswith("lazyblock.language")
