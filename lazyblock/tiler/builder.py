"""The only way to make block ops: both the planner's lowering and `@lb.jit` come through here.

A builder appends to the innermost open region. Operands must have equal types already, save that
Python numbers become constants of the other operand's type. Trivial constants fold at once.

    b = Builder("double", num_warps=4)
    x = b.parameter("x", PointerType(float32), divisibility=16)
    i = b.arange(0, 128)
    p = b.add_pointer(b.splat(x, (128,)), i)
    b.store(p, b.mul(b.load(p), 2.0))
    program = b.finish()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lazyblock.source import UNKNOWN, SourceLine
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op, Parameter, Program, Region, Value, make_op
from lazyblock.tiler.types import BlockType, Element, ScalarType, decode, encode, int1, int32

Number = bool | int | float
Operand = Value | Number


class Builder:
    """Builds one program."""

    is_eager = False  # whether ops are evaluated as they are appended
    debug = False  # whether kernels check what their authors assert

    def __init__(
        self, name: str = "kernel", num_warps: int = 4, num_stages: int = 1, num_ctas: int = 1
    ) -> None:
        self.program = Program(name, [], Region(), num_warps, num_ctas, num_stages)
        self.line: SourceLine = UNKNOWN
        self._regions = [self.program.body]

    # --- frame -----------------------------------------------------------------------------------

    def parameter(self, name: str, element: Element, divisibility: int = 1) -> Value:
        """Add a scalar or pointer parameter."""
        value = Value(BlockType(element), None, name)
        self.program.parameters.append(Parameter(value, name, divisibility))
        return value

    def finish(self) -> Program:
        assert len(self._regions) == 1, "a region is still open"
        return self.program

    def append(self, op_type: type[Op], /, **values: Any) -> Op:
        """Append an op of `op_type` to the open region."""
        op = make_op(op_type, self.line, **values)
        self._regions[-1].ops.append(op)
        return op

    def insert(self, op: Op) -> None:
        """Append an op that was made by cloning."""
        self._regions[-1].ops.append(op)

    @contextmanager
    def open_region(self, region: Region) -> Iterator[Region]:
        """Append to `region` for the time of a `with` block."""
        self._regions.append(region)
        try:
            yield region
        finally:
            self._regions.pop()

    # --- making values ---------------------------------------------------------------------------

    def program_id(self, axis: int) -> Value:
        return self.append(ops.ProgramId, axis=axis).result

    def num_programs(self, axis: int) -> Value:
        return self.append(ops.NumPrograms, axis=axis).result

    def arange(self, start: int, end: int) -> Value:
        return self.append(ops.Arange, start=start, end=end).result

    def constant(self, value: Number, element: ScalarType, shape: tuple[int, ...] = ()) -> Value:
        """A number in every element, converted to `element` first (integers wrap)."""
        plain = _as_python(value, element)
        return self.append(ops.Constant, value=plain, type=BlockType(element, shape)).result

    def full_like(self, like: Value, value: Number) -> Value:
        """A constant of `like`'s type."""
        return self.constant(value, like.type.scalar, like.shape)

    def splat(self, value: Value, shape: tuple[int, ...]) -> Value:
        if not shape:
            return value
        if isinstance(value.owner, ops.Constant):
            return self.constant(value.owner.value, value.type.scalar, shape)
        return self.append(ops.Splat, value=value, shape=shape).result

    # --- shapes ----------------------------------------------------------------------------------

    def broadcast_to(self, value: Value, shape: tuple[int, ...]) -> Value:
        """NumPy's broadcasting: scalars splat, missing leading axes are added, 1 repeats."""
        if value.shape == shape:
            return value
        if value.shape == ():
            return self.splat(value, shape)
        while len(value.shape) < len(shape):
            value = self.expand_dims(value, 0)
        if value.shape == shape:
            return value
        return self.append(ops.Broadcast, value=value, shape=shape).result

    def expand_dims(self, value: Value, axis: int) -> Value:
        return self.append(ops.ExpandDims, value=value, axis=axis).result

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.shape == shape:
            return value
        return self.append(ops.Reshape, value=value, shape=shape).result

    def transpose(self, value: Value, permutation: tuple[int, ...]) -> Value:
        if permutation == tuple(range(len(permutation))):
            return value
        return self.append(ops.Transpose, value=value, permutation=permutation).result

    def join(self, lhs: Value, rhs: Value) -> Value:
        """Both along a new last axis of extent 2."""
        return self.append(ops.Join, lhs=lhs, rhs=rhs).result

    def split(self, value: Value) -> tuple[Value, Value]:
        """Both halves of a last axis of extent 2."""
        lhs, rhs = self.append(ops.Split, value=value).results
        return lhs, rhs

    def exchange(self, value: Value, axis: int, mask: int) -> Value:
        """The element at i along `axis` is `value`'s at i ^ mask."""
        if mask == 0:
            return value
        return self.append(ops.ExchangeBits, value=value, axis=axis, mask=mask).result

    # --- computed places -------------------------------------------------------------------------

    def gather(self, value: Value, index: Value, axis: int) -> Value:
        return self.append(ops.Gather, value=value, index=index, axis=axis).result

    def histogram(self, value: Value, num_bins: int, mask: Value | None = None) -> Value:
        return self.append(ops.Histogram, value=value, num_bins=num_bins, mask=mask).result

    # --- arithmetic ------------------------------------------------------------------------------

    def unary(self, kind: str, value: Value) -> Value:
        return self.append(ops.Unary, kind=kind, value=value).result

    def binary(self, kind: str, lhs: Operand, rhs: Operand) -> Value:
        left, right = self._pair(lhs, rhs)
        return self.append(ops.Binary, kind=kind, lhs=left, rhs=right).result

    def compare(self, kind: str, lhs: Operand, rhs: Operand) -> Value:
        left, right = self._pair(lhs, rhs)
        return self.append(ops.Compare, kind=kind, lhs=left, rhs=right).result

    def _pair(self, lhs: Operand, rhs: Operand) -> tuple[Value, Value]:
        if not isinstance(lhs, Value):
            assert isinstance(rhs, Value), "two numbers need no op"
            return self.full_like(rhs, lhs), rhs
        return lhs, rhs if isinstance(rhs, Value) else self.full_like(lhs, rhs)

    def select(self, condition: Value, on_true: Operand, on_false: Operand) -> Value:
        left, right = self._pair(on_true, on_false)
        values = {"condition": condition, "on_true": left, "on_false": right}
        return self.append(ops.Select, **values).result

    def fma(self, a: Value, b: Operand, c: Operand) -> Value:
        """a * b + c, rounded once."""
        b, c = self._pair(a, b)[1], self._pair(a, c)[1]
        return self.append(ops.Fma, a=a, b=b, c=c).result

    def math(self, function: str, *arguments: Value) -> Value:
        return self.append(ops.Math, function=function, arguments=arguments).result

    def approximate(self, function: str, value: Value) -> Value:
        return self.append(ops.Approximate, function=function, value=value).result

    def cast(self, value: Value, element: ScalarType, rounding: str = "") -> Value:
        """Convert to `element`; the value itself if it is that already."""
        if value.type.element == element:
            return value
        settings = {"element": element.name, "rounding": rounding}
        return self.append(ops.Cast, value=value, **settings).result

    def bitcast(self, value: Value, element: Element) -> Value:
        """The same bits as another type of equal width: numbers, or addresses and integers."""
        if value.type.element == element:
            return value
        return self.append(ops.Bitcast, value=value, element=str(element)).result

    def add(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("add", lhs, rhs)

    def sub(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("sub", lhs, rhs)

    def mul(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("mul", lhs, rhs)

    def div(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("div", lhs, rhs)

    def rem(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("rem", lhs, rhs)

    def and_(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("and", lhs, rhs)

    def or_(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("or", lhs, rhs)

    def xor(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("xor", lhs, rhs)

    def shl(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("shl", lhs, rhs)

    def shr(self, lhs: Operand, rhs: Operand) -> Value:
        return self.binary("shr", lhs, rhs)

    def neg(self, value: Value) -> Value:
        return self.unary("neg", value)

    def abs(self, value: Value) -> Value:
        return self.unary("abs", value)

    def not_(self, value: Value) -> Value:
        return self.unary("not", value)

    def is_nan(self, value: Value) -> Value:
        """i1: true where a float is NaN."""
        return self.compare("ne", value, value)

    # --- memory ----------------------------------------------------------------------------------

    def add_pointer(self, pointer: Value, offset: Value) -> Value:
        """pointer + offset in elements; a scalar pointer is splat to the offset's shape."""
        pointer = self.broadcast_to(pointer, offset.shape)
        return self.append(ops.AddPointer, pointer=pointer, offset=offset).result

    def load(
        self, pointer: Value, mask: Value | None = None, other: Operand | None = None, **hints: str
    ) -> Value:
        other = None if other is None else self._pointed(pointer, other)
        return self.append(ops.Load, pointer=pointer, mask=mask, other=other, **hints).result

    def store(self, pointer: Value, value: Value, mask: Value | None = None, **hints: str) -> None:
        self.append(ops.Store, pointer=pointer, value=value, mask=mask, **hints)

    def atomic(
        self,
        kind: str,
        pointer: Value,
        value: Operand,
        mask: Value | None = None,
        sem: str = "acq_rel",
        scope: str = "gpu",
    ) -> Value:
        """Update elements in one step; gives what lay there before. Kinds: ops.atomic.RMW_KINDS."""
        values = {"pointer": pointer, "value": self._pointed(pointer, value), "mask": mask}
        return self.append(ops.AtomicRmw, kind=kind, **values, sem=sem, scope=scope).result

    def compare_and_swap(
        self,
        pointer: Value,
        compare: Operand,
        value: Operand,
        sem: str = "acq_rel",
        scope: str = "gpu",
    ) -> Value:
        """Write `value` where `compare` lay; gives what lay there before."""
        compare, value = self._pointed(pointer, compare), self._pointed(pointer, value)
        values = {"pointer": pointer, "compare": compare, "value": value}
        return self.append(ops.AtomicCas, **values, sem=sem, scope=scope).result

    def barrier(self) -> None:
        """Order memory among the threads of the instance."""
        self.append(ops.Barrier)

    def _pointed(self, pointer: Value, value: Operand) -> Value:
        """A number as a constant of what `pointer` points to."""
        if isinstance(value, Value):
            return value
        pointee = pointer.type.element.pointee  # type: ignore[union-attr]
        return self.constant(value, pointee, pointer.shape)

    # --- debugging -------------------------------------------------------------------------------

    def print_(self, prefix: str, values: Sequence[Value], hex: bool = False) -> None:
        """Write a line for every element of every value."""
        self.append(ops.Print, prefix=prefix, hex=hex, values=tuple(values))

    def assert_(self, condition: Value, message: str, mask: Value | None = None) -> None:
        """Fail the launch unless `condition` holds where `mask` does."""
        if mask is not None:
            mask = self.broadcast_to(mask, condition.shape)
        where = "" if self.line == UNKNOWN else str(self.line)
        settings = {"message": message, "where": where, "mask": mask}
        self.append(ops.Assert, condition=condition, **settings)

    # --- contractions ----------------------------------------------------------------------------

    def dot(self, a: Value, b: Value, acc: Value, precision: str = "ieee") -> Value:
        """acc + a @ b, of the last two axes."""
        return self.append(ops.Dot, a=a, b=b, acc=acc, precision=precision).result

    # --- reductions, scans, control --------------------------------------------------------------

    def reduce(
        self, values: Sequence[Value], axis: int, combine: Callable[..., Sequence[Value]]
    ) -> tuple[Value, ...]:
        """Reduce `values` together; `combine(*left, *right)` builds the new left values."""
        body = self._combine_region(values, combine)
        return self.append(ops.Reduce, values=tuple(values), axis=axis, combine=body).results

    def reduce_with(self, kind: str, value: Value, axis: int) -> Value:
        """Reduce one value by a Binary kind: "add", "mul", "max", "and"..."""
        return self.reduce([value], axis, lambda a, b: [self.binary(kind, a, b)])[0]

    def scan(
        self,
        values: Sequence[Value],
        axis: int,
        combine: Callable[..., Sequence[Value]],
        reverse: bool = False,
    ) -> tuple[Value, ...]:
        """Scan `values` together; `combine` as in `reduce`."""
        body = self._combine_region(values, combine)
        settings = {"axis": axis, "combine": body, "reverse": reverse}
        return self.append(ops.Scan, values=tuple(values), **settings).results

    def scan_with(self, kind: str, value: Value, axis: int, reverse: bool = False) -> Value:
        """Scan one value by a Binary kind."""
        return self.scan([value], axis, lambda a, b: [self.binary(kind, a, b)], reverse)[0]

    def _combine_region(
        self, values: Sequence[Value], combine: Callable[..., Sequence[Value]]
    ) -> Region:
        elements = [BlockType(value.type.element) for value in values]
        body = Region([Value(type) for type in (*elements, *elements)])
        with self.open_region(body):
            self.yield_(*combine(*body.arguments))
        return body

    def rarely(
        self, condition: Value, value: Value, rare: Callable[..., Value], *arguments: Value
    ) -> Value:
        """`rare(*arguments)`, built on scalars, where `condition` holds; else `value`."""
        body = Region([Value(BlockType(argument.type.element)) for argument in arguments])
        with self.open_region(body):
            self.yield_(rare(*body.arguments))
        parts = {"condition": condition, "value": value, "arguments": arguments}
        return self.append(ops.Rarely, rare=body, **parts).result

    def yield_(self, *values: Value) -> None:
        self.append(ops.Yield, values=values)

    def for_(
        self,
        lower: Operand,
        upper: Operand,
        step: Operand,
        initial: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """Loop; `body(i, *carried)` builds one iteration and gives the next carried values."""
        like = next((v for v in (lower, upper, step) if isinstance(v, Value)), None)
        element = like.type.scalar if like is not None else int32
        bounds = [
            v if isinstance(v, Value) else self.constant(v, element) for v in (lower, upper, step)
        ]
        index = Value(BlockType(element), None, "i")
        inside = Region([index, *(Value(value.type) for value in initial)])
        with self.open_region(inside):
            self.yield_(*body(*inside.arguments))
        low, up, by = bounds
        return self.append(
            ops.For, lower=low, upper=up, step=by, initial=tuple(initial), body=inside
        ).results

    def while_(
        self,
        initial: Sequence[Value],
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """Loop while `condition(*carried)`, a scalar i1, holds; `body(*carried)` gives the next.

        Scalar loads in the condition are relaxed at least: it may wait for another instance.
        """
        regions = [Region([Value(value.type) for value in initial]) for _ in range(2)]
        test, inside = regions
        with self.open_region(test):
            self.yield_(condition(*test.arguments))
        for op in test.ops:
            if isinstance(op, ops.Load) and op.pointer.shape == () and not op.sem:
                op.sem, op.scope, op.cache, op.eviction = "relaxed", "gpu", "", ""
        with self.open_region(inside):
            self.yield_(*body(*inside.arguments))
        return self.append(ops.While, initial=tuple(initial), condition=test, body=inside).results

    def if_(
        self,
        condition: Value,
        then: Callable[[], Sequence[Value]],
        otherwise: Callable[[], Sequence[Value]] = tuple,
    ) -> tuple[Value, ...]:
        """Branch on a scalar i1; both callables build a branch and give its results."""
        regions = Region(), Region()
        for inside, build in zip(regions, (then, otherwise), strict=True):
            with self.open_region(inside):
                self.yield_(*build())
        return self.append(
            ops.If, condition=condition, then=regions[0], otherwise=regions[1]
        ).results


def _as_python(value: Number, element: ScalarType) -> Number:
    """`value` as the Python number that `element` can hold: wrapped, rounded to its precision."""
    if element == int1:
        return bool(value)
    if element.is_floating:
        return float(decode(encode(value, element), element))
    wrapped = int(value) & ((1 << element.bits) - 1)
    sign_bit = 1 << (element.bits - 1)
    return wrapped - 2 * sign_bit if element.is_signed and wrapped & sign_bit else wrapped
