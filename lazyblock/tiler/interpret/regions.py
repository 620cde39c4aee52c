"""Ops with regions: reductions, scans, loops, branches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyblock.errors import LaunchError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret.arithmetic import (
    round_to,
)
from lazyblock.tiler.interpret.instance import Datum, Instance, Rule
from lazyblock.tiler.interpret.memory import (
    Array,
)
from lazyblock.tiler.ir import Op, Region, Trait
from lazyblock.tiler.types import (
    to_numpy,
)

MOST_ROUNDS = 1 << 20  # of a while loop: instances run in order, and may wait for one to come


def _reduce(instance: Instance, op: ops.Reduce) -> Sequence[Datum]:
    """Neighbours combine pairwise until one is left; a last one without neighbour stays."""
    parts = [np.moveaxis(instance.array(value), op.axis, 0) for value in op.values]
    while (count := len(parts[0])) > 1:
        even = count - count % 2
        halves = [*(part[0:even:2] for part in parts), *(part[1:even:2] for part in parts)]
        combined = combine_blocks(instance, op.combine, halves)
        rest = [part[even:] for part in parts]
        parts = [np.concatenate(pair) for pair in zip(combined, rest, strict=True)]
    return [part[0] for part in parts]


def _scan(instance: Instance, op: ops.Scan) -> Sequence[Datum]:
    """Elements combine with what stands 1, 2, 4, ... places before."""
    parts = [np.moveaxis(instance.array(value), op.axis, 0) for value in op.values]
    if op.reverse:
        parts = [part[::-1] for part in parts]
    distance = 1
    while distance < len(parts[0]):
        pairs = [*(part[:-distance] for part in parts), *(part[distance:] for part in parts)]
        behind = combine_blocks(instance, op.combine, pairs)
        parts = [np.concatenate([p[:distance], b]) for p, b in zip(parts, behind, strict=True)]
        distance *= 2
    if op.reverse:
        parts = [part[::-1] for part in parts]
    return [np.moveaxis(part, 0, op.axis) for part in parts]


def combine_blocks(instance: Instance, region: Region, arguments: Sequence[Array]) -> list[Array]:
    """Run a region of scalars on all elements of equally shaped blocks."""
    shape = arguments[0].shape
    if _is_elementwise(region):
        yielded = instance.call(region, arguments)
        return [np.broadcast_to(np.asarray(datum), shape) for datum in yielded]
    rows = [
        instance.call(region, [np.asarray(argument[lane]) for argument in arguments])
        for lane in np.ndindex(shape)
    ]
    return [np.array(column).reshape(shape) for column in zip(*rows, strict=True)]


def _is_elementwise(region: Region) -> bool:
    return all(
        op.has(Trait.ELEMENTWISE) or op.has(Trait.TERMINATOR) or isinstance(op, ops.Constant)
        for op in region.ops
    )


def _rarely(instance: Instance, op: ops.Rarely) -> Sequence[Datum]:
    condition, value = instance.array(op.condition), instance.array(op.value)
    if not condition.any():
        return [value]
    arguments = [instance.array(argument) for argument in op.arguments]
    (rare,) = combine_blocks(instance, op.rare, arguments)
    return [np.where(condition, rare, value)]


def _dot(instance: Instance, op: ops.Dot) -> Sequence[Datum]:
    """Exact products whatever the precision, summed in 64 bits and rounded once."""
    wide = np.int64 if op.is_integer else np.float64
    a, b, acc = (instance.array(value).astype(wide) for value in (op.a, op.b, op.acc))
    return [round_to(np.matmul(a, b) + acc, to_numpy(op.result.type.scalar))]


def _for(instance: Instance, op: ops.For) -> Sequence[Datum]:
    lower, upper, step = (int(instance.array(v)) for v in (op.lower, op.upper, op.step))
    if step <= 0:
        raise LaunchError(f"a loop at {op.line} has step {step}, expected a positive one.")
    dtype = to_numpy(op.lower.type.scalar)
    carried: Sequence[Datum] = [instance.values[value] for value in op.initial]
    for index in range(lower, upper, step):
        carried = instance.call(op.body, [np.asarray(index, dtype), *carried])
    return carried


def _while(instance: Instance, op: ops.While) -> Sequence[Datum]:
    carried: Sequence[Datum] = [instance.values[value] for value in op.initial]
    for _ in range(MOST_ROUNDS):
        (condition,) = instance.call(op.condition, carried)
        if not condition:
            return carried
        carried = instance.call(op.body, carried)
    raise LaunchError(
        f"a loop at {op.line} runs for more than {MOST_ROUNDS} rounds; program instance"
        f" {instance.place}.",
        hint="instances run one after the other here: one cannot wait for a later one.",
    )


def _if(instance: Instance, op: ops.If) -> Sequence[Datum]:
    return instance.run(op.then if instance.array(op.condition) else op.otherwise)


REGION_RULES: dict[type[Op], Rule] = {
    ops.Reduce: _reduce,
    ops.Scan: _scan,
    ops.Rarely: _rarely,
    ops.Dot: _dot,
    ops.For: _for,
    ops.While: _while,
    ops.Barrier: lambda instance, op: [],
    ops.If: _if,
}
