"""What the compiler is told about each argument of a kernel.

`Constant` arguments are known, every other one becomes a parameter of the program, `Tuple`s one per
item. `divisibility` is what a value is known to be a multiple of: bytes of an address, units of an
integer (1: nothing is known).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lazyblock.language.dtypes import dtype


@dataclass(frozen=True)
class Constant:
    """A value known when the kernel is compiled: number, string, None, type, function..."""

    value: Any


@dataclass(frozen=True)
class Scalar:
    """A number passed at launch."""

    dtype: dtype
    divisibility: int = 1


@dataclass(frozen=True)
class Pointer:
    """The address of an array's first element; `dtype` is the type of its elements."""

    dtype: dtype
    divisibility: int = 1
    is_const: bool = False


@dataclass(frozen=True)
class Tuple:
    """Several arguments in one; `type` makes the kernel's value of the items' values.

    A class with `_make` (a namedtuple) is given all items at once, others one by one, tuple itself
    aside.
    """

    items: tuple[ArgumentSpec, ...]
    type: Callable[..., Any] = tuple

    def make(self, values: list[Any]) -> Any:
        """The kernel's value."""
        if self.type is tuple:
            return tuple(values)
        make = getattr(self.type, "_make", None)
        return make(values) if make else self.type(*values)


ArgumentSpec = Constant | Scalar | Pointer | Tuple


def leaves(spec: ArgumentSpec) -> Iterator[Scalar | Pointer]:
    """The parameters of the program that an argument becomes, in order."""
    if isinstance(spec, Tuple):
        for item in spec.items:
            yield from leaves(item)
    elif not isinstance(spec, Constant):
        yield spec
