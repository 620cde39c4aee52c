"""Constant folding and algebra that is exact for every value.

Takes: a verified program. Gives: the program with ops on constants computed, shape ops composed,
masks that are constant resolved, branches and loops decided by constants opened or dropped.
Keeps: every bit. Integers wrap, so their identities hold; for floats only those stand here that
keep NaN, -0.0, infinities and rounding: x * 1, x / 1, x - 0.0, x + -0.0 (not x + 0.0, which turns
-0.0 into +0.0; not x * 0 or x - x, which NaN and infinity break). `Math` is not computed: the
devices have lazyblock's own functions. What folding leaves unused goes with `eliminate_dead`.
Cost: one walk, linear in the ops; operands are folded before their users.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import evaluate
from lazyblock.tiler.ir import Op, Program, Region, Value, make_op, map_operands, with_body
from lazyblock.tiler.types import SCALARS, ScalarType, decode, encode, int1

Number = bool | int | float


def fold_constants(program: Program) -> Program:
    """Compute what is known at compile time; see the module's header."""
    folder = _Folder()
    body = folder.fold_region(program.body)
    return with_body(program, body) if folder.has_changed else program


class _Folder:
    """Copies regions op by op; a rule may give values that stand for an op's results."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.mapping: dict[Value, Value] = {}
        self.has_changed = False

    def fold_region(self, source: Region) -> Region:
        copy = Region([Value(old.type, None, old.hint) for old in source.arguments])
        self.mapping.update(zip(source.arguments, copy.arguments, strict=True))
        with self.builder.open_region(copy):
            for op in source.ops:
                self._fold_op(op)
        return copy

    def find(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def _fold_op(self, op: Op) -> None:
        self.builder.line = op.line
        replacement = self._open(op)
        if replacement is None:
            copy = self._copy(op)
            replacement = _simplify(self.builder, copy)
            if replacement is None:
                self.builder.insert(copy)
                self.mapping.update(zip(op.results, copy.results, strict=True))
                return
        self.has_changed = True
        self.mapping.update(zip(op.results, replacement, strict=True))

    def _copy(self, op: Op) -> Op:
        values = map_operands(op, self.find)
        for name in op.declared("region"):
            values[name] = self.fold_region(getattr(op, name))
        copy = make_op(type(op), op.line, **values)
        for old, new in zip(op.results, copy.results, strict=True):
            new.hint = old.hint
        return copy

    def _open(self, op: Op) -> Sequence[Value] | None:
        """Results of a branch or loop whose way is known; its ops join the region around it."""
        if isinstance(op, ops.If):
            condition = constant_of(self.find(op.condition))
            return (
                None if condition is None else self._inline(op.then if condition else op.otherwise)
            )
        if isinstance(op, ops.For):
            bounds = [constant_of(self.find(v)) for v in (op.lower, op.upper, op.step)]
            if None not in bounds and not range(*map(_as_int, bounds)):
                return [self.find(value) for value in op.initial]
        return None

    def _inline(self, region: Region) -> Sequence[Value]:
        for op in region.ops[:-1]:
            self._fold_op(op)
        return [self.find(value) for value in region.terminator.operands_flat]


def constant_of(value: Value | None) -> Number | None:
    """The number in every element of `value` if it is a constant."""
    owner = None if value is None else value.owner
    return owner.value if isinstance(owner, ops.Constant) else None


def _as_int(number: Number | None) -> int:
    assert number is not None
    return int(number)


def _simplify(builder: Builder, op: Op) -> Sequence[Value] | None:
    for kinds, rule in _RULES:
        if isinstance(op, kinds):
            result = rule(builder, op)
            if result is not None:
                return result if isinstance(result, list) else [result]
    return None


# --- constants -----------------------------------------------------------------------------------


def _compute(b: Builder, op: Op) -> Value | None:
    """An elementwise op on constants is a constant."""
    operands = op.operands_flat
    numbers = [constant_of(value) for value in operands]
    if None in numbers or op.result.type.is_pointer:
        return None
    arrays = [
        encode(number, value.type.scalar) for number, value in zip(numbers, operands, strict=True)
    ]
    scalar = op.result.type.scalar
    number = decode(evaluate(op, arrays), scalar).item()
    return b.constant(number, scalar, op.result.shape)


def _move_constant(b: Builder, op: Any) -> Value | None:
    """A constant or splat in another shape."""
    number = constant_of(op.value)
    if number is not None:
        return b.constant(number, op.value.type.scalar, op.result.shape)
    if isinstance(op.value.owner, ops.Splat):
        return b.splat(op.value.owner.value, op.result.shape)
    return None


# --- algebra -------------------------------------------------------------------------------------


def _is(value: Value, number: float) -> bool:
    """Whether `value` is this constant; zeros must have the same sign."""
    constant = constant_of(value)
    if constant is None or constant != number:
        return False
    return math.copysign(1.0, constant) == math.copysign(1.0, number)


def _all_ones(scalar: ScalarType) -> int:
    return (1 << scalar.bits) - 1 if not scalar.is_signed else -1


def _binary(b: Builder, op: ops.Binary) -> Value | None:
    is_float = op.lhs.type.scalar.is_floating
    rule = (_FLOAT_RULES if is_float else _INTEGER_RULES).get(op.kind)
    result = rule(op.lhs, op.rhs) if rule else None
    if result is None and op.kind in _SWAPPED and rule:
        result = rule(op.rhs, op.lhs)
    return result if isinstance(result, Value) or result is None else b.full_like(op.lhs, result)


# Each rule looks at (x, y) and gives a value or a number in place of the op; commutative kinds are
# tried both ways.
_SWAPPED = frozenset({"add", "mul", "and", "or", "xor", "max", "min"})

_AlgebraRule = Callable[[Value, Value], Value | int | None]


def _neutral(number: float) -> _AlgebraRule:
    """`x op number` is x."""
    return lambda x, y: x if _is(y, number) else None


def _first_of(*rules: _AlgebraRule) -> _AlgebraRule:
    def rule(x: Value, y: Value) -> Value | int | None:
        for attempt in rules:
            result = attempt(x, y)
            if result is not None:
                return result
        return None

    return rule


def _same(x: Value, y: Value) -> Value | None:
    return x if x is y else None


def _same_gives_0(x: Value, y: Value) -> int | None:
    return 0 if x is y else None


def _absorbing_0(x: Value, y: Value) -> Value | None:
    return y if _is(y, 0) else None


def _of_0(x: Value, y: Value) -> Value | None:
    return x if _is(x, 0) else None


def _ones_are_neutral(x: Value, y: Value) -> Value | None:
    return x if _is(y, _all_ones(y.type.scalar)) else None


def _ones_absorb(x: Value, y: Value) -> Value | None:
    return y if _is(y, _all_ones(y.type.scalar)) else None


def _modulo_1(x: Value, y: Value) -> int | None:
    return 0 if _is(y, 1) else None


_INTEGER_RULES: dict[str, _AlgebraRule] = {
    "add": _neutral(0),
    "sub": _first_of(_neutral(0), _same_gives_0),
    "mul": _first_of(_neutral(1), _absorbing_0),
    "div": _first_of(_neutral(1), _of_0, _absorbing_0),  # x / 0 is 0
    "rem": _first_of(_modulo_1, _of_0, _absorbing_0, _same_gives_0),  # x % 0 is 0
    "and": _first_of(_ones_are_neutral, _absorbing_0, _same),
    "or": _first_of(_neutral(0), _ones_absorb, _same),
    "xor": _first_of(_neutral(0), _same_gives_0),
    "shl": _first_of(_neutral(0), _of_0),
    "shr": _first_of(_neutral(0), _of_0),
    "max": _same,
    "min": _same,
}
_FLOAT_RULES: dict[str, _AlgebraRule] = {
    "add": _neutral(-0.0),  # -0.0 + -0.0 is -0.0 and 0.0 + -0.0 is 0.0
    "sub": _neutral(0.0),  # -0.0 - 0.0 is -0.0
    "mul": _neutral(1.0),
    "div": _neutral(1.0),
    "max": _same,
    "min": _same,
}


_INVOLUTIONS = frozenset({"neg", "not"})
_IDEMPOTENT = frozenset({"abs", "floor", "ceil", "trunc", "rint"})


def _unary(b: Builder, op: ops.Unary) -> Value | None:
    inner = op.value.owner
    if not isinstance(inner, ops.Unary):
        return None
    if op.kind == "abs" and inner.kind == "neg" and op.value.type.scalar.is_floating:
        return b.abs(inner.value)
    if inner.kind != op.kind:
        return None
    if op.kind in _INVOLUTIONS:
        return inner.value
    return op.value if op.kind in _IDEMPOTENT else None


_TRUE_OF_SAME = {"eq": True, "le": True, "ge": True, "ne": False, "lt": False, "gt": False}


def _compare(b: Builder, op: ops.Compare) -> Value | None:
    """Integers compared with themselves, unsigned integers with 0."""
    scalar = op.lhs.type.element
    if not isinstance(scalar, ScalarType) or scalar.is_floating:
        return None
    if op.lhs is op.rhs:
        return b.constant(_TRUE_OF_SAME[op.kind], int1, op.lhs.shape)
    if not scalar.is_signed and _is(op.rhs, 0) and op.kind in ("lt", "ge"):
        return b.constant(op.kind == "ge", int1, op.lhs.shape)
    return None


def _select(b: Builder, op: ops.Select) -> Value | None:
    condition = constant_of(op.condition)
    if condition is not None:
        return op.on_true if condition else op.on_false
    if op.on_true is op.on_false:
        return op.on_true
    is_copy = constant_of(op.on_true) is True and constant_of(op.on_false) is False
    return op.condition if is_copy else None


def _cast(b: Builder, op: ops.Cast) -> Value | None:
    """To a type that holds every value, and back."""
    inner = op.value.owner
    if not isinstance(inner, ops.Cast):
        return None
    start, middle = inner.value.type.scalar, inner.result.type.scalar
    returns = start == SCALARS[op.element] and _holds(middle, start)
    return inner.value if returns else None


def _holds(wide: ScalarType, narrow: ScalarType) -> bool:
    """Whether every value of `narrow` is one of `wide`."""
    if wide.is_floating != narrow.is_floating:
        return False
    if wide.is_floating:
        return wide.bits > narrow.bits
    return wide.bits > 1 and wide.bits >= narrow.bits  # a wrap of equal width comes back


def _bitcast(b: Builder, op: ops.Bitcast) -> Value | None:
    inner = op.value.owner
    if isinstance(inner, ops.Bitcast):
        return b.bitcast(inner.value, op.result.type.element)
    return None


def _add_pointer(b: Builder, op: ops.AddPointer) -> Value | None:
    return op.pointer if _is(op.offset, 0) else None


# --- shapes --------------------------------------------------------------------------------------


def _reshape(b: Builder, op: ops.Reshape) -> Value | None:
    inner = op.value.owner
    if op.value.shape == op.shape:
        return op.value
    return b.reshape(inner.value, op.shape) if isinstance(inner, ops.Reshape) else None


def _transpose(b: Builder, op: ops.Transpose) -> Value | None:
    inner = op.value.owner
    if op.permutation == tuple(range(len(op.permutation))):
        return op.value
    if isinstance(inner, ops.Transpose):
        composed = tuple(inner.permutation[axis] for axis in op.permutation)
        return b.transpose(inner.value, composed)
    return None


def _broadcast(b: Builder, op: ops.Broadcast) -> Value | None:
    inner = op.value.owner
    if op.value.shape == op.shape:
        return op.value
    return b.broadcast_to(inner.value, op.shape) if isinstance(inner, ops.Broadcast) else None


def _splat(b: Builder, op: ops.Splat) -> Value | None:
    return op.value if op.shape == () else None


# --- memory --------------------------------------------------------------------------------------


def _load(b: Builder, op: ops.Load) -> Value | None:
    """A mask that is true everywhere goes, with `other`; all false, it is `other`."""
    mask = constant_of(op.mask)
    if mask is None:
        return None
    if mask:
        return b.append(ops.Load, pointer=op.pointer, **op.attributes).result
    return op.other or b.constant(0, op.result.type.scalar, op.result.shape)


def _atomic(b: Builder, op: ops.AtomicRmw) -> Value | None:
    if constant_of(op.mask):
        values = {"pointer": op.pointer, "value": op.value}
        return b.append(ops.AtomicRmw, **values, **op.attributes).result
    return None


def _store(b: Builder, op: ops.Store) -> list[Value] | None:
    mask = constant_of(op.mask)
    if mask is None:
        return None
    if mask:
        b.append(ops.Store, pointer=op.pointer, value=op.value, **op.attributes)
    return []


_ComputedOps = (
    *(ops.Unary, ops.Binary, ops.Compare, ops.Select, ops.Fma, ops.Approximate),
    *(ops.Cast, ops.Bitcast),
)
_ShapeOps = (ops.Splat, ops.Broadcast, ops.ExpandDims, ops.Reshape, ops.Transpose)

_RULES: tuple[tuple[Any, Callable[[Builder, Any], Value | list[Value] | None]], ...] = (
    (_ComputedOps, _compute),
    (_ShapeOps, _move_constant),
    (ops.Binary, _binary),
    (ops.Unary, _unary),
    (ops.Compare, _compare),
    (ops.Select, _select),
    (ops.Cast, _cast),
    (ops.Bitcast, _bitcast),
    (ops.AddPointer, _add_pointer),
    (ops.Reshape, _reshape),
    (ops.Transpose, _transpose),
    (ops.Broadcast, _broadcast),
    (ops.Splat, _splat),
    (ops.Load, _load),
    (ops.Store, _store),
    (ops.AtomicRmw, _atomic),
)
