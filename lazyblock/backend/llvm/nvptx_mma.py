"""The matrix instructions of a warp: what they multiply, and how their fragments lie.

`mma.sync` multiplies A (rows x depth) with B (depth x 8) and adds to C. Of a lane, let g be its
number / 4, and t the rest. A word of A holds, of row g, per_word elements from k = t * per_word on;
then come a word of row g + 8, and both of the second half of the depth. Words of B hold the same of
column g. C holds of row g the columns 2 t and 2 t + 1, then those of row g + 8. The emulator
(emulated_mma) plays this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FEW_ROWS = 8  # of a group of lanes; also the columns of every instruction


@dataclass(frozen=True)
class Mma:
    """One instruction. nbytes: of an element of A and B; word, acc: LLVM types of a register."""

    name: str
    rows: int
    depth: int
    nbytes: int
    word: str
    acc: str
    intrinsic: str
    packed: str = ""  # what LLVM takes for a word, where that is not `word`

    @property
    def per_word(self) -> int:
        """Elements that a register of A or B holds."""
        return max(4 // self.nbytes, 1)

    @property
    def word_bytes(self) -> int:
        """Bytes of a register of A or B."""
        return max(4, self.nbytes)

    @property
    def num_halves(self) -> int:
        """Words along the depth."""
        return self.depth // (4 * self.per_word)

    @property
    def has_upper_rows(self) -> bool:
        return self.rows > FEW_ROWS

    @property
    def num_words(self) -> tuple[int, int]:
        """Registers of A and of B."""
        return self.num_halves << self.has_upper_rows, self.num_halves

    @property
    def num_sums(self) -> int:
        """Registers of C."""
        return 2 << self.has_upper_rows

    @property
    def result(self) -> str:
        """LLVM type of C."""
        return f"{{{', '.join([self.acc] * self.num_sums)}}}"


_M16, _M8 = "llvm.nvvm.mma.m16n8", "llvm.nvvm.mma.m8n8"
MMA: Mapping[str, Mma] = {
    mma.name: mma
    for mma in (
        Mma("f16", 16, 16, 2, "i32", "float", f"{_M16}k16.row.col.f32.f32", "<2 x half>"),
        Mma("bf16", 16, 16, 2, "i32", "float", f"{_M16}k16.row.col.bf16"),
        Mma("tf32", 16, 8, 4, "i32", "float", f"{_M16}k8.row.col.tf32"),
        Mma("i8", 16, 32, 1, "i32", "i32", f"{_M16}k32.row.col.s8"),
        Mma("u8", 16, 32, 1, "i32", "i32", f"{_M16}k32.row.col.u8"),
        Mma("f64", 8, 4, 8, "double", "double", f"{_M8}k4.row.col.f64"),
    )
}


def mma_function(mma: Mma) -> str:
    """The function `lazyblock.mma_<name>` that wraps the instruction."""
    count = sum(mma.num_words)
    taken = mma.packed or mma.word
    types = [taken] * count + [mma.acc] * mma.num_sums
    names = [f"%w{n}" for n in range(count)] + [f"%c{n}" for n in range(mma.num_sums)]
    given = [f"{mma.word} %w{n}" for n in range(count)]
    given += [f"{mma.acc} %c{n}" for n in range(mma.num_sums)]
    lines = []
    if mma.packed:
        lines = [f"  %p{n} = bitcast {mma.word} %w{n} to {taken}" for n in range(count)]
        names[:count] = [f"%p{n}" for n in range(count)]
    arguments = ", ".join(f"{type} {name}" for type, name in zip(types, names, strict=True))
    return "\n".join(
        [
            f"declare {mma.result} @{mma.intrinsic}({', '.join(types)})",
            f"define internal {mma.result} @lazyblock.mma_{mma.name}({', '.join(given)})"
            " alwaysinline convergent nounwind {",
            *lines,
            f"  %r = call {mma.result} @{mma.intrinsic}({arguments}) convergent",
            f"  ret {mma.result} %r",
            "}",
            "",
        ]
    )
