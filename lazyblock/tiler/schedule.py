"""The default schedule of a kernel for every target, from the shape of its walk alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.shapes import cdiv, next_power_of_2, size_of
from lazyblock.target import Target
from lazyblock.tiler.lower.walk import Access, Dimension
from lazyblock.tiler.pair_schedule import schedule_pairs
from lazyblock.tiler.row_cut import Row, RowCut, cut_row
from lazyblock.tiler.tile_schedule import TileSchedule

__all__ = ["RowWork", "TileSchedule", "default_schedule"]

_GPU_ROW_BYTES = 1 << 17  # of a row that the registers of one CTA can hold
_SUMMED_ROW_BYTES = 1 << 16  # of a row held although it is walked along once
_SHORT_ROW = 32  # elements of rows that a warp takes several of
_CPU_ROW_ELEMENTS = 16384  # of a row held in a stack tile, within the first two cache levels
_GPU_COLUMNS = 32  # of a tile that reduces columns: whole 128-byte lines of float32
_HELD_COLUMNS = ((32, 1 << 14), (16, 1 << 16), (8, 1 << 17))  # for so many bytes of a CTA
_HELD_BYTES = 128  # of a thread; twice as many where CTAs would be too large
_LINE_BYTES, _SECTOR_BYTES = 128, 32  # of a cache; of a row that memory moves at least
_SMALL_COLUMNS = 1 << 15  # elements that one program may reduce: the tail of another kernel
_LEAST_COLUMNS = 8  # if there are few: what memory moves at least
_STENCIL, _STENCIL_WARPS = (8, 128), 2  # rows and columns: a thread has four runs of four
_WIDE_STENCIL = (2, 256)  # less in registers: of many taps, or out of a cache, with CTAs enough
_MANY_TAPS, _CACHED_BYTES, _MOST_CTAS = 8, 40_000_000, 32  # the last of a multiprocessor
_REPEATED_COLUMNS = 128  # of a GPU tile of several rows that read the same row
_GPU_SCANNED_COLUMNS = 512
_ONLINE_TILE, _ONLINE_TILES, _ONLINE_WARPS = 1024, 4, 16  # 8 numbers a thread
_GPU_SCAN_TILE = 2048  # of a long row: small, so that many programs share a unit
_CROWDED_TILE, _CROWDED_WARPS = 2048, 4  # small CTAs, several of which share a multiprocessor
_CUT_SCAN_TILE, _CUT_SCAN_WARPS = 16384, 8  # bytes of a row that programs scan together
_CUT_SCAN_CTAS, _CUT_SCAN_REGISTERS = 3, 80  # of a multiprocessor, all at once; of a thread
_MOST_VECTORS = 4  # that a thread of a map takes of each array
_LEAST_SQUARE = 1024  # elements of the tile of a transpose
_LEAST_FIT, _PADDING = 128, 9 / 8  # of a map's block, and how far blocks may reach past the end
_CPU_TILE = 4096  # elements of a map: large against the cost of starting a program instance
_CPU_SMALL_TILE = 64  # for arrays smaller than that


@dataclass(frozen=True)
class RowWork:
    """What a group does with its rows.

    num_walks: how often a row that is not kept in registers is walked along. accumulated_bytes: of
    one element of every reduction. has_scan: rows are scanned. has_online: there are sums relative
    to a maximum of the same walk.
    """

    num_walks: int = 1
    accumulated_bytes: int = 4
    has_scan: bool = False
    has_online: bool = False


def default_schedule(
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
    target: Target,
    work: RowWork = RowWork(),
) -> TileSchedule:
    """A sound schedule without measuring anything."""
    if any(d.is_cut for d in dimensions):
        return _schedule_cut_scan(dimensions, accesses, target)
    if target.is_gpu and not work.has_scan:
        of_pairs = schedule_pairs(dimensions, accesses, work.accumulated_bytes, target)
        if of_pairs is not None:
            return of_pairs
    if any(d.is_reduced for d in dimensions):
        return _schedule_rows(dimensions, accesses, target, work)
    return _schedule_map(dimensions, accesses, target)


def _schedule_cut_scan(
    dimensions: Sequence[Dimension], accesses: Sequence[Access], target: Target
) -> TileSchedule:
    """A tile of one row; programs pass on what comes before."""
    widest = max(4, *(a.base.dtype.itemsize for a in accesses))
    blocks = tuple(_CUT_SCAN_TILE // widest if d.is_cut else 1 for d in dimensions)
    order = tuple(p for p, d in enumerate(dimensions) if d.is_cut)
    tiles = size_of([cdiv(d.extent, n) for d, n in zip(dimensions, blocks, strict=True)])
    # instances of an emulated GPU run one after the other: none may wait for a later one
    programs = tiles if target.is_emulated else _CUT_SCAN_CTAS * target.num_units
    return TileSchedule(
        blocks,
        order,
        _CUT_SCAN_WARPS,
        max_registers=_CUT_SCAN_REGISTERS,
        num_programs=min(tiles, programs),
    )


def _contiguity(position: int, dimensions: Sequence[Dimension], accesses: Sequence[Access]) -> int:
    """Bytes that the accesses move contiguously along a dimension."""
    axis = dimensions[position].axes[-1]
    return sum(_moved_bytes(a, dimensions) for a in accesses if a.strides[axis] == 1)


def _moved_bytes(access: Access, dimensions: Sequence[Dimension]) -> int:
    crossed = (d.extent for d in dimensions if access.strides[d.axes[-1]])
    return access.base.dtype.itemsize * size_of(list(crossed))


def _rank_positions(
    positions: Sequence[int], dimensions: Sequence[Dimension], accesses: Sequence[Access]
) -> list[int]:
    """Positions from least to most worth vectorising; the innermost wins a tie."""
    return sorted(positions, key=lambda p: (_contiguity(p, dimensions, accesses), p))


def _thread_elements(accesses: Sequence[Access], target: Target) -> int:
    """Of a map: a vector of the widest accesses, a few if others would move too little then."""
    sizes = [a.base.dtype.itemsize for a in accesses] or [4]
    widest, narrowest = (max(target.vector_bytes // size, 1) for size in (max(sizes), min(sizes)))
    return min(narrowest, _MOST_VECTORS * widest)


def _schedule_map(
    dimensions: Sequence[Dimension], accesses: Sequence[Access], target: Target
) -> TileSchedule:
    if not dimensions:
        return TileSchedule((), (), 1)
    num_warps = 4 if target.is_gpu else 8
    ranked = _rank_positions(range(len(dimensions)), dimensions, accesses)
    inner = ranked[-1]
    if target.is_gpu:
        crossing = [a for a in accesses if a.strides[dimensions[inner].axes[-1]]]
        tile = _thread_elements(crossing, target) * 32 * num_warps
    else:
        tile = _CPU_TILE if size_of([d.extent for d in dimensions]) > _CPU_TILE else _CPU_SMALL_TILE
    if len(dimensions) == 1:  # one block size for all sizes: new sizes are not new kernels
        return _finish([tile], [0], num_warps, target, tile)
    blocks, extents = [1] * len(dimensions), [d.extent for d in dimensions]
    blocks[inner] = _fit(dimensions[inner].extent, tile, target)
    if len(ranked) > 1:
        outer = ranked[-2]
        if _is_transposed(outer, inner, dimensions, accesses):  # square tiles serve both sides
            blocks[inner] = min(blocks[inner], 64)
            if target.is_gpu:
                num_warps, tile = 4 * num_warps, 8 * tile
                while tile > _LEAST_SQUARE and size_of(extents) < tile * target.num_units:
                    num_warps, tile = num_warps // 2, tile // 2
        elif target.is_gpu and _is_stencil(outer, dimensions, accesses):
            is_wide = _is_wide_stencil(outer, inner, dimensions, accesses, target)
            rows, columns = _WIDE_STENCIL if is_wide else _STENCIL
            blocks[inner] = _fit(dimensions[inner].extent, columns, target)
            num_warps, tile = _STENCIL_WARPS, rows * blocks[inner]
        elif target.is_gpu and _is_repeated(outer, inner, dimensions, accesses):
            blocks[inner] = min(blocks[inner], _REPEATED_COLUMNS)
            tile = 2 * tile
        room = tile // blocks[inner]
        blocks[outer] = min(next_power_of_2(dimensions[outer].extent), room)
    return _finish(blocks, ranked, num_warps, target, tile)


def _fit(extent: int, most: int, target: Target) -> int:
    """The largest block that hardly reaches past the end."""
    block = min(next_power_of_2(extent), most)
    while target.is_gpu and block > _LEAST_FIT and cdiv(extent, block) * block > _PADDING * extent:
        block //= 2
    return block


def _is_transposed(
    outer: int, inner: int, dimensions: Sequence[Dimension], accesses: Sequence[Access]
) -> bool:
    """Whether memory runs along `outer` in an access that crosses `inner` too."""
    axis = dimensions[inner].axes[-1]
    return bool(_contiguity(outer, dimensions, [a for a in accesses if a.strides[axis]]))


def _is_stencil(position: int, dimensions: Sequence[Dimension], accesses: Sequence[Access]) -> bool:
    """Whether neighbours along a dimension read the same elements of an array."""
    axis = dimensions[position].axes[-1]
    return any(access.shift and access.shift[axis] for access in accesses)


def _is_wide_stencil(
    outer: int,
    inner: int,
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
    target: Target,
) -> bool:
    """Whether wide tiles pay: many taps of an array, or a cache that holds aligned lines."""
    taps = Counter(access.base for access in accesses)
    if max(taps.values()) >= _MANY_TAPS:
        return True
    line = _LINE_BYTES // min(base.dtype.itemsize for base in taps)
    axis = dimensions[outer].axes[-1]
    is_aligned = all(a.strides[axis] % line == 0 for a in accesses if a.shift)
    rows, columns = _WIDE_STENCIL
    extents = [d.extent for d in dimensions]
    extents[outer], extents[inner] = cdiv(extents[outer], rows), cdiv(extents[inner], columns)
    is_cached = sum(base.nbytes for base in taps) <= _CACHED_BYTES
    return is_aligned and is_cached and size_of(extents) >= _MOST_CTAS * target.num_units


def _is_repeated(
    outer: int, inner: int, dimensions: Sequence[Dimension], accesses: Sequence[Access]
) -> bool:
    """Whether some access is the same at all places of `outer`, but not of `inner`."""
    axes = [dimensions[position].axes[-1] for position in (outer, inner)]
    return any(not a.strides[axes[0]] and a.strides[axes[1]] for a in accesses)


def _schedule_rows(
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
    target: Target,
    work: RowWork,
) -> TileSchedule:
    reduced = [p for p, d in enumerate(dimensions) if d.is_reduced]
    kept = [p for p, d in enumerate(dimensions) if not d.is_reduced]
    inner = _rank_positions(reduced, dimensions, accesses)[-1]
    blocks = [1] * len(dimensions)
    row = _rank_positions(kept, dimensions, accesses)[-1] if kept else None
    along_rows = row is not None and _runs_along(row, inner, dimensions, accesses)
    if along_rows:
        assert row is not None
        order = [inner, row]
        if work.has_scan and target.is_gpu:
            _cut_scanned_columns(blocks, row, inner, dimensions, target)
            return _finish(blocks, order, 4, target, 4096)
        if target.is_gpu and len(reduced) == 1 and work.num_walks > 1:
            held = _hold_columns(blocks, row, inner, dimensions, accesses, target)
            if held is not None:
                return held
        _cut_columns(blocks, row, inner, dimensions, target)
        if target.is_gpu and _is_crowded(blocks, dimensions, accesses, target, work):
            blocks[inner] = min(blocks[inner], _CROWDED_TILE // blocks[row])
            return _finish(blocks, order, _CROWDED_WARPS, target, _CROWDED_TILE)
        return _finish(blocks, order, 8, target, 4096)
    # a scan holds what it is given and what it gives
    widest = max((a.base.dtype.itemsize for a in accesses), default=4)
    widest = max(widest, 4) * (2 if work.has_scan else 1)
    row_bytes = dimensions[inner].extent * widest
    num_rows = size_of([dimensions[p].extent for p in kept])
    is_held = work.num_walks > 1 or row_bytes <= _SUMMED_ROW_BYTES
    is_short = dimensions[inner].extent <= _SHORT_ROW
    if target.is_gpu and len(reduced) == 1 and is_held and not is_short and not work.has_scan:
        memory = max((a.base.dtype.itemsize for a in accesses), default=4)
        cut = cut_row(Row(dimensions[inner].extent, widest, memory, num_rows), target)
        if cut is not None:
            return _schedule_pieces(cut, blocks, row, inner, dimensions)
    _cut_rows(blocks, row, inner, len(reduced) == 1, widest, dimensions, target)
    if target.is_gpu and blocks[inner] < dimensions[inner].extent:
        if work.has_scan:
            blocks[inner] = _GPU_SCAN_TILE
        elif work.has_online and len(reduced) == 1:
            blocks[inner] = _ONLINE_TILE
            return TileSchedule(tuple(blocks), (inner,), _ONLINE_WARPS, unroll=_ONLINE_TILES)
        elif len(reduced) == 1 and _is_crowded(blocks, dimensions, accesses, target, work):
            blocks[inner] = _CROWDED_TILE
            return TileSchedule(tuple(blocks), (inner,), 2 * _CROWDED_WARPS)
    order = [inner] if row is None else [row, inner]
    return _finish(blocks, order, 8, target, 4096)


def _is_crowded(
    blocks: Sequence[int],
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
    target: Target,
    work: RowWork,
) -> bool:
    """Whether many programs have several accumulators an element, more than large CTAs can hold."""
    kept = [(d, n) for d, n in zip(dimensions, blocks, strict=True) if not d.is_reduced]
    programs = size_of([cdiv(d.extent, n) for d, n in kept])
    widest = max(4, *(a.base.dtype.itemsize for a in accesses))
    return work.accumulated_bytes > widest and programs > 2 * target.num_units


def _schedule_pieces(
    cut: RowCut,
    blocks: list[int],
    row: int | None,
    inner: int,
    dimensions: Sequence[Dimension],
) -> TileSchedule:
    blocks[inner] = cut.block
    if row is not None:
        blocks[row] = min(next_power_of_2(dimensions[row].extent), cut.rows)
    order = tuple(p for p in (row, inner) if p is not None and blocks[p] > 1)
    threads = cut.num_threads // cut.num_ctas * (blocks[row] if row is not None else 1)
    return TileSchedule(
        tuple(blocks), order, max(threads // 32, 1), cut.num_ctas, pieces=cut.pieces
    )


def _runs_along(
    row: int, inner: int, dimensions: Sequence[Dimension], accesses: Sequence[Access]
) -> bool:
    """Whether memory runs along `row` rather than `inner`."""
    along, across = (_contiguity(p, dimensions, accesses) for p in (row, inner))
    return along > across


def _cut_rows(
    blocks: list[int],
    row: int | None,
    inner: int,
    is_only: bool,
    widest: int,
    dimensions: Sequence[Dimension],
    target: Target,
) -> None:
    """Vectors run along the reduced dimension: whole rows in registers, or a loop over pieces.

    widest: bytes of the widest number computed with.
    """
    extent = next_power_of_2(dimensions[inner].extent)
    most = _GPU_ROW_BYTES // widest if target.is_gpu else _CPU_ROW_ELEMENTS
    if is_only and extent <= most:
        blocks[inner] = extent
    elif target.is_gpu:
        blocks[inner] = min(extent, 8192)
    else:
        blocks[inner] = min(extent, 2 * target.vector_bytes)  # accumulators stay in registers
    tile = 2048 if target.is_gpu else 64
    if row is not None and blocks[inner] < tile:
        room = tile // blocks[inner]
        blocks[row] = min(next_power_of_2(dimensions[row].extent), room)


def _cut_columns(
    blocks: list[int], row: int, inner: int, dimensions: Sequence[Dimension], target: Target
) -> None:
    """Vectors run along a kept dimension: a few columns per program, rows one after the other."""
    if target.is_gpu:  # narrow tiles, so that many programs share the columns
        kept = size_of([d.extent for d in dimensions if not d.is_reduced])
        columns = _GPU_COLUMNS
        is_small = kept * dimensions[inner].extent <= _SMALL_COLUMNS
        while not is_small and columns > _LEAST_COLUMNS and kept < columns * target.num_units // 2:
            columns //= 2
        blocks[row] = min(next_power_of_2(dimensions[row].extent), columns)
        blocks[inner] = min(next_power_of_2(dimensions[inner].extent), 8192 // blocks[row])
    else:
        blocks[row] = min(next_power_of_2(dimensions[row].extent), 2 * target.vector_bytes)


def _hold_columns(
    blocks: Sequence[int],
    row: int,
    inner: int,
    dimensions: Sequence[Dimension],
    accesses: Sequence[Access],
    target: Target,
) -> TileSchedule | None:
    """Whole columns in the registers of a CTA, as many as it has room for; None if for few only."""
    sizes = [a.base.dtype.itemsize for a in accesses]
    extent = next_power_of_2(dimensions[inner].extent)
    kept = size_of([d.extent for d in dimensions if not d.is_reduced])
    for columns, most_bytes in _HELD_COLUMNS:
        nbytes = extent * columns * max(4, *sizes)
        is_busy = kept >= columns * target.num_units // 2 or columns == _LEAST_COLUMNS
        if is_busy and nbytes <= most_bytes and columns * min(sizes) >= _SECTOR_BYTES:
            blocks = list(blocks)
            blocks[inner], blocks[row] = extent, columns
            thread_bytes = _HELD_BYTES if nbytes <= _HELD_COLUMNS[0][1] else 2 * _HELD_BYTES
            num_warps = max(nbytes // thread_bytes // 32, 1)
            return TileSchedule(tuple(blocks), (inner, row), num_warps)
    return None


def _cut_scanned_columns(
    blocks: list[int], row: int, inner: int, dimensions: Sequence[Dimension], target: Target
) -> None:
    """Whole columns to a thread, so that they are scanned in registers; few rows at a time."""
    kept = size_of([d.extent for d in dimensions if not d.is_reduced])
    columns = _GPU_SCANNED_COLUMNS
    while columns > target.warp_size and kept < columns * target.num_units:
        columns //= 2
    blocks[row] = min(next_power_of_2(dimensions[row].extent), columns)
    rows = min(max(4096 // blocks[row], 8), 32)
    blocks[inner] = min(next_power_of_2(dimensions[inner].extent), rows)


def _finish(
    blocks: Sequence[int], ranked: Sequence[int], num_warps: int, target: Target, tile: int
) -> TileSchedule:
    order = tuple(position for position in ranked if blocks[position] > 1)
    if not target.is_gpu:
        return TileSchedule(tuple(blocks), order, 1)
    elements = 1
    for extent in blocks:
        elements *= extent
    warps = next_power_of_2(max(elements * num_warps // max(tile, 1), 1))
    return TileSchedule(tuple(blocks), order, min(warps, 32))
