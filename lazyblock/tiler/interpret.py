"""The block IR run by NumPy, one program instance at a time: the oracle of both backends.

Takes: a program, arguments, a grid. Gives: nothing; arrays are updated in place. Blocks are arrays,
scalars 0-d arrays, addresses as interpret_memory.py says, numbers as interpret_arithmetic.py does.
It doubles as a checker: an access outside its array in a lane that is not masked raises LaunchError
with the lane.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock.errors import DTypeError, LaunchError, UnsupportedError
from lazyblock.tiler import ops
from lazyblock.tiler.exact_integers import ExactIntegers, Wrapped
from lazyblock.tiler.interpret_arithmetic import (
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
from lazyblock.tiler.interpret_memory import (
    NOWHERE,
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
from lazyblock.tiler.ops.debug import describe_failure, format_line
from lazyblock.tiler.types import (
    SCALARS,
    BlockType,
    PointerType,
    ScalarType,
    decode,
    encode,
    to_numpy,
)

Grid = tuple[int, int, int]
MOST_ROUNDS = 1 << 20  # of a while loop: instances run in order, and may wait for one to come


Datum = Array | Addresses


@dataclass(frozen=True, slots=True)
class Touch:
    """An access about to be made: which lanes of a block touch which `elements` of a memory.

    argument: the number of the pointer argument, beyond those of another memory or view, NOWHERE of
    no memory; offsets has one entry per True in lanes, of NOWHERE it holds addresses in elements;
    wrapped: what is known of the pointers if integers wrapped in computing them.
    """

    op: Op
    place: Grid
    argument: int
    elements: Array
    lanes: Array
    offsets: Array
    wrapped: Wrapped | None = None

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
            instance = _Instance(values, memories, (x, y, z), grid, watch, resolve, program.name)
            instance.run(program.body)


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
        name: str = "",
    ) -> None:
        self.values = dict(values)
        self.name = name
        self.memories = memories
        self.place = place
        self.grid = grid
        self.watch = watch
        self.integers = ExactIntegers(evaluate) if watch else None
        self.resolve = resolve

    def run(self, region: Region) -> list[Datum]:
        """Run a region; gives what its terminator yields."""
        for op in region.ops:
            if op.has(Trait.TERMINATOR):
                return [self.values[value] for value in op.operands_flat]
            if type(op) not in _RULES:
                raise UnsupportedError(f"the interpreter does not know '{op.name}'.")
            results = _RULES[type(op)](self, op)
            if self.integers is not None:
                self.integers.follow(op, [self.values[v] for v in op.operands_flat], results)
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


class _Known(dict[Value, Datum]):
    """Values by what they hold themselves, save those a region defines while it runs."""

    def __missing__(self, value: Value) -> Datum:
        datum: Datum = value.datum  # type: ignore[attr-defined]
        return datum


class Steps(_Instance):
    """A program instance whose ops run one by one as they are made; values know their data."""

    def __init__(
        self, grid: Grid = (1, 1, 1), name: str = "kernel", resolve: Resolve | None = None
    ) -> None:
        super().__init__({}, [], (0, 0, 0), grid, resolve=resolve, name=name)

    def bind(self, name: str, type: BlockType, argument: Any) -> Datum:
        """An argument's datum; memory of arrays is reached through it from then on."""
        return _bind(name, type, argument, self.memories)

    def evaluate(self, op: Op) -> Sequence[Datum]:
        """Data of the results of `op`."""
        self.values = _Known()
        return _RULES[type(op)](self, op)


Rule = Callable[[_Instance, Any], Sequence[Datum]]


def _rearrange(change: Callable[[Array, Any], Array]) -> Rule:
    """A rule that moves elements of numbers and addresses alike."""

    def rule(instance: _Instance, op: Any) -> Sequence[Datum]:
        datum = instance.values[op.value]
        if isinstance(datum, Addresses):
            return [Addresses(change(datum.memory, op), change(datum.offset, op))]
        return [change(datum, op)]

    return rule


def _exchange_bits(array: Array, op: ops.ExchangeBits) -> Array:
    places = np.arange(array.shape[op.axis]) ^ op.mask
    return array.take(places, op.axis)


def _join(instance: _Instance, op: ops.Join) -> Sequence[Datum]:
    left, right = instance.values[op.lhs], instance.values[op.rhs]
    if isinstance(left, Addresses) and isinstance(right, Addresses):
        memory = np.stack([left.memory, right.memory], -1)
        return [Addresses(memory, np.stack([left.offset, right.offset], -1))]
    return [np.stack([instance.array(op.lhs), instance.array(op.rhs)], -1)]


def _split(instance: _Instance, op: ops.Split) -> Sequence[Datum]:
    datum = instance.values[op.value]
    if isinstance(datum, Addresses):
        return [Addresses(datum.memory[..., half], datum.offset[..., half]) for half in range(2)]
    return [np.asarray(datum[..., half]) for half in range(2)]


def _gather(instance: _Instance, op: ops.Gather) -> Sequence[Datum]:
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


def _histogram(instance: _Instance, op: ops.Histogram) -> Sequence[Datum]:
    value = instance.array(op.value).astype(np.int64)
    counts = (value >= 0) & (value < op.num_bins)
    if op.mask is not None:
        counts &= instance.array(op.mask)
    return [np.bincount(value[counts], minlength=op.num_bins).astype(np.int32)]


def _arange(instance: _Instance, op: ops.Arange) -> Sequence[Datum]:
    return [np.arange(op.start, op.end, dtype=np.int32)]


def _program_id(instance: _Instance, op: ops.ProgramId) -> Sequence[Datum]:
    return [np.asarray(instance.place[op.axis], np.int32)]


def _num_programs(instance: _Instance, op: ops.NumPrograms) -> Sequence[Datum]:
    return [np.asarray(instance.grid[op.axis], np.int32)]


def _constant(instance: _Instance, op: ops.Constant) -> Sequence[Datum]:
    return [np.full(op.type.shape, encode(op.value, op.type.scalar))]


def _unary(instance: _Instance, op: ops.Unary) -> Sequence[Datum]:
    compute = UNARY[op.kind]
    return [compute_in(compute, op.value.type.scalar, instance.array(op.value))]


def _binary(instance: _Instance, op: ops.Binary) -> Sequence[Datum]:
    scalar = op.lhs.type.scalar
    compute = (FLOAT_BINARY if scalar.is_floating else INTEGER_BINARY)[op.kind]
    return [compute_in(compute, scalar, instance.array(op.lhs), instance.array(op.rhs))]


def _compare(instance: _Instance, op: ops.Compare) -> Sequence[Datum]:
    operands = [_as_array(instance, value) for value in (op.lhs, op.rhs)]
    return [np.asarray(COMPARE[op.kind](*operands), bool)]


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
    return [round_to(MATH[op.function](*wide), to_numpy(op.result.type.scalar))]


def _approximate(instance: _Instance, op: ops.Approximate) -> Sequence[Datum]:
    wide = instance.array(op.value).astype(np.float64)
    return [round_to(APPROXIMATIONS[op.function](wide), np.dtype(np.float32))]


def _cast(instance: _Instance, op: ops.Cast) -> Sequence[Datum]:
    before, after = op.value.type.scalar, SCALARS[op.element]
    convert = cast_toward_zero if op.rounding else cast
    return [convert(instance.array(op.value), before, after)]


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
    found = []
    for number in np.unique(which[active]):
        lanes = active & (which == number)
        memory = _memory_touched(instance, int(number), element.pointee)
        if instance.watch is not None and instance.integers is not None:
            wrapped, touched = instance.integers.find(addresses), offset[lanes]
            touch = (op, instance.place, int(number), memory.elements, lanes, touched, wrapped)
            instance.watch(Touch(*touch))
        what = f"'{op.name}' at {op.line}"
        require_somewhere(what, Addresses(which, offset), active, element.pointee.nbytes)
        _check_bounds(instance, op, memory, lanes, offset)
        found.append((memory, lanes, offset[lanes]))
    return found


def _memory_touched(instance: _Instance, number: int, pointee: ScalarType) -> Memory:
    if number == NOWHERE:
        return Memory("", np.empty(0, to_numpy(pointee)), 0)
    return instance.memories[number]


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


# --- debugging -----------------------------------------------------------------------------------


def _print(instance: _Instance, op: ops.Print) -> Sequence[Datum]:
    blocks = [_printable(_as_array(instance, value), value.type, op.hex) for value in op.values]
    lines = op.lines
    if not blocks:
        sys.stdout.write(format_line(lines[0], instance.place))
    for line, block in zip(lines, blocks, strict=False):
        for place in np.ndindex(block.shape):
            sys.stdout.write(format_line(line, [*instance.place, *place, block[place].item()]))
    return []


def _printable(array: Array, type: BlockType, hex: bool) -> Array:
    """Numbers to print."""
    if isinstance(type.element, PointerType):
        return array
    array = np.asarray(decode(array, type.element))
    return array.view(f"u{array.itemsize}") if hex and type.element.is_integer else array


def _assert(instance: _Instance, op: ops.Assert) -> Sequence[Datum]:
    fails = ~instance.array(op.condition)
    if op.mask is not None:
        fails = fails & instance.array(op.mask)
    if fails.any():
        text, element = op.text(instance.name), int(np.argmax(fails))
        raise LaunchError(describe_failure(text, instance.place, element))
    return []


# --- regions -------------------------------------------------------------------------------------


def _reduce(instance: _Instance, op: ops.Reduce) -> Sequence[Datum]:
    """Neighbours combine pairwise until one is left; a last one without neighbour stays."""
    parts = [np.moveaxis(instance.array(value), op.axis, 0) for value in op.values]
    while (count := len(parts[0])) > 1:
        even = count - count % 2
        halves = [*(part[0:even:2] for part in parts), *(part[1:even:2] for part in parts)]
        combined = combine_blocks(instance, op.combine, halves)
        rest = [part[even:] for part in parts]
        parts = [np.concatenate(pair) for pair in zip(combined, rest, strict=True)]
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


def _dot(instance: _Instance, op: ops.Dot) -> Sequence[Datum]:
    """Exact products whatever the precision, summed in 64 bits and rounded once."""
    wide = np.int64 if op.is_integer else np.float64
    a, b, acc = (instance.array(value).astype(wide) for value in (op.a, op.b, op.acc))
    return [round_to(np.matmul(a, b) + acc, to_numpy(op.result.type.scalar))]


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
    ops.Load: _load,
    ops.Store: _store,
    ops.AtomicRmw: _atomic_rmw,
    ops.AtomicCas: _atomic_cas,
    ops.Reduce: _reduce,
    ops.Scan: _scan,
    ops.Dot: _dot,
    ops.Print: _print,
    ops.Assert: _assert,
    ops.For: _for,
    ops.While: _while,
    ops.Barrier: lambda instance, op: [],
    ops.If: _if,
}
