"""Affine index maps: which operand element each result element of a view is.

operand index along axis d = offsets[d] + sum over result axes e of coefficients[d][e] * index[e].
Transposes, broadcasts, slices, flips, new and dropped unit axes are such maps, and so is every
composition of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from lazyblock.shapes import Shape


@dataclass(frozen=True, slots=True)
class IndexMap:
    """An affine map from indices of rank `rank` to indices of rank `len(offsets)`."""

    offsets: tuple[int, ...]
    coefficients: tuple[tuple[int, ...], ...]
    rank: int
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.offsets, self.coefficients, self.rank)))

    def __hash__(self) -> int:
        return self._hash

    def compose(self, inner: IndexMap) -> IndexMap:
        """The map i -> self(inner(i))."""
        return _compose(self, inner)

    def _compose(self, inner: IndexMap) -> IndexMap:
        assert inner.operand_rank == self.rank, (self, inner)
        offsets, rows = [], []
        for offset, row in zip(self.offsets, self.coefficients, strict=True):
            offsets.append(offset + _dot(row, inner.offsets))
            columns = (
                sum(c * inner.coefficients[d][e] for d, c in enumerate(row) if c)
                for e in range(inner.rank)
            )
            rows.append(tuple(columns))
        return IndexMap(tuple(offsets), tuple(rows), inner.rank)

    @property
    def operand_rank(self) -> int:
        return len(self.offsets)

    @property
    def is_identity(self) -> bool:
        return self == identity(self.rank)

    def __call__(self, index: Sequence[int]) -> tuple[int, ...]:
        """Operand index of one result index."""
        return tuple(
            offset + _dot(row, index)
            for offset, row in zip(self.offsets, self.coefficients, strict=True)
        )

    def strides(self, operand_strides: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """Offset and strides of the result over memory where the operand has `operand_strides`."""
        offset = _dot(self.offsets, operand_strides)
        columns = (
            sum(
                row[e] * stride
                for row, stride in zip(self.coefficients, operand_strides, strict=True)
            )
            for e in range(self.rank)
        )
        return offset, tuple(columns)

    def without(self, axis: int) -> IndexMap:
        """The map to an operand that lacks `axis`."""
        offsets = self.offsets[:axis] + self.offsets[axis + 1 :]
        rows = self.coefficients[:axis] + self.coefficients[axis + 1 :]
        return IndexMap(offsets, rows, self.rank)

    def with_axis(self) -> IndexMap:
        """The same map with one axis more behind the others, which is followed as it is."""
        rows = (*((*row, 0) for row in self.coefficients), (*[0] * self.rank, 1))
        return IndexMap((*self.offsets, 0), rows, self.rank + 1)

    def reach(self, shape: Shape) -> tuple[tuple[int, int], ...]:
        """Lowest and highest operand index per operand axis, over the indices of `shape`."""
        found = []
        for offset, row in zip(self.offsets, self.coefficients, strict=True):
            ends = [c * (n - 1) for c, n in zip(row, shape, strict=True)]
            low, high = (sum(e for e in ends if (e > 0) == up) for up in (False, True))
            found.append((offset + low, offset + high))
        return tuple(found)

    def leaves(self, shape: Shape, operand_shape: Shape) -> bool:
        """Whether some index of `shape` leads outside the operand."""
        if 0 in shape:
            return False
        ends = zip(self.reach(shape), operand_shape, strict=True)
        return any(low < 0 or high >= extent for (low, high), extent in ends)

    def normalized(self, shape: Shape, operand_shape: Shape) -> IndexMap:
        """The same map over `shape` with freedom removed.

        Result axes of extent 1 get coefficient 0, operand axes of extent 1 index 0: two maps that
        agree on every index of `shape` become equal.
        """
        return _normalize(self, shape, operand_shape)

    def _normalize(self, shape: Shape, operand_shape: Shape) -> IndexMap:
        rows = tuple(
            (0,) * self.rank
            if extent == 1
            else tuple(0 if shape[e] == 1 else c for e, c in enumerate(row))
            for extent, row in zip(operand_shape, self.coefficients, strict=True)
        )
        offsets = tuple(
            0 if extent == 1 else o for extent, o in zip(operand_shape, self.offsets, strict=True)
        )
        return IndexMap(offsets, rows, self.rank)


_compose = lru_cache(maxsize=4096)(IndexMap._compose)
_normalize = lru_cache(maxsize=4096)(IndexMap._normalize)


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _selector(axis: int | None, rank: int, step: int = 1) -> tuple[int, ...]:
    return tuple(step if e == axis else 0 for e in range(rank))


def from_axes(axes: Sequence[int | None], rank: int) -> IndexMap:
    """Operand axis d follows result axis `axes[d]`, or stays at 0 for None."""
    rows = tuple(_selector(axis, rank) for axis in axes)
    return IndexMap((0,) * len(rows), rows, rank)


@cache
def identity(rank: int) -> IndexMap:
    """Every index is its own image."""
    return from_axes(range(rank), rank)


@lru_cache(maxsize=4096)
def over_all(shape: Shape) -> IndexMap:
    """The identity on indices of `shape`, normalized."""
    return identity(len(shape)).normalized(shape, shape)


@cache
def nowhere(rank: int) -> IndexMap:
    """Every index leads to the one element of a scalar."""
    return IndexMap((), (), rank)


def permutation(axes: Sequence[int]) -> IndexMap:
    """Map of `transpose(axes)`: result axis i is operand axis axes[i]."""
    inverse: list[int | None] = [None] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return from_axes(inverse, len(axes))


@lru_cache(maxsize=4096)
def broadcast(operand_shape: Shape, shape: Shape) -> IndexMap:
    """Map of `broadcast_to`: axes align at the end, extents of 1 stay at 0."""
    lead = len(shape) - len(operand_shape)
    axes = [
        None if extent == 1 and shape[lead + d] != 1 else lead + d
        for d, extent in enumerate(operand_shape)
    ]
    return from_axes(axes, len(shape))


def slices(starts: Sequence[int], steps: Sequence[int]) -> IndexMap:
    """Map of a basic slice per axis: operand index = start + step * index."""
    rank = len(starts)
    rows = tuple(_selector(axis, rank, step) for axis, step in enumerate(steps))
    return IndexMap(tuple(starts), rows, rank)


def inserted_axes(operand_rank: int, positions: Sequence[int]) -> IndexMap:
    """Map of `expand_dims`: the result has unit axes at `positions`."""
    rank = operand_rank + len(positions)
    kept = [axis for axis in range(rank) if axis not in positions]
    return from_axes(kept, rank)


def removed_axes(operand_rank: int, positions: Sequence[int], at: Sequence[int]) -> IndexMap:
    """Map of an integer index: operand axes `positions` are fixed at indices `at`."""
    rank = operand_rank - len(positions)
    rows, offsets, following = [], [], 0
    fixed = dict(zip(positions, at, strict=True))
    for axis in range(operand_rank):
        if axis in fixed:
            rows.append((0,) * rank)
            offsets.append(fixed[axis])
        else:
            rows.append(_selector(following, rank))
            offsets.append(0)
            following += 1
    return IndexMap(tuple(offsets), tuple(rows), rank)
