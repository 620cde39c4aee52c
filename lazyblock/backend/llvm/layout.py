"""Which thread holds which element of a block: linear layouts over GF(2).

All extents are powers of two, so the map from the bits of (register, lane, warp) to the bits of an
element's coordinates is a matrix over GF(2). It is kept as one basis vector, a coordinate per axis,
for each input bit; an element's coordinates are the exclusive or of the vectors of the set bits. A
vector of zeros means that the bit only repeats elements (replicas).

Source: "Linear Layouts: Robust Code Generation of Efficient Tensor Computation", arXiv 2505.23819.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

Basis = tuple[int, ...]
LANE_BITS = 5  # 32 threads in a warp


def bit_count(extent: int) -> int:
    """log2 of a power of two."""
    assert extent > 0 and extent & (extent - 1) == 0, f"{extent} is no power of two"
    return extent.bit_length() - 1


def add_coordinates(left: Basis, right: Basis) -> Basis:
    """The sum over GF(2)."""
    return tuple(a ^ b for a, b in zip(left, right, strict=True))


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """Placement of a block's elements; `register`, `lane`, `warp` hold one basis vector per bit."""

    shape: tuple[int, ...]
    register: tuple[Basis, ...]
    lane: tuple[Basis, ...]
    warp: tuple[Basis, ...]

    # --- facts -----------------------------------------------------------------------------------

    @property
    def num_registers(self) -> int:
        """Elements every thread holds."""
        return 1 << len(self.register)

    @property
    def num_warps(self) -> int:
        return 1 << len(self.warp)

    @property
    def bases(self) -> tuple[Basis, ...]:
        """All basis vectors: register bits, then lane bits, then warp bits."""
        return self.register + self.lane + self.warp

    def coordinates(self, register: int, lane: int = 0, warp: int = 0) -> Basis:
        """Coordinates of the element that a thread holds in one of its registers."""
        total = (0,) * len(self.shape)
        for bases, index in ((self.register, register), (self.lane, lane), (self.warp, warp)):
            for position, basis in enumerate(bases):
                if index >> position & 1:
                    total = add_coordinates(total, basis)
        return total

    def replica_masks(self) -> tuple[int, int, int]:
        """Bits of (register, lane, warp) that only repeat elements.

        The threads and registers where these bits are 0 hold every element exactly once.
        """
        masks = [0, 0, 0]
        pivots: list[int] = []
        for part, bases in enumerate((self.register, self.lane, self.warp)):
            for position, basis in enumerate(bases):
                rest = _reduce_by(pivots, self.flatten(basis))
                if rest:
                    pivots.append(rest)
                else:
                    masks[part] |= 1 << position
        return masks[0], masks[1], masks[2]

    def flatten(self, basis: Basis) -> int:
        """Row-major index of the element at `basis`."""
        return flatten_coordinates(self.shape, basis)

    def local_replica_masks(self, cta_bits: int) -> tuple[int, int, int]:
        """The same within each CTA; the highest `cta_bits` warp bits number those of a cluster."""
        warp = self.warp[: len(self.warp) - cta_bits]
        return replace(self, warp=warp).replica_masks()

    def holds_within_ctas(self, other: LinearLayout, cta_bits: int) -> bool:
        """Whether every CTA of a cluster holds here all that it holds in `other`."""
        warps = len(self.warp) - cta_bits
        if self.warp[warps:] != other.warp[warps:]:
            return False
        pivots = self._pivots_within_ctas(cta_bits)
        wanted = (*other.register, *other.lane, *other.warp[:warps])
        return not any(_reduce_by(pivots, self.flatten(basis)) for basis in wanted)

    def reaches_within_ctas(self, index: int, cta_bits: int) -> bool:
        """Whether elements whose row-major indices differ by `index` bits lie in one CTA."""
        return _reduce_by(self._pivots_within_ctas(cta_bits), index) == 0

    def _pivots_within_ctas(self, cta_bits: int) -> list[int]:
        """Vectors that span the indices in one CTA."""
        pivots: list[int] = []
        for basis in (*self.register, *self.lane, *self.warp[: len(self.warp) - cta_bits]):
            rest = _reduce_by(pivots, self.flatten(basis))
            pivots.extend([rest] if rest else [])
        return pivots

    def has_disjoint_bits(self, axis: int) -> bool:
        """Whether coordinates along `axis` may be summed with + instead of exclusive or."""
        values = [basis[axis] for basis in self.bases]
        return reduce(lambda a, b: a | b, values, 0) == sum(values)

    def is_separable(self, axis: int) -> bool:
        """Whether every bit moves along `axis` alone or not at all, each to a place of its own."""
        apart = all(b[axis] == 0 or sum(b) == b[axis] for b in self.bases)
        return apart and self.has_disjoint_bits(axis)

    def vector_positions(self, axis: int) -> tuple[int, ...]:
        """Register bits that step by 1, 2, 4, ... along `axis` alone: they may form vectors."""
        found: list[int] = []
        while (step := self._unit(axis, 1 << len(found))) in self.register:
            found.append(self.register.index(step))
        return tuple(found)

    def register_map(self, other: LinearLayout) -> tuple[int, ...] | None:
        """For each register of `other`, the register here that holds the same element.

        None when some thread would need an element of another thread.
        """
        if (self.shape, self.lane, self.warp) != (other.shape, other.lane, other.warp):
            return None
        if self.register == other.register:
            return tuple(range(self.num_registers))
        held = {self.coordinates(index): index for index in reversed(range(self.num_registers))}
        wanted = [held.get(other.coordinates(index)) for index in range(other.num_registers)]
        return None if None in wanted else tuple(index for index in wanted if index is not None)

    def _unit(self, axis: int, step: int) -> Basis:
        return tuple(step if position == axis else 0 for position in range(len(self.shape)))

    def vectors(self, positions: Sequence[int]) -> list[tuple[int, ...]]:
        """Registers that differ in these bits only, the first position being the lowest bit."""
        mask = sum(1 << position for position in positions)
        offsets = [
            sum(1 << position for bit, position in enumerate(positions) if index >> bit & 1)
            for index in range(1 << len(positions))
        ]
        leaders = (register for register in range(self.num_registers) if not register & mask)
        return [tuple(leader | offset for offset in offsets) for leader in leaders]

    # --- transforms: layouts of blocks made from a block in this layout ---------------------------

    def project(self, axis: int) -> LinearLayout:
        """Layout of one slice along `axis` (extent 1), held wherever the block's elements are."""
        shape = (*self.shape[:axis], 1, *self.shape[axis + 1 :])
        return self._map(shape, lambda basis: (*basis[:axis], 0, *basis[axis + 1 :]))

    def shrink(self, axis: int, bits: int) -> LinearLayout:
        """Layout of one element out of every 2**bits along `axis`, held where any of them is."""
        shape = (*self.shape[:axis], self.shape[axis] >> bits, *self.shape[axis + 1 :])
        return self._map(shape, lambda b: (*b[:axis], b[axis] >> bits, *b[axis + 1 :]))

    def squeeze(self, axis: int) -> LinearLayout:
        """Drop `axis`; elements along it fall together."""
        shape = self.shape[:axis] + self.shape[axis + 1 :]
        return self._map(shape, lambda basis: basis[:axis] + basis[axis + 1 :])

    def join(self) -> LinearLayout:
        """A new last axis of extent 2, along which every thread holds both elements."""
        wide = self.expand(len(self.shape))
        unit = (*(0 for _ in self.shape), 1)
        return replace(wide, shape=(*self.shape, 2), register=(unit, *wide.register))

    def split(self) -> LinearLayout:
        """Layout of the halves of the last axis, for which few elements move.

        Where threads differ by that axis, they give it for one that their registers have.
        """
        axis = len(self.shape) - 1
        unit = self._unit(axis, 1)
        if [basis for basis in self.bases if basis[axis]] != [unit] or unit in self.register:
            return self.squeeze(axis)
        *register, given = self.register or [unit]
        lane, warp = (
            tuple(given if basis == unit else basis for basis in bases)
            for bases in (self.lane, self.warp)
        )
        return LinearLayout(self.shape, tuple(register), lane, warp).squeeze(axis)

    def expand(self, axis: int) -> LinearLayout:
        """Insert an axis of extent 1 before position `axis`."""
        shape = (*self.shape[:axis], 1, *self.shape[axis:])
        return self._map(shape, lambda basis: (*basis[:axis], 0, *basis[axis:]))

    def transpose(self, permutation: Sequence[int]) -> LinearLayout:
        """Axis i of the result is axis `permutation[i]` of this."""
        return self._map(
            tuple(self.shape[axis] for axis in permutation),
            lambda basis: tuple(basis[axis] for axis in permutation),
        )

    def reshape(self, shape: tuple[int, ...]) -> LinearLayout:
        """The same elements in row-major order under another shape."""
        return self._map(shape, lambda basis: unflatten_index(shape, self.flatten(basis)))

    def without_registers(self, positions: Iterable[int]) -> LinearLayout:
        """Only the registers where these bits are 0 (the first of each vector, say)."""
        dropped = set(positions)
        kept = (b for position, b in enumerate(self.register) if position not in dropped)
        return replace(self, register=tuple(kept))

    def _map(self, shape: tuple[int, ...], change: Callable[[Basis], Basis]) -> LinearLayout:
        """Change every basis vector; register bits that lead nowhere any more are dropped."""
        register = (change(basis) for basis in self.register)
        return LinearLayout(
            shape,
            tuple(basis for basis in dict.fromkeys(register) if any(basis)),
            tuple(change(basis) for basis in self.lane),
            tuple(change(basis) for basis in self.warp),
        )


def flatten_coordinates(shape: Sequence[int], coordinates: Sequence[int]) -> int:
    """Row-major index of an element."""
    index = 0
    for extent, coordinate in zip(shape, coordinates, strict=True):
        index = index * extent + coordinate
    return index


def unflatten_index(shape: Sequence[int], index: int) -> Basis:
    """Coordinates of the element at a row-major index."""
    coordinates = []
    for extent in reversed(shape):
        coordinates.append(index % extent)
        index //= extent
    return tuple(reversed(coordinates))


def _reduce_by(pivots: Sequence[int], vector: int) -> int:
    """What is left of `vector` after elimination by `pivots`; 0 if it depends on them."""
    for pivot in pivots:
        vector = min(vector, vector ^ pivot)
    return vector


def blocked_layout(
    shape: tuple[int, ...],
    num_warps: int,
    vector_width: int = 1,
    order: Sequence[int] = (),
    reduced_axes: Sequence[int] = (),
) -> LinearLayout:
    """Coalesced layout: neighbouring threads hold neighbouring vectors.

    Along the axes in `order` (fastest first; default: last axis first) come the elements of a
    vector, the lanes of a warp, the warps, and then more registers. Warps spread over axes outside
    `reduced_axes` first, so that a reduction along these stays within a warp where it can. Bits for
    which no element is left hold replicas.
    """
    axes = tuple(order) or tuple(reversed(range(len(shape))))
    free = [(axis, 1 << bit) for axis in axes for bit in range(bit_count(shape[axis]))]

    def take(count: int, candidates: Iterable[tuple[int, int]]) -> tuple[Basis, ...]:
        taken = list(candidates)[:count]
        for place in taken:
            free.remove(place)
        unit = LinearLayout(shape, (), (), ())._unit
        return tuple(unit(*place) for place in taken)

    def pad(bases: tuple[Basis, ...], count: int) -> tuple[Basis, ...]:
        return bases + ((0,) * len(shape),) * (count - len(bases))

    vector = take(bit_count(vector_width), [place for place in free if place[0] == axes[0]])
    lane = pad(take(LANE_BITS, free), LANE_BITS)
    warp_bits = bit_count(num_warps)
    warp = pad(take(warp_bits, sorted(free, key=lambda p: p[0] in reduced_axes)), warp_bits)
    return LinearLayout(shape, vector + take(len(free), free), lane, warp)
