"""A launch of a block program as a value: what a CALL node of the graph holds.

Arrays are numbered: operands of the node first, then results. Numbers that the kernel takes by
value belong to the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.dtypes import DType
from lazyblock.shapes import Shape
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import Program

NDArray = npt.NDArray[Any]


@dataclass(frozen=True)
class ArrayNumber:
    """Stands for array `number`, of `dtype`, among the arguments."""

    number: int
    dtype: DType


@dataclass(frozen=True)
class BlockCall:
    """One argument per parameter: an ArrayNumber, or a number by value."""

    program: Program
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{self.program.name}{list(self.grid)}"

    def run(
        self, operands: Sequence[NDArray], results: Sequence[tuple[Shape, DType]]
    ) -> list[NDArray]:
        """Interpret it on arrays that it only reads; gives the results."""
        made = [np.zeros(shape, dtype) for shape, dtype in results]
        arrays = [*map(np.ascontiguousarray, operands), *made]
        values = [
            arrays[argument.number] if isinstance(argument, ArrayNumber) else argument
            for argument in self.arguments
        ]
        interpret(self.program, values, self.grid)
        return made
