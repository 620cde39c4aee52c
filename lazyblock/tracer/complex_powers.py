"""Complex numbers to scalar powers, in NumPy's steps; other powers are computed by NumPy."""

from __future__ import annotations

import math

from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ELEMENTWISE, Op
from lazyblock.tracer.operands import as_node

_MOST_STEPS = 100  # exponents below are multiplied out


def complex_power(x: Node, exponent: complex, is_weak: bool) -> Node | None:
    """`x` to a power; None where it is no product. is_weak: a Python number, as in `x**2`."""
    if exponent == 0:
        return build.broadcast_to(as_node(1, x.dtype), x.shape)
    if is_weak and (type(exponent), exponent) in _FAST:
        op = _FAST[type(exponent), exponent]
        return build.elementwise(op, *[x] * ELEMENTWISE[op].arity)
    steps = int(exponent.real) if abs(exponent) < _MOST_STEPS else 0
    return _multiplied(x, steps) if exponent == steps else None


_FAST: dict[tuple[type, complex], Op] = {
    (int, 2): Op.MULTIPLY,
    (int, -1): Op.RECIPROCAL,
    (float, 0.5): Op.SQRT,
}


def _multiplied(x: Node, steps: int) -> Node:
    """By squaring; powers of 0 have no signed zeros, and none below the first."""
    if steps in (1, 2, 3):
        power = x
        for _ in range(steps - 1):
            power = build.elementwise(Op.MULTIPLY, x, power)
    else:
        power = _squared(x, abs(steps))
    one = as_node(1, x.dtype)
    power = power if steps > 0 else build.elementwise(Op.DIVIDE, one, power)
    at_zero = as_node(0 if steps > 0 else complex(math.nan, math.nan), x.dtype)
    is_zero = build.elementwise(Op.EQUAL, x, as_node(0, x.dtype))
    return build.where(is_zero, at_zero, power)


def _squared(x: Node, steps: int) -> Node:
    power, square = as_node(1, x.dtype), x
    while steps:
        if steps & 1:
            power = build.elementwise(Op.MULTIPLY, power, square)
        steps >>= 1
        square = build.elementwise(Op.MULTIPLY, square, square) if steps else square
    return power
