"""Keep float32 between operations on halves, for numerics="fast".

Takes: a program after `legalise_half`. Gives: no cast of float32 to a half type and back; such
casts move past selections and shape ops first. Halves are rounded to when they are stored, reduced
or carried by a loop. Keeps: values up to the roundings left out. Cost: one copy, linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Op, Program, Value, map_operands
from lazyblock.tiler.passes.expand import Expansion, expand_ops
from lazyblock.tiler.types import SCALARS, ScalarType, float32

_SHAPE_OPS = (ops.Splat, ops.Broadcast, ops.ExpandDims, ops.Reshape, ops.Transpose)


def keep_precision(program: Program) -> Program:
    """Run the pass; see the module's header."""
    return expand_ops(program, _find)


def _find(op: Op) -> Expansion | None:
    if not any(_is_half(value) for value in op.operands_flat):
        return None
    if isinstance(op, ops.Cast) and SCALARS[op.element].is_floating:
        return lambda b, operands: _widen(b, op, *operands)
    if isinstance(op, ops.Select):
        return lambda b, operands: _select(b, *operands)
    if isinstance(op, _SHAPE_OPS):
        return lambda b, operands: _move(b, op, operands)
    return None


def _is_half(value: Value) -> bool:
    element = value.type.element
    return isinstance(element, ScalarType) and element.is_half


def _unrounded(value: Value) -> Value | None:
    """The float32 that `value` was rounded from."""
    owner = value.owner
    if not _is_half(value) or not isinstance(owner, ops.Cast) or owner.rounding:
        return None
    return owner.value if owner.value.type.element == float32 else None


def _widen(b: Builder, op: ops.Cast, value: Value) -> Value | None:
    unrounded, element = _unrounded(value), SCALARS[op.element]
    return None if unrounded is None or element.is_half else b.cast(unrounded, element)


def _select(b: Builder, condition: Value, *choices: Value) -> Value | None:
    unrounded = [_unrounded(value) for value in choices]
    if unrounded == [None, None]:
        return None
    left, right = (
        b.cast(value, float32) if wide is None else wide
        for value, wide in zip(choices, unrounded, strict=True)
    )
    return b.cast(b.select(condition, left, right), choices[0].type.scalar)


def _move(b: Builder, op: Any, operands: Sequence[Value]) -> Value | None:
    (value,) = operands
    unrounded = _unrounded(value)
    if unrounded is None:
        return None
    moved = b.append(type(op), **map_operands(op, lambda _: unrounded)).result
    return b.cast(moved, value.type.scalar)
