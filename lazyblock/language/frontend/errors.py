"""Errors in a kernel's source: one sentence, the place with a caret, the calls that led there.

Cannot broadcast (8,) with (16,) in 'add'.
  File "kernels.py", line 12, in scale
    y = x + z
        ^^^^^
  in call of 'scale' at kernels.py:30
Hint: ...
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.errors import CompileError, LazyBlockError


@dataclass(frozen=True)
class Place:
    """A piece of source: columns count from 0, the end is not part of it."""

    file: str
    line: int
    column: int
    end_column: int
    function: str

    @classmethod
    def of(cls, node: ast.AST, file: str, function: str) -> Place:
        """Where `node` stands; the end of its first line if it has several."""
        line, first = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        text = linecache.getline(file, line).rstrip("\n")
        is_one_line = getattr(node, "end_lineno", line) == line
        last = getattr(node, "end_col_offset", first + 1) if is_one_line else len(text.encode())
        start, end = (
            len(text.encode()[:column].decode(errors="ignore")) for column in (first, last)
        )
        return cls(file, line, start, max(end, start + 1), function)

    def drawing(self) -> list[str]:
        """File, line, text and caret."""
        lines = [f'  File "{self.file}", line {self.line}, in {self.function}']
        text = linecache.getline(self.file, self.line).rstrip()
        if text:
            indent = len(text) - len(text.lstrip())
            caret = " " * (self.column - indent) + "^" * (self.end_column - self.column)
            lines += [f"    {text.lstrip()}", f"    {caret}"]
        return lines


class CompilationError(CompileError):
    """A kernel's source that means nothing in the block language.

    message is the sentence, place where it applies, calls the places of the calls around, innermost
    first, with the name of what was called.
    """

    def __init__(
        self,
        message: str,
        place: Place,
        calls: Sequence[tuple[str, Place]] = (),
        *,
        note: str = "",
        hint: str = "",
    ) -> None:
        if message.split(" ")[0].isalpha():
            message = message[0].upper() + message[1:]
        lines = [message, *place.drawing(), *_draw_calls(calls)]
        super().__init__("\n".join(lines), note=note, hint=hint)
        self.message, self.place, self.calls = message, place, tuple(calls)


class StaticAssertionFailure(CompilationError):
    """A `tl.static_assert` of a kernel that does not hold."""


class UnsupportedSyntax(CompilationError):
    """A kind of statement or expression that kernels do not have."""


MOST_CALLS_SHOWN = 8


def _draw_calls(calls: Sequence[tuple[str, Place]]) -> list[str]:
    """One line per call; of many the innermost, and the outermost."""
    lines = [f"  in call of '{name}' at {call.file}:{call.line}" for name, call in calls]
    left_out = len(lines) - MOST_CALLS_SHOWN
    if left_out > 0:
        lines[MOST_CALLS_SHOWN - 1 : -1] = [f"  ... {left_out + 1} more calls"]
    return lines


def explain(error: Exception) -> tuple[str, str, str]:
    """Sentence, note and hint of any exception raised while a kernel was evaluated."""
    if isinstance(error, LazyBlockError):
        return error.message, error.note, error.hint
    if isinstance(error, RecursionError):
        return (
            "Calls and branches nest too deep.",
            "every call of a function is compiled in place, so recursion must end on constexprs.",
            "end the recursion with an `if` on a tl.constexpr parameter.",
        )
    text = str(error).rstrip(".")
    return f"{text or type(error).__name__}.", "", ""


USER_MISTAKES = (
    *(LazyBlockError, RecursionError, TypeError, ValueError, AttributeError, IndexError),
    *(ZeroDivisionError, OverflowError, NameError),
)
