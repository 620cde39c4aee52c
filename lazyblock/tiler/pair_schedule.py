"""Schedules of functions of all pairs, as x[:, None] and y[None, :] make them, on GPUs.

What a tile reads serves a whole row or column of it, from registers: tiles are large.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.shapes import next_power_of_2, size_of
from lazyblock.target import Target
from lazyblock.tiler.lower.walk import Access, Dimension
from lazyblock.tiler.tile_schedule import TileSchedule

_OUTER_WARPS = 4  # each with some rows of a tile of all pairs, its lanes side by side along them
_OUTER_ROWS = 8  # at most, of a thread
_OUTER_REGISTERS = 24  # of a thread, for accumulators
_OUTER_TILES = 8  # of an iteration: what the next ones read comes in while the first is computed
_OUTER_LEAST = (32, 128)  # rows and columns that fill such tiles
# What is kept is pairs, too: distances between points. Few coordinates come one at a time, more of
# them in vectors.
_FEW_COORDINATES = 8
_POINTS = (32, 64, 1)
_LONG_POINTS = (8, 128, 4)
_LEAST_PAIRS = 1024  # of a program
_POINT_WARPS = 4


def schedule_pairs(
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
    accumulated_bytes: int,
    target: Target,
) -> TileSchedule | None:
    """The schedule if a function of all pairs is reduced, else None."""
    reduced = [p for p, d in enumerate(dimensions) if d.is_reduced]
    if len(reduced) != 1:
        return None
    outer = _find_outer(reduced[0], dimensions, accesses)
    if outer is not None:
        return _schedule_outer(outer, reduced[0], dimensions, accumulated_bytes, target)
    points = _find_points(reduced[0], dimensions, accesses, target)
    return _schedule_points(*points, reduced[0], dimensions, accesses) if points else None


def _crosses(access: Access, dimension: Dimension) -> bool:
    return access.strides[dimension.axes[-1]] != 0


def _find_points(
    inner: int, dimensions: Sequence[Dimension], accesses: Sequence[Access], target: Target
) -> tuple[int, int] | None:
    """Two kept dimensions, if whatever is reduced crosses one of them only."""
    reads = [a for a in accesses if _crosses(a, dimensions[inner])]
    kept = [p for p, d in enumerate(dimensions) if not d.is_reduced]
    num_pairs = size_of([dimensions[p].extent for p in kept])
    if len(kept) < 2 or num_pairs < 2 * target.num_units * _LEAST_PAIRS:
        return None
    row, column = kept[-2:]
    crossed = {(_crosses(a, dimensions[row]), _crosses(a, dimensions[column])) for a in reads}
    return (row, column) if crossed - {(False, False)} == {(True, False), (False, True)} else None


def _schedule_points(
    row: int,
    column: int,
    inner: int,
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
) -> TileSchedule:
    axis = dimensions[inner].axes[-1]
    is_few = dimensions[inner].extent <= _FEW_COORDINATES
    is_along = any(a.strides[axis] == 1 for a in accesses if _crosses(a, dimensions[column]))
    rows, columns, coordinates = _LONG_POINTS if is_along and not is_few else _POINTS
    blocks = [1] * len(dimensions)
    blocks[inner] = min(next_power_of_2(dimensions[inner].extent), coordinates)
    blocks[column] = min(next_power_of_2(dimensions[column].extent), columns)
    room = rows * columns // blocks[column]
    blocks[row] = min(next_power_of_2(dimensions[row].extent), room)
    order = tuple(p for p in (row, column, inner) if blocks[p] > 1)
    return TileSchedule(tuple(blocks), order, _POINT_WARPS)


def _find_outer(
    inner: int, dimensions: Sequence[Dimension], accesses: Sequence[Access]
) -> int | None:
    """A kept dimension, long as the reduced one is, if every access crosses one of them at most.

    Each element read then serves a whole row or column of the tile, from a register.
    """
    least_rows, least_columns = _OUTER_LEAST
    if dimensions[inner].extent < least_columns:
        return None
    for row in reversed(range(len(dimensions))):
        if dimensions[row].is_reduced or dimensions[row].extent < least_rows:
            continue
        crossed = {(_crosses(a, dimensions[row]), _crosses(a, dimensions[inner])) for a in accesses}
        if crossed - {(False, False)} == {(True, False), (False, True)}:
            return row
    return None


def _schedule_outer(
    row: int,
    inner: int,
    dimensions: Sequence[Dimension],
    accumulated_bytes: int,
    target: Target,
) -> TileSchedule:
    """As many pairs a thread as registers hold, but a program for every unit."""
    rows = _OUTER_ROWS
    while rows > 1 and rows * accumulated_bytes > 4 * _OUTER_REGISTERS:
        rows //= 2
    kept = size_of([d.extent for d in dimensions if not d.is_reduced])
    while rows > 2 and kept < 2 * target.num_units * rows * _OUTER_WARPS:
        rows //= 2
    blocks = [1] * len(dimensions)
    blocks[row] = min(next_power_of_2(dimensions[row].extent), rows * _OUTER_WARPS)
    blocks[inner] = min(next_power_of_2(dimensions[inner].extent), target.warp_size)
    order = tuple(p for p in (row, inner) if blocks[p] > 1)
    return TileSchedule(tuple(blocks), order, _OUTER_WARPS, unroll=_OUTER_TILES)
