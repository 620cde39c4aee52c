"""Write functions out in arithmetic.

Takes: a program whose Math ops are on f32 or f64. Gives: no Math op. Keeps: what tiler/math
promises of each function (docs/accuracy.md). Cost: linear; a function becomes 10 to 100 ops.
"""

from __future__ import annotations

from lazyblock.tiler.ir import Op, Program
from lazyblock.tiler.math import EXPANSIONS
from lazyblock.tiler.ops import Math
from lazyblock.tiler.passes.expand import Expansion, expand_ops


def expand_math(program: Program) -> Program:
    """Run the pass; see the module's header."""
    return expand_ops(program, _find)


def _find(op: Op) -> Expansion | None:
    if not isinstance(op, Math):
        return None
    function = EXPANSIONS[op.function]
    return lambda b, operands: function(b, *operands)
