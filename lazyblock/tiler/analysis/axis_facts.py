"""Facts of integers and addresses in a block: the data of axis analysis, made and joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lazyblock.tiler.ir import Op, Trait, Value
from lazyblock.tiler.types import BlockType, ScalarType

MOST = 1 << 30  # what 0 is said to be divisible by

Facts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AxisInfo:
    """Facts of one value, a power of two per axis.

    constant: the integer in every element, where known at compile time. nonnegative: no element is
    below 0.
    """

    contiguity: Facts
    divisibility: Facts
    constancy: Facts
    constant: int | None = None
    nonnegative: bool = False

    @property
    def divisor(self) -> int:
        """Power of two that divides every element."""
        pairs = zip(self.contiguity, self.divisibility, strict=True)
        return max(d if c == 1 else 1 for c, d in pairs)

    def divisor_of_runs(self, axis: int, run: int) -> int:
        """Power of two that divides the elements at multiples of `run` along `axis`."""
        divisibility = self.divisibility[axis]
        exact = divisibility if run >= self.contiguity[axis] else min(divisibility, run)
        return max(exact, self.divisor)

    def aligned_run(self, axis: int) -> int:
        """Length of runs of consecutive integers whose start is a multiple of the length."""
        return min(self.contiguity[axis], self.divisibility[axis])


Infos = dict[Value, AxisInfo]


def largest_power_of_2(number: int) -> int:
    """Largest power of two that divides `number`, at most MOST."""
    return min(number & -number, MOST) if number else MOST


def extents_of(type: BlockType) -> Facts:
    """A scalar counts as one axis of extent 1."""
    return type.shape or (1,)


def unknown(type: BlockType) -> AxisInfo:
    """Facts that hold of every value of a type."""
    ones = (1,) * len(extents_of(type))
    return settle(AxisInfo(ones, ones, ones), type)


def of_constant(number: int, type: BlockType) -> AxisInfo:
    """Facts of a block full of one integer."""
    extents = extents_of(type)
    ones = (1,) * len(extents)
    divisibility = (largest_power_of_2(number),) * len(extents)
    return AxisInfo(ones, divisibility, extents, number, number >= 0)


def settle(info: AxisInfo, type: BlockType) -> AxisInfo:
    """`info` with what follows from the type: unsigned values are not negative."""
    element = type.element
    is_unsigned = isinstance(element, ScalarType) and element.kind == "u"
    capped = tuple(min(d, MOST) for d in info.divisibility)
    return replace(info, divisibility=capped, nonnegative=info.nonnegative or is_unsigned)


def least(*facts: Facts) -> Facts:
    """What holds of all: the smallest fact per axis."""
    return tuple(map(min, *facts)) if len(facts) > 1 else facts[0]


def join(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """What holds of a value that is either."""
    contiguity = least(a.contiguity, b.contiguity)
    return AxisInfo(
        contiguity,
        shared_divisors(contiguity, a, b),
        least(a.constancy, b.constancy),
        a.constant if a.constant == b.constant else None,
        a.nonnegative and b.nonnegative,
    )


def shared_divisors(runs: Facts, *infos: AxisInfo) -> Facts:
    """Per axis, what divides the first elements of runs of these lengths in all `infos`."""
    return tuple(
        min(info.divisor_of_runs(axis, run) for info in infos) for axis, run in enumerate(runs)
    )


def flat(info: AxisInfo, divisor: int, constancy: Facts, nonnegative: bool = False) -> AxisInfo:
    """Facts of a value without runs, all of whose elements are multiples of `divisor`."""
    count = len(constancy)
    return AxisInfo((1,) * count, (divisor,) * count, constancy, None, nonnegative)


def of_any_op(op: Op, result: Value, known: Sequence[AxisInfo]) -> AxisInfo:
    """What follows from being elementwise: equal operands give equal results."""
    nothing = unknown(result.type)
    if not op.has(Trait.ELEMENTWISE) or not known:
        return nothing
    return replace(nothing, constancy=least(*(info.constancy for info in known)))
