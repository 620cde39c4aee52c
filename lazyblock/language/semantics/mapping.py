"""A scalar function on every element: recorded once over scalars, then written over blocks.

Ops become block ops; a branch whose condition differs between elements becomes a choice between the
results of both sides, a loop runs until no element goes on. The ops are total, so evaluating a side
that an element does not take is harmless; functions that touch memory are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from lazyblock.errors import SemanticError, UnsupportedError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder
from lazyblock.language.semantics.convert import retype, to_tensor
from lazyblock.language.semantics.shapes import (
    Shape,
    check_static_int,
    join,
    reshape,
    split,
    stretch_together,
)
from lazyblock.language.tensor import tensor
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Effect, Op, Region, Trait, Value, map_operands
from lazyblock.tiler.types import BlockType


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """`scalar_fn(*elements)` for each element of blocks that broadcast together.

    pack: how many neighbours the function takes at once: that many scalars per block, and it gives
    as many per result.
    """
    values = stretch_together(*map(to_tensor, args), operation="tl.map_elementwise")
    count = check_static_int(pack, "'pack'")
    shape = values[0].handle.shape
    if count < 1 or count & (count - 1) or max(math.prod(shape), 1) % count:
        raise SemanticError(f"'pack' is a power of two that divides the blocks' size, got {count}.")
    columns = [column for value in values for column in _columns(value, count)]
    results = apply(getattr(scalar_fn, "inline", scalar_fn), columns)
    if len(results) % count:
        raise SemanticError(f"The function gives {len(results)} values for {count} at once.")
    groups = [results[start : start + count] for start in range(0, len(results), count)]
    found = tuple(_interleaved(group, shape) for group in groups)
    return found if len(found) > 1 else found[0]


def _columns(value: tensor, count: int) -> list[tensor]:
    """Every count-th element, from each of the first `count` on."""
    if count == 1:
        return [value]
    pairs = reshape(value, (value.handle.type.size // 2, 2))
    even, odd = (_columns(half, count // 2) for half in split(pairs))
    return [column for pair in zip(even, odd, strict=True) for column in pair]


def _interleaved(columns: Sequence[tensor], shape: Shape) -> tensor:
    if len(columns) == 1:
        return reshape(columns[0], shape) if shape else columns[0]
    even, odd = (_interleaved(columns[start::2], _half(shape)) for start in (0, 1))
    return reshape(join(even, odd), shape)


def _half(shape: Shape) -> Shape:
    return (math.prod(shape) // 2,)


def apply(function: Any, columns: Sequence[tensor]) -> list[tensor]:
    """What a function of scalars gives for each element of blocks of one shape."""
    body = Region([Value(BlockType(column.handle.type.element)) for column in columns])
    scalars = [tensor(v, c.dtype) for v, c in zip(body.arguments, columns, strict=True)]
    with current_builder().open_region(body):
        given = function(*scalars)
        results = [to_tensor(r) for r in (given if isinstance(given, (tuple, list)) else [given])]
    spread = _Spread(columns[0].handle.shape)
    spread.define(body.arguments, [column.handle for column in columns])
    spread.write(_needed(body.ops, [result.handle for result in results]))
    return [retype(spread.block(result.handle), result.dtype) for result in results]


def _needed(recorded: Sequence[Op], results: Sequence[Value]) -> list[Op]:
    """The ops that something depends on: blocks made only to ask for their type are not."""
    needed, kept = set(results), []
    for op in reversed(recorded):
        if op.regions or op.effect is not Effect.NONE or not needed.isdisjoint(op.results):
            kept.append(op)
            needed.update(_values_read(op))
    return kept[::-1]


def _values_read(op: Op) -> Iterator[Value]:
    yield from op.operands_flat
    for region in op.regions:
        for inner in region.ops:
            yield from _values_read(inner)


class _Spread:
    """Writes ops on scalars as ops on blocks of `shape`; `known` maps scalars to what they became.

    What does not depend on elements stays a scalar.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.known: dict[Value, Value] = {}
        self.builder = current_builder()

    def define(self, scalars: Sequence[Value], values: Sequence[Value]) -> None:
        self.known.update(zip(scalars, values, strict=True))

    def value(self, scalar: Value) -> Value:
        return self.known.get(scalar, scalar)

    def block(self, scalar: Value) -> Value:
        return self.builder.broadcast_to(self.value(scalar), self.shape)

    def varies(self, *scalars: Value) -> bool:
        return any(self.value(scalar).shape for scalar in scalars)

    def write(self, recorded: Sequence[Op]) -> None:
        for op in recorded:
            if not op.has(Trait.TERMINATOR):
                self.define(op.results, self.op(op))

    def region(self, region: Region, arguments: Sequence[Value]) -> list[Value]:
        """What the region yields for `arguments`, as blocks."""
        self.define(region.arguments, arguments)
        self.write(region.ops)
        return [self.block(value) for value in region.terminator.operands_flat]

    def op(self, op: Op) -> Sequence[Value]:
        if op.has(Trait.ELEMENTWISE) or not op.operands_flat:
            change = self.block if self.varies(*op.operands_flat) else self.value
            return self.builder.append(type(op), **map_operands(op, change)).results
        if isinstance(op, ops.If):
            return self.branch(op)
        if isinstance(op, ops.For):
            return self.loop(op)
        if isinstance(op, ops.While):
            return self.repeat(op)
        raise UnsupportedError(f"tl.map_elementwise of a function that uses '{op.name}'.")

    def branch(self, op: ops.If) -> Sequence[Value]:
        sides = [self.region(side, ()) for side in (op.then, op.otherwise)]
        condition = self.block(op.condition)
        return [self.builder.select(condition, *pair) for pair in zip(*sides, strict=True)]

    def loop(self, op: ops.For) -> Sequence[Value]:
        """While lower + i * step < upper, each element by its own bounds."""
        b = self.builder
        upper, step = self.block(op.upper), self.block(op.step)

        def goes_on(index: Value) -> Value:
            return b.compare("lt", index, upper)

        def body(index: Value, *carried: Value) -> list[Value]:
            return [b.add(index, step), *self.region(op.body, (index, *carried))]

        start = [self.block(op.lower), *(self.block(value) for value in op.initial)]
        return self._until_done(start, lambda values: goes_on(values[0]), body)[1:]

    def repeat(self, op: ops.While) -> Sequence[Value]:
        start = [self.block(value) for value in op.initial]

        def body(*carried: Value) -> list[Value]:
            return self.region(op.body, carried)

        return self._until_done(start, lambda values: self.region(op.condition, values)[0], body)

    def _until_done(self, start: Sequence[Value], goes_on: Any, body: Any) -> Sequence[Value]:
        """Run `body` while any element goes on; those that do not keep their values."""
        b = self.builder

        def any_goes_on(*carried: Value) -> Value:
            flat = b.reshape(goes_on(carried), (math.prod(self.shape),))
            return b.reduce_with("or", flat, 0)

        def step(*carried: Value) -> list[Value]:
            active, after = goes_on(carried), body(*carried)
            return [b.select(active, *pair) for pair in zip(after, carried, strict=True)]

        found: Sequence[Value] = b.while_(start, any_goes_on, step)
        return found


# --- code of a device ----------------------------------------------------------------------------


@builtin
def inline_asm_elementwise(
    asm: str, constraints: str, args: Any, dtype: Any, is_pure: bool, pack: Any
) -> Any:
    """Refused: assembly of one device means nothing on the others."""
    raise UnsupportedError(
        "tl.inline_asm_elementwise is text for one kind of GPU, which kernels of lazyblock are not"
        " bound to.",
        hint="write it in the language; tl.extra.libdevice has bit counts, roundings and more.",
    )


@builtin
def extern_elementwise(
    lib_name: str, lib_path: str, args: Any, arg_type_symbol_dict: Any, is_pure: bool = True
) -> Any:
    """Refused: there is no library of one device's functions to call."""
    raise UnsupportedError(
        "tl.extern_elementwise calls a library of one kind of GPU, which kernels of lazyblock are"
        " not bound to.",
        hint="use a function of tl.extra.libdevice.",
    )
