"""Ops on the elements of blocks: created, moved, computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyblock.errors import LaunchError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret.arithmetic import (
    APPROXIMATIONS,
    COMPARE,
    FLOAT_BINARY,
    INTEGER_BINARY,
    MATH,
    UNARY,
    cast,
    cast_toward_zero,
    compute_in,
    round_to,
)
from lazyblock.tiler.interpret.instance import Datum, Instance, Rule, as_integers
from lazyblock.tiler.interpret.memory import (
    Addresses,
    Array,
    from_integers,
    repoint,
)
from lazyblock.tiler.ir import Op
from lazyblock.tiler.math.fma import fma
from lazyblock.tiler.types import (
    SCALARS,
    PointerType,
    encode,
    to_numpy,
)


def _rearrange(change: Callable[[Array, Any], Array]) -> Rule:
    """A rule that moves elements of numbers and addresses alike."""

    def rule(instance: Instance, op: Any) -> Sequence[Datum]:
        datum = instance.values[op.value]
        if isinstance(datum, Addresses):
            return [Addresses(change(datum.memory, op), change(datum.offset, op))]
        return [change(datum, op)]

    return rule


def _exchange_bits(array: Array, op: ops.ExchangeBits) -> Array:
    places = np.arange(array.shape[op.axis]) ^ op.mask
    return array.take(places, op.axis)


def _join(instance: Instance, op: ops.Join) -> Sequence[Datum]:
    left, right = instance.values[op.lhs], instance.values[op.rhs]
    if isinstance(left, Addresses) and isinstance(right, Addresses):
        memory = np.stack([left.memory, right.memory], -1)
        return [Addresses(memory, np.stack([left.offset, right.offset], -1))]
    return [np.stack([instance.array(op.lhs), instance.array(op.rhs)], -1)]


def _split(instance: Instance, op: ops.Split) -> Sequence[Datum]:
    datum = instance.values[op.value]
    if isinstance(datum, Addresses):
        return [Addresses(datum.memory[..., half], datum.offset[..., half]) for half in range(2)]
    return [np.asarray(datum[..., half]) for half in range(2)]


def _gather(instance: Instance, op: ops.Gather) -> Sequence[Datum]:
    value, index = instance.array(op.value), instance.array(op.index).astype(np.int64)
    extent = value.shape[op.axis]
    outside = (index < 0) | (index >= extent)
    if outside.any():
        lane = tuple(int(place) for place in np.argwhere(outside)[0])
        raise LaunchError(
            f"'gather' at {op.line} reads element {index[lane]} of {extent} along axis {op.axis};"
            f" program instance {instance.place}, lane {lane}."
        )
    return [np.take_along_axis(value, index, op.axis)]


def _histogram(instance: Instance, op: ops.Histogram) -> Sequence[Datum]:
    value = instance.array(op.value).astype(np.int64)
    counts = (value >= 0) & (value < op.num_bins)
    if op.mask is not None:
        counts &= instance.array(op.mask)
    return [np.bincount(value[counts], minlength=op.num_bins).astype(np.int32)]


def _arange(instance: Instance, op: ops.Arange) -> Sequence[Datum]:
    return [np.arange(op.start, op.end, dtype=np.int32)]


def _program_id(instance: Instance, op: ops.ProgramId) -> Sequence[Datum]:
    return [np.asarray(instance.place[op.axis], np.int32)]


def _num_programs(instance: Instance, op: ops.NumPrograms) -> Sequence[Datum]:
    return [np.asarray(instance.grid[op.axis], np.int32)]


def _constant(instance: Instance, op: ops.Constant) -> Sequence[Datum]:
    return [np.full(op.type.shape, encode(op.value, op.type.scalar))]


def _unary(instance: Instance, op: ops.Unary) -> Sequence[Datum]:
    compute = UNARY[op.kind]
    return [compute_in(compute, op.value.type.scalar, instance.array(op.value))]


def _binary(instance: Instance, op: ops.Binary) -> Sequence[Datum]:
    scalar = op.lhs.type.scalar
    compute = (FLOAT_BINARY if scalar.is_floating else INTEGER_BINARY)[op.kind]
    return [compute_in(compute, scalar, instance.array(op.lhs), instance.array(op.rhs))]


def _compare(instance: Instance, op: ops.Compare) -> Sequence[Datum]:
    operands = [as_integers(instance, value) for value in (op.lhs, op.rhs)]
    return [np.asarray(COMPARE[op.kind](*operands), bool)]


def _select(instance: Instance, op: ops.Select) -> Sequence[Datum]:
    condition = instance.array(op.condition)
    left, right = instance.values[op.on_true], instance.values[op.on_false]
    if isinstance(left, Addresses) and isinstance(right, Addresses):
        memory = np.where(condition, left.memory, right.memory)
        return [Addresses(memory, np.where(condition, left.offset, right.offset))]
    return [np.where(condition, instance.array(op.on_true), instance.array(op.on_false))]


def _fma(instance: Instance, op: ops.Fma) -> Sequence[Datum]:
    a, b, c = (instance.array(value) for value in (op.a, op.b, op.c))
    return [np.asarray(fma(a, b, c))]


def _math(instance: Instance, op: ops.Math) -> Sequence[Datum]:
    wide = (instance.array(value).astype(np.float64) for value in op.arguments)
    return [round_to(MATH[op.function](*wide), to_numpy(op.result.type.scalar))]


def _approximate(instance: Instance, op: ops.Approximate) -> Sequence[Datum]:
    wide = instance.array(op.value).astype(np.float64)
    return [round_to(APPROXIMATIONS[op.function](wide), np.dtype(np.float32))]


def _cast(instance: Instance, op: ops.Cast) -> Sequence[Datum]:
    before, after = op.value.type.scalar, SCALARS[op.element]
    convert = cast_toward_zero if op.rounding else cast
    return [convert(instance.array(op.value), before, after)]


def _bitcast(instance: Instance, op: ops.Bitcast) -> Sequence[Datum]:
    before, after = op.value.type.element, op.result.type.element
    datum = instance.values[op.value]
    if isinstance(before, PointerType) and isinstance(after, PointerType):
        assert isinstance(datum, Addresses)
        return [repoint(instance.memories, datum, before.pointee, after.pointee)]
    array = as_integers(instance, op.value)
    if isinstance(after, PointerType):
        return [from_integers(instance.memories, array, after.pointee, instance.resolve)]
    return [array.view(to_numpy(after))]


def _add_pointer(instance: Instance, op: ops.AddPointer) -> Sequence[Datum]:
    pointer = instance.addresses(op.pointer)
    return [Addresses(pointer.memory, pointer.offset + instance.array(op.offset).astype(np.int64))]


BLOCK_RULES: dict[type[Op], Rule] = {
    ops.ProgramId: _program_id,
    ops.NumPrograms: _num_programs,
    ops.Arange: _arange,
    ops.Constant: _constant,
    ops.Splat: _rearrange(lambda array, op: np.broadcast_to(array, op.shape)),
    ops.Broadcast: _rearrange(lambda array, op: np.broadcast_to(array, op.shape)),
    ops.ExpandDims: _rearrange(lambda array, op: np.expand_dims(array, op.axis)),
    ops.Reshape: _rearrange(lambda array, op: array.reshape(op.shape)),
    ops.Transpose: _rearrange(lambda array, op: array.transpose(op.permutation)),
    ops.Join: _join,
    ops.Split: _split,
    ops.ExchangeBits: _rearrange(_exchange_bits),
    ops.Gather: _gather,
    ops.Histogram: _histogram,
    ops.Unary: _unary,
    ops.Binary: _binary,
    ops.Compare: _compare,
    ops.Select: _select,
    ops.Fma: _fma,
    ops.Math: _math,
    ops.Approximate: _approximate,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.AddPointer: _add_pointer,
}
