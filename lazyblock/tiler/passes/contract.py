"""Round a product and the sum it goes into once, for numerics="fast".

Takes: a program whose halves are legalised and whose functions are not yet written out: what those
rely on must round as written. Gives: additions and subtractions of products of f32 and f64 as Fma.
Keeps: values up to the rounding of the product. A product with other uses is computed for those
too, which costs nothing more. Cost: one copy, linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Op, Program, Value, walk
from lazyblock.tiler.passes.expand import Expansion, expand_ops
from lazyblock.tiler.types import float32, float64


def contract(program: Program) -> Program:
    """Run the pass; see the module's header."""
    uses = Counter(value for op in walk(program.body) for value in op.operands_flat)
    return expand_ops(program, partial(_find, uses))


def _find(uses: Counter[Value], op: Op) -> Expansion | None:
    if not isinstance(op, ops.Binary) or op.kind not in ("add", "sub"):
        return None
    if op.lhs.type.scalar not in (float32, float64):
        return None
    left_first = uses[op.lhs] <= uses[op.rhs]  # of two products, the one that then goes away
    rule = _add if op.kind == "add" else _subtract
    return lambda b, operands: rule(b, operands, left_first)


def _product(value: Value) -> ops.Binary | None:
    owner = value.owner
    return owner if isinstance(owner, ops.Binary) and owner.kind == "mul" else None


def _add(b: Builder, operands: Sequence[Value], left_first: bool) -> Value | None:
    for value, other in (operands, operands[::-1]) if left_first else (operands[::-1], operands):
        product = _product(value)
        if product:
            return b.fma(product.lhs, product.rhs, other)
    return None


def _subtract(b: Builder, operands: Sequence[Value], left_first: bool) -> Value | None:
    left, right = operands
    first, second = _product(left), _product(right)
    if first and (left_first or not second):
        return b.fma(first.lhs, first.rhs, b.neg(right))
    if second:
        return b.fma(b.neg(second.lhs), second.rhs, left)
    return None
