"""Finds masked loads without `other` whose masked lanes take part in a reduction or scan.

Here such lanes are 0, in Triton undefined; and 0 is neutral in few reductions. A `where` whose
condition is not computed from what was loaded is taken to fill them in.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from lazyblock.errors import SanitizerWarning
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Effect, Op, Program, Value, walk

Axes = tuple[frozenset[int], ...]  # for each axis of a value: the axes of the load it came from
Flows = dict[Value, list[tuple[Op, Value]]]

_ELEMENTWISE = (ops.Unary, ops.Binary, ops.Compare, ops.Cast, ops.Select)
_ENDS = (ops.Dot, ops.Histogram, ops.Gather)  # what masked lanes do there, or which, is not known
_shown: dict[Any, Any] = {}  # Python's record of what it has warned of


def warn_about_unfilled_loads(program: Program) -> None:
    """Warn, once for every line of a load, with the reduction that it reaches."""
    flows = _find_flows(program)
    for op in walk(program.body):
        if isinstance(op, ops.Load) and op.mask is not None and op.other is None:
            found = next(_find_reductions(op, op.mask, flows), None)
            if found is not None:
                _warn(program.name, op, found)


def _warn(name: str, load: Op, reduction: Op) -> None:
    text = (
        f"Kernel '{name}': masked lanes of this load without 'other' count as 0 in the "
        f"{reduction.name} at {reduction.line}; in Triton they are undefined.\n"
        "Hint: give tl.load the neutral element, other=0.0 for a sum, other=-float('inf') for a "
        "maximum."
    )
    warnings.warn_explicit(text, SanitizerWarning, *load.line, registry=_shown)


def _find_reductions(load: Op, mask: Value, flows: Flows) -> Iterator[Op]:
    derived = set(_reach(load.result, flows))
    masked = _varying_axes(mask)
    stack = [(load.result, _own_axes(load.result))]
    seen = {load.result}
    while stack:
        value, axes = stack.pop()
        for op, target in flows.get(value, ()):
            if isinstance(op, ops.Combining):
                if axes[op.axis] & masked:
                    yield op
            elif target not in seen and not _is_filled(op, derived):
                seen.add(target)
                stack.append((target, _follow_axes(op, axes, target)))


def _is_filled(op: Op, derived: set[Value]) -> bool:
    return isinstance(op, ops.Select) and op.condition not in derived


def _reach(value: Value, flows: Flows) -> list[Value]:
    reached = {value: None}
    stack = [value]
    while stack:
        for _, target in flows.get(stack.pop(), ()):
            if target not in reached:
                reached[target] = None
                stack.append(target)
    return list(reached)


# --- where values go -----------------------------------------------------------------------------


def _find_flows(program: Program) -> Flows:
    """For each value the ops that read it, with what they make of it."""
    flows: Flows = {}

    def add(op: Op, sources: Any, targets: Any) -> None:
        for source, target in zip(sources, targets, strict=True):
            flows.setdefault(source, []).append((op, target))

    for op in walk(program.body):
        if isinstance(op, (ops.For, ops.While)):
            for sources in (op.initial, op.body.terminator.operands_flat):
                add(op, sources, op.results)
                add(op, sources, op.body.arguments[-len(op.initial) :] if op.initial else ())
        elif isinstance(op, ops.If):
            for region in (op.then, op.otherwise):
                add(op, region.terminator.operands_flat, op.results)
        elif op.effect is Effect.NONE and not isinstance(op, _ENDS):
            for result in op.results:
                for value in op.operands_flat:
                    add(op, (value,), (result,))
    return flows


# --- axes ----------------------------------------------------------------------------------------


def _own_axes(value: Value) -> Axes:
    return tuple(frozenset({axis}) for axis in range(len(value.shape)))


def _follow_axes(op: Op, axes: Axes, target: Value) -> Axes:
    if isinstance(op, ops.Transpose):
        return tuple(axes[axis] for axis in op.permutation)
    if isinstance(op, ops.ExpandDims):
        return (*axes[: op.axis], frozenset(), *axes[op.axis :])
    if len(axes) == len(target.shape) and not isinstance(op, ops.Reshape):
        return axes
    return (frozenset[int]().union(*axes),) * len(target.shape)


def _varying_axes(value: Value) -> frozenset[int]:
    """Axes along which the elements may differ."""
    op = value.owner
    if isinstance(op, (ops.Splat, ops.Constant)):
        return frozenset()
    if isinstance(op, ops.Broadcast):
        inner = _varying_axes(op.value)
        return frozenset(axis for axis in inner if op.value.shape[axis] != 1)
    if isinstance(op, ops.ExpandDims):
        inner = _varying_axes(op.value)
        return frozenset(axis + (axis >= op.axis) for axis in inner)
    if isinstance(op, _ELEMENTWISE):
        return frozenset[int]().union(*map(_varying_axes, op.operands_flat))
    return frozenset(range(len(value.shape)))
