"""Axis analysis: what is known of blocks made from nothing, reshaped or loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_facts import (
    MOST,
    AxisInfo,
    Facts,
    Infos,
    extents_of,
    flat,
    largest_power_of_2,
    least,
    of_constant,
    shared_divisors,
    unknown,
)
from lazyblock.tiler.ir import Op


def _program_id(op: Op, infos: Infos) -> AxisInfo:
    return replace(unknown(op.result.type), nonnegative=True)


def _arange(op: ops.Arange, infos: Infos) -> AxisInfo:
    run = (op.end - op.start,)
    return AxisInfo(run, (largest_power_of_2(op.start),), (1,), None, op.start >= 0)


def _constant(op: ops.Constant, infos: Infos) -> AxisInfo:
    if op.type.scalar.is_integer:
        return of_constant(int(op.value), op.type)
    return replace(unknown(op.type), constancy=extents_of(op.type))


def _splat(op: ops.Splat, infos: Infos) -> AxisInfo:
    scalar, extents = infos[op.value], extents_of(op.result.type)
    info = flat(scalar, scalar.divisor, extents, scalar.nonnegative)
    return replace(info, constant=scalar.constant)


def _broadcast(op: ops.Broadcast, infos: Infos) -> AxisInfo:
    info = infos[op.value]
    pairs = zip(op.value.shape, op.shape, info.constancy, strict=True)
    return replace(info, constancy=tuple(after if before == 1 else c for before, after, c in pairs))


def _expand_dims(op: ops.ExpandDims, infos: Infos) -> AxisInfo:
    info = infos[op.value]
    return info if op.value.shape == () else _with_axis(info, op.axis)


def _with_axis(info: AxisInfo, axis: int) -> AxisInfo:
    def insert(facts: Facts, fact: int) -> Facts:
        return (*facts[:axis], fact, *facts[axis:])

    return replace(
        info,
        contiguity=insert(info.contiguity, 1),
        divisibility=insert(info.divisibility, info.divisor),
        constancy=insert(info.constancy, 1),
    )


def _transpose(op: ops.Transpose, infos: Infos) -> AxisInfo:
    return _permute(infos[op.value], op.permutation)


def _permute(info: AxisInfo, axes: Sequence[int]) -> AxisInfo:
    def pick(facts: Facts) -> Facts:
        return tuple(facts[axis] for axis in axes)

    return replace(
        info,
        contiguity=pick(info.contiguity),
        divisibility=pick(info.divisibility),
        constancy=pick(info.constancy),
    )


def _reshape(op: ops.Reshape, infos: Infos) -> AxisInfo:
    info, before, after = infos[op.value], op.value.shape, op.shape
    if op.result.type.size == 1:
        result = flat(info, info.divisor, extents_of(op.result.type), info.nonnegative)
        return replace(result, constant=info.constant)
    wide = [axis for axis, extent in enumerate(before) if extent > 1]
    if [before[axis] for axis in wide] == [extent for extent in after if extent > 1]:
        return _reshape_units(info, wide, after)
    return _reshape_flat(info, before, after)


def _reshape_units(info: AxisInfo, wide: Sequence[int], after: Facts) -> AxisInfo:
    """Only axes of extent 1 come or go."""
    result = _permute(info, wide)
    for axis, extent in enumerate(after):
        if extent == 1:
            result = _with_axis(result, axis)
    return result


def _reshape_flat(info: AxisInfo, before: Facts, after: Facts) -> AxisInfo:
    """Through the row-major order: runs of the last axis, repetition of the last axes."""
    last = max(axis for axis, extent in enumerate(before) if extent > 1)
    inner = max(axis for axis, extent in enumerate(after) if extent > 1)
    run = min(info.contiguity[last], after[inner])
    contiguity = tuple(run if axis == inner else 1 for axis in range(len(after)))
    divisibility = tuple(
        info.divisor_of_runs(last, run) if axis == inner else info.divisor
        for axis in range(len(after))
    )
    repeated = _join_trailing(info.constancy, before)
    constancy = _split_trailing(repeated, after)
    return AxisInfo(contiguity, divisibility, constancy, info.constant, info.nonnegative)


def _join_trailing(constancy: Facts, extents: Facts) -> int:
    """Elements in row-major order that repeat, from the repetition along the last axes."""
    repeated = 1
    for same, extent in zip(reversed(constancy), reversed(extents), strict=True):
        repeated *= same
        if same < extent:
            break
    return repeated


def _split_trailing(repeated: int, extents: Facts) -> Facts:
    result = []
    for extent in reversed(extents):
        result.append(min(repeated, extent))
        repeated = max(repeated // extent, 1)
    return tuple(reversed(result))


def _exchange_bits(op: ops.ExchangeBits, infos: Infos) -> AxisInfo:
    """Runs move as a whole where the mask has no bit inside; repetition stays in any case."""
    info, run = infos[op.value], op.mask & -op.mask or MOST
    contiguity = tuple(
        min(length, run) if axis == op.axis else length
        for axis, length in enumerate(info.contiguity)
    )
    return replace(info, contiguity=contiguity, divisibility=shared_divisors(contiguity, info))


def _load(op: ops.Load, infos: Infos) -> AxisInfo:
    if op.sem:  # each lane may see another moment
        return unknown(op.result.type)
    known = (infos[value].constancy for value in op.operands_flat)
    return replace(unknown(op.result.type), constancy=least(*known))


SHAPE_RULES: dict[type[Op], Callable[[Any, Infos], AxisInfo]] = {
    ops.ProgramId: _program_id,
    ops.NumPrograms: _program_id,
    ops.Arange: _arange,
    ops.Constant: _constant,
    ops.Splat: _splat,
    ops.Broadcast: _broadcast,
    ops.ExpandDims: _expand_dims,
    ops.Transpose: _transpose,
    ops.Reshape: _reshape,
    ops.ExchangeBits: _exchange_bits,
    ops.Load: _load,
}
