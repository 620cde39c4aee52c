"""The source of a Python function: found through linecache, parsed, with the file's line numbers.

Functions of files, notebook cells and `exec` (with a linecache entry), nested or decorated, are all
found by the line their code starts at; nothing is imported or run again.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from dataclasses import dataclass
from types import FunctionType

from lazyblock.errors import CompileError


@dataclass(frozen=True)
class Source:
    """One function's text and tree; `node` has the line numbers and columns of `file`."""

    file: str
    first_line: int
    text: str
    node: ast.FunctionDef


def find_source(function: FunctionType) -> Source:
    """The source of `function`.

    Raises: CompileError for lambdas, for functions without source, for a file that has changed.
    """
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    if code.co_name == "<lambda>":
        raise CompileError(
            f"The function at {where} is a lambda, which cannot be compiled.",
            hint="write it with def and a name.",
        )
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if len(lines) < code.co_firstlineno:
        raise CompileError(
            f"The source of '{code.co_name}' ({where}) cannot be found.",
            note="a kernel is compiled from its text, not from its bytecode.",
            hint="define it in a file or a notebook cell, or add its text to linecache.cache.",
        )
    text = "".join(_take_block(lines[code.co_firstlineno - 1 :]))
    node = _parse(text, code.co_firstlineno)
    if node is None or node.name != code.co_name:
        raise CompileError(
            f"The text at {where} is not that of '{code.co_name}'.",
            note="the file has changed since it was imported.",
            hint="import it again, or restart Python.",
        )
    return Source(code.co_filename, code.co_firstlineno, text, node)


def _take_block(lines: list[str]) -> list[str]:
    return inspect.getblock(lines)


def _parse(text: str, first_line: int) -> ast.FunctionDef | None:
    """The function's tree; indented text is wrapped, so that columns stay those of the file."""
    is_indented = text[:1].isspace()
    try:
        tree = ast.parse("if True:\n" + text if is_indented else text)
    except SyntaxError:
        return None
    statement = tree.body[0]
    if is_indented and isinstance(statement, ast.If):
        statement = statement.body[0]
    if not isinstance(statement, ast.FunctionDef):
        return None
    ast.increment_lineno(statement, first_line - (2 if is_indented else 1))
    return statement
