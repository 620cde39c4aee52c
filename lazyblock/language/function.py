"""Functions in the block language: what `@lb.jit` makes of a Python function, launching aside.

Inside kernels, and in functions the language calls back (a combine of `tl.reduce`), they are
evaluated in place; in interpreter mode Python runs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MethodType
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.context import current_builder, is_building
from lazyblock.language.frontend.definition import REQUIRED, Parameter, PythonDefinition
from lazyblock.language.frontend.eager import eager_function
from lazyblock.language.frontend.evaluator import evaluate_inline
from lazyblock.language.frontend.reach import Reach
from lazyblock.language.frontend.scope import leaves_of
from lazyblock.language.specs import ArgumentSpec, Constant, Pointer, Scalar, Tuple

__all__ = [
    "REQUIRED",
    "ArgumentSpec",
    "Constant",
    "KernelFunction",
    "Parameter",
    "Pointer",
    "Scalar",
    "Tuple",
]


class KernelFunction(PythonDefinition):
    """A Python function that means what it says in the block language.

    Attributes: fn, the Python function; name, module, signature, parameters; source, its text and
    tree.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self.__name__ = self.name
        self.__doc__ = self.python_function.__doc__
        self.__module__ = self.python_function.__module__
        self.__qualname__ = self.python_function.__qualname__
        self.__wrapped__ = self.python_function
        self._reach: Reach | None = None

    @property
    def fn(self) -> Any:
        return self.python_function

    @property
    def module(self) -> str:
        return self.python_function.__module__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.module}:{self.name})"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def key(self) -> str:
        """A content hash of the text and of all it reaches; a new one when that has changed."""
        if self._reach is None or not self._reach.is_current():
            self._reach = Reach(self)
        return self._reach.key

    def inline(self, *arguments: Any, **named: Any) -> Any:
        """Evaluate the body where the kernel at hand stands; gives what it returns."""
        if getattr(current_builder(), "is_eager", False) and _have_data(arguments, named):
            return self.eager(*arguments, **named)
        return evaluate_inline(self, *arguments, **named)

    @cached_property
    def eager(self) -> Any:
        """The body as Python runs it in interpreter mode."""
        return eager_function(self)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not is_building():
            raise CompileError(
                f"'{self.name}' was called like a Python function.",
                hint=f"launch it on a grid: {self.name}[grid](...).",
            )
        return self.inline(*arguments, **named)


def _have_data(arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Whether all tensors have values; those of a combine that is being recorded have not."""
    leaves = leaves_of((*arguments, *named.values()))
    return all(hasattr(leaf.handle, "datum") for leaf in leaves)
