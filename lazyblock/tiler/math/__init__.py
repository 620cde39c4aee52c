"""Elementary functions in block IR, one file per theme, the same text for CPU and GPU.

Each takes a builder and float32 or float64 values of any block shape and emits elementwise ops
only, without branches. Errors in units in the last place are listed in docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyblock.tiler.ir import Value
from lazyblock.tiler.math import (
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    roots,
    trigonometric,
)

Expansion = Callable[..., Value]

# function(builder, *arguments) for every name of ops.arith.MATH_FUNCTIONS
EXPANSIONS: dict[str, Expansion] = {
    **{"exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1},
    **{"log": logarithm.log, "log1p": logarithm.log1p},
    **{"log2": logarithm.log2, "log10": logarithm.log10},
    **{"sin": trigonometric.sin, "cos": trigonometric.cos, "tan": trigonometric.tan},
    **{"asin": inverse_trigonometric.asin, "acos": inverse_trigonometric.acos},
    **{"atan": inverse_trigonometric.atan, "atan2": inverse_trigonometric.atan2},
    **{"sinh": hyperbolic.sinh, "cosh": hyperbolic.cosh, "tanh": hyperbolic.tanh},
    **{"asinh": inverse_hyperbolic.asinh, "acosh": inverse_hyperbolic.acosh},
    **{"atanh": inverse_hyperbolic.atanh, "pow": power.pow},
    **{"rsqrt": roots.rsqrt, "cbrt": roots.cbrt, "hypot": roots.hypot},
    **{"erf": error_function.erf, "erfc": error_function.erfc},
    **{"lgamma": gamma.lgamma, "tgamma": gamma.tgamma},
}
