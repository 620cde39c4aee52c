"""Elementary functions in block IR, one file per theme, the same text for CPU and GPU."""

from __future__ import annotations

from collections.abc import Callable

from lazyblock.tiler.ir import Value
from lazyblock.tiler.math import exponential, hyperbolic, inverse_hyperbolic, logarithm

EXPANSIONS: dict[str, Callable[..., Value]] = {
    name: getattr(module, name)
    for module, names in {
        exponential: "exp exp2 expm1",
        logarithm: "log log1p log2 log10",
        hyperbolic: "sinh cosh tanh",
        inverse_hyperbolic: "asinh acosh atanh",
    }.items()
    for name in names.split()
}
