"""`for` loops: `For` ops, unrolled loops, and `While` ops where a loop has a way out.

A `for` that may be left counts its remaining iterations, so that the index never needs to exceed
the range of its type.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lazyblock.language import iterators
from lazyblock.language.constexpr import unwrap
from lazyblock.language.dtypes import dtype, int32, int64, uint32, uint64
from lazyblock.language.frontend.branches import run_unless_left
from lazyblock.language.frontend.carried import (
    Carried,
    carry,
    finish_loop,
    iterate,
    refuse_else,
    typed,
)
from lazyblock.language.frontend.expressions import bind_target
from lazyblock.language.frontend.frame import Frame
from lazyblock.language.frontend.iteration import bounds_of, index_type, static_items
from lazyblock.language.frontend.scope import BREAK, CONTINUE, have_same_form, is_number
from lazyblock.language.frontend.while_loops import run_flagged
from lazyblock.language.semantics.convert import cast, to_tensor
from lazyblock.language.tensor import tensor
from lazyblock.tiler.ir import Value


def run_for(frame: Frame, node: ast.For) -> None:
    """`for target in iterable`."""
    refuse_else(frame, node)
    with frame.followed_by(node.body):
        iterable = frame.evaluate(node.iter)
    if not isinstance(iterable, iterators.range) or isinstance(iterable, iterators.static_range):
        _unroll(frame, node, static_items(iterable))
    elif not isinstance(node.target, ast.Name):
        raise frame.error(node.target, "The index of a range is one name.")
    else:
        _run_range(frame, node, node.target.id, iterable)


# --- unrolled ------------------------------------------------------------------------------------


def _unroll(frame: Frame, node: ast.For, items: list[Any]) -> None:
    """One copy of the body per item, which is a constexpr or a value of a tuple."""
    if not items:
        frame.scope.exits[CONTINUE] = False
        return
    bind_target(frame, node.target, items[0])
    with frame.followed_by(node.body):
        frame.run(node.body)
    exits = frame.scope.exits
    exits[CONTINUE] = False
    if exits[BREAK] is True:
        exits[BREAK] = False
    elif not frame.scope.has_left():
        if frame.scope.exit_flags():
            run_unless_left(frame, lambda: _unroll(frame, node, items[1:]))
        else:
            _unroll(frame, node, items[1:])
        frame.scope.exits[BREAK] = False


# --- ranges --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """A range of run-time bounds; `base` turns a count that goes up into an index that falls."""

    start: Value
    stop: Value
    step: Value
    type: dtype
    falls: bool

    def index(self, frame: Frame, count: Value) -> tensor:
        builder = frame.builder
        if self.falls:
            count = builder.sub(self.stop, builder.sub(count, self.start))
        return tensor(builder.cast(count, self.type.ir))

    def last(self, frame: Frame) -> tensor:
        """The index of the last iteration of a loop that has one."""
        builder = frame.builder
        way = builder.sub(builder.sub(self.stop, self.start), 1)
        way = builder.sub(way, builder.rem(way, self.step))
        return self.index(frame, builder.add(self.start, way))


def _read_bounds(frame: Frame, loop: Any) -> Bounds:
    """Bounds of one integer type; a falling range is turned round."""
    bounds = bounds_of(loop)
    type = index_type([bound.dtype for bound in bounds])
    step = unwrap(loop.step)
    falls = is_number(step) and step < 0
    if falls:
        bounds = [bounds[1], bounds[0], to_tensor(-step)]
    counter = int32 if type == int32 else int64
    start, stop, by = (cast(bound, counter).handle for bound in bounds)
    return Bounds(start, stop, by, type, falls)


def _run_range(frame: Frame, node: ast.For, target: str, loop: Any) -> None:
    bounds = _read_bounds(frame, loop)
    carried = carry(frame, node)
    index_type = frame.scope.values.get(target)
    if target in carried.names and not have_same_form(
        index_type, tensor(bounds.start, bounds.type)
    ):
        carried.names.remove(target)
    if carried.flags:
        _run_counted(frame, node, target, bounds, carried)
        return
    before = frame.scope

    def body(count: Value, *values: Value) -> list[Value]:
        count.hint = "" if bounds.falls else target
        return iterate(carried, before, values, target, bounds.index(frame, count))

    initial = [leaf.handle for leaf in carried.initial()]
    results = frame.builder.for_(bounds.start, bounds.stop, bounds.step, initial, body)
    finish_loop(carried, before, typed(results, carried.initial()))
    if target not in carried.names and frame.is_needed(target):
        frame.scope.set(target, bounds.last(frame))


def _run_counted(
    frame: Frame, node: ast.For, target: str, bounds: Bounds, carried: Carried
) -> None:
    """A `for` that may be left: a While over the index and the number of iterations left."""
    builder = frame.builder
    unsigned = (uint64 if bounds.start.type.scalar.bits == 64 else uint32).ir
    distance = builder.bitcast(builder.sub(bounds.stop, bounds.start), unsigned)
    step = builder.bitcast(bounds.step, unsigned)
    trips = builder.add(builder.div(builder.sub(distance, 1), step), 1)
    runs = builder.compare("lt", bounds.start, bounds.stop)
    trips = builder.select(runs, trips, 0)

    def goes_on(extra: Sequence[Value]) -> tensor:
        return tensor(builder.compare("ne", extra[1], 0))

    def advance(extra: Sequence[Value]) -> tuple[list[Value], tensor]:
        following = [builder.add(extra[0], bounds.step), builder.sub(extra[1], 1)]
        return following, bounds.index(frame, extra[0])

    run_flagged(carried, [bounds.start, trips], goes_on, advance, target)
