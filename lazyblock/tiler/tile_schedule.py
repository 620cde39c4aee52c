"""How a kernel's tile is cut: plain data.

A tile has a block extent per dimension of the walk; extent 1 means that the dimension is walked by
the grid (kept dimensions) or a loop (reduced ones), one index at a time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TileSchedule:
    """Block extent per dimension (powers of two), order of the block's axes, CTAs and their warps.

    order: tile dimensions as axes of the block, the one that vectors run along last. unroll: tiles
    that one iteration of a loop that accumulates takes. pieces: blocks that hold a row together, if
    more than one does; nothing loops then. max_registers: of a thread (0: as many as it takes).
    num_programs: that stay and take every so many-th tile (0: a program for every tile).
    """

    blocks: tuple[int, ...]
    order: tuple[int, ...]
    num_warps: int = 4
    num_ctas: int = 1
    unroll: int = 1
    pieces: int = 1
    max_registers: int = 0
    num_programs: int = 0
