"""The values kernels compute with: a handle on a value of the block IR, and its type.

Scalars are tensors of shape (). Operators and methods are attached by `methods.py`, from the
functions of the language. A `composite` is made of several tensors (a block pointer, a tensor
descriptor); whoever carries values through loops and branches takes it apart by `leaves`.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import constexpr
from lazyblock.language.dtypes import dtype, type_of
from lazyblock.tiler.ir import Value


class tensor:
    """A block or scalar of a kernel."""

    __slots__ = ("handle", "type")

    def __init__(self, handle: Value, type: dtype | None = None) -> None:
        self.handle = handle
        self.type = type_of(handle.type) if type is None else type

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.type.scalar

    @property
    def shape(self) -> tuple[constexpr, ...]:
        return tuple(constexpr(extent) for extent in self.handle.shape)

    @property
    def numel(self) -> constexpr:
        return constexpr(self.handle.type.size)

    @property
    def ndim(self) -> int:
        return len(self.handle.shape)

    def __len__(self) -> int:
        if not self.handle.shape:
            raise SemanticError(f"A scalar of type {self.dtype} has no length.")
        return self.handle.shape[0]

    __hash__ = object.__hash__

    # --- as a Python value: in interpreter mode only --------------------------------------------

    def _datum(self, purpose: str) -> Any:
        datum = getattr(self.handle, "datum", None)
        if datum is None:
            raise SemanticError(
                f"{describe(self)} has no value when a kernel is compiled, so {purpose}.",
                hint="make it a tl.constexpr, or compute with functions of the language.",
            )
        return datum

    def __bool__(self) -> bool:
        datum = self._datum("it is neither true nor false")
        if datum.size != 1:
            raise SemanticError(
                f"A block of shape {datum.shape} is neither true nor false.",
                hint="reduce it first, or choose elements with tl.where.",
            )
        return bool(datum.reshape(())[()])

    def __index__(self) -> int:
        datum = self._datum("it cannot be a Python integer")
        if not self.dtype.is_int() or datum.shape != ():
            raise SemanticError(f"{describe(self)} is no integer scalar.")
        return int(datum[()])

    def __int__(self) -> int:
        return int(self._datum("it cannot be a Python integer").reshape(())[()])

    def __float__(self) -> float:
        return float(self._datum("it cannot be a Python float").reshape(())[()])

    def __repr__(self) -> str:
        datum = getattr(self.handle, "datum", None)
        value = "" if datum is None else f"{datum}, "
        return f"tensor({value}{self.type})"

    def __iter__(self) -> Any:
        raise SemanticError(f"{describe(self)} cannot be iterated over.")


class composite(ABC):
    """A value made of several tensors and of settings known at compile time."""

    @abstractmethod
    def leaves(self) -> tuple[tensor, ...]:
        """The tensors it is made of, in a fixed order."""

    @abstractmethod
    def with_leaves(self, leaves: Sequence[tensor]) -> composite:
        """The same kind of value with the same settings, made of other tensors."""


def describe(value: Any) -> str:
    """How messages name a value: its type and shape, or a literal as written."""
    if isinstance(value, tensor):
        shape = value.handle.shape
        return (
            f"a block of {value.dtype} of shape {shape}" if shape else f"a scalar of {value.dtype}"
        )
    if isinstance(value, constexpr):
        value = value.value
    return f"{value!r} ({builtins.type(value).__name__})"
