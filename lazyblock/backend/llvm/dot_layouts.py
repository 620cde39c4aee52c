"""Which thread holds which element of a dot's operands and accumulator.

The bits of M, N and K are dealt out to registers, lanes and warps as an instruction wants them (or,
without one, as an outer product per thread wants them); which bit goes where is free as long as the
operands agree. So the lowest bits go to registers: threads then hold neighbours, in memory and in
shared memory, and move 16 bytes at once. Where A comes from another dot's accumulator, its places
are taken over, and nothing moves. Bits for which no element is left hold replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from lazyblock.backend.llvm.layout import LANE_BITS, Basis, LinearLayout, bit_count
from lazyblock.backend.llvm.nvptx_mma import FEW_ROWS, Mma

VECTOR_BYTES = 16  # of the widest access
_BATCH, _M, _N, _NONE = range(4)


@dataclass(frozen=True)
class AxisBits:
    """Coordinates along one axis that bits add: of registers, of its lanes, of the warp; or 0."""

    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...]


def sums_of(bits: Iterable[int]) -> list[int]:
    """The coordinate that every combination of bits leads to; the first bit changes fastest."""
    sums = [0]
    for bit in bits:
        sums += [total + bit for total in sums]
    return sums


@dataclass(frozen=True)
class DotLayouts:
    """How a dot is computed: by an instruction, or by fused multiply-adds of each thread.

    Registers come in the order of the axes' register bits: K before M (or N), batch last. With an
    instruction, the lowest of M are those that its upper rows take, the lowest of K its words.
    """

    mma: Mma | None
    batch: AxisBits
    m: AxisBits
    n: AxisBits
    k: AxisBits
    a: LinearLayout
    b: LinearLayout
    acc: LinearLayout


@dataclass(frozen=True)
class DotSize:
    """What layouts depend on: extents, warps, bytes of an element of A and B.

    feeds_dot: the result becomes the A of another dot. source: the layout that A is computed in.
    """

    batch: int
    m: int
    n: int
    k: int
    rank: int
    num_warps: int
    nbytes: int
    feeds_dot: bool = False
    source: LinearLayout | None = None

    @property
    def vector_bits(self) -> int:
        return max(bit_count(VECTOR_BYTES // self.nbytes), 0)


def mma_layouts(size: DotSize, mma: Mma) -> DotLayouts:
    """Layouts for an instruction; K is at least its depth."""
    vector, num_rows = size.vector_bits, bit_count(FEW_ROWS)
    taken = _take_over(size, mma)
    if taken is not None:
        batch, m, k = taken
        n = _deal(size.n, vector, num_rows, [False] * len(m.warp))
    else:
        owners = _split_warps(size, mma.rows, FEW_ROWS)
        batch = _deal(size.batch, 0, 0, _owned(owners, _BATCH))
        m = _deal(size.m, vector, num_rows, _owned(owners, _M))
        n = _deal(size.n, vector, num_rows, _owned(owners, _N))
        k = _deal(size.k, vector, LANE_BITS - num_rows, _owned(owners, _NONE, False))
    place = _Places(size.rank)
    return DotLayouts(
        mma,
        *(batch, m, n, k),
        a=place.operand((size.batch, size.m, size.k), batch, m, k, k.lane, m.lane),
        b=place.operand((size.batch, size.k, size.n), batch, n, k, k.lane, n.lane, is_b=True),
        acc=place.layout(
            (size.batch, size.m, size.n),
            (*_along(2, n.lane[:1]), *_along(1, m.register), *_along(2, n.register)),
            (*_along(2, n.lane[1:]), *_along(1, m.lane)),
            batch,
            (m.warp, n.warp),
        ),
    )


def fma_layouts(size: DotSize) -> DotLayouts:
    """Layouts for an outer product in each thread's registers, as square as it can be."""
    owners = _split_warps(size, 1, 1)
    lanes = _split_lanes(size, owners)
    batch = _deal(size.batch, 0, 0, _owned(owners, _BATCH))
    m = _deal(size.m, size.vector_bits, lanes.count(_M), _owned(owners, _M))
    n = _deal(size.n, size.vector_bits, lanes.count(_N), _owned(owners, _N))
    k = _deal(size.k, size.vector_bits, 0, _owned(owners, _NONE, False))
    place = _Places(size.rank)
    no_m, no_n = (0,) * len(m.lane), (0,) * len(n.lane)
    return DotLayouts(
        None,
        *(batch, m, n, k),
        a=place.operand((size.batch, size.m, size.k), batch, m, k, no_n, m.lane),
        b=place.operand((size.batch, size.k, size.n), batch, n, k, (), (*n.lane, *no_m), is_b=True),
        acc=place.layout(
            (size.batch, size.m, size.n),
            (*_along(2, n.register), *_along(1, m.register)),
            (*_along(2, n.lane), *_along(1, m.lane)),
            batch,
            (m.warp, n.warp),
        ),
    )


# --- dealing out bits ----------------------------------------------------------------------------


def _deal(extent: int, most_vector: int, num_lanes: int, warps: Sequence[bool]) -> AxisBits:
    """The bits of an axis: a vector's registers first, then lanes, registers, and the own warps."""
    num_bits = bit_count(extent)
    num_registers = max(num_bits - num_lanes - sum(warps), 0)
    vector = min(num_registers, most_vector)
    bits = _endless(1 << bit for bit in range(num_bits))
    low = [next(bits) for _ in range(vector)]
    lanes = tuple(next(bits) for _ in range(num_lanes))
    high = [next(bits) for _ in range(num_registers - vector)]
    return AxisBits((*low, *high), lanes, tuple(next(bits) if own else 0 for own in warps))


def _endless(bits: Iterable[int]) -> Iterator[int]:
    yield from bits
    yield from repeat(0)


def _owned(owners: Sequence[int], axis: int, is_used: bool = True) -> list[bool]:
    """Which warp bits count along an axis."""
    return [is_used and owner == axis for owner in owners]


def _split_warps(size: DotSize, least_m: int, least_n: int) -> list[int]:
    """The axis of each warp bit: batch, then what keeps the part of a warp square.

    All along M where the result is the A of another dot: its rows then stay in their warps.
    """
    left = {_BATCH: size.batch, _M: size.m, _N: size.n}
    least = {_M: least_m, _N: least_n}
    owners = []
    for _ in range(bit_count(size.num_warps)):
        wide = [axis for axis in (_M, _N) if left[axis] > least[axis]]
        if left[_BATCH] > 1:
            axis = _BATCH
        elif size.feeds_dot and _M in wide:
            axis = _M
        else:
            axis = max(wide, key=lambda axis: left[axis], default=_NONE)
        if axis != _NONE:
            left[axis] //= 2
        owners.append(axis)
    return owners


def _split_lanes(size: DotSize, owners: Sequence[int]) -> list[int]:
    """The axis of each lane bit of an outer product."""
    left = {_N: size.n >> owners.count(_N), _M: size.m >> owners.count(_M)}
    lanes = []
    for _ in range(LANE_BITS):
        axis = max(left, key=lambda axis: left[axis])
        left[axis] = max(left[axis] // 2, 1)
        lanes.append(axis)
    return lanes


def _take_over(size: DotSize, mma: Mma) -> tuple[AxisBits, AxisBits, AxisBits] | None:
    """Places along batch, M and K of an A that lies as this instruction's operand may."""
    if size.source is None:
        return None
    axes = [_axis_of(basis) for basis in size.source.bases]
    if None in axes:
        return None
    source = size.source.expand(0) if size.rank == 2 else size.source
    num_k = LANE_BITS - bit_count(FEW_ROWS)
    batch, m, k = (
        AxisBits(
            tuple(sorted(basis[axis] for basis in source.register if basis[axis])),
            tuple(basis[axis] for basis in source.lane),
            tuple(basis[axis] for basis in source.warp),
        )
        for axis in range(3)
    )
    is_like = all(k.lane[:num_k]) and not any((*k.lane[num_k:], *k.warp, *m.lane[:num_k]))
    if not is_like or any(batch.lane) or len(k.register) < bit_count(mma.depth) - num_k:
        return None
    k, m, batch = (
        AxisBits(axis.register, lane, axis.warp)
        for axis, lane in ((k, k.lane[:num_k]), (m, m.lane[num_k:]), (batch, ()))
    )
    return batch, m, k


def _axis_of(basis: Basis) -> int | None:
    """The only axis that a basis vector moves along (0 if none); None if there are several."""
    moving = [axis for axis, step in enumerate(basis) if step]
    if len(moving) > 1 or any(step & (step - 1) for step in basis):
        return None
    return moving[0] if moving else 0


# --- layouts -------------------------------------------------------------------------------------


def _along(axis: int, bits: Iterable[int]) -> list[Basis]:
    return [(0,) * axis + (bit,) + (0,) * (2 - axis) for bit in bits]


@dataclass(frozen=True)
class _Places:
    """Makes layouts of three axes, without the first for dots of rank 2."""

    rank: int

    def operand(
        self,
        shape: tuple[int, int, int],
        batch: AxisBits,
        own: AxisBits,
        k: AxisBits,
        k_lane: Sequence[int],
        own_lane: Sequence[int],
        is_b: bool = False,
    ) -> LinearLayout:
        """A or B: `own` is M or N; lanes along K come first."""
        own_axis, k_axis = (2, 1) if is_b else (1, 2)
        register = (*_along(k_axis, k.register), *_along(own_axis, own.register))
        lane = (*_along(k_axis, k_lane), *_along(own_axis, own_lane))
        warps = (k.warp, own.warp) if is_b else (own.warp, k.warp)
        return self.layout(shape, register, lane, batch, warps)

    def layout(
        self,
        shape: tuple[int, int, int],
        register: Sequence[Basis],
        lane: Sequence[Basis],
        batch: AxisBits,
        warps: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> LinearLayout:
        register = (*register, *_along(0, batch.register))
        warp = zip(batch.warp, *warps, strict=True)
        return LinearLayout(
            shape[-self.rank :],
            *(
                tuple(basis[-self.rank :] for basis in bases)
                for bases in ((b for b in register if any(b)), lane, warp)
            ),
        )
