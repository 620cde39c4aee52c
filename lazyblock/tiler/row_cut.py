"""How a row is cut into pieces that the registers of its threads hold together.

A piece is what the threads along a row take side by side, so many neighbouring elements each; the
last piece may reach past the row's end, and what lies there costs as much as the rest. Memory is
kept busy by the rows that a multiprocessor holds at once, so registers decide: threads with many
elements hold more of a row in the same number of registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lazyblock.shapes import cdiv
from lazyblock.target import Target

_LEAST_THREADS = 8  # along a row
_LEAST_CTA = 128  # threads; of several rows if one has fewer
_MOST_THREADS = 1024  # of a CTA
_REGISTERS = 1 << 16  # of a multiprocessor
_OTHER_REGISTERS = 24  # of a thread, beside the row
_MOST_REGISTERS = 88  # of a thread
_CTAS, _MOST_RESIDENT = 32, 2048  # of a multiprocessor, and threads
_LINE = 128  # bytes: what a warp should read of a row at once
# Bytes of rows that a multiprocessor should hold: memory's speed times how long a row stays. Rows
# of clusters stay longer, as their CTAs start and wait together.
_IN_FLIGHT, _IN_FLIGHT_OF_CLUSTERS = 60_000, 128_000
_CLUSTERED_ROW = 1 << 15  # bytes of the shortest row for clusters
_CLUSTER_COST = 1.03
_LARGE_CTA, _LARGE_CTA_COST = 512, 1.02
_LONE_CTA_COST = 1.3  # nothing runs while it starts, waits and ends
_LITTLE, _LONG = 8192, 128  # elements of a multiprocessor that do not keep it busy; of their rows
_CTA_COSTS = ((1024, 1.6), (512, 1.25), (0, 1.0))  # by least threads, where rows are few
_WAITING_REGISTERS = 16  # of a thread, where rows are few
_NARROW_COST = 1.5  # of accesses below the widest
_MANY = 24  # words of a thread: with more, less is computed at once


@dataclass(frozen=True)
class RowCut:
    """num_threads along the row, in num_ctas CTAs, take `width` neighbouring elements a piece."""

    num_threads: int
    num_ctas: int
    width: int
    pieces: int

    @property
    def block(self) -> int:
        """Elements of a piece."""
        return self.num_threads * self.width

    @property
    def rows(self) -> int:
        """Rows that a CTA takes."""
        return max(_LEAST_CTA // self.num_threads, 1)

    @property
    def cta_threads(self) -> int:
        """Threads of a CTA."""
        return max(self.num_threads // self.num_ctas, _LEAST_CTA)


@dataclass(frozen=True)
class Row:
    """What is cut: elements, their bytes in registers and, of the widest array, in memory.

    num_rows: of the whole kernel; few where a multiprocessor has one at most.
    """

    extent: int
    nbytes: int
    memory_nbytes: int
    num_rows: int


def cut_row(row: Row, target: Target) -> RowCut | None:
    """The cut that costs least; None if registers do not hold the row, or it is empty."""
    if not row.extent:
        return None
    costs = {cut: _cost(cut, row, target) for cut in _candidates(row, target)}
    possible = {cut: cost for cut, cost in costs.items() if cost is not None}
    return min(possible, key=lambda cut: (possible[cut], cut.num_threads)) if possible else None


def _candidates(row: Row, target: Target) -> Iterator[RowCut]:
    vector = max(target.vector_bytes // row.memory_nbytes, 1)
    widths = tuple(dict.fromkeys((vector, max(vector // 2, 1))))
    num_ctas = 1
    while num_ctas <= target.max_ctas:
        threads = _LEAST_THREADS if num_ctas == 1 else _LEAST_CTA
        while threads <= _MOST_THREADS:
            for width in widths:
                along = num_ctas * threads
                yield RowCut(along, num_ctas, width, cdiv(row.extent, along * width))
            threads *= 2
        if row.extent * row.nbytes < _CLUSTERED_ROW:
            return
        num_ctas *= 2


def _cost(cut: RowCut, row: Row, target: Target) -> float | None:
    """Relative time of a row; None where registers would spill."""
    words = cut.pieces * cut.width * max(row.nbytes // 4, 1)
    registers = -(-(words + _OTHER_REGISTERS) // 8) * 8
    if registers > _MOST_REGISTERS or registers * cut.cta_threads > _REGISTERS:
        return None
    vector_bytes = cut.width * row.memory_nbytes
    is_narrow = vector_bytes < target.vector_bytes
    cost = cut.pieces * cut.block / row.extent * (1 + max(words - _MANY, 0) / 200)
    cost *= _NARROW_COST if is_narrow else 1
    cost *= max(_LINE / (cut.num_threads * vector_bytes), 1)
    if row.num_rows <= target.num_units or _is_little(row, target):
        return cost * _time_of_few(cut, row, words, registers, target)
    resident = min(
        _REGISTERS // (registers * cut.cta_threads), _MOST_RESIDENT // cut.cta_threads, _CTAS
    )
    in_flight = resident * cut.rows * row.extent * row.memory_nbytes / cut.num_ctas
    wanted = _IN_FLIGHT if cut.num_ctas == 1 else _IN_FLIGHT_OF_CLUSTERS
    cost *= max(wanted / in_flight, 1)
    cost *= _CLUSTER_COST if cut.num_ctas > 1 else 1
    cost *= _LARGE_CTA_COST if cut.cta_threads >= _LARGE_CTA else 1
    return cost * (_LONE_CTA_COST if resident < 2 else 1)


def _is_little(row: Row, target: Target) -> bool:
    """Whether long rows are so few that a GPU has not enough to do."""
    return row.extent >= _LONG and row.num_rows * row.extent <= _LITTLE * target.num_units


def _time_of_few(cut: RowCut, row: Row, words: int, registers: int, target: Target) -> float:
    """Relative time of few rows: little for a thread to do, but small CTAs that run at once."""
    threads = row.num_rows * cut.num_ctas * cut.cta_threads
    at_once = target.num_units * _REGISTERS / (registers + _WAITING_REGISTERS)
    size = next(cost for least, cost in _CTA_COSTS if cut.cta_threads >= least)
    return max(threads / at_once, 1) * (8 + words) * (1 + cut.num_ctas / 16) * size
