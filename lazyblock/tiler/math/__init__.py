"""Elementary functions in block IR, one file per theme, the same text for CPU and GPU.

Each takes a builder and float32 or float64 values of any block shape and emits elementwise ops
only, without branches. Errors in units in the last place are listed in docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math import (
    error_function,
    exponential,
    fast,
    gamma,
    hyperbolic,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    roots,
    trigonometric,
)
from lazyblock.tiler.types import float32

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

# of numerics="fast": float32's own forms where there are approximations, the exact ones in float64
_FAST: dict[str, Expansion] = {
    **{"exp": fast.exp, "exp2": fast.exp2},
    **{"log": fast.log, "log2": fast.log2, "log10": fast.log10},
    **{"sin": fast.sin, "cos": fast.cos, "tanh": fast.tanh},
    **{"erf": fast.erf, "erfc": fast.erfc, "pow": fast.pow},
}


def _in_single(name: str) -> Expansion:
    single, exact = _FAST[name], EXPANSIONS[name]
    return lambda b, *x: (single if x[0].type.scalar == float32 else exact)(b, *x)


FAST_EXPANSIONS = EXPANSIONS | {name: _in_single(name) for name in _FAST}
# those that are also shorter where approximations are none
FAST_EXPANSIONS_ON_CPU = EXPANSIONS | {n: _in_single(n) for n in ("sin", "cos", "erfc", "pow")}


def _reciprocal(b: Builder, x: Value) -> Value:
    return b.div(1.0, x)


# what a target without them computes for the functions of ops.arith.APPROXIMATIONS
EXACT_FORMS: dict[str, Expansion] = {
    **{"exp2": exponential.exp2, "log2": logarithm.log2, "rsqrt": roots.rsqrt},
    **{"sqrt": lambda b, x: b.unary("sqrt", x), "reciprocal": _reciprocal},
}
