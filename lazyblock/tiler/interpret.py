"""The block IR run by NumPy, one program instance at a time: the oracle of both backends.

Takes: a program, arguments, a grid. Gives: nothing; arrays are updated in place. Blocks are arrays,
scalars 0-d arrays, addresses as interpret_memory.py says. It doubles as a checker: an
access outside its array in a lane that is not masked raises LaunchError with the lane.
Functions of `Math` and `Approximate` are computed in float64 and rounded once; all else is exact
as the ops document.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock.errors import DTypeError, LaunchError, UnsupportedError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret_memory import (
    Addresses,
    Array,
    Memory,
    Resolve,
    from_integers,
    memory_of,
    repoint,
    require_somewhere,
    swap,
    to_integers,
    update,
)
from lazyblock.tiler.ir import Op, Program, Region, Trait, Value
from lazyblock.tiler.math.fma import fma
from lazyblock.tiler.types import SCALARS, BlockType, PointerType, ScalarType, int1, to_numpy

Grid = tuple[int, int, int]
MOST_ROUNDS = 1 << 20  # of a while loop: instances run in order, and may wait for one to come


Datum = Array | Addresses


@dataclass(frozen=True, slots=True)
class Touch:
    """An access about to be made: which lanes of a block touch which `elements` of a memory.

    argument: the number of the pointer argument, beyond those of another memory or view; offsets
    has one entry per True in lanes.
    """

    op: Op
    place: Grid
    argument: int
    elements: Array
    lanes: Array
    offsets: Array

    @property
    def is_write(self) -> bool:
        return not isinstance(self.op, ops.Load)


Watch = Callable[[Touch], None]


def interpret(
    program: Program,
    arguments: Sequence[Any],
    grid: Grid = (1, 1, 1),
    watch: Watch | None = None,
    resolve: Resolve | None = None,
) -> None:
    """Run every instance of `grid` in order; axis 0 varies fastest.

    Parameters: arguments, an array per pointer (updated in place; or a flat array and the number of
    the element pointed to) and a number per scalar; watch, called before each access; resolve,
    which gives the memory around an absolute address that lies in no argument.
    Raises: LaunchError on wrong arguments, accesses out of bounds, loops that do not end.
    """
    if len(arguments) != len(program.parameters):
        raise LaunchError(
            f"'{program.name}' takes {len(program.parameters)} arguments, got {len(arguments)}."
        )
    memories: list[Memory] = []
    values: dict[Value, Datum] = {}
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        datum = _bind(parameter.name, parameter.value.type, argument, memories)
        values[parameter.value] = datum
    with np.errstate(all="ignore"):
        for coordinates in itertools.product(*(range(extent) for extent in reversed(grid))):
            x, y, z = reversed(coordinates)
            _Instance(values, memories, (x, y, z), grid, watch, resolve).run(program.body)


def _bind(name: str, type: BlockType, argument: Any, memories: list[Memory]) -> Datum:
    if not isinstance(type.element, PointerType):
        return np.asarray(argument, dtype=to_numpy(type.element))
    dtype = to_numpy(type.element.pointee)
    argument, first = argument if isinstance(argument, tuple) else (argument, 0)
    if not isinstance(argument, np.ndarray) or argument.dtype != dtype:
        given = getattr(argument, "dtype", argument.__class__.__name__)
        raise DTypeError(f"argument '{name}' is {given}, expected an array of {dtype}.")
    memories.append(memory_of(name, argument))
    return Addresses(np.asarray(len(memories) - 1), np.asarray(memories[-1].start + first))


def evaluate(op: Op, operands: Sequence[Array]) -> Array:
    """The only result of a pure op without regions, from the values of its operands."""
    values: dict[Value, Datum] = dict(zip(op.operands_flat, operands, strict=True))
    with np.errstate(all="ignore"):
        (result,) = _RULES[type(op)](_Instance(values, [], (0, 0, 0), (1, 1, 1)), op)
    assert not isinstance(result, Addresses)
    return result


# --- one instance --------------------------------------------------------------------------------


class _Instance:
    """One program instance: its values and its place in the grid."""

    def __init__(
        self,
        values: dict[Value, Datum],
        memories: list[Memory],
        place: Grid,
        grid: Grid,
        watch: Watch | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self.values = dict(values)
        self.memories = memories
        self.place = place
        self.grid = grid
        self.watch = watch
        self.resolve = resolve

    def run(self, region: Region) -> list[Datum]:
        """Run a region; gives what its terminator yields."""
        for op in region.ops:
            if op.has(Trait.TERMINATOR):
                return [self.values[value] for value in op.operands_flat]
            if type(op) not in _RULES:
                raise UnsupportedError(f"the interpreter does not know '{op.name}'.")
            results = _RULES[type(op)](self, op)
            self.values.update(zip(op.results, results, strict=True))
        return []

    def call(self, region: Region, arguments: Sequence[Datum]) -> list[Datum]:
        self.values.update(zip(region.arguments, arguments, strict=True))
        return self.run(region)

    def array(self, value: Value) -> Array:
        datum = self.values[value]
        assert not isinstance(datum, Addresses)
        return datum

    def addresses(self, value: Value) -> Addresses:
        datum = self.values[value]
        assert isinstance(datum, Addresses)
        return datum


Rule = Callable[[_Instance, Any], Sequence[Datum]]


def _rearrange(change: Callable[[Array, Any], Array]) -> Rule:
    """A rule that moves elements of numbers and addresses alike."""

    def rule(instance: _Instance, op: Any) -> Sequence[Datum]:
        datum = instance.values[op.value]
        if isinstance(datum, Addresses):
            return [Addresses(change(datum.memory, op), change(datum.offset, op))]
        return [change(datum, op)]

    return rule


def _arange(instance: _Instance, op: ops.Arange) -> Sequence[Datum]:
    return [np.arange(op.start, op.end, dtype=np.int32)]


def _program_id(instance: _Instance, op: ops.ProgramId) -> Sequence[Datum]:
    return [np.asarray(instance.place[op.axis], np.int32)]


def _num_programs(instance: _Instance, op: ops.NumPrograms) -> Sequence[Datum]:
    return [np.asarray(instance.grid[op.axis], np.int32)]


def _constant(instance: _Instance, op: ops.Constant) -> Sequence[Datum]:
    return [np.full(op.type.shape, op.value, to_numpy(op.type.scalar))]


def _unary(instance: _Instance, op: ops.Unary) -> Sequence[Datum]:
    compute = _UNARY[op.kind]
    return [_compute(compute, op.value.type.scalar, instance.array(op.value))]


def _binary(instance: _Instance, op: ops.Binary) -> Sequence[Datum]:
    scalar = op.lhs.type.scalar
    compute = (_FLOAT_BINARY if scalar.is_floating else _INTEGER_BINARY)[op.kind]
    return [_compute(compute, scalar, instance.array(op.lhs), instance.array(op.rhs))]


def _compute(compute: Callable[..., Array], scalar: ScalarType, *values: Array) -> Array:
    """Apply a function in `scalar`'s arithmetic; i1 computes in the lowest bit of a byte."""
    if scalar != int1:
        return np.asarray(compute(*values), to_numpy(scalar))
    return (np.asarray(compute(*(value.astype(np.uint8) for value in values))) & 1).astype(bool)


def _compare(instance: _Instance, op: ops.Compare) -> Sequence[Datum]:
    operands = [_as_array(instance, value) for value in (op.lhs, op.rhs)]
    return [np.asarray(_COMPARE[op.kind](*operands), bool)]


def _as_array(instance: _Instance, value: Value) -> Array:
    """Numbers, or addresses as integers."""
    datum, element = instance.values[value], value.type.element
    if isinstance(datum, Addresses):
        assert isinstance(element, PointerType)
        return to_integers(instance.memories, datum, element.pointee.nbytes)
    return datum


def _select(instance: _Instance, op: ops.Select) -> Sequence[Datum]:
    condition = instance.array(op.condition)
    left, right = instance.values[op.on_true], instance.values[op.on_false]
    if isinstance(left, Addresses) and isinstance(right, Addresses):
        memory = np.where(condition, left.memory, right.memory)
        return [Addresses(memory, np.where(condition, left.offset, right.offset))]
    return [np.where(condition, instance.array(op.on_true), instance.array(op.on_false))]


def _fma(instance: _Instance, op: ops.Fma) -> Sequence[Datum]:
    a, b, c = (instance.array(value) for value in (op.a, op.b, op.c))
    return [np.asarray(fma(a, b, c))]


def _math(instance: _Instance, op: ops.Math) -> Sequence[Datum]:
    wide = (instance.array(value).astype(np.float64) for value in op.arguments)
    return [_round_to(_MATH[op.function](*wide), to_numpy(op.result.type.scalar))]


def _approximate(instance: _Instance, op: ops.Approximate) -> Sequence[Datum]:
    wide = instance.array(op.value).astype(np.float64)
    return [_round_to(_APPROXIMATIONS[op.function](wide), np.dtype(np.float32))]


def _cast(instance: _Instance, op: ops.Cast) -> Sequence[Datum]:
    return [cast(instance.array(op.value), op.value.type.scalar, SCALARS[op.element])]


def _bitcast(instance: _Instance, op: ops.Bitcast) -> Sequence[Datum]:
    before, after = op.value.type.element, op.result.type.element
    datum = instance.values[op.value]
    if isinstance(before, PointerType) and isinstance(after, PointerType):
        assert isinstance(datum, Addresses)
        return [repoint(instance.memories, datum, before.pointee, after.pointee)]
    array = _as_array(instance, op.value)
    if isinstance(after, PointerType):
        return [from_integers(instance.memories, array, after.pointee, instance.resolve)]
    return [array.view(to_numpy(after))]


def _add_pointer(instance: _Instance, op: ops.AddPointer) -> Sequence[Datum]:
    pointer = instance.addresses(op.pointer)
    return [Addresses(pointer.memory, pointer.offset + instance.array(op.offset).astype(np.int64))]


# --- memory --------------------------------------------------------------------------------------


def _load(instance: _Instance, op: ops.Load) -> Sequence[Datum]:
    dtype = to_numpy(op.result.type.scalar)
    fill = np.zeros((), dtype) if op.other is None else instance.array(op.other)
    result = np.array(np.broadcast_to(fill, op.result.shape))
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, op.mask):
        result[lanes] = memory.elements[offsets]
    return [result]


def _store(instance: _Instance, op: ops.Store) -> Sequence[Datum]:
    value = np.broadcast_to(instance.array(op.value), op.pointer.shape)
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, op.mask):
        memory.elements[offsets] = value[lanes]
    return []


def _atomic_rmw(instance: _Instance, op: ops.AtomicRmw) -> Sequence[Datum]:
    value = np.broadcast_to(instance.array(op.value), op.pointer.shape)
    result = np.zeros_like(value)
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, op.mask):
        result[lanes] = update(op.kind, memory.elements, offsets, value[lanes])
    return [result]


def _atomic_cas(instance: _Instance, op: ops.AtomicCas) -> Sequence[Datum]:
    compared, value = (
        np.broadcast_to(instance.array(v), op.pointer.shape) for v in (op.compare, op.value)
    )
    result = np.zeros_like(value)
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, None):
        result[lanes] = swap(memory.elements, offsets, compared[lanes], value[lanes])
    return [result]


def _accesses(
    instance: _Instance, op: Op, pointer: Value, mask: Value | None
) -> list[tuple[Memory, Array, Array]]:
    """Per argument touched: its memory, which lanes touch it, their offsets; checked."""
    addresses = instance.addresses(pointer)
    active = np.ones((), bool) if mask is None else instance.array(mask)
    active = np.broadcast_to(active, pointer.shape)
    which = np.broadcast_to(addresses.memory, pointer.shape)
    offset = np.broadcast_to(addresses.offset, pointer.shape)
    element = pointer.type.element
    assert isinstance(element, PointerType)
    what = f"'{op.name}' at {op.line}"
    require_somewhere(what, Addresses(which, offset), active, element.pointee.nbytes)
    found = []
    for number in np.unique(which[active]):
        lanes = active & (which == number)
        memory = instance.memories[number]
        if instance.watch is not None:
            place, touched = instance.place, offset[lanes]
            instance.watch(Touch(op, place, int(number), memory.elements, lanes, touched))
        _check_bounds(instance, op, memory, lanes, offset)
        found.append((memory, lanes, offset[lanes]))
    return found


def _check_bounds(instance: _Instance, op: Op, memory: Memory, lanes: Array, offset: Array) -> None:
    size = len(memory.elements)
    outside = lanes & ((offset < 0) | (offset >= size))
    if outside.any():
        lane = tuple(int(index) for index in np.argwhere(outside)[0])
        element = int(offset[lane]) - memory.start
        raise LaunchError(
            f"'{op.name}' at {op.line} touches element {element} of '{memory.name}', which has"
            f" {size}; program instance {instance.place}, lane {lane}.",
            hint="mask the lanes outside the array.",
        )


# --- regions -------------------------------------------------------------------------------------


def _reduce(instance: _Instance, op: ops.Reduce) -> Sequence[Datum]:
    """Neighbours combine pairwise until one is left."""
    parts = [np.moveaxis(instance.array(value), op.axis, 0) for value in op.values]
    while len(parts[0]) > 1:
        halves = [*(part[0::2] for part in parts), *(part[1::2] for part in parts)]
        parts = combine_blocks(instance, op.combine, halves)
    return [part[0] for part in parts]


def _scan(instance: _Instance, op: ops.Scan) -> Sequence[Datum]:
    """Elements combine with what stands 1, 2, 4, ... places before."""
    parts = [np.moveaxis(instance.array(value), op.axis, 0) for value in op.values]
    if op.reverse:
        parts = [part[::-1] for part in parts]
    distance = 1
    while distance < len(parts[0]):
        pairs = [*(part[:-distance] for part in parts), *(part[distance:] for part in parts)]
        behind = combine_blocks(instance, op.combine, pairs)
        parts = [np.concatenate([p[:distance], b]) for p, b in zip(parts, behind, strict=True)]
        distance *= 2
    if op.reverse:
        parts = [part[::-1] for part in parts]
    return [np.moveaxis(part, 0, op.axis) for part in parts]


def combine_blocks(instance: _Instance, region: Region, arguments: Sequence[Array]) -> list[Array]:
    """Run a region of scalars on all elements of equally shaped blocks."""
    shape = arguments[0].shape
    if _is_elementwise(region):
        yielded = instance.call(region, arguments)
        return [np.broadcast_to(np.asarray(datum), shape) for datum in yielded]
    rows = [
        instance.call(region, [np.asarray(argument[lane]) for argument in arguments])
        for lane in np.ndindex(shape)
    ]
    return [np.array(column).reshape(shape) for column in zip(*rows, strict=True)]


def _is_elementwise(region: Region) -> bool:
    return all(
        op.has(Trait.ELEMENTWISE) or op.has(Trait.TERMINATOR) or isinstance(op, ops.Constant)
        for op in region.ops
    )


def _for(instance: _Instance, op: ops.For) -> Sequence[Datum]:
    lower, upper, step = (int(instance.array(v)) for v in (op.lower, op.upper, op.step))
    if step <= 0:
        raise LaunchError(f"a loop at {op.line} has step {step}, expected a positive one.")
    dtype = to_numpy(op.lower.type.scalar)
    carried: Sequence[Datum] = [instance.values[value] for value in op.initial]
    for index in range(lower, upper, step):
        carried = instance.call(op.body, [np.asarray(index, dtype), *carried])
    return carried


def _while(instance: _Instance, op: ops.While) -> Sequence[Datum]:
    carried: Sequence[Datum] = [instance.values[value] for value in op.initial]
    for _ in range(MOST_ROUNDS):
        (condition,) = instance.call(op.condition, carried)
        if not condition:
            return carried
        carried = instance.call(op.body, carried)
    raise LaunchError(
        f"a loop at {op.line} runs for more than {MOST_ROUNDS} rounds; program instance"
        f" {instance.place}.",
        hint="instances run one after the other here: one cannot wait for a later one.",
    )


def _if(instance: _Instance, op: ops.If) -> Sequence[Datum]:
    return instance.run(op.then if instance.array(op.condition) else op.otherwise)


# --- arithmetic ----------------------------------------------------------------------------------


def cast(value: Array, before: ScalarType, after: ScalarType) -> Array:
    """The conversion that `Cast` documents."""
    dtype = to_numpy(after)
    if after == int1:
        return np.asarray(value != 0)
    if before.is_floating and after.is_integer:
        return _to_integer(value, dtype)
    return _round_to(value, dtype)


def _round_to(value: Array, dtype: np.dtype[Any]) -> Array:
    return np.asarray(value).astype(dtype)


def _to_integer(value: Array, dtype: np.dtype[Any]) -> Array:
    """Towards zero, saturating, NaN to 0."""
    limits = np.iinfo(dtype)
    whole = np.trunc(value.astype(np.float64))
    too_low, too_high = whole < float(limits.min), whole >= float(limits.max + 1)
    fits = ~(too_low | too_high | np.isnan(whole))
    result = np.where(fits, whole, 0.0).astype(dtype)
    result = np.where(too_low, dtype.type(limits.min), result)
    return np.where(too_high, dtype.type(limits.max), result)


def _divide_integers(a: Array, b: Array) -> Array:
    """Truncated; x / 0 is 0, MIN / -1 is MIN."""
    is_special = (b == 0) | (b == -1)
    safe = np.where(is_special, np.ones_like(b), b)
    quotient = np.floor_divide(a - np.fmod(a, safe), safe)
    special = np.where(b == 0, np.zeros_like(a), np.negative(a))
    return np.where(is_special, special, quotient)


def _remainder_integers(a: Array, b: Array) -> Array:
    """Sign of the dividend; x % 0 is 0."""
    is_special = (b == 0) | (b == -1)
    return np.where(is_special, np.zeros_like(a), np.fmod(a, np.where(is_special, 1, b)))


def _shift_left(a: Array, b: Array) -> Array:
    return np.where(_is_within(a, b), np.left_shift(a, _count(a, b)), np.zeros_like(a))


def _shift_right(a: Array, b: Array) -> Array:
    emptied = np.where(a < 0, np.full_like(a, -1), 0) if a.dtype.kind == "i" else np.zeros_like(a)
    return np.where(_is_within(a, b), np.right_shift(a, _count(a, b)), emptied)


def _is_within(a: Array, b: Array) -> Array:
    return np.asarray((b >= 0) & (b < 8 * a.dtype.itemsize))


def _count(a: Array, b: Array) -> Array:
    return np.where(_is_within(a, b), b, np.zeros_like(b))


def _extreme(is_better: Callable[[Array, Array], Array], sign_wins: bool) -> Any:
    """max or min of floats: NaN wins over numbers, +0 stands above -0."""

    def compute(a: Array, b: Array) -> Array:
        prefers_a = is_better(a, b) | ((a == b) & (np.signbit(a) == sign_wins))
        return np.where(np.isnan(a), a, np.where(np.isnan(b) | ~prefers_a, b, a))

    return compute


def _skip_nan(extreme: Callable[[Array, Array], Array]) -> Any:
    def compute(a: Array, b: Array) -> Array:
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, extreme(a, b)))

    return compute


def _fmod(a: Array, b: Array) -> Array:
    """C's fmod, exact in float64 for every type."""
    return _round_to(np.fmod(a.astype(np.float64), b.astype(np.float64)), a.dtype)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "not": np.invert,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
}
_MAX, _MIN = _extreme(np.greater, False), _extreme(np.less, True)
_FLOAT_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "div_normal": np.divide,
    "rem": _fmod,
    "max": _MAX,
    "min": _MIN,
    "maxnum": _skip_nan(_MAX),
    "minnum": _skip_nan(_MIN),
}
_INTEGER_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide_integers,
    "rem": _remainder_integers,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": _shift_left,
    "shr": _shift_right,
    "max": np.maximum,
    "min": np.minimum,
}
_COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


# --- functions -----------------------------------------------------------------------------------


def _each(function: Callable[[float], float], at_pole: Callable[[float], float]) -> Any:
    """Vectorise a function of `math`; `at_pole` gives the value where it raises."""

    def one(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return at_pole(x)

    return np.vectorize(one, otypes=[np.float64])


def _lgamma_pole(x: float) -> float:
    return math.inf


def _tgamma_pole(x: float) -> float:
    """Overflow and 0 give infinity; negative integers and -inf have no value."""
    if x == 0:
        return math.copysign(math.inf, x)
    return math.inf if x > 0 else math.nan


def _rsqrt(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x))


_MATH: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log1p", "log2")},
    **{name: getattr(np, name) for name in ("log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2},
    **{"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh},
    **{"rsqrt": _rsqrt, "cbrt": np.cbrt, "pow": np.power, "hypot": np.hypot},
    **{name: np.vectorize(getattr(math, name), otypes=[float]) for name in ("erf", "erfc")},
    **{"lgamma": _each(math.lgamma, _lgamma_pole), "tgamma": _each(math.gamma, _tgamma_pole)},
}

_APPROXIMATIONS: dict[str, Callable[[Array], Any]] = {
    **{"exp2": np.exp2, "log2": np.log2, "sqrt": np.sqrt},
    **{"reciprocal": np.reciprocal, "rsqrt": _rsqrt},
}

_RULES: dict[type[Op], Rule] = {
    ops.ProgramId: _program_id,
    ops.NumPrograms: _num_programs,
    ops.Arange: _arange,
    ops.Constant: _constant,
    ops.Splat: _rearrange(lambda array, op: np.broadcast_to(array, op.shape)),
    ops.Broadcast: _rearrange(lambda array, op: np.broadcast_to(array, op.shape)),
    ops.ExpandDims: _rearrange(lambda array, op: np.expand_dims(array, op.axis)),
    ops.Reshape: _rearrange(lambda array, op: array.reshape(op.shape)),
    ops.Transpose: _rearrange(lambda array, op: array.transpose(op.permutation)),
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
    ops.Load: _load,
    ops.Store: _store,
    ops.AtomicRmw: _atomic_rmw,
    ops.AtomicCas: _atomic_cas,
    ops.Reduce: _reduce,
    ops.Scan: _scan,
    ops.For: _for,
    ops.While: _while,
    ops.Barrier: lambda instance, op: [],
    ops.If: _if,
}
