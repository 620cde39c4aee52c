"""Blocks of any extents, as blocks whose extents are powers of two.

Takes: any program. Gives: one whose extents are powers of two, which compilers need; the same
object if they are already. Keeps: what memory holds afterwards; floats may be summed in another
order. Cost: linear. Each block grows to the next powers of two. What stands in the added places
is anything, so it is kept out of memory by masks, and out of reductions, scans and products along
an axis that grew by values that change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.shapes import next_power_of_2
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import (
    Op,
    Program,
    Region,
    Value,
    clone_op,
    make_op,
    map_operands,
    walk,
    with_body,
)
from lazyblock.tiler.types import BlockType, PointerType, ScalarType, int1, int64

Shape = tuple[int, ...]

# values that change nothing where they are combined; `0.0 + -0.0` is 0.0, so it is -0.0 for floats
_NEUTRAL: dict[str, Callable[[ScalarType], int | float]] = {
    "add": lambda scalar: -0.0 if scalar.is_floating else 0,
    "mul": lambda scalar: 1,
    "or": lambda scalar: 0,
    "xor": lambda scalar: 0,
    "and": lambda scalar: -1 if scalar.bits > 1 else 1,
}


def pad_blocks(program: Program) -> Program:
    """Run the pass."""
    if not any(_is_odd(value.shape) for op in walk(program.body) for value in _values_of(op)):
        return program
    return with_body(program, _Padder().copy(program.body))


def _values_of(op: Op) -> Sequence[Value]:
    return (*op.results, *op.operands_flat, *(a for r in op.regions for a in r.arguments))


def _is_odd(shape: Shape) -> bool:
    return shape != _padded(shape)


def _padded(shape: Shape) -> Shape:
    return tuple(next_power_of_2(extent) for extent in shape)


class _Padder:
    """Copies regions op by op; `mapping` leads from values to padded ones."""

    def __init__(self) -> None:
        self._builder = Builder()
        self._mapping: dict[Value, Value] = {}

    def copy(self, source: Region) -> Region:
        copy = Region()
        for argument in source.arguments:
            type = argument.type.with_shape(_padded(argument.shape))
            self._mapping[argument] = Value(type, None, argument.hint)
            copy.arguments.append(self._mapping[argument])
        with self._builder.open_region(copy):
            for op in source.ops:
                self._builder.line = op.line
                results = self._results_of(op)
                for before, after in zip(op.results, results, strict=True):
                    after.hint = after.hint or before.hint
                    self._mapping[before] = after
        return copy

    def _results_of(self, op: Op) -> Sequence[Value]:
        """Results of `op` on padded operands."""
        rule = _RULES.get(type(op))
        if rule is not None and any(_is_odd(value.shape) for value in _values_of(op)):
            return rule(self, op)
        return self.plain(op)

    def plain(self, op: Op, **changed: Any) -> Sequence[Value]:
        """A copy with some fields changed."""
        values = map_operands(op, self.new)
        for name in op.declared("region"):
            values[name] = self.copy(getattr(op, name))
        new = make_op(type(op), op.line, **{**values, **changed})
        self._builder.insert(new)
        return new.results

    def new(self, value: Value) -> Value:
        return self._mapping.get(value, value)

    # --- what stands where -----------------------------------------------------------------------

    def inside(self, shape: Shape, axes: Sequence[int] | None = None) -> Value:
        """i1: where a padded block of `shape` holds elements; along `axes` only."""
        b = self._builder
        padded, found = _padded(shape), None
        for axis in range(len(shape)) if axes is None else axes:
            if shape[axis] != padded[axis]:
                index = self._along(padded, axis)
                is_inside = b.compare("lt", index, shape[axis])
                found = is_inside if found is None else b.and_(found, is_inside)
        return b.constant(True, int1, padded) if found is None else found

    def _along(self, padded: Shape, axis: int) -> Value:
        """Each place's coordinate along an axis, i32."""
        b = self._builder
        shape = tuple(extent if place == axis else 1 for place, extent in enumerate(padded))
        return b.broadcast_to(b.reshape(b.arange(0, padded[axis]), shape), padded)

    def masked(self, mask: Value | None, shape: Shape) -> Value:
        """A mask that leaves the added places out too."""
        inside = self.inside(shape)
        return inside if mask is None else self._builder.and_(self.new(mask), inside)

    def filled(self, value: Value, fill: int | float, axis: int) -> Value:
        """The padded value, with `fill` behind its end along `axis`."""
        new = self.new(value)
        if not _is_odd((value.shape[axis],)):
            return new
        return self._builder.select(self.inside(value.shape, [axis]), new, fill)

    # --- rules -----------------------------------------------------------------------------------

    def arange(self, op: ops.Arange) -> Sequence[Value]:
        return self.plain(op, end=op.start + next_power_of_2(op.end - op.start))

    def constant(self, op: ops.Constant) -> Sequence[Value]:
        return self.plain(op, type=op.type.with_shape(_padded(op.type.shape)))

    def shaped(self, op: ops.Splat | ops.Broadcast) -> Sequence[Value]:
        return self.plain(op, shape=_padded(op.shape))

    def reshape(self, op: ops.Reshape) -> Sequence[Value]:
        before, after, b = op.value.shape, op.shape, self._builder
        value = self.new(op.value)
        if [n for n in before if n > 1] == [n for n in after if n > 1]:
            return [b.reshape(value, _padded(after))]
        element = value.type.element
        if isinstance(element, PointerType):
            value = b.bitcast(value, int64)
        flat = b.reshape(value, (value.type.size,))
        moved = b.reshape(b.gather(flat, self._source(before, after), 0), _padded(after))
        return [b.bitcast(moved, element)]

    def _source(self, before: Shape, after: Shape) -> Value:
        """Where in a padded flat block of shape `before` each element of `after` comes from."""
        b, number = self._builder, None
        padded = _padded(after)
        flat = b.arange(0, math.prod(padded))
        for axis, extent in enumerate(padded):
            place = b.and_(b.div(flat, math.prod(padded[axis + 1 :])), extent - 1)
            term = b.mul(place, math.prod(after[axis + 1 :]))
            number = term if number is None else b.add(number, term)
        assert number is not None
        source = b.full_like(number, 0)
        wide = _padded(before)
        for axis, extent in enumerate(before):
            place = b.rem(b.div(number, math.prod(before[axis + 1 :])), extent)
            source = b.add(source, b.mul(place, math.prod(wide[axis + 1 :])))
        return source

    def gather(self, op: ops.Gather) -> Sequence[Value]:
        index = self._builder.select(self.inside(op.index.shape), self.new(op.index), 0)
        return self.plain(op, index=index)

    def histogram(self, op: ops.Histogram) -> Sequence[Value]:
        mask = self.masked(op.mask, op.value.shape)
        return self.plain(op, mask=mask, num_bins=next_power_of_2(op.num_bins))

    def access(self, op: ops.Load | ops.Store | ops.AtomicRmw) -> Sequence[Value]:
        return self.plain(op, mask=self.masked(op.mask, op.pointer.shape))

    def check(self, op: ops.Assert) -> Sequence[Value]:
        return self.plain(op, mask=self.masked(op.mask, op.condition.shape))

    def dot(self, op: ops.Dot) -> Sequence[Value]:
        last = len(op.a.shape) - 1
        return self.plain(op, a=self.filled(op.a, 0, last), b=self.filled(op.b, 0, last - 1))

    def combine(self, op: ops.Reduce | ops.Scan) -> Sequence[Value]:
        """Fill with what changes nothing, or tell elements from added places by flags."""
        is_late = isinstance(op, ops.Scan) and not op.reverse
        if is_late or not _is_odd((op.values[0].shape[op.axis],)):
            return self.plain(op)
        if op.kind in _NEUTRAL:
            (value,) = op.values
            fill = _NEUTRAL[op.kind](value.type.scalar)
            return self.plain(op, values=(self.filled(value, fill, op.axis),))
        flag = self.inside(op.values[0].shape, [op.axis])
        combine = self._with_flags(op.combine)
        values = (*map(self.new, op.values), flag)
        return self.plain_combining(op, values, combine)[:-1]

    def plain_combining(
        self, op: ops.Combining, values: tuple[Value, ...], combine: Region
    ) -> Sequence[Value]:
        """The op over other values by another region."""
        fields = {**op.attributes, "values": values, "combine": combine}
        new = make_op(type(op), op.line, **fields)
        self._builder.insert(new)
        return new.results

    def _with_flags(self, source: Region) -> Region:
        """A combine region with one flag more a side: a side whose flag is false has no say."""
        b, count = self._builder, len(source.arguments) // 2
        types = [argument.type for argument in source.arguments[:count]]
        side = [*types, BlockType(int1)]
        region = Region([Value(type) for type in (*side, *side)])
        left, right = region.arguments[: count + 1], region.arguments[count + 1 :]
        taken = zip(source.arguments, (*left[:-1], *right[:-1]), strict=True)
        mapping = self._mapping | dict(taken)
        with b.open_region(region):
            for op in source.ops[:-1]:
                b.insert(clone_op(op, mapping))
            given = [mapping.get(value, value) for value in source.terminator.operands_flat]
            both, results = b.and_(left[-1], right[-1]), []
            for one, other, combined in zip(left[:-1], right[:-1], given, strict=True):
                results.append(b.select(both, combined, b.select(left[-1], one, other)))
            b.yield_(*results, b.or_(left[-1], right[-1]))
        return region


_RULES: dict[type[Op], Callable[[_Padder, Any], Sequence[Value]]] = {
    ops.Arange: _Padder.arange,
    ops.Constant: _Padder.constant,
    **dict.fromkeys((ops.Splat, ops.Broadcast), _Padder.shaped),
    ops.Reshape: _Padder.reshape,
    ops.Gather: _Padder.gather,
    ops.Histogram: _Padder.histogram,
    **dict.fromkeys((ops.Load, ops.Store, ops.AtomicRmw), _Padder.access),
    ops.Assert: _Padder.check,
    ops.Dot: _Padder.dot,
    **dict.fromkeys((ops.Reduce, ops.Scan), _Padder.combine),
}
