"""Two versions of a region: one without masks for full tiles, the region as it was for the rest.

Takes: a verified program. Gives: the program in which the body of each innermost loop with masks,
or else the program's body, became `if every mask is full { body without masks } else { body }`;
what leads to dots before the first mask stays before the branch.
Keeps: every bit. "Full" is a scalar condition that implies all lanes of the masks, from intervals
of the integers compared. Bounds are 64 bits wide, so a 32-bit `offset < n` that wraps counts as not
full. Assumed, as in all index arithmetic: 64-bit integers do not wrap, nor 32-bit ones below their
least value or under `>` and `>=`.
Cost: one analysis, one copy; at most doubles the code, only for regions of up to MAX_OPS ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_facts import Infos
from lazyblock.tiler.analysis.axis_info import analyse
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import (
    Effect,
    Op,
    Program,
    Region,
    Value,
    clone_op,
    clone_region,
    walk,
    with_body,
)
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.types import int1, int64, uint64

MAX_OPS = 640  # larger regions are not doubled

Bound = int | Value  # a known number, or an i64 scalar


def version_masks(program: Program) -> Program:
    """Let full tiles run without masks; see the module's header."""
    mapping: dict[Value, Value] = {}
    body = clone_region(program.body, mapping)
    copy = with_body(program, body)
    if not _version_innermost(body, analyse(copy)):
        return program
    return eliminate_dead(fold_constants(copy))


def _version_innermost(region: Region, infos: Infos) -> bool:
    """Version the loops inside, else `region` itself (in place). Tells whether any was."""
    loops = [op.body for op in region.ops if isinstance(op, (ops.For, ops.While))]
    branches = (op for op in region.ops if isinstance(op, ops.If))
    branched = [inner for op in branches for inner in _loop_bodies(op)]
    versioned = [_version_innermost(body, infos) for body in (*loops, *branched)]
    if any(versioned[: len(loops)]):
        return True
    return _version(region, infos) or any(versioned)


def _loop_bodies(op: Op) -> Iterator[Region]:
    """Bodies of the outermost loops in `op`."""
    if isinstance(op, (ops.For, ops.While)):
        yield op.body
    elif isinstance(op, ops.If):
        for region in op.regions:
            for inner in region.ops:
                yield from _loop_bodies(inner)


def _version(region: Region, infos: Infos) -> bool:
    inside = list(walk(region))
    if len(inside) > MAX_OPS:
        return False
    local = {result for op in inside for result in op.results}
    local.update(value for op in inside for inner in op.regions for value in inner.arguments)
    prover = _Prover(local, infos)
    masked: list[Any] = [op for op in inside if "mask" in op.declared("operand")]
    masks: dict[Value | None, None] = dict.fromkeys(op.mask for op in masked)
    proven = [mask for mask in masks if mask is not None and prover.add(mask)]
    if not prover.conditions or not any(mask.shape for mask in proven):
        return False  # without conditions they are true already, as in loops of branches
    _split(region, prover)
    return True


def _split(region: Region, prover: _Prover) -> None:
    """Replace the ops of `region` by condition, branch and what the branch yields."""
    builder = prover.builder
    has_end = bool(region.ops) and isinstance(region.terminator, ops.Yield)
    if not has_end:
        region.ops.append(_make_yield(()))
    start = _find_start(region)
    as_it_was = Region([], region.ops[start:])
    full = Region([], _without_masks(as_it_was, prover.full))
    condition = prover.condition()
    results = builder.append(ops.If, condition=condition, then=full, otherwise=as_it_was).results
    if has_end:
        builder.yield_(*results)
    region.ops = [*region.ops[:start], *builder.program.body.ops]


def _find_start(region: Region) -> int:
    """The first op that goes into the branches: the first with a mask, if dots come before it."""
    inside = [list(walk(Region([], [op]))) for op in region.ops]
    first = next(n for n, found in enumerate(inside) if any(map(_is_masked, found)))
    has_dots = any(isinstance(op, ops.Dot) for found in inside[:first] for op in found)
    return first if has_dots else 0


def _is_masked(op: Op) -> bool:
    return getattr(op, "mask", None) is not None


def _make_yield(values: tuple[Value, ...]) -> Op:
    return Builder().append(ops.Yield, values=values)


def _without_masks(region: Region, full: dict[Value, None]) -> list[Op]:
    """A copy of the region's ops in which the values of `full` are true."""
    builder = Builder()
    mapping = {mask: builder.constant(True, int1, mask.shape) for mask in full}
    for op in region.ops:
        if not any(result in full for result in op.results):
            builder.insert(clone_op(op, mapping))
    return builder.program.body.ops


@dataclass
class _Prover:
    """Derives conditions under which masks are true in all lanes.

    `local` holds the values defined in the region at hand; `builder` gathers the scalar ops that
    the conditions need, to run before the region. `full` holds what is then known to be true.
    """

    local: set[Value]
    infos: Infos
    builder: Builder = field(default_factory=Builder)
    full: dict[Value, None] = field(default_factory=dict)
    conditions: dict[Value, None] = field(default_factory=dict)
    hoisted: dict[Value, Value] = field(default_factory=dict)

    def add(self, mask: Value) -> bool:
        """Take `mask` in if a condition for it can be derived."""
        found: list[Value] = []
        known: list[Value] = []
        if not self._derive(mask, found, known):
            return False
        self.full.update(dict.fromkeys(known))
        self.conditions.update(dict.fromkeys(found))
        return True

    def condition(self) -> Value:
        first, *others = self.conditions
        for other in others:
            first = self.builder.and_(first, other)
        return first

    def _derive(self, mask: Value, found: list[Value], known: list[Value]) -> bool:
        if mask in self.full:
            return True
        known.append(mask)
        owner = mask.owner
        if mask.shape == ():
            scalar = self.hoist(mask)
            found.extend([scalar] if scalar is not None else [])
            return scalar is not None
        if isinstance(owner, ops.Constant):
            return bool(owner.value)
        if isinstance(owner, ops.Binary) and owner.kind == "and":
            return all([self._derive(v, found, known) for v in (owner.lhs, owner.rhs)])
        if isinstance(owner, _SHAPE_OPS):
            return self._derive(owner.value, found, known)
        if isinstance(owner, ops.Compare) and owner.kind in _SIDES:
            condition = self._compare(owner)
            found.extend([condition] if condition is not None else [])
            return condition is not None
        return False

    def _compare(self, op: ops.Compare) -> Value | None:
        """The comparison between the bounds that decide it."""
        if op.lhs.type.is_pointer or op.lhs.type.scalar.is_floating:
            return None
        of_left, of_right = _SIDES[op.kind]
        left, right = self.bound(op.lhs, of_left), self.bound(op.rhs, of_right)
        if left is None or right is None:
            return None
        return self.builder.compare(op.kind, self._as_value(left), self._as_value(right))

    def _as_value(self, bound: Bound) -> Value:
        return bound if isinstance(bound, Value) else self.builder.constant(bound, int64)

    # --- intervals ---------------------------------------------------------------------------

    def bound(self, value: Value, side: str) -> Bound | None:
        """An upper ("max") or lower ("min") bound of all elements, exact for affine ones."""
        owner = value.owner
        if value.type.is_pointer or value.type.scalar == uint64:
            return None
        if isinstance(owner, ops.Constant):
            return int(owner.value) if value.type.scalar.is_integer else None
        if value.shape == ():
            scalar = self.hoist(value)
            return None if scalar is None else self.builder.cast(scalar, int64)
        rule = _BOUNDS.get(type(owner)) if owner is not None else None
        return None if rule is None else rule(self, owner, side)

    def pair(self, kind: str, left: Bound | None, right: Bound | None) -> Bound | None:
        """Compute on two bounds."""
        if left is None or right is None:
            return None
        if isinstance(left, int) and isinstance(right, int):
            return _NUMBERS[kind](left, right)
        return self.builder.binary(kind, self._as_value(left), self._as_value(right))

    def hoist(self, value: Value) -> Value | None:
        """A scalar, computed before the region from what is known there."""
        if value not in self.local:
            return value
        if value not in self.hoisted:
            owner = value.owner
            if owner is None or owner.effect is not Effect.NONE or owner.regions:
                return None
            if not all(self._can_hoist(operand) for operand in owner.operands_flat):
                return None
            self.builder.insert(clone_op(owner, self.hoisted))
        return self.hoisted[value]

    def _can_hoist(self, value: Value) -> bool:
        return value.shape == () and self.hoist(value) is not None


_SHAPE_OPS = (ops.Splat, ops.Broadcast, ops.ExpandDims, ops.Reshape, ops.Transpose)

# comparison -> the bound of either side that decides it for all elements
_SIDES = {
    "lt": ("max", "min"),
    "le": ("max", "min"),
    "gt": ("min", "max"),
    "ge": ("min", "max"),
}
_OPPOSITE = {"max": "min", "min": "max"}
_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "max": max,
    "min": min,
}


def _of_arange(prover: _Prover, op: ops.Arange, side: str) -> Bound:
    return op.end - 1 if side == "max" else op.start


def _of_shape_op(prover: _Prover, op: Any, side: str) -> Bound | None:
    return prover.bound(op.value, side)


def _of_cast(prover: _Prover, op: ops.Cast, side: str) -> Bound | None:
    before, after = op.value.type.scalar, op.result.type.scalar
    is_wider = after.bits > before.bits and (after.is_signed or not before.is_signed)
    return prover.bound(op.value, side) if before.is_integer and is_wider else None


def _of_binary(prover: _Prover, op: ops.Binary, side: str) -> Bound | None:
    if op.lhs.type.scalar == int1:
        return None
    if op.kind in ("add", "max", "min"):
        return prover.pair(op.kind, prover.bound(op.lhs, side), prover.bound(op.rhs, side))
    if op.kind == "sub" and op.lhs.type.scalar.is_signed:
        return prover.pair("sub", prover.bound(op.lhs, side), prover.bound(op.rhs, _OPPOSITE[side]))
    if op.kind == "mul" and all(prover.infos[v].nonnegative for v in (op.lhs, op.rhs)):
        return prover.pair("mul", prover.bound(op.lhs, side), prover.bound(op.rhs, side))
    divisor = prover.infos[op.rhs].constant
    if op.kind == "div" and divisor is not None and divisor > 0:
        dividend = prover.bound(op.lhs, side) if prover.infos[op.lhs].nonnegative else None
        return prover.pair("div", dividend, divisor)
    if op.kind == "rem" and divisor is not None and divisor > 0:
        return _of_remainder(prover, op, divisor, side)
    return None


def _of_remainder(prover: _Prover, op: ops.Binary, divisor: int, side: str) -> Bound | None:
    if not prover.infos[op.lhs].nonnegative:
        return None
    return divisor - 1 if side == "max" else 0


_BOUNDS: dict[type[Op], Callable[[_Prover, Any, str], Bound | None]] = {
    ops.Arange: _of_arange,
    ops.Cast: _of_cast,
    ops.Binary: _of_binary,
    **dict.fromkeys(_SHAPE_OPS, _of_shape_op),
}
