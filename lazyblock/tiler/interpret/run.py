"""The block IR run by NumPy, one program instance at a time: the oracle of both backends.

Takes: a program, arguments, a grid. Gives: nothing; arrays are updated in place. Blocks are arrays,
scalars 0-d arrays, addresses as memory.py says, numbers as arithmetic.py does.
It doubles as a checker: an access outside its array in a lane that is not masked raises LaunchError
with the lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyblock.errors import DTypeError, LaunchError
from lazyblock.tiler.interpret.accesses import MEMORY_RULES
from lazyblock.tiler.interpret.blocks import BLOCK_RULES
from lazyblock.tiler.interpret.debugging import DEBUG_RULES
from lazyblock.tiler.interpret.instance import Datum, Grid, Instance, Watch
from lazyblock.tiler.interpret.memory import (
    Addresses,
    Memory,
    Resolve,
    memory_of,
)
from lazyblock.tiler.interpret.regions import REGION_RULES
from lazyblock.tiler.ir import Op, Program, Value
from lazyblock.tiler.types import (
    BlockType,
    PointerType,
    to_numpy,
)


class Interpreted(Instance):
    """A program instance that runs whatever ops there are."""

    rules = BLOCK_RULES | MEMORY_RULES | DEBUG_RULES | REGION_RULES


def interpret(
    program: Program,
    arguments: Sequence[Any],
    grid: Grid = (1, 1, 1),
    watch: Watch | None = None,
    resolve: Resolve | None = None,
) -> None:
    """Run every instance of `grid` in order; axis 0 varies fastest.

    Parameters: arguments, an array per pointer (updated in place; or a flat array and the number of
    the element pointed to) and a number per scalar; watch, called before each access; resolve,
    which gives the memory around an absolute address that lies in no argument.
    Raises: LaunchError on wrong arguments, accesses out of bounds, loops that do not end.
    """
    if len(arguments) != len(program.parameters):
        raise LaunchError(
            f"'{program.name}' takes {len(program.parameters)} arguments, got {len(arguments)}."
        )
    memories: list[Memory] = []
    values: dict[Value, Datum] = {}
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        datum = _bind(parameter.name, parameter.value.type, argument, memories)
        values[parameter.value] = datum
    with np.errstate(all="ignore"):
        for coordinates in itertools.product(*(range(extent) for extent in reversed(grid))):
            x, y, z = reversed(coordinates)
            instance = Interpreted(values, memories, (x, y, z), grid, watch, resolve, program.name)
            instance.run(program.body)


def _bind(name: str, type: BlockType, argument: Any, memories: list[Memory]) -> Datum:
    if not isinstance(type.element, PointerType):
        return np.asarray(argument, dtype=to_numpy(type.element))
    dtype = to_numpy(type.element.pointee)
    argument, first = argument if isinstance(argument, tuple) else (argument, 0)
    if not isinstance(argument, np.ndarray) or argument.dtype != dtype:
        given = getattr(argument, "dtype", argument.__class__.__name__)
        raise DTypeError(f"argument '{name}' is {given}, expected an array of {dtype}.")
    memories.append(memory_of(name, argument))
    return Addresses(np.asarray(len(memories) - 1), np.asarray(memories[-1].start + first))


evaluate = Interpreted.compute


class _Known(dict[Value, Datum]):
    """Values by what they hold themselves, save those a region defines while it runs."""

    def __missing__(self, value: Value) -> Datum:
        datum: Datum = value.datum  # type: ignore[attr-defined]
        return datum


class Steps(Interpreted):
    """A program instance whose ops run one by one as they are made; values know their data."""

    def __init__(
        self, grid: Grid = (1, 1, 1), name: str = "kernel", resolve: Resolve | None = None
    ) -> None:
        super().__init__({}, [], (0, 0, 0), grid, resolve=resolve, name=name)

    def bind(self, name: str, type: BlockType, argument: Any) -> Datum:
        """An argument's datum; memory of arrays is reached through it from then on."""
        return _bind(name, type, argument, self.memories)

    def evaluate(self, op: Op) -> Sequence[Datum]:
        """Data of the results of `op`."""
        self.values = _Known()
        return self.rules[type(op)](self, op)
