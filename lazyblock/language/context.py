"""The builder that functions of the block language append to while a kernel's body is evaluated.

One per thread and task, so that several kernels can be compiled at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from lazyblock.errors import SemanticError
from lazyblock.tiler.builder import Builder


@dataclass(frozen=True)
class Context:
    """A builder and how to build.

    debug: check `device_assert`s and that sums and products of integers do not overflow.
    strict: refuse what lazyblock adds to the language.
    """

    builder: Builder
    debug: bool = False
    strict: bool = False


_context: ContextVar[Context | None] = ContextVar("lazyblock_language", default=None)


def current() -> Context:
    """The innermost `use_builder`."""
    context = _context.get()
    if context is None:
        raise SemanticError(
            "Functions of the block language have a meaning only inside a kernel.",
            hint="decorate the function with @lb.jit and launch it: kernel[grid](...).",
        )
    return context


def current_builder() -> Builder:
    """The builder of the kernel that is being evaluated."""
    return current().builder


def mark_extension(what: str) -> None:
    """Refuse, in strict mode, what the language has from lazyblock only."""
    if current().strict:
        raise SemanticError(f"{what} is an extension of lazyblock, which strict mode refuses.")


def is_building() -> bool:
    """Whether a kernel is being evaluated here."""
    return _context.get() is not None


@contextmanager
def use_builder(builder: Builder, debug: bool = False, strict: bool = False) -> Iterator[Builder]:
    """Functions of the language append to `builder` for the time of a `with` block."""
    token = _context.set(Context(builder, debug or builder.debug, strict))
    try:
        yield builder
    finally:
        _context.reset(token)
