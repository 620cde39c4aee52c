"""Contractions: products of matrices, added to an accumulator.

What may meet is a table, one row per type of operands: a new type joins by its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Value, attribute, operand
from lazyblock.tiler.ops.checks import require
from lazyblock.tiler.types import BlockType

# types of operands that may meet, types of accumulators that they may be added to
COMBINATIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("f16",), ("f32", "f16")),
    (("bf16",), ("f32",)),
    (("f32",), ("f32",)),
    (("f64",), ("f64",)),
    (("i8",), ("i32",)),
    (("u8",), ("i32",)),
)

PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


@dataclass(eq=False)
class Dot(Op):
    """acc + a @ b for a (..., M, K), b (..., K, N), acc (..., M, N), of rank 2 or 3.

    Products are exact, or as coarse as `precision` allows for f32 operands; their order and the
    rounding of their sum are unspecified, but halves are summed at least as well as in f32 and the
    same program gives the same bits. i32 wraps.
    """

    name = "dot"
    a: Value = operand()
    b: Value = operand()
    acc: Value = operand()
    precision: str = attribute("ieee")

    @property
    def is_integer(self) -> bool:
        return self.acc.type.scalar.is_integer

    def infer(self) -> Sequence[BlockType]:
        a, b, acc = self.a.type, self.b.type, self.acc.type
        types = f"a dot of {a} and {b} into {acc}"
        rank = len(acc.shape)
        require(rank in (2, 3) and len(a.shape) == len(b.shape) == rank, f"{types}: ranks 2 or 3")
        *batch, rows, columns = acc.shape
        depth = a.shape[-1]
        fits = a.shape == (*batch, rows, depth) and b.shape == (*batch, depth, columns)
        require(fits, f"{types}: shapes are (..., M, K), (..., K, N), (..., M, N)")
        is_known = any(
            str(a.element) in operands and str(b.element) in operands and str(acc.element) in sums
            for operands, sums in COMBINATIONS
        )
        require(is_known, f"{types}: no such combination of types")
        require(self.precision in PRECISIONS, f"there is no precision '{self.precision}'")
        return [acc]
