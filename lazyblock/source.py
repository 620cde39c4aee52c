"""Where in the user's code something was recorded: file and line of the first frame outside."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class SourceLine(NamedTuple):
    """A line of user code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_new = tuple.__new__  # thrice as fast as calling the class
UNKNOWN = SourceLine("<unknown>", 0)
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
    given = _given.get()
    if given is not None:
        return given
    try:
        frame = sys._getframe(skip)
    except ValueError:  # the stack is not that deep
        frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return _new(SourceLine, (file, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return UNKNOWN
