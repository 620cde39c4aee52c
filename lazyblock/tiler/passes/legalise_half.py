"""Compute on float16 and bfloat16 in float32, rounding after every op.

Takes: any program. Gives: halves are only loaded, stored, selected, moved, cast and bitcast, and
added, subtracted and multiplied where the target does that itself.
Keeps: + - * / sqrt fma exactly, since float32 holds more than twice their bits; remainders,
comparisons, rounding to integers, min and max always; functions to their stated errors, some by
shorter formulas (math/half.py). Cost: linear, two or three casts an op.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Op, Program, Value, map_operands
from lazyblock.tiler.math.half import HALF_EXPANSIONS, fma
from lazyblock.tiler.ops import Binary, Compare, Fma, Math, Unary
from lazyblock.tiler.passes.expand import Expansion, expand_ops
from lazyblock.tiler.types import ScalarType, float32

_ARITHMETIC = (Unary, Binary, Compare, Fma, Math)


NATIVE_ON_GPU = ("add", "sub", "mul")  # correctly rounded by NVIDIA GPUs since sm_80


def legalise_half(program: Program, native: Collection[str] = ()) -> Program:
    """Run the pass; `native` names the Binary kinds that the target has for halves."""
    return expand_ops(program, partial(_find, native))


def _find(native: Collection[str], op: Op) -> Expansion | None:
    if not isinstance(op, _ARITHMETIC) or not _is_half(op.operands_flat[0]):
        return None
    if isinstance(op, Binary) and op.kind in native:
        return None

    if isinstance(op, Fma):
        return lambda b, operands: fma(b, *operands)

    def expand(b: Builder, operands: Sequence[Value]) -> Value:
        new = zip(op.operands_flat, operands, strict=True)
        wide = {before: b.cast(after, float32) for before, after in new}
        result = _compute(b, op, wide)
        is_half = op.result.type.scalar.is_half
        return b.cast(result, op.result.type.scalar) if is_half else result

    return expand


def _is_half(value: Value) -> bool:
    element = value.type.element
    return isinstance(element, ScalarType) and element.is_half


def _compute(b: Builder, op: Op, wide: dict[Value, Value]) -> Value:
    """The op on float32 operands."""
    if isinstance(op, Math) and op.function in HALF_EXPANSIONS:
        return HALF_EXPANSIONS[op.function](b, *map(wide.__getitem__, op.arguments))
    return b.append(type(op), **map_operands(op, wide.__getitem__)).result
