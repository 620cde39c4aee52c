"""Bessel functions of orders above 1: recurrences, run for each element as long as it needs.

Upward where that is stable: Y always, J where the argument is larger than the order. Else J by
J. C. P. Miller's algorithm: downward from anything, and divided by what the sum must be.

Source: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 9.12 and 19.28.
"""

from __future__ import annotations

import math
from typing import Any

from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import int32
from lazyblock.language.extra import bessel
from lazyblock.language.function import KernelFunction
from lazyblock.language.semantics import arithmetic, elementwise
from lazyblock.language.semantics.convert import cast
from lazyblock.language.semantics.elementwise import where
from lazyblock.language.semantics.mapping import map_elementwise
from lazyblock.language.tensor import tensor

Block = Any  # a tensor, whose operators mypy does not see
_SMALLEST = 1e-250  # below it, every J of order 2 and above is 0


def _upward(n: Any, x: Any, first: Any, second: Any) -> Any:
    before, now, k = first, second, 1
    while (k < n) & (now > -math.inf):
        before, now = now, (2 * k / x) * now - before
        k += 1
    return now


def _downward(n: Any, x: Any, first: Any, second: Any) -> Any:
    k = (n + elementwise.sqrt(160.0 * n).to(int32)) // 2 * 2
    after, now, total, found = first * 0, first * 0 + 1, first * 0, first * 0
    while k > 0:
        after, now = now, (2 * k / x) * now - after
        size: Any = elementwise.abs(now)
        if size > 1e10:
            scale = 1 / size
            after, now, total, found = after * scale, now * scale, total * scale, found * scale
        if k % 2 == 1:
            total += now
        if k == n:
            found = after
        k -= 1
    return found / (2 * total - now)


_UP, _DOWN = KernelFunction(_upward), KernelFunction(_downward)


def _first_two(function: Any, x: Block) -> tuple[tensor, tensor]:
    b = current_builder()
    return tensor(function(b, 0, x.handle)), tensor(function(b, 1, x.handle))


def _choose(n: Block, first: Any, second: Any, others: Any) -> tensor:
    """By order; negative ones have none."""
    found = where(n == 0, first, where(n == 1, second, others))
    chosen: tensor = where(n < 0, math.nan, found)
    return chosen


def j_of_order(n: Block, x: Block) -> tensor:
    """J of order n, both blocks of one shape; x is fp64."""
    size: Block = elementwise.maximum(elementwise.abs(x), _SMALLEST)
    order = cast(elementwise.maximum(n, 2), int32)
    is_up: Block = size > order
    values = _first_two(bessel.j, size)
    up = map_elementwise(_UP, where(is_up, order, 1), size, *values)
    down = map_elementwise(_DOWN, where(is_up, 2, order), where(is_up, 1.0, size), *values)
    found = where(is_up, where(size == math.inf, 0.0, up), down)
    sign_flips = arithmetic.logical_and(x < 0.0, n % 2 == 1)
    found = where(sign_flips, arithmetic.negate(found), found)
    return _choose(n, *_first_two(bessel.j, x), where(x != x, x, found))


def y_of_order(n: Block, x: Block) -> tensor:
    """Y of order n, both blocks of one shape; x is fp64."""
    values = _first_two(bessel.y, x)
    others = map_elementwise(_UP, cast(n, int32), x, *values)
    return _choose(n, *values, others)
