"""Write functions out in arithmetic.

Takes: a program whose Math ops are on f32 or f64. Gives: no Math op, and no Approximate op of those
with exact forms. Keeps: what tiler/math promises of each function (docs/accuracy.md). Cost: linear;
a function becomes 10 to 100 ops.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from lazyblock.tiler.ir import Op, Program
from lazyblock.tiler.math import EXPANSIONS
from lazyblock.tiler.math import Expansion as Function
from lazyblock.tiler.ops import Approximate, Math
from lazyblock.tiler.passes.expand import Expansion, expand_ops

_NONE: Mapping[str, Function] = {}


def expand_math(
    program: Program,
    functions: Mapping[str, Function] = EXPANSIONS,
    exact_forms: Mapping[str, Function] = _NONE,
) -> Program:
    """Run the pass; `exact_forms` writes out approximations that the target lacks."""
    return expand_ops(program, partial(_find, functions, exact_forms))


def _find(
    functions: Mapping[str, Function], exact_forms: Mapping[str, Function], op: Op
) -> Expansion | None:
    if isinstance(op, Math):
        function = functions[op.function]
    elif isinstance(op, Approximate) and op.function in exact_forms:
        function = exact_forms[op.function]
    else:
        return None
    return lambda b, operands: function(b, *operands)
