"""The builder of interpreter mode: every op is evaluated at once, with NumPy.

Semantics are the same functions as in compiled kernels, so results are too. Values hold a datum;
Python's own control flow runs the kernel's body. Combine functions of reductions are recorded as
regions, as always, and then run by the interpreter. Memory is the arguments' own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock.language.mapped_memory import find_mapped_memory
from lazyblock.source import SourceLine, user_line
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import Datum, Grid, Steps
from lazyblock.tiler.ir import Op, Value, make_op
from lazyblock.tiler.math import EXPANSIONS
from lazyblock.tiler.types import BlockType, Element, float32


class EagerValue(Value):
    """A value that is known: `datum` is an array (or addresses)."""

    __slots__ = ("datum",)

    def __init__(self, type: BlockType, datum: Datum, owner: Op | None = None) -> None:
        super().__init__(type, owner)
        self.datum = datum


class EagerBuilder(Builder):
    """Evaluates what it is told to build, as program instance `place` of `grid`."""

    is_eager = True

    def __init__(
        self, name: str = "kernel", grid: Grid = (1, 1, 1), place: Grid = (0, 0, 0)
    ) -> None:
        super().__init__(name)
        self.steps = Steps(grid, name, find_mapped_memory)
        self.place = place

    @property
    def line(self) -> SourceLine:
        """The line of the kernel that Python runs."""
        return user_line()

    @line.setter
    def line(self, line: SourceLine) -> None:
        """Python knows better."""

    @property
    def place(self) -> Grid:
        """Which program instance this is; set it before each run of the body."""
        return self.steps.place

    @place.setter
    def place(self, place: Grid) -> None:
        self.steps.place = place

    def argument(self, name: str, element: Element, argument: Any) -> EagerValue:
        """A kernel's argument: an array for a pointer (updated in place), else a number."""
        type = BlockType(element)
        return EagerValue(type, self.steps.bind(name, type, argument))

    def math(self, function: str, *arguments: Value) -> Value:
        """Written out in arithmetic as compiled kernels have it, so that the bits are the same."""
        scalar = arguments[0].type.scalar
        wide = float32 if scalar.bits < 32 else scalar
        result = EXPANSIONS[function](self, *(self.cast(value, wide) for value in arguments))
        return self.cast(result, scalar)

    def append(self, op_type: type[Op], /, **values: Any) -> Op:
        if len(self._regions) > 1:
            return super().append(op_type, **values)
        op = make_op(op_type, self.line, **values)
        with np.errstate(all="ignore"):
            data = self.steps.evaluate(op)
        owner = op if isinstance(op, ops.Constant) else None  # others need not be kept
        op.results = tuple(
            EagerValue(result.type, datum, owner)
            for result, datum in zip(op.results, data, strict=True)
        )
        return op
