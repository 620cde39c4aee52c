"""Lower a CONTRACT node: each program instance computes one block of one product of the stack.

Operands are read wherever they lie, with any strides. A program walks along K and adds up dots of
blocks; what lies outside the matrices counts as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import gcd

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.fusion.plan import FusionGroup
from lazyblock.fusion.storage import Strided, find_storage
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import cdiv, contiguous_strides, next_power_of_2, size_of
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lowered import Argument, ArrayArgument, LoweredKernel, SizeArgument
from lazyblock.tiler.types import PointerType, from_numpy, int32, int64

_SMALL_INDEX = 2**31 - 2**20  # offsets below are computed in int32, with room for partial blocks
_LEAST = 16  # of an extent of a block


@dataclass(frozen=True)
class _Kind:
    """Of products: what they are added up in, the largest blocks of M, N and K, and warps."""

    sums: DType
    block: tuple[int, int, int]
    num_warps: int = 4


_HALF = _Kind(dtypes.float32, (128, 64, 32), 8)
_KINDS = {
    dtypes.float16: _HALF,
    dtypes.bfloat16: _HALF,
    dtypes.float32: _Kind(dtypes.float32, (64, 64, 16)),
    dtypes.float64: _Kind(dtypes.float64, (64, 32, 16)),
    dtypes.int8: _Kind(dtypes.int32, (64, 64, 32), 8),
    dtypes.uint8: _Kind(dtypes.int32, (64, 64, 32), 8),
}
MATRIX_DTYPES = frozenset(_KINDS)  # that kernels of products exist for


def is_contraction(group: FusionGroup) -> bool:
    """Whether a group is a product of matrices."""
    return group.roots[0].op is Op.CONTRACT


def lower_contraction(group: FusionGroup, stored: Collection[Node]) -> LoweredKernel:
    """The program of a product; `stored` nodes of other groups are in memory."""
    return _Lowering(group.roots[0], stored).lower()


class _Lowering:
    def __init__(self, node: Node, stored: Collection[Node]) -> None:
        self.node = node
        places = [find_storage(operand, stored) for operand in node.inputs]
        out = Strided(node, 0, contiguous_strides(node.shape))
        self.places = {"a": places[0], "b": places[1], "out": out}
        self.kind = _KINDS[node.inputs[0].dtype]
        self.shapes = {"a": node.inputs[0].shape, "b": node.inputs[1].shape, "out": node.shape}
        self.batch, rows, columns = node.shape
        self.extents = rows, columns, node.inputs[0].shape[2]
        self.blocks = tuple(
            max(min(next_power_of_2(extent), most), _LEAST)
            for extent, most in zip(self.extents, self.kind.block, strict=True)
        )
        dtype = from_numpy(node.dtype)
        self.b = Builder(f"contract_{dtype}", self.kind.num_warps)
        self.b.program.noalias = True
        self.index_type = int32 if self._reach() < _SMALL_INDEX else int64
        self.arguments: list[Argument] = []

    def _reach(self) -> int:
        """The largest offset from an array's first element."""
        reaches = [size_of(self.extents[:2])]
        for name, place in self.places.items():
            assert place is not None, "the planner has put operands in memory"
            steps = zip(place.strides, self.shapes[name], strict=True)
            reaches.append(sum(abs(stride) * extent for stride, extent in steps))
        return max(reaches)

    def lower(self) -> LoweredKernel:
        b = self.b
        pointers = {name: self._pointer(name) for name in self.places}
        rows, columns, self.depth = (
            self._size(name, n) for name, n in zip("MNK", self.extents, strict=True)
        )
        stack, tile_m, tile_n = self._place()
        i = self._indices(b.mul(tile_m, self.blocks[0]), self.blocks[0], 1)
        j = self._indices(b.mul(tile_n, self.blocks[1]), self.blocks[1], 0)
        at = {name: self._step(pointers[name], name, 0, stack) for name in self.places}
        read_a = self._reader("a", self._step(at["a"], "a", 1, i), self._below(i, rows), 2)
        read_b = self._reader("b", self._step(at["b"], "b", 2, j), self._below(j, columns), 1)
        start, step = (b.constant(n, self.index_type) for n in (0, self.blocks[2]))
        zeros = b.constant(0, from_numpy(self.kind.sums), self.blocks[:2])
        (total,) = b.for_(
            start, self.depth, step, [zeros], lambda k, sum: [b.dot(read_a(k), read_b(k), sum)]
        )
        place = self._step(self._step(at["out"], "out", 1, i), "out", 2, j)
        inside = self._both(self._below(i, rows), self._below(j, columns))
        b.store(place, b.cast(total, from_numpy(self.node.dtype)), inside)
        return self._finish()

    def _place(self) -> tuple[Value, Value, Value]:
        """Cut the program id into the product's number and the block's row and column."""
        b = self.b
        self.tiles = tuple(map(cdiv, self.extents[:2], self.blocks[:2]))
        rows, columns = (
            self._size(f"tiles_{x}", n, 1) for x, n in zip("mn", self.tiles, strict=True)
        )
        number = b.cast(b.program_id(0), self.index_type)
        tile_n, rest = b.rem(number, columns), b.div(number, columns)
        return b.div(rest, rows), b.rem(rest, rows), tile_n

    def _reader(self, name: str, base: Value, inside: Value, axis: int) -> Callable[[Value], Value]:
        """A function that reads a block from some K on, which runs along `axis` of the operand."""
        stride = self._stride(name, axis)

        def read(start: Value) -> Value:
            k = self._indices(start, self.blocks[2], 2 - axis)
            mask = self._both(inside, self._below(k, self.depth))
            steps = self._times(k, stride)
            base_there, steps = (self.b.broadcast_to(v, mask.shape) for v in (base, steps))
            return self.b.load(self.b.add_pointer(base_there, steps), mask, 0)

        return read

    def _finish(self) -> LoweredKernel:
        num_programs = self.batch * size_of(self.tiles)
        nbytes = sum(node.nbytes for node in (*self.node.inputs, self.node))
        products = self.node.size * self.extents[2]
        arguments = tuple(self.arguments)
        return LoweredKernel(
            self.b.finish(), arguments, (num_programs, 1, 1), products, nbytes, 2 * products
        )

    # --- parameters ---

    def _pointer(self, name: str) -> Value:
        place = self.places[name]
        assert place is not None
        scalar = from_numpy(place.base.dtype)
        divisibility = gcd(place.offset * scalar.nbytes, 16)
        self.arguments.append(ArrayArgument(place.base, place.offset, name == "out"))
        return self.b.parameter(f"{name}_ptr", PointerType(scalar), divisibility)

    def _size(self, name: str, value: int, most_divisible: int = 16) -> Value:
        """A parameter of the class of its largest power-of-two divisor up to `most_divisible`."""
        self.arguments.append(SizeArgument(value, self.index_type))
        return self.b.parameter(name, self.index_type, gcd(value, most_divisible))

    def _stride(self, name: str, axis: int) -> Value | int:
        """A stride; 0 and 1 are part of the program, as is that of an axis of one element."""
        place = self.places[name]
        assert place is not None
        stride = place.strides[axis] if self.shapes[name][axis] > 1 else 0
        return stride if stride in (0, 1) else self._size(f"{name}_stride{axis}", stride)

    # --- places ---

    def _indices(self, start: Value, size: int, axis: int) -> Value:
        """start, start + 1, ..., with a unit axis at `axis`."""
        b = self.b
        steps = b.expand_dims(b.cast(b.arange(0, size), self.index_type), axis)
        return b.add(b.splat(start, steps.shape), steps)

    def _below(self, index: Value, extent: Value) -> Value:
        return self.b.compare("lt", index, self.b.splat(extent, index.shape))

    def _both(self, left: Value, right: Value) -> Value:
        """A mask of a block from those of its rows and its columns."""
        shape = tuple(map(max, left.shape, right.shape))
        return self.b.and_(*(self.b.broadcast_to(mask, shape) for mask in (left, right)))

    def _times(self, index: Value, stride: Value | int) -> Value:
        if isinstance(stride, Value):
            return self.b.mul(index, self.b.splat(stride, index.shape))
        return index if stride else self.b.full_like(index, 0)

    def _step(self, pointer: Value, name: str, axis: int, index: Value) -> Value:
        """Addresses `index` steps further along an axis."""
        b = self.b
        steps = self._times(index, self._stride(name, axis))
        shape = tuple(map(max, pointer.shape, steps.shape)) if pointer.shape else steps.shape
        return b.add_pointer(b.broadcast_to(pointer, shape), b.broadcast_to(steps, shape))
