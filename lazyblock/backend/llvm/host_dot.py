"""Dots on the CPU: a register-tiled kernel over packed operands, whose size no shape changes.

A tile of the accumulator, some rows by some vectors, stays in registers while a loop runs over K:
each round multiplies vectors of B with single elements of A. Packing is rearranging: A and B become
blocks made by casts, reshapes and transposes, which the loops of any other block compute (masks,
strides and all): A row by row in the accumulator's type, B in panels as wide as the register tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.host_body import Tile
from lazyblock.backend.llvm.host_coordinates import add, scale, splat
from lazyblock.backend.llvm.host_memory import Access, offset_pointer
from lazyblock.backend.llvm.types import llvm_scalar, llvm_type, mangled
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value, make_op
from lazyblock.tiler.types import ScalarType, float32

_FEW_VECTORS = 2  # of B in a register tile of many rows: how often an element of A is used


def computed_in(op: ops.Dot) -> ScalarType:
    """The type that products and sums are computed in."""
    scalar = op.acc.type.scalar
    return float32 if scalar.is_half else scalar


def cast_value(value: Value, element: ScalarType) -> Value:
    """`value` as `element`: a block computed where it is read, which is in no program."""
    if value.type.element == element:
        return value
    return make_op(ops.Cast, value=value, element=element.name).results[0]


@dataclass(frozen=True)
class DotShape:
    """Extents of a dot, and of its register tile: `rows` times `vectors` of `width` lanes."""

    batch: int
    m: int
    n: int
    k: int
    rows: int
    vectors: int
    width: int

    @property
    def columns(self) -> int:
        """Columns of the register tile and of a panel of B."""
        return self.vectors * self.width


def choose_shape(op: ops.Dot, target: Target) -> DotShape:
    """A register tile of half of the vector registers: independent sums, and room for operands."""
    *batch, m, n = op.acc.shape
    lanes = target.vector_bytes * 8 // computed_in(op).bits
    width = min(n, lanes)
    sums = 16 if target.vector_bytes >= 64 else 8
    rows = min(m, sums // _FEW_VECTORS)
    vectors = min(n // width, sums // rows)
    rows = min(m, sums // vectors)
    return DotShape(batch[0] if batch else 1, m, n, op.a.shape[-1], rows, vectors, width)


def pack_a(op: ops.Dot) -> Value:
    """A in the type computed in."""
    return cast_value(op.a, computed_in(op))


def pack_b(op: ops.Dot, shape: DotShape) -> Value:
    """B as panels (batch, N / columns, K, columns) in the type computed in."""
    value = cast_value(op.b, computed_in(op))
    if shape.n == shape.columns:
        return value
    apart = (shape.batch, shape.k, shape.n // shape.columns, shape.columns)
    value = make_op(ops.Reshape, value=value, shape=apart).results[0]
    return make_op(ops.Transpose, value=value, permutation=(0, 2, 1, 3)).results[0]


def emit_kernel(
    emitter: Emitter, target: Target, shape: DotShape, a: Tile, b: Tile, acc: Tile
) -> None:
    """acc += a @ b, in place, for operands packed as above."""
    assert isinstance(acc.element, ScalarType)
    kernel = _Kernel(emitter, target, shape, acc.element)
    with (
        _count(emitter, shape.batch, 1) as batch,
        _count(emitter, shape.n, shape.columns) as column,
        _count(emitter, shape.m, shape.rows) as row,
    ):
        first_row = add(emitter, scale(emitter, batch, shape.m), row)
        panel = add(emitter, scale(emitter, batch, shape.n), column)
        of_a = kernel.offset(a, scale(emitter, first_row, shape.k))
        of_b = kernel.offset(b, scale(emitter, panel, shape.k))
        place = add(emitter, scale(emitter, first_row, shape.n), column)
        kernel.multiply(of_a, of_b, kernel.offset(acc, place))


@contextmanager
def _count(emitter: Emitter, extent: int, step: int) -> Iterator[str]:
    """A loop, where there is more than one round."""
    if extent == step:
        yield "0"
        return
    with emitter.loop("i64", "0", str(extent), str(step)) as loop:
        yield loop.index


@dataclass(frozen=True)
class _Kernel:
    """Writes the code of one register tile."""

    emitter: Emitter
    target: Target
    shape: DotShape
    element: ScalarType

    @property
    def vector(self) -> str:
        return llvm_type(self.element, self.shape.width)

    def offset(self, tile: Tile, index: str) -> str:
        return offset_pointer(self.emitter, self.element, tile.pointer, index)

    def _access(self, width: int) -> Access:
        return Access(self.emitter, self.target, self.element, width)

    def _places(self, pointer: str, row_stride: int) -> list[str]:
        """Addresses of the vectors of the tile, row by row."""
        steps = (
            row * row_stride + vector * self.shape.width
            for row in range(self.shape.rows)
            for vector in range(self.shape.vectors)
        )
        return [offset_pointer(self.emitter, self.element, pointer, str(step)) for step in steps]

    def multiply(self, a: str, b: str, acc: str) -> None:
        """Load the sums, add the products along K, and store them."""
        shape, emitter = self.shape, self.emitter
        access = self._access(shape.width)
        places = self._places(acc, shape.n)
        sums = [access.load(place) for place in places]
        with emitter.loop(
            "i64", "0", str(shape.k), "1", [(self.vector, total) for total in sums]
        ) as loop:
            here = offset_pointer(emitter, self.element, a, loop.index)
            line = scale(emitter, loop.index, shape.columns)
            start = offset_pointer(emitter, self.element, b, line)
            right = [
                access.load(offset_pointer(emitter, self.element, start, str(n * shape.width)))
                for n in range(shape.vectors)
            ]
            left = [self._repeat(here, row) for row in range(shape.rows)]
            pairs = ((x, y) for x in left for y in right)
            loop.following = [
                self._add_product(x, y, total)
                for (x, y), total in zip(pairs, loop.carried, strict=True)
            ]
        for place, total in zip(places, loop.carried, strict=True):
            access.store(place, total)

    def _repeat(self, pointer: str, row: int) -> str:
        """An element of A in all lanes."""
        place = offset_pointer(self.emitter, self.element, pointer, str(row * self.shape.k))
        single = self._access(1).load(place)
        return splat(self.emitter, llvm_scalar(self.element), single, self.shape.width)

    def _add_product(self, x: str, y: str, total: str) -> str:
        if self.element.is_integer:
            product = self.emitter.value(f"mul {self.vector} {x}, {y}")
            return self.emitter.value(f"add {self.vector} {total}, {product}")
        suffix = mangled(llvm_scalar(self.element), self.shape.width)
        operands = [(self.vector, operand) for operand in (x, y, total)]
        return self.emitter.call(self.vector, f"llvm.fmuladd.{suffix}", *operands)
