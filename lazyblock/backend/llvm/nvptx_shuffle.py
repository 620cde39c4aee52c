"""Conversions between layouts that stay in each warp, by shuffles.

Everything is linear over GF(2): the element that a thread wants in register j lies in register R
and lane L of its warp, and both are sums over the bits of j, of its lane and of its warp. In a
round every lane sends one register and reads one lane. Where several lanes want different registers
of one lane, they take their own registers in different order, so that in each round every lane is
read once, and knows by whom.

Source: "Linear Layouts: Robust Code Generation of Efficient Tensor Computation", arXiv 2505.23819.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_, xor
from typing import NamedTuple

from lazyblock.backend.llvm.layout import LANE_BITS, LinearLayout, add_coordinates
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter, value_type
from lazyblock.tiler.types import ScalarType

WORD_BYTES = 4
_SHUFFLE_COST = 2  # cycles of a warp, where a select takes one


class Home(NamedTuple):
    """Register and lane where an element lies, as numbers to be added up."""

    register: int
    lane: int

    def plus(self, other: Home) -> Home:
        return Home(self.register ^ other.register, self.lane ^ other.lane)


_NOWHERE = Home(0, 0)


@dataclass(frozen=True)
class ShufflePlan:
    """How to convert: one round per register of the target, which has `registers` bits of homes.

    order: what each lane bit adds to the register that a lane takes in a round. swaps: what each
    thread bit adds to the register that is sent. sent: the register of each round. reads: what each
    thread bit adds to the difference between a lane and the one it reads; offsets: what rounds add.
    """

    order: tuple[int, ...]
    swaps: tuple[int, ...]
    sent: tuple[int, ...]
    reads: tuple[int, ...]
    offsets: tuple[int, ...]

    def count(self) -> int:
        """Rounds in which lanes differ from those they read."""
        return sum(any(self.reads) or offset != 0 for offset in self.offsets)

    def cost(self, nbytes: int, num_sent: int) -> int:
        """Cycles of a warp for elements of `nbytes`, of which it has `num_sent` registers."""
        sends, takes = (reduce(or_, weights, 0).bit_count() for weights in (self.swaps, self.order))
        selects = sends * num_sent + takes * len(self.offsets)
        return max(nbytes // WORD_BYTES, 1) * (_SHUFFLE_COST * self.count() + selects)


@lru_cache(maxsize=256)
def plan_shuffles(source: LinearLayout, target: LinearLayout) -> ShufflePlan | None:
    """None when a warp lacks elements that it wants, or no order of the rounds is found."""
    held = _Held(source)
    warps = zip(source.warp, target.warp, strict=True)
    wanted = [*target.register, *target.lane, *(add_coordinates(*pair) for pair in warps)]
    homes = [held.find(source.flatten(basis)) for basis in wanted]
    known = [home for home in homes if home is not None]
    if len(known) < len(homes):
        return None
    num_registers = len(target.register)
    registers, lanes = known[:num_registers], known[num_registers:][:LANE_BITS]
    ordered = _order_lanes(lanes, registers, held.unused)
    if ordered is None:
        return None
    order, lanes = ordered
    inverse = _invert_lanes([home.lane for home in lanes])

    def sender_adds(lane: int) -> int:
        """What the reader of `lane` adds to the register that it wants."""
        return _sum([lanes[bit].register for bit in _bits(_sum_at(inverse, lane))])

    rounds = [_sum_homes(registers, number) for number in range(target.num_registers)]
    far = known[num_registers + LANE_BITS :]
    return ShufflePlan(
        tuple(order),
        (
            *(sender_adds(1 << bit) for bit in range(LANE_BITS)),
            *(sender_adds(home.lane) ^ home.register for home in far),
        ),
        tuple(home.register ^ sender_adds(home.lane) for home in rounds),
        (*(home.lane ^ 1 << bit for bit, home in enumerate(lanes)), *(home.lane for home in far)),
        tuple(home.lane for home in rounds),
    )


def find_home(layout: LinearLayout, index: int) -> Home | None:
    """What leads to the elements whose row-major indices differ by `index`, within a warp."""
    return _Held(layout).find(index)


def emit_shuffles(
    emitter: ThreadEmitter, element: ScalarType, registers: Sequence[str], plan: ShufflePlan
) -> list[str]:
    """The registers of the target layout."""
    sendable = _swap(emitter, element, registers, plan.swaps)
    base = emitter.sum_thread_bits(plan.reads)
    received = []
    for register, offset in zip(plan.sent, plan.offsets, strict=True):
        value = sendable[register]
        if any(plan.reads):
            lane = emitter.combine_bits(base, str(offset), False) if offset else base
            value = emitter.shuffle("xor", element, value, lane)
        elif offset:
            value = emitter.shuffle("xor", element, value, offset)
        received.append(value)
    num_warp_bits = len(plan.reads) - len(plan.order)
    return _swap(emitter, element, received, (*plan.order, *[0] * num_warp_bits))


def _swap(
    emitter: ThreadEmitter, element: ScalarType, values: Sequence[str], weights: Sequence[int]
) -> list[str]:
    """Register r of the result is register r ^ (the sum of the thread's weights)."""
    swapped, type = list(values), value_type(element)
    for bit in range(max(weights, default=0).bit_length()):
        chosen = [weight >> bit & 1 for weight in weights]
        if any(chosen):
            is_odd = emitter.value(f"icmp ne i32 {emitter.sum_thread_bits(chosen)}, 0")
            swapped = [
                emitter.value(f"select i1 {is_odd}, {type} {swapped[n ^ 1 << bit]}, {type} {name}")
                for n, name in enumerate(swapped)
            ]
    return swapped


# --- linear algebra ------------------------------------------------------------------------------


class _Held:
    """Finds elements among the registers and lanes of a warp.

    unused: homes of nothing: adding them to a home leads to another copy of the same element.
    """

    def __init__(self, layout: LinearLayout) -> None:
        self._pivots: list[tuple[int, Home]] = []
        self.unused: list[Home] = []
        sources = [(b, Home(1 << n, 0)) for n, b in enumerate(layout.register)]
        sources += [(b, Home(0, 1 << n)) for n, b in enumerate(layout.lane)]
        for basis, home in sources:
            rest, elsewhere = self._reduce(layout.flatten(basis))
            if rest:
                self._pivots.append((rest, home.plus(elsewhere)))
            else:
                self.unused.append(home.plus(elsewhere))

    def find(self, index: int) -> Home | None:
        rest, home = self._reduce(index)
        return None if rest else home

    def _reduce(self, index: int) -> tuple[int, Home]:
        home = _NOWHERE
        for pivot, place in self._pivots:
            if index ^ pivot < index:
                index, home = index ^ pivot, home.plus(place)
        return index, home


def _order_lanes(
    lanes: Sequence[Home], registers: Sequence[Home], unused: Sequence[Home]
) -> tuple[list[int], list[Home]] | None:
    """Change what lanes read in a round, by other registers or copies, until all read another."""
    order, changed = [0] * len(lanes), list(lanes)
    taken: list[int] = []
    left = [bit for bit, home in enumerate(lanes) if not _extend(taken, home.lane)]
    choices = [(1 << number, home) for number, home in enumerate(registers)]
    choices += [(0, home) for home in unused]
    for bit in left:
        for added, home in choices:
            moved = lanes[bit].plus(home)
            if _extend(taken, moved.lane):
                order[bit], changed[bit] = added, moved
                break
        else:
            return None
    return order, changed


def _extend(pivots: list[int], vector: int) -> bool:
    """Add a vector to a subspace; whether it made the space larger."""
    for pivot in pivots:
        vector = min(vector, vector ^ pivot)
    pivots.extend([vector] if vector else [])
    return vector != 0


def _invert_lanes(columns: Sequence[int]) -> list[int]:
    images = {_sum_at(columns, number): number for number in range(1 << len(columns))}
    return [images[1 << bit] for bit in range(len(columns))]


def _bits(number: int) -> Iterator[int]:
    return (bit for bit in range(number.bit_length()) if number >> bit & 1)


def _sum(numbers: Sequence[int]) -> int:
    return reduce(xor, numbers, 0)


def _sum_at(columns: Sequence[int], number: int) -> int:
    return _sum([columns[bit] for bit in _bits(number)])


def _sum_homes(homes: Sequence[Home], number: int) -> Home:
    return reduce(Home.plus, [homes[bit] for bit in _bits(number)], _NOWHERE)
