"""Where in the user's code something was recorded: file and line of the first frame outside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from sys import _getframe
from types import CodeType
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class SourceLine(NamedTuple):
    """A line of user code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Place = tuple[CodeType, int]  # a position in byte code, whose line takes time to find
UNKNOWN = SourceLine("<unknown>", 0)
# by the address of a code object, which stays its own while it is kept here, and position
_lines: dict[tuple[int, int], tuple[CodeType, SourceLine]] = {}
_MOST_LINES = 4096
_is_own: dict[str, bool] = {}  # by file
_given: ContextVar[SourceLine | None] = ContextVar("lazyblock_source_line", default=None)


@contextmanager
def at_line(line: SourceLine) -> Iterator[None]:
    """Make `user_line` give `line`: for passes, which write anew what was recorded there."""
    token = _given.set(line)
    try:
        yield
    finally:
        _given.reset(token)


def user_line(skip: int = 1) -> SourceLine:
    """Give the innermost frame that is not lazyblock's own; `skip` frames are known to be."""
    return line_of(user_place(skip + 1))


def user_place(skip: int = 1) -> Place | SourceLine:
    """As `user_line`, in a fraction of its time; `line_of` tells the line."""
    given = _given.get()
    if given is not None:
        return given
    try:
        frame = _getframe(skip)
    except ValueError:  # the stack is not that deep
        frame = _getframe(1)
    while frame is not None:
        code = frame.f_code
        own = _is_own.get(code.co_filename)
        if own is None:
            own = _is_own[code.co_filename] = code.co_filename.startswith(_PACKAGE)
        if not own:
            return code, frame.f_lasti
        frame = frame.f_back  # type: ignore[assignment]
    return UNKNOWN


def line_of(place: Place | SourceLine) -> SourceLine:
    """The line of a place."""
    if isinstance(place, SourceLine):
        return place
    code, position = place
    key = id(code), position
    known = _lines.get(key)
    if known is None:
        if len(_lines) >= _MOST_LINES:
            _lines.clear()
        known = _lines[key] = code, _find_line(code, position)
    return known[1]


def _find_line(code: CodeType, position: int) -> SourceLine:
    for start, end, line in code.co_lines():
        if start <= position < end:
            return SourceLine(code.co_filename, line or code.co_firstlineno)
    return SourceLine(code.co_filename, code.co_firstlineno)
