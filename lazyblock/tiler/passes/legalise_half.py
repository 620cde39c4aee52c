"""Compute on float16 and bfloat16 in float32, rounding after every op.

Takes: any program. Gives: halves are only loaded, stored, selected, moved, cast and bitcast.
Keeps: + - * / sqrt exactly, since float32 holds more than twice their bits; comparisons, rounding
to integers, min and max always. Cost: linear, two or three casts an op.
"""

from __future__ import annotations

from lazyblock.tiler.ir import Op, Program
from lazyblock.tiler.ops import Binary, Compare, Fma, Math, Unary
from lazyblock.tiler.passes.expand import Expansion, expand_ops
from lazyblock.tiler.types import ScalarType, float32

_ARITHMETIC = (Unary, Binary, Compare, Fma, Math)


def legalise_half(program: Program) -> Program:
    """Run the pass; see the module's header."""
    return expand_ops(program, _find)


def _find(op: Op) -> Expansion | None:
    if not isinstance(op, _ARITHMETIC) or not op.operands_flat[0].type.scalar.is_half:
        return None

    def expand(b, operands):  # type: ignore[no-untyped-def]
        wide = iter([b.cast(value, float32) for value in operands])
        values = {
            name: next(wide) if name in op.declared("operand") else tuple(wide)
            for name in (*op.declared("operand"), *op.declared("operands"))
        }
        result = b.append(type(op), **op.attributes, **values).result
        half: ScalarType = op.operands_flat[0].type.scalar
        return b.cast(result, half) if op.result.type.element == half else result

    return expand
