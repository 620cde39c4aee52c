"""Random block programs for hypothesis, of any rank, with data to run them on.

`block_programs` draws a `Case` whose results have one right bit pattern: integers wrap, floats are
summed only where that is exact. Every program instance owns `size` elements of each array; what
lies behind the last of `n` elements is no memory, so that only masks keep programs inside.
"""

import math
from functools import reduce

import numpy as np
from hypothesis import strategies as st

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ops.arith import BINARY_KINDS, COMPARE_KINDS, UNARY_KINDS
from lazyblock.tiler.ops.atomic import ORDERS, RMW_KINDS
from lazyblock.tiler.ops.contract import COMBINATIONS
from lazyblock.tiler.types import (
    FLOAT8S,
    SCALARS,
    PointerType,
    float32,
    float64,
    int1,
    int32,
    int64,
    uint8,
    uint32,
)
from tests.backend.kernels import Case
from tests.helpers.programs import COMPUTED, random_array

NUMBERS = [0, 1, -1, 2, 3, 0.5, 8, 100]
ON_FLOATS = [k for k, where in BINARY_KINDS.items() if "f" in where and k != "div_normal"]
ON_INTEGERS = [kind for kind, where in BINARY_KINDS.items() if "i" in where]
UNARY_FLOATS = [kind for kind, where in UNARY_KINDS.items() if "f" in where]
UNARY_INTEGERS = [kind for kind, where in UNARY_KINDS.items() if "i" in where]
DOT_TYPES = [(element, acc) for (element, *_), sums in COMBINATIONS for acc in sums]
EXACT_SUMS = ["add", "mul", "and", "or", "xor", "max", "min"]
EXTREMES = ["max", "min", "maxnum", "minnum"]


@st.composite
def block_programs(draw, rank, most=1024, num_steps=8, ordered=False):
    """Draw a case whose blocks have up to `most` elements and, at first, `rank` axes.

    ordered: let reductions combine with functions that do not commute too; on a GPU they run in
    order, on the CPU in any.
    """
    return _Drawer(draw, rank, most, ordered).case(num_steps)


class _Drawer:
    """One program while it is drawn; `pool` holds what later steps may use."""

    def __init__(self, draw, rank, most, ordered):
        self.draw = draw
        self.ordered = ordered
        self.shape = self.any_shape(rank, draw(st.integers(0, most.bit_length() - 1)))
        self.size = math.prod(self.shape)
        self.grid = self.pick([(1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 1, 2)])
        count = math.prod(self.grid)
        # at least some elements for the last instance, often a cut
        self.n = count * self.size - self.pick(
            [0, 0, self.size // 2, min(self.size - 1, 1), self.size - 1]
        )
        warps = [1, 2, 4, 8] if self.size < 4096 else [4, 8]
        self.b = Builder("drawn", num_warps=self.pick(warps))
        self.scalars = draw(
            st.lists(st.sampled_from(COMPUTED), min_size=2, max_size=3, unique=True)
        )
        aligned = self.pick([16, 1])
        self.inputs, self.outputs = (
            {t: self.b.parameter(f"{name}_{t}", PointerType(t), aligned) for t in self.scalars}
            for name in ("x", "out")
        )
        self.limit = self.b.parameter("n", int32, self.pick([1, 16]) if self.n % 16 == 0 else 1)
        self.place = self.instance()
        self.start = self.b.mul(self.place, self.size)
        self.pool = [self.place]
        self.pool += [self.load(t, self.inputs[t], self.shape) for t in self.scalars]

    def case(self, num_steps):
        for _ in range(self.draw(st.integers(1, num_steps))):
            self.pool.append(self.step())
        for scalar in self.scalars:
            self.store(scalar, self.pool[-1] if self.pick([True, False]) else self.any_value())
        rng = np.random.default_rng(self.draw(st.integers(0, 999)))
        arrays = [random_array(rng, t, self.n) for _ in "xy" for t in self.scalars]
        return Case(self.b.finish(), [*arrays, self.n], self.grid)

    # --- choosing --------------------------------------------------------------------------------

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def any_shape(self, rank, bits):
        """A shape of 2**bits elements: extents of 1 are as likely as others."""
        extents = [1] * rank
        for _ in range(bits):
            extents[self.draw(st.integers(0, rank - 1))] *= 2
        return tuple(extents)

    def any_value(self):
        return self.pick(self.pool[-8:])

    def any_block(self):
        return self.pick([v for v in self.pool if v.shape] or [self.iota(int32, self.shape)])

    def like(self, scalar, shape):
        """Some value of this type and shape, made from what there is."""
        value = self.any_value()
        if value.type.size == math.prod(shape):
            value = self.b.reshape(value, shape) if value.shape and shape else value
        if value.shape != shape and value.shape:
            value = self.iota(int32, shape)
        value = self.b.broadcast_to(value, shape)
        return self.b.cast(value, scalar)

    def operand(self, value):
        if self.pick([True, False]):
            return self.like(value.type.scalar, value.shape)
        return self.b.full_like(value, self.pick(NUMBERS))

    def iota(self, scalar, shape):
        count = math.prod(shape)
        numbers = self.b.arange(0, count) if count > 1 else self.b.constant(0, int32, (1,))
        if not shape:
            return self.b.constant(3, scalar)
        return self.b.cast(self.b.reshape(numbers, shape), scalar)

    def instance(self):
        """Number of the program instance, from all three axes."""
        b = self.b
        x, y, z = (b.program_id(axis) for axis in range(3))
        return b.add(b.mul(b.add(b.mul(z, b.num_programs(1)), y), b.num_programs(0)), x)

    # --- memory ----------------------------------------------------------------------------------

    def places(self, shape):
        """Offsets from the instance's first element: the block's, in some order of its axes."""
        order = self.draw(st.permutations(range(len(shape))))
        terms, stride = [], 1
        for axis in reversed(order):
            index = self.iota(int32, (shape[axis],))
            if self.pick([False, False, True]):  # backwards
                index = self.b.sub(self.b.full_like(index, shape[axis] - 1), index)
            index = self.b.mul(index, stride)
            for position in range(len(shape)):
                if position != axis:
                    index = self.b.expand_dims(index, position)
            terms.append(self.b.broadcast_to(index, shape))
            stride *= shape[axis]
        return reduce(self.b.add, terms)

    def address(self, pointer, shape):
        """Addresses of the instance's elements, and the mask that keeps them inside."""
        offsets = self.b.add(self.places(shape), self.b.broadcast_to(self.start, shape))
        mask = self.b.compare("lt", offsets, self.b.broadcast_to(self.limit, shape))
        if self.pick([False, True]):
            offsets = self.b.cast(offsets, int64)
        return self.b.add_pointer(pointer, offsets), mask

    def load(self, scalar, pointer, shape):
        pointers, mask = self.address(pointer, shape)
        if self.n == self.size * math.prod(self.grid) and self.pick([True, False]):
            return self.b.load(pointers)
        return self.b.load(pointers, mask, self.pick([None, 1, 0]))

    def store(self, scalar, value):
        shape = value.shape if value.type.size == self.size and value.shape else self.shape
        if value.shape != shape:
            value = self.like(scalar, shape)
        pointers, mask = self.address(self.outputs[scalar], shape)
        is_whole = self.n == self.size * math.prod(self.grid) and self.pick([True, False])
        self.b.store(pointers, self.b.cast(value, scalar), None if is_whole else mask)

    # --- steps -----------------------------------------------------------------------------------

    def step(self, depth=0):
        steps = [*self.ON_VALUES, *self.ON_VALUES, *self.ON_BLOCKS]
        steps += [_Drawer.branch, _Drawer.loop, _Drawer.rounds] if depth == 0 else []
        steps += [*self.IN_ORDER, *self.IN_ORDER] if self.ordered else []
        return self.pick(steps)(self)

    def binary(self):
        a = self.any_value()
        kind = self.pick(ON_FLOATS if a.type.scalar.is_floating else ON_INTEGERS)
        b = self.operand(a)
        return self.b.binary(kind, *self.pick([(a, b), (b, a)]))

    def unary(self):
        a = self.any_value()
        kind = self.pick(UNARY_FLOATS if a.type.scalar.is_floating else UNARY_INTEGERS)
        return self.b.unary(kind, a)

    def compare(self):
        a = self.any_value()
        return self.b.compare(self.pick(COMPARE_KINDS), a, self.operand(a))

    def select(self):
        a = self.any_value()
        return self.b.select(self.like(int1, a.shape), a, self.operand(a))

    def cast(self):
        return self.b.cast(self.any_value(), self.pick(COMPUTED))

    def narrow(self):
        """Through a float of one byte."""
        a = self.b.cast(self.any_value(), self.pick(FLOAT8S))
        return self.b.cast(a, self.pick(COMPUTED))

    def bitcast(self):
        a = self.any_value()
        if a.type.scalar.is_floating:  # the bits of a NaN that an operation made are not defined
            a = self.b.select(self.b.is_nan(a), 1.0, a)
        same_width = [t for t in COMPUTED if t.bits == a.type.scalar.bits]
        return self.b.bitcast(a, self.pick(same_width))

    def fma(self):
        a = self.b.cast(self.any_value(), self.pick([float32, float64]))
        return self.b.fma(a, self.operand(a), self.operand(a))

    ON_VALUES = (binary, binary, unary, compare, select, cast, narrow, bitcast, fma)

    def transpose(self):
        a = self.any_block()
        return self.b.transpose(a, tuple(self.draw(st.permutations(range(len(a.shape))))))

    def reshape(self):
        a = self.any_block()
        rank = self.draw(st.integers(1, 5))
        return self.b.reshape(a, self.any_shape(rank, a.type.size.bit_length() - 1))

    def expand(self):
        """A new axis, repeated while the block stays small."""
        a = self.any_block()
        if len(a.shape) == 5:
            return a
        axis = self.draw(st.integers(0, len(a.shape)))
        wide = self.b.expand_dims(a, axis)
        extent = self.pick([1, 2, 4, 8])
        if a.type.size * extent > self.size:
            return wide
        return self.b.broadcast_to(wide, (*a.shape[:axis], extent, *a.shape[axis:]))

    def spread(self, value, like, axis):
        """A reduction's result back in the shape of its operand."""
        if self.pick([False, True]):
            return value
        return self.b.broadcast_to(self.b.expand_dims(value, axis), like.shape)

    def reduce(self):
        a = self.any_block()
        axis = self.draw(st.integers(0, len(a.shape) - 1))
        kind = self.pick(EXTREMES if a.type.scalar.is_floating else EXACT_SUMS)
        return self.spread(self.b.reduce_with(kind, a, axis), a, axis)

    def count(self):
        """A floating sum of few ones."""
        a = self.any_block()
        axis = self.draw(st.integers(0, len(a.shape) - 1))
        ones = self.b.cast(self.like(int1, a.shape), self.pick([float32, float64, *self.scalars]))
        return self.spread(self.b.reduce_with("add", ones, axis), a, axis)

    def argreduce(self):
        """First position of the largest or smallest element, and that element."""
        b, a = self.b, self.any_block()
        axis = self.draw(st.integers(0, len(a.shape) - 1))
        order, index_type = self.pick(["gt", "lt"]), self.pick([int32, int64])

        def combine(value, index, other, other_index):
            is_first = b.and_(b.compare("eq", value, other), b.compare("lt", index, other_index))
            keep = b.or_(b.compare(order, value, other), is_first)
            if a.type.scalar.is_floating:  # of several NaN the first
                nan, other_nan = b.is_nan(value), b.is_nan(other)
                first_nan = b.and_(
                    nan, b.or_(b.not_(other_nan), b.compare("lt", index, other_index))
                )
                keep = b.or_(first_nan, b.and_(keep, b.not_(other_nan)))
            return [b.select(keep, value, other), b.select(keep, index, other_index)]

        results = b.reduce([a, self.iota(index_type, a.shape)], axis, combine)
        return self.spread(self.pick(results), a, axis)

    def compose(self):
        """Affine functions composed in order: associative, not commutative."""
        b, a = self.b, self.any_block()
        axis = self.draw(st.integers(0, len(a.shape) - 1))
        scalar = self.pick([int32, int64, uint8])
        factor, offset = self.like(scalar, a.shape), self.like(scalar, a.shape)

        def combine(factor, offset, next_factor, next_offset):
            return [b.mul(factor, next_factor), b.add(b.mul(offset, next_factor), next_offset)]

        results = b.reduce([factor, offset], axis, combine)
        return self.spread(self.pick(results), a, axis)

    def outermost(self):
        """The first or last element along an axis."""
        a = self.any_block()
        axis, number = self.draw(st.integers(0, len(a.shape) - 1)), self.pick([0, 1])
        (result,) = self.b.reduce([a], axis, lambda *pair: [pair[number]])
        return self.spread(result, a, axis)

    def through_memory(self):
        """Written in one order and read in another, by other threads."""
        scalar = self.pick(self.scalars)
        self.store(scalar, self.any_value())
        return self.load(scalar, self.outputs[scalar], self.any_block_shape())

    def any_block_shape(self):
        shapes = [v.shape for v in self.pool if v.shape and v.type.size == self.size]
        return self.pick([self.shape, *shapes])

    def join(self):
        a = self.any_value()
        pair = self.pick([(a, self.operand(a)), (self.operand(a), a)])
        if len(a.shape) == 5 or 2 * a.type.size > self.size:
            return pair[0]
        return self.b.join(*pair)

    def split(self):
        """Both halves of some axis."""
        a = self.any_block()
        wide = [axis for axis, extent in enumerate(a.shape) if extent > 1]
        if not wide:
            return a
        axis = self.pick(wide)
        extents = self.pick([(2, a.shape[axis] // 2), (a.shape[axis] // 2, 2)])
        cut = self.b.reshape(a, (*a.shape[:axis], *extents, *a.shape[axis + 1 :]))
        place = axis + extents.index(2)
        order = [number for number in range(len(cut.shape)) if number != place]
        halves = self.b.split(self.b.transpose(cut, (*order, place)))
        if self.pick([True, False]):
            return self.pick(halves)
        joined = self.b.join(*self.pick([halves, halves[::-1]]))
        return joined if self.pick([True, False]) else self.b.reshape(joined, a.shape)

    def exchange(self):
        a = self.any_block()
        axis = self.draw(st.integers(0, len(a.shape) - 1))
        return self.b.exchange(a, axis, self.draw(st.integers(0, a.shape[axis] - 1)))

    def gather_block(self):
        """Elements of a block at computed places along an axis of any extent."""
        a = self.any_block()
        axis = self.draw(st.integers(0, len(a.shape) - 1))
        extent = self.pick([1, 2, a.shape[axis], 2 * a.shape[axis]])
        if a.type.size // a.shape[axis] * extent > self.size:
            extent = a.shape[axis]
        shape = (*a.shape[:axis], extent, *a.shape[axis + 1 :])
        index = self.b.and_(self.like(self.pick([int32, int64, uint8]), shape), a.shape[axis] - 1)
        return self.b.gather(a, index, axis)

    def histogram(self):
        a = self.any_block()
        numbers = self.b.reshape(self.b.cast(a, self.pick([int32, uint32])), (a.type.size,))
        mask = self.like(int1, numbers.shape) if self.pick([True, False]) else None
        return self.b.histogram(numbers, self.pick([1, 2, 8, 64]), mask)

    def gather(self):
        """Elements at computed places in memory."""
        scalar, shape = self.pick(self.scalars), self.any_block_shape()
        index = self.b.and_(self.like(int32, shape), 0x7FFFFFFF)
        index = self.b.rem(index, self.b.broadcast_to(self.limit, shape))
        return self.b.load(self.b.add_pointer(self.inputs[scalar], index))

    def update(self):
        """Elements of an output updated once each; gives what lay there."""
        fitting = [t for t in self.scalars if t.bits in (32, 64) or t.is_half]
        if not fitting:
            return self.binary()
        scalar, shape = self.pick(fitting), self.any_block_shape()
        kinds = ["add", "xchg"] if scalar.is_floating else [*RMW_KINDS]  # the sign of NaN is open
        kind = "add" if scalar.is_half else self.pick(kinds)
        pointers, mask = self.address(self.outputs[scalar], shape)
        value = self.like(scalar, shape)
        return self.b.atomic(kind, pointers, value, mask, sem=self.pick(ORDERS))

    def dot(self):
        """Of integers, or of zeros and ones: exact in whatever order."""
        element, acc = (SCALARS[name] for name in self.pick(DOT_TYPES))
        batch, m, n, k = self.any_shape(4, self.draw(st.integers(0, self.size.bit_length() - 1)))
        is_turned = self.pick([False, True])
        shapes = [(batch, m, k), (batch, n, k) if is_turned else (batch, k, n), (batch, m, n)]
        if batch == 1:
            shapes = [shape[1:] for shape in shapes]
        types = element, element, acc
        if element.is_integer:
            values = [self.like(*pair) for pair in zip(types, shapes, strict=True)]
        else:
            bits = [self.like(int1, shape) for shape in shapes]
            values = [self.b.cast(*pair) for pair in zip(bits, types, strict=True)]
        if is_turned:
            order = (1, 0) if batch == 1 else (0, 2, 1)
            values[1] = self.b.transpose(values[1], order)
        return self.b.dot(*values)

    ON_BLOCKS = (
        *(transpose, reshape, expand, reduce, count, argreduce, through_memory, gather, dot),
        *(join, split, exchange, gather_block, histogram, update),
    )
    IN_ORDER = (compose, outermost)

    def uniform(self):
        """A condition: one for the whole instance."""
        small = [v for v in self.pool if v.shape == () and v.type.scalar == int32]
        return self.b.compare(self.pick(COMPARE_KINDS), self.pick(small), self.pick(NUMBERS[:5]))

    def inside(self, like):
        """Some steps whose values end with the region; their last as `like`."""
        kept = len(self.pool)
        for _ in range(self.draw(st.integers(1, 3))):
            self.pool.append(self.step(depth=1))
        result = self.pool[-1]
        if result.type.size != like.type.size or not (result.shape and like.shape):
            result = like if result.shape else self.b.broadcast_to(result, like.shape)
        else:
            result = self.b.reshape(result, like.shape)
        result = self.b.cast(result, like.type.scalar)
        del self.pool[kept:]
        return result

    def branch(self):
        like = self.any_value()
        return self.b.if_(self.uniform(), lambda: [self.inside(like)], lambda: [self.inside(like)])[
            0
        ]

    def loop(self):
        """A block and a counter carried along, and where to read in `n` steps."""
        first = self.any_value()
        upper = self.pick([0, 1, 3, self.b.add(self.place, 1)])

        def body(i, carried, counter):
            kept = len(self.pool)
            self.pool += [i, carried]
            following = self.inside(carried)
            del self.pool[kept:]
            return [following, self.b.add(counter, i)]

        results = self.b.for_(0, upper, self.pick([1, 2]), [first, self.place], body)
        return self.pick(results)

    def rounds(self):
        """A block and a counter carried while the counter, or what it reads, is small."""
        first, b = self.any_value(), self.b
        most, pointer = self.pick([0, 1, 3]), self.outputs[self.scalars[0]]

        def is_small(carried, counter):
            found = b.cast(b.load(b.add_pointer(pointer, self.start)), int1)
            return b.compare("lt", b.add(counter, b.cast(found, int32)), most)

        def body(carried, counter):
            kept = len(self.pool)
            self.pool += [counter, carried]
            following = self.inside(carried)
            del self.pool[kept:]
            return [following, b.add(counter, 1)]

        return self.pick(b.while_([first, b.constant(0, int32)], is_small, body))
