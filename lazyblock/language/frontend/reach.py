"""Everything a function's meaning depends on: its text, and the values it reads from outside.

Names that are not local are followed through attributes of modules and classes, save lazyblock's
own; functions among them are followed in turn. A function's key is a content hash of it all, equal
in every process; whether it still holds is a few comparisons.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from lazyblock.language.aggregate import Aggregate
from lazyblock.language.constexpr import constexpr
from lazyblock.language.frontend.definition import PythonDefinition

NOT_THERE = object()


@dataclass(frozen=True, slots=True)
class Read:
    """A value read from outside under `name` in `namespace`; `path` is how the text says it."""

    namespace: Mapping[str, Any]
    name: str
    value: Any
    path: str


class Reach:
    """What a function reaches, as it was when this was made.

    key: the content hash.
    """

    def __init__(self, definition: PythonDefinition) -> None:
        self._reads: list[Read] = []
        functions = [definition]
        for function in functions:  # grows on the way
            for path in dict.fromkeys(_paths(function)):
                self._follow(function, path)
            found = (f for read in self._reads for f in _functions_in(read.value))
            functions += [f for f in dict.fromkeys(found) if f not in functions]
        self._checks = [(r.namespace, r.name, r.value) for r in self._reads]
        self.key = _hash(functions, self._reads)

    def is_current(self) -> bool:
        """Whether every name still has the value it had."""
        return all(scope.get(name, NOT_THERE) is value for scope, name, value in self._checks)

    def _follow(self, function: PythonDefinition, path: tuple[str, ...]) -> None:
        """Note the value behind each step of a path that goes through modules and classes."""
        scopes: list[Mapping[str, Any]] = [function.outside(path[0])]
        for length, name in enumerate(path, 1):
            scope = next((scope for scope in scopes if name in scope), scopes[0])
            value = scope.get(name, NOT_THERE)
            self._reads.append(Read(scope, name, value, ".".join(path[:length])))
            scopes = _scopes_of(value)
            if not scopes:
                return


def _functions_in(value: Any) -> list[PythonDefinition]:
    """The functions that a value brings along: itself, or the methods of an aggregate."""
    if isinstance(value, type) and issubclass(value, Aggregate):
        members = (member for cls in value.__mro__ for member in vars(cls).values())
        return [member for member in members if isinstance(member, PythonDefinition)]
    return [value] if isinstance(value, PythonDefinition) else []


def _scopes_of(value: Any) -> list[Mapping[str, Any]]:
    """Where attributes of a module or class are looked up; nowhere for lazyblock's own."""
    if isinstance(value, ModuleType):
        return [] if value.__name__.startswith("lazyblock") else [vars(value)]
    if isinstance(value, type) and not value.__module__.startswith("lazyblock"):
        return [vars(cls) for cls in value.__mro__]
    return []


def _paths(definition: PythonDefinition) -> Iterator[tuple[str, ...]]:
    """Names with the attributes behind them, `a.b.c` as one path; builtins are left out."""
    local = definition.local_names
    pending: list[ast.AST] = list(reversed(definition.body))
    while pending:
        node = pending.pop()
        names: list[str] = []
        base = node
        while isinstance(base, ast.Attribute):
            names.append(base.attr)
            base = base.value
        if not isinstance(base, ast.Name):
            pending.extend(reversed(list(ast.iter_child_nodes(node))))
        elif base.id not in local and base.id in definition.outside(base.id):
            yield (base.id, *reversed(names))


# --- the hash ------------------------------------------------------------------------------------


def _hash(functions: list[PythonDefinition], reads: list[Read]) -> str:
    digest = hashlib.sha256()
    texts = [f"{f.name}{f.signature}\n{f.source.text}" for f in functions]
    for part in (*texts, *(f"{read.path}={_text_of(read.value)}" for read in reads)):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _text_of(value: Any) -> str:
    """What of a value counts, in words that do not depend on the process."""
    if isinstance(value, constexpr):
        return _text_of(value.value)
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_text_of, value))})"
    if isinstance(value, PythonDefinition):
        return value.name
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, FunctionType) and not value.__module__.startswith("lazyblock."):
        return f"{value.__qualname__} {_code_text(value.__code__)}"
    name = getattr(value, "__qualname__", None) or str(value)
    return f"{getattr(value, '__module__', '')}.{name}" if " at 0x" not in name else ""


def _code_text(code: Any) -> str:
    """Bytecode and constants of a plain function."""
    inner = [_code_text(c) if hasattr(c, "co_code") else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {inner} {code.co_names}"
