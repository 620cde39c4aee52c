"""What is known of the integers and addresses in every block: runs, alignment, repetition.

Takes: a verified program. Gives: `AxisInfo` of every value, region arguments included.
Per axis, in aligned runs (a run of length c starts at an index that is a multiple of c):
contiguity (consecutive integers), divisibility (power of two that divides the first element of
every run of `contiguity` elements), constancy (equal values). Pointers count elements, and are
taken to be aligned to their element. A scalar counts as one axis of extent 1.
Assumed: signed index arithmetic does not overflow, divisors are not 0. Alignment does not rest on
it: runs of min(contiguity, divisibility) elements never wrap.
Source: the idea is that of Triton's AxisInfo analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op, Program, Region, Trait, Value
from lazyblock.tiler.types import BlockType, PointerType, ScalarType

MOST = 1 << 30  # what 0 is said to be divisible by
MAX_ROUNDS = 8  # rounds over a loop before its carried values count as unknown

Facts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AxisInfo:
    """Facts of one value, a power of two per axis.

    constant: the integer in every element, where known at compile time. nonnegative: no element is
    below 0.
    """

    contiguity: Facts
    divisibility: Facts
    constancy: Facts
    constant: int | None = None
    nonnegative: bool = False

    @property
    def divisor(self) -> int:
        """Power of two that divides every element."""
        pairs = zip(self.contiguity, self.divisibility, strict=True)
        return max(d if c == 1 else 1 for c, d in pairs)

    def divisor_of_runs(self, axis: int, run: int) -> int:
        """Power of two that divides the elements at multiples of `run` along `axis`."""
        divisibility = self.divisibility[axis]
        exact = divisibility if run >= self.contiguity[axis] else min(divisibility, run)
        return max(exact, self.divisor)

    def aligned_run(self, axis: int) -> int:
        """Length of runs of consecutive integers whose start is a multiple of the length."""
        return min(self.contiguity[axis], self.divisibility[axis])


Infos = dict[Value, AxisInfo]


def analyse(program: Program) -> Infos:
    """Facts of every value of `program`."""
    infos: Infos = {}
    for parameter in program.parameters:
        infos[parameter.value] = _of_parameter(parameter.value.type, parameter.divisibility)
    _visit(program.body, infos)
    return infos


def vector_width(pointer: Value, mask: Value | None, infos: Infos, axis: int) -> int:
    """How many consecutive elements along `axis` one aligned access can take."""
    width = infos[pointer].aligned_run(axis)
    return width if mask is None else min(width, infos[mask].constancy[axis])


# --- walking -------------------------------------------------------------------------------------


def _visit(region: Region, infos: Infos) -> None:
    for op in region.ops:
        visit_op = _CONTROL.get(type(op), _visit_plain)
        visit_op(op, infos)


def _visit_plain(op: Op, infos: Infos) -> None:
    for region in op.regions:
        _forget(region.arguments, infos)
        _visit(region, infos)
    transfer = _TRANSFER.get(type(op))
    if transfer is not None:
        infos[op.result] = _settle(transfer(op, infos), op.result.type)
        return
    known = [infos[value] for value in op.operands_flat]
    for result in op.results:
        infos[result] = _of_any_op(op, result, known)


def _of_any_op(op: Op, result: Value, known: Sequence[AxisInfo]) -> AxisInfo:
    unknown = _unknown(result.type)
    if not op.has(Trait.ELEMENTWISE) or not known:
        return unknown
    return replace(unknown, constancy=_least(*(info.constancy for info in known)))


def _visit_for(op: ops.For, infos: Infos) -> None:
    index, *carried = op.body.arguments
    lower, step = infos[op.lower], infos[op.step]
    infos[index] = replace(
        _unknown(index.type),
        divisibility=(min(lower.divisor, step.divisor),),
        nonnegative=lower.nonnegative,
    )
    states = [infos[value] for value in op.initial]
    for _ in range(MAX_ROUNDS):
        infos.update(zip(carried, states, strict=True))
        _visit(op.body, infos)
        yielded = [infos[value] for value in op.body.terminator.operands_flat]
        joined = [_join(a, b) for a, b in zip(states, yielded, strict=True)]
        if joined == states:
            break
        states = joined
    else:
        states = [_unknown(value.type) for value in carried]
        infos.update(zip(carried, states, strict=True))
        _visit(op.body, infos)
    infos.update(zip(op.results, states, strict=True))


def _visit_while(op: ops.While, infos: Infos) -> None:
    """Carried values have facts that hold at the start and after any round."""

    def visit(states: Sequence[AxisInfo]) -> list[AxisInfo]:
        for region in op.regions:
            infos.update(zip(region.arguments, states, strict=True))
            _visit(region, infos)
        return [infos[value] for value in op.body.terminator.operands_flat]

    states = [infos[value] for value in op.initial]
    for _ in range(MAX_ROUNDS):
        joined = [_join(a, b) for a, b in zip(states, visit(states), strict=True)]
        if joined == states:
            break
        states = joined
    else:
        states = [_unknown(value.type) for value in op.initial]
        visit(states)
    infos.update(zip(op.results, states, strict=True))


def _visit_if(op: ops.If, infos: Infos) -> None:
    for region in op.regions:
        _visit(region, infos)
    branches = (region.terminator.operands_flat for region in op.regions)
    for result, then, otherwise in zip(op.results, *branches, strict=True):
        infos[result] = _join(infos[then], infos[otherwise])


_CONTROL: dict[type[Op], Callable[[Any, Infos], None]] = {
    ops.For: _visit_for,
    ops.While: _visit_while,
    ops.If: _visit_if,
}


# --- making and joining --------------------------------------------------------------------------


def largest_power_of_2(number: int) -> int:
    """Largest power of two that divides `number`, at most MOST."""
    return min(number & -number, MOST) if number else MOST


def _extents(type: BlockType) -> Facts:
    return type.shape or (1,)


def _unknown(type: BlockType) -> AxisInfo:
    ones = (1,) * len(_extents(type))
    return _settle(AxisInfo(ones, ones, ones), type)


def _forget(values: Sequence[Value], infos: Infos) -> None:
    infos.update((value, _unknown(value.type)) for value in values)


def _of_parameter(type: BlockType, divisibility: int) -> AxisInfo:
    unit = type.element.pointee.nbytes if isinstance(type.element, PointerType) else 1
    known = largest_power_of_2(max(divisibility // unit, 1))
    return replace(_unknown(type), divisibility=(known,))


def _of_constant(number: int, type: BlockType) -> AxisInfo:
    extents = _extents(type)
    ones = (1,) * len(extents)
    divisibility = (largest_power_of_2(number),) * len(extents)
    return AxisInfo(ones, divisibility, extents, number, number >= 0)


def _settle(info: AxisInfo, type: BlockType) -> AxisInfo:
    """`info` with what follows from the type: unsigned values are not negative."""
    element = type.element
    is_unsigned = isinstance(element, ScalarType) and element.kind == "u"
    capped = tuple(min(d, MOST) for d in info.divisibility)
    return replace(info, divisibility=capped, nonnegative=info.nonnegative or is_unsigned)


def _least(*facts: Facts) -> Facts:
    return tuple(map(min, *facts)) if len(facts) > 1 else facts[0]


def _join(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """What holds of a value that is either."""
    contiguity = _least(a.contiguity, b.contiguity)
    return AxisInfo(
        contiguity,
        _shared_divisors(contiguity, a, b),
        _least(a.constancy, b.constancy),
        a.constant if a.constant == b.constant else None,
        a.nonnegative and b.nonnegative,
    )


def _shared_divisors(runs: Facts, *infos: AxisInfo) -> Facts:
    return tuple(
        min(info.divisor_of_runs(axis, run) for info in infos) for axis, run in enumerate(runs)
    )


def _flat(info: AxisInfo, divisor: int, constancy: Facts, nonnegative: bool = False) -> AxisInfo:
    """Facts of a value without runs, all of whose elements are multiples of `divisor`."""
    count = len(constancy)
    return AxisInfo((1,) * count, (divisor,) * count, constancy, None, nonnegative)


# --- creation and shapes -------------------------------------------------------------------------


def _program_id(op: Op, infos: Infos) -> AxisInfo:
    return replace(_unknown(op.result.type), nonnegative=True)


def _arange(op: ops.Arange, infos: Infos) -> AxisInfo:
    run = (op.end - op.start,)
    return AxisInfo(run, (largest_power_of_2(op.start),), (1,), None, op.start >= 0)


def _constant(op: ops.Constant, infos: Infos) -> AxisInfo:
    if op.type.scalar.is_integer:
        return _of_constant(int(op.value), op.type)
    return replace(_unknown(op.type), constancy=_extents(op.type))


def _splat(op: ops.Splat, infos: Infos) -> AxisInfo:
    scalar, extents = infos[op.value], _extents(op.result.type)
    info = _flat(scalar, scalar.divisor, extents, scalar.nonnegative)
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
        flat = _flat(info, info.divisor, _extents(op.result.type), info.nonnegative)
        return replace(flat, constant=info.constant)
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
    return replace(info, contiguity=contiguity, divisibility=_shared_divisors(contiguity, info))


# --- arithmetic ----------------------------------------------------------------------------------


def _add_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    contiguity = tuple(
        max(min(ra, cb), min(rb, ca))
        for ra, ca, rb, cb in zip(a.contiguity, a.constancy, b.contiguity, b.constancy, strict=True)
    )
    return AxisInfo(
        contiguity,
        _shared_divisors(contiguity, a, b),
        _least(a.constancy, b.constancy),
        None,
        a.nonnegative and b.nonnegative,
    )


def _sub_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    contiguity = _least(a.contiguity, b.constancy)
    divisibility = _shared_divisors(contiguity, a, b)
    return AxisInfo(contiguity, divisibility, _least(a.constancy, b.constancy))


def _mul_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    if a.constant == 1 or b.constant == 1:
        return a if b.constant == 1 else b
    nonnegative = a.nonnegative and b.nonnegative
    return _flat(a, a.divisor * b.divisor, _least(a.constancy, b.constancy), nonnegative)


def _runs_within(a: AxisInfo, b: AxisInfo) -> Facts:
    """Runs of `a` that lie between two multiples of `b`."""
    limit = b.divisor
    return tuple(min(a.aligned_run(axis), limit, same) for axis, same in enumerate(b.constancy))


def _div_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    if b.constant == 1:
        return a
    constancy = _least(a.constancy, b.constancy)
    if a.nonnegative:  # towards zero, so runs of negative numbers do not fall together
        constancy = tuple(map(max, constancy, _runs_within(a, b)))
    is_exact = b.constant is not None and _is_power_of_2(b.constant)
    divisor = max(a.divisor // b.divisor, 1) if is_exact else 1
    return _flat(a, divisor, constancy, a.nonnegative and b.nonnegative)


def _rem_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    contiguity = _runs_within(a, b) if a.nonnegative else (1,) * len(a.contiguity)
    divisibility = _shared_divisors(contiguity, a, b)
    constancy = _least(a.constancy, b.constancy)
    return AxisInfo(contiguity, divisibility, constancy, None, a.nonnegative)


def _shl_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    constancy = _least(a.constancy, b.constancy)
    if b.constant == 0:
        return a
    factor = 1 << min(b.constant, 30) if b.constant is not None and b.constant > 0 else 1
    return _flat(a, a.divisor * factor, constancy, a.nonnegative)


def _shr_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    constancy = _least(a.constancy, b.constancy)
    if b.constant is None or not 0 <= b.constant < 30:
        return _flat(a, 1, constancy, a.nonnegative)
    if b.constant == 0:
        return a
    runs = tuple(min(a.aligned_run(axis), 1 << b.constant) for axis in range(len(constancy)))
    divisor = max(a.divisor >> b.constant, 1)
    return _flat(a, divisor, tuple(map(max, constancy, runs)), a.nonnegative)


def _and_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    constancy = _least(a.constancy, b.constancy)
    nonnegative = a.nonnegative or b.nonnegative
    if b.constant is not None and _is_power_of_2(b.constant + 1):
        modulus = b.constant + 1
        contiguity = tuple(min(a.aligned_run(i), modulus) for i in range(len(constancy)))
        return AxisInfo(contiguity, _shared_divisors(contiguity, a), constancy, None, nonnegative)
    return _flat(a, max(a.divisor, b.divisor), constancy, nonnegative)


def _or_infos(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    divisor = min(a.divisor, b.divisor)
    nonnegative = a.nonnegative and b.nonnegative
    return _flat(a, divisor, _least(a.constancy, b.constancy), nonnegative)


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
    "mulhi": lambda a, b: _flat(a, 1, _least(a.constancy, b.constancy)),
}


def _binary(op: ops.Binary, infos: Infos) -> AxisInfo:
    a, b = infos[op.lhs], infos[op.rhs]
    if op.lhs.type.scalar.is_floating or op.lhs.type.scalar.bits == 1:
        return _of_any_op(op, op.result, [a, b])
    return _BINARY[op.kind](a, b)


def _unary(op: ops.Unary, infos: Infos) -> AxisInfo:
    info = infos[op.value]
    if op.kind in ("neg", "abs") and op.value.type.scalar.is_integer:
        return _flat(info, info.divisor, info.constancy, op.kind == "abs")
    return _of_any_op(op, op.result, [info])


def _add_pointer(op: ops.AddPointer, infos: Infos) -> AxisInfo:
    return replace(_add_infos(infos[op.pointer], infos[op.offset]), nonnegative=False)


def _cast(op: ops.Cast, infos: Infos) -> AxisInfo:
    info, before, after = infos[op.value], op.value.type.scalar, op.result.type.scalar
    if before.is_floating or after.is_floating or after.bits == 1:
        return _of_any_op(op, op.result, [info])
    most = 1 << (after.bits - 1)  # a longer run does not fit between two wraps
    contiguity = tuple(min(run, most) for run in info.contiguity)
    is_kept = after.bits > before.bits and (info.nonnegative or after.is_signed)
    return AxisInfo(
        contiguity,
        _shared_divisors(contiguity, info),
        info.constancy,
        info.constant if is_kept else None,
        info.nonnegative and is_kept,
    )


def _bitcast(op: ops.Bitcast, infos: Infos) -> AxisInfo:
    info, before, after = infos[op.value], op.value.type.element, op.result.type.element
    units = [e.pointee.nbytes if isinstance(e, PointerType) else 1 for e in (before, after)]
    if isinstance(before, PointerType) or isinstance(after, PointerType):
        divisor = max(min(info.divisor, MOST) * units[0] // units[1], 1)
        return _flat(info, divisor, info.constancy)
    if before.is_floating or after.is_floating:
        return _of_any_op(op, op.result, [info])
    return replace(info, nonnegative=False, constant=None)


def _select(op: ops.Select, infos: Infos) -> AxisInfo:
    joined = _join(infos[op.on_true], infos[op.on_false])
    steady = infos[op.condition].constancy
    contiguity = _least(joined.contiguity, steady)
    divisibility = _shared_divisors(contiguity, joined)
    constancy = _least(joined.constancy, steady)
    if joined.constant is not None:
        return joined
    return AxisInfo(contiguity, divisibility, constancy, None, joined.nonnegative)


# comparison -> whether runs of the left operand stay on one side of a multiple of their length;
# the others do so of a multiple less one
_SPLITS_BELOW = {"lt": True, "ge": True, "le": False, "gt": False}
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _compare(op: ops.Compare, infos: Infos) -> AxisInfo:
    a, b = infos[op.lhs], infos[op.rhs]
    result = _of_any_op(op, op.result, [a, b])
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


def _load(op: ops.Load, infos: Infos) -> AxisInfo:
    if op.sem:  # each lane may see another moment
        return _unknown(op.result.type)
    known = (infos[value].constancy for value in op.operands_flat)
    return replace(_unknown(op.result.type), constancy=_least(*known))


_TRANSFER: dict[type[Op], Callable[[Any, Infos], AxisInfo]] = {
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
    ops.Binary: _binary,
    ops.Unary: _unary,
    ops.Compare: _compare,
    ops.Select: _select,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.AddPointer: _add_pointer,
    ops.Load: _load,
}
