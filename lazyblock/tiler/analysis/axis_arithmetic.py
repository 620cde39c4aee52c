"""Axis analysis: what is known of sums, products, comparisons and casts of known blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_facts import (
    MOST,
    AxisInfo,
    Facts,
    Infos,
    flat,
    join,
    largest_power_of_2,
    least,
    of_any_op,
    shared_divisors,
)
from lazyblock.tiler.ir import Op
from lazyblock.tiler.types import PointerType, ScalarType


def _add_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    contiguity = tuple(
        max(min(ra, cb), min(rb, ca))
        for ra, ca, rb, cb in zip(a.contiguity, a.constancy, b.contiguity, b.constancy, strict=True)
    )
    return AxisInfo(
        contiguity,
        shared_divisors(contiguity, a, b),
        least(a.constancy, b.constancy),
        None,
        a.nonnegative and b.nonnegative,
    )


def _sub_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    contiguity = least(a.contiguity, b.constancy)
    divisibility = shared_divisors(contiguity, a, b)
    return AxisInfo(contiguity, divisibility, least(a.constancy, b.constancy))


def _mul_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    if a.constant == 1 or b.constant == 1:
        return a if b.constant == 1 else b
    nonnegative = a.nonnegative and b.nonnegative
    return flat(a, a.divisor * b.divisor, least(a.constancy, b.constancy), nonnegative)


def _runs_within(a: AxisInfo, b: AxisInfo) -> Facts:
    """Runs of `a` that lie between two multiples of `b`."""
    limit = b.divisor
    return tuple(min(a.aligned_run(axis), limit, same) for axis, same in enumerate(b.constancy))


def _div_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    if b.constant == 1:
        return a
    constancy = least(a.constancy, b.constancy)
    if a.nonnegative:  # towards zero, so runs of negative numbers do not fall together
        constancy = tuple(map(max, constancy, _runs_within(a, b)))
    is_exact = b.constant is not None and _is_power_of_2(b.constant)
    divisor = max(a.divisor // b.divisor, 1) if is_exact else 1
    return flat(a, divisor, constancy, a.nonnegative and b.nonnegative)


def _rem_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    contiguity = _runs_within(a, b) if a.nonnegative else (1,) * len(a.contiguity)
    divisibility = shared_divisors(contiguity, a, b)
    constancy = least(a.constancy, b.constancy)
    return AxisInfo(contiguity, divisibility, constancy, None, a.nonnegative)


def _shl_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    constancy = least(a.constancy, b.constancy)
    if b.constant == 0:
        return a
    factor = 1 << min(b.constant, 30) if b.constant is not None and b.constant > 0 else 1
    return flat(a, a.divisor * factor, constancy, a.nonnegative)


def _shr_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    constancy = least(a.constancy, b.constancy)
    if b.constant is None or not 0 <= b.constant < 30:
        return flat(a, 1, constancy, a.nonnegative)
    if b.constant == 0:
        return a
    runs = tuple(min(a.aligned_run(axis), 1 << b.constant) for axis in range(len(constancy)))
    divisor = max(a.divisor >> b.constant, 1)
    return flat(a, divisor, tuple(map(max, constancy, runs)), a.nonnegative)


def _and_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    constancy = least(a.constancy, b.constancy)
    nonnegative = a.nonnegative or b.nonnegative
    if b.constant is not None and _is_power_of_2(b.constant + 1):
        modulus = b.constant + 1
        contiguity = tuple(min(a.aligned_run(i), modulus) for i in range(len(constancy)))
        return AxisInfo(contiguity, shared_divisors(contiguity, a), constancy, None, nonnegative)
    return flat(a, max(a.divisor, b.divisor), constancy, nonnegative)


def _or_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    divisor = min(a.divisor, b.divisor)
    nonnegative = a.nonnegative and b.nonnegative
    return flat(a, divisor, least(a.constancy, b.constancy), nonnegative)


def _max_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    return replace(_or_infos(a, b), nonnegative=a.nonnegative or b.nonnegative)


def _is_power_of_2(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


_BINARY: dict[str, Callable[[AxisInfo, AxisInfo], AxisInfo]] = {
    "add": _add_infos,
    "sub": _sub_infos,
    "mul": _mul_infos,
    "div": _div_infos,
    "rem": _rem_infos,
    "shl": _shl_infos,
    "shr": _shr_infos,
    "and": _and_infos,
    "or": _or_infos,
    "xor": _or_infos,
    "min": _or_infos,
    "max": _max_infos,
    "mulhi": lambda a, b: flat(a, 1, least(a.constancy, b.constancy)),
}


def _binary(op: ops.Binary, infos: Infos) -> AxisInfo:
    a, b = infos[op.lhs], infos[op.rhs]
    if op.lhs.type.scalar.is_floating or op.lhs.type.scalar.bits == 1:
        return of_any_op(op, op.result, [a, b])
    return _BINARY[op.kind](a, b)


def _unary(op: ops.Unary, infos: Infos) -> AxisInfo:
    info = infos[op.value]
    if op.kind in ("neg", "abs") and op.value.type.scalar.is_integer:
        return flat(info, info.divisor, info.constancy, op.kind == "abs")
    return of_any_op(op, op.result, [info])


def _add_pointer(op: ops.AddPointer, infos: Infos) -> AxisInfo:
    return replace(_add_infos(infos[op.pointer], infos[op.offset]), nonnegative=False)


def _cast(op: ops.Cast, infos: Infos) -> AxisInfo:
    info, before, after = infos[op.value], op.value.type.scalar, op.result.type.scalar
    if before.is_floating or after.is_floating or after.bits == 1:
        return of_any_op(op, op.result, [info])
    most = 1 << (after.bits - 1)  # a longer run does not fit between two wraps
    contiguity = tuple(min(run, most) for run in info.contiguity)
    is_kept = after.bits > before.bits and (info.nonnegative or after.is_signed)
    return AxisInfo(
        contiguity,
        shared_divisors(contiguity, info),
        info.constancy,
        info.constant if is_kept else None,
        info.nonnegative and is_kept,
    )


def _bitcast(op: ops.Bitcast, infos: Infos) -> AxisInfo:
    info, before, after = infos[op.value], op.value.type.element, op.result.type.element
    units = [e.pointee.nbytes if isinstance(e, PointerType) else 1 for e in (before, after)]
    if isinstance(before, PointerType) or isinstance(after, PointerType):
        divisor = max(min(info.divisor, MOST) * units[0] // units[1], 1)
        return flat(info, divisor, info.constancy)
    if before.is_floating or after.is_floating:
        return of_any_op(op, op.result, [info])
    return replace(info, nonnegative=False, constant=None)


def _select(op: ops.Select, infos: Infos) -> AxisInfo:
    joined = join(infos[op.on_true], infos[op.on_false])
    steady = infos[op.condition].constancy
    contiguity = least(joined.contiguity, steady)
    divisibility = shared_divisors(contiguity, joined)
    constancy = least(joined.constancy, steady)
    if joined.constant is not None:
        return joined
    return AxisInfo(contiguity, divisibility, constancy, None, joined.nonnegative)


# comparison -> whether runs of the left operand stay on one side of a multiple of their length;
# the others do so of a multiple less one
_SPLITS_BELOW = {"lt": True, "ge": True, "le": False, "gt": False}
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _compare(op: ops.Compare, infos: Infos) -> AxisInfo:
    a, b = infos[op.lhs], infos[op.rhs]
    result = of_any_op(op, op.result, [a, b])
    element = op.lhs.type.element
    is_integer = isinstance(element, ScalarType) and element.is_integer
    if op.kind not in _MIRRORED or not is_integer:
        return result
    left = _runs_on_one_side(op.kind, a, b)
    right = _runs_on_one_side(_MIRRORED[op.kind], b, a)
    return replace(result, constancy=tuple(map(max, result.constancy, left, right)))


def _runs_on_one_side(kind: str, a: AxisInfo, bound: AxisInfo) -> Facts:
    limit = bound.divisor
    if not _SPLITS_BELOW[kind]:
        limit = 1 if bound.constant is None else largest_power_of_2(bound.constant + 1)
    return tuple(min(a.aligned_run(axis), limit, same) for axis, same in enumerate(bound.constancy))


ARITHMETIC_RULES: dict[type[Op], Callable[[Any, Infos], AxisInfo]] = {
    ops.Binary: _binary,
    ops.Unary: _unary,
    ops.Compare: _compare,
    ops.Select: _select,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.AddPointer: _add_pointer,
}
