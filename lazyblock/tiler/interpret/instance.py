"""One program instance: its values, its place in the grid, and the rules that run its ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lazyblock.errors import UnsupportedError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret.exact_integers import ExactIntegers, Wrapped
from lazyblock.tiler.interpret.memory import (
    Addresses,
    Array,
    Memory,
    Resolve,
    to_integers,
)
from lazyblock.tiler.ir import Op, Region, Trait, Value
from lazyblock.tiler.types import (
    PointerType,
)

Grid = tuple[int, int, int]
Datum = Array | Addresses


@dataclass(frozen=True, slots=True)
class Touch:
    """An access about to be made: which lanes of a block touch which `elements` of a memory.

    argument: the number of the pointer argument, beyond those of another memory or view, NOWHERE of
    no memory; offsets has one entry per True in lanes, of NOWHERE it holds addresses in elements;
    wrapped: what is known of the pointers if integers wrapped in computing them.
    """

    op: Op
    place: Grid
    argument: int
    elements: Array
    lanes: Array
    offsets: Array
    wrapped: Wrapped | None = None

    @property
    def is_write(self) -> bool:
        return not isinstance(self.op, ops.Load)


Watch = Callable[[Touch], None]


class Instance:
    """One program instance: its values and its place in the grid. rules: how ops run."""

    rules: ClassVar[Mapping[type[Op], Rule]]

    def __init__(
        self,
        values: dict[Value, Datum],
        memories: list[Memory],
        place: Grid,
        grid: Grid,
        watch: Watch | None = None,
        resolve: Resolve | None = None,
        name: str = "",
    ) -> None:
        self.values = dict(values)
        self.name = name
        self.memories = memories
        self.place = place
        self.grid = grid
        self.watch = watch
        self.integers = ExactIntegers(self.compute) if watch else None
        self.resolve = resolve

    def run(self, region: Region) -> list[Datum]:
        """Run a region; gives what its terminator yields."""
        for op in region.ops:
            if op.has(Trait.TERMINATOR):
                return [self.values[value] for value in op.operands_flat]
            if type(op) not in self.rules:
                raise UnsupportedError(f"the interpreter does not know '{op.name}'.")
            results = self.rules[type(op)](self, op)
            if self.integers is not None:
                self.integers.follow(op, [self.values[v] for v in op.operands_flat], results)
            self.values.update(zip(op.results, results, strict=True))
        return []

    @classmethod
    def compute(cls, op: Op, operands: Sequence[Array]) -> Array:
        """The only result of a pure op without regions, from the values of its operands."""
        values: dict[Value, Datum] = dict(zip(op.operands_flat, operands, strict=True))
        with np.errstate(all="ignore"):
            (result,) = cls.rules[type(op)](cls(values, [], (0, 0, 0), (1, 1, 1)), op)
        assert not isinstance(result, Addresses)
        return result

    def call(self, region: Region, arguments: Sequence[Datum]) -> list[Datum]:
        self.values.update(zip(region.arguments, arguments, strict=True))
        return self.run(region)

    def array(self, value: Value) -> Array:
        datum = self.values[value]
        assert not isinstance(datum, Addresses)
        return datum

    def addresses(self, value: Value) -> Addresses:
        datum = self.values[value]
        assert isinstance(datum, Addresses)
        return datum


Rule = Callable[[Instance, Any], Sequence[Datum]]


def as_integers(instance: Instance, value: Value) -> Array:
    """Numbers, or addresses as integers."""
    datum, element = instance.values[value], value.type.element
    if isinstance(datum, Addresses):
        assert isinstance(element, PointerType)
        return to_integers(instance.memories, datum, element.pointee.nbytes)
    return datum
