"""`tl.math`: the functions of elements under the names some kernels call them by.

Names of libdevice are found here too: older kernels call it by this name.
"""

from typing import Any

from lazyblock.language.extra import libdevice
from lazyblock.language.semantics.elementwise import (
    abs,
    ceil,
    cos,
    div_rn,
    erf,
    exp,
    exp2,
    fdiv,
    floor,
    fma,
    log,
    log2,
    rsqrt,
    sin,
    sqrt,
    sqrt_rn,
    umulhi,
)
from lazyblock.language.semantics.elementwise import maximum as max
from lazyblock.language.semantics.elementwise import minimum as min

__all__ = [
    "abs",
    "ceil",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "max",
    "min",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(libdevice, name)
