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
from dataclasses import replace
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_arithmetic import ARITHMETIC_RULES
from lazyblock.tiler.analysis.axis_facts import (
    AxisInfo,
    Infos,
    join,
    largest_power_of_2,
    of_any_op,
    settle,
    unknown,
)
from lazyblock.tiler.analysis.axis_shapes import SHAPE_RULES
from lazyblock.tiler.ir import Op, Program, Region, Value
from lazyblock.tiler.types import BlockType, PointerType

MAX_ROUNDS = 8  # rounds over a loop before its carried values count as unknown

_TRANSFER = SHAPE_RULES | ARITHMETIC_RULES


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
        infos[op.result] = settle(transfer(op, infos), op.result.type)
        return
    known = [infos[value] for value in op.operands_flat]
    for result in op.results:
        infos[result] = of_any_op(op, result, known)


def _visit_for(op: ops.For, infos: Infos) -> None:
    index, *carried = op.body.arguments
    lower, step = infos[op.lower], infos[op.step]
    infos[index] = replace(
        unknown(index.type),
        divisibility=(min(lower.divisor, step.divisor),),
        nonnegative=lower.nonnegative,
    )
    states = [infos[value] for value in op.initial]
    for _ in range(MAX_ROUNDS):
        infos.update(zip(carried, states, strict=True))
        _visit(op.body, infos)
        yielded = [infos[value] for value in op.body.terminator.operands_flat]
        joined = [join(a, b) for a, b in zip(states, yielded, strict=True)]
        if joined == states:
            break
        states = joined
    else:
        states = [unknown(value.type) for value in carried]
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
        joined = [join(a, b) for a, b in zip(states, visit(states), strict=True)]
        if joined == states:
            break
        states = joined
    else:
        states = [unknown(value.type) for value in op.initial]
        visit(states)
    infos.update(zip(op.results, states, strict=True))


def _visit_if(op: ops.If, infos: Infos) -> None:
    for region in op.regions:
        _visit(region, infos)
    branches = (region.terminator.operands_flat for region in op.regions)
    for result, then, otherwise in zip(op.results, *branches, strict=True):
        infos[result] = join(infos[then], infos[otherwise])


_CONTROL: dict[type[Op], Callable[[Any, Infos], None]] = {
    ops.For: _visit_for,
    ops.While: _visit_while,
    ops.If: _visit_if,
}


# --- starting points


def _forget(values: Sequence[Value], infos: Infos) -> None:
    infos.update((value, unknown(value.type)) for value in values)


def _of_parameter(type: BlockType, divisibility: int) -> AxisInfo:
    unit = type.element.pointee.nbytes if isinstance(type.element, PointerType) else 1
    known = largest_power_of_2(max(divisibility // unit, 1))
    return replace(unknown(type), divisibility=(known,))
