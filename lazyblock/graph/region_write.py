"""A write into part of an array as a value: what HOST nodes of in-place updates hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lazyblock.dtypes import DType
from lazyblock.graph.index_map import IndexMap
from lazyblock.shapes import Shape, contiguous_strides, strided_view

NDArray = npt.NDArray[Any]


@dataclass(frozen=True)
class RegionWrite:
    """An array and a value that broadcasts to `shape`: the array with the value at `map`.

    The call of a HOST node that need not make a new array: `write` changes the one it is given.
    """

    map: IndexMap
    shape: Shape

    name: ClassVar[str] = "write in place"

    def __repr__(self) -> str:
        return f"a write of {list(self.shape)} in place"

    def run(
        self, operands: Sequence[NDArray], results: Sequence[tuple[Shape, DType]]
    ) -> list[NDArray]:
        """Call it on arrays that it only reads."""
        array, value = operands
        return [self.of_copy(array, value)]

    def of_copy(self, array: NDArray, value: NDArray) -> NDArray:
        """A new array with the value written into it."""
        written = np.array(array, order="C")
        self.write(written, value)
        return written

    def write(self, array: NDArray, value: NDArray) -> None:
        """Write into an array in C order; the value may lie in its memory."""
        offset, strides = self.map.strides(contiguous_strides(array.shape))
        strided_view(array.reshape(-1)[offset:], self.shape, strides)[...] = value

    def on_parts(self) -> RegionWrite:
        """The same write for arrays with an axis more, the parts of complex numbers."""
        return RegionWrite(self.map.with_axis(), (*self.shape, 2))
