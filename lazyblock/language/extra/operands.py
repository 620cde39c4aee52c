"""What functions of libdevice share: their operands meet, and they are named and described."""

from __future__ import annotations

from typing import Any

from lazyblock.language.constexpr import builtin
from lazyblock.language.semantics import arithmetic
from lazyblock.language.semantics.convert import require_float, to_tensor


def meet(name: str, *values: Any) -> list[Any]:
    """Floats of one type and shape."""
    blocks = [to_tensor(value) for value in values]
    first = blocks[0]
    for other in blocks[1:]:
        first, _ = arithmetic.meet(name, first, other)
    return [
        require_float(arithmetic.meet(name, b, first)[0], f"extra.libdevice.{name}") for b in blocks
    ]


def document(function: Any, name: str, text: str) -> Any:
    """A function of the language of that name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return builtin(function)
