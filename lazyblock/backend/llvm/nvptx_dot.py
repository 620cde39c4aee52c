"""Which instruction computes a dot on a GPU, and so where its blocks lie.

`choose_method` finds the first row of METHODS that the target and the shape allow; what no row
takes is computed by fused multiply-adds of each thread. nvptx_dot_code writes the code. An f32 may
be multiplied in parts: coarse numbers that add up to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyblock.backend.llvm.dot_layouts import DotLayouts, DotSize, fma_layouts, mma_layouts
from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_mma import MMA, Mma
from lazyblock.target import Target
from lazyblock.tiler import ops

# Which words of A and of B to multiply, the smallest products first. Words of a number in parts:
# the first, that again but 0 where it is not finite, the second part, the third.
_WHOLE = ((0, 0),)
_TWO_PARTS = ((2, 1), (1, 2), (0, 0))
_THREE_PARTS = ((3, 1), (2, 2), (1, 3), (2, 1), (1, 2), (0, 0))


@dataclass(frozen=True)
class Method:
    """A row: an instruction, and when to take it.

    precision: what it is good for ("" for any). terms: the products of parts to add. arch: the
    first architecture that has it.
    """

    mma: Mma
    precision: str = ""
    terms: tuple[tuple[int, int], ...] = _WHOLE
    arch: int = 80

    @property
    def num_parts(self) -> int:
        """Numbers that an element is split into."""
        return max(max(a for a, _ in self.terms), 1)

    def fits(self, op: ops.Dot, arch: int) -> bool:
        is_fine = self.precision in ("", op.precision)
        return is_fine and self.arch <= arch and self.mma.depth <= op.a.shape[-1]


# elements of A and B -> rows, the best first
METHODS: dict[tuple[str, str], tuple[Method, ...]] = {
    **{(name, name): (Method(MMA[name]),) for name in ("f16", "bf16", "i8", "u8", "f64")},
    ("f32", "f32"): (
        Method(MMA["tf32"], "tf32"),
        Method(MMA["tf32"], "tf32x3", _TWO_PARTS),
        Method(MMA["bf16"], "bf16x3", _TWO_PARTS),
        Method(MMA["bf16"], "bf16x6", _THREE_PARTS),
    ),
}


def choose_method(op: ops.Dot, target: Target) -> Method | None:
    """The row that computes `op`; None for fused multiply-adds."""
    arch = int("".join(filter(str.isdigit, target.arch)))
    rows = METHODS.get((op.a.type.scalar.name, op.b.type.scalar.name), ())
    return next((row for row in rows if row.fits(op, arch)), None)


def plan_dot(
    op: ops.Dot, target: Target, num_warps: int, source: LinearLayout | None, feeds_dot: bool
) -> DotLayouts:
    """Layouts of a dot. source: the layout that A is computed in, where something fixed it."""
    *batch, m, n = op.acc.shape
    method = choose_method(op, target)
    element = op.a.type.scalar if method else op.acc.type.scalar
    size = DotSize(
        *(batch[0] if batch else 1, m, n, op.a.shape[-1]),
        rank=len(op.acc.shape),
        num_warps=num_warps,
        nbytes=element.nbytes,
        feeds_dot=feeds_dot,
        source=source,
    )
    return mma_layouts(size, method.mma) if method else fma_layouts(size)
