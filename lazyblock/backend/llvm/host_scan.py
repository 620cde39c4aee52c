"""Scans across the lanes of vectors on the CPU; each step reaches twice as far as the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lazyblock.backend.llvm.emit import Emitter


@dataclass(frozen=True)
class LaneScan:
    """Vectors of `width` lanes, one of each type; reverse: the last lane comes first."""

    emitter: Emitter
    types: tuple[str, ...]
    width: int
    reverse: bool
    combine: Callable[[list[str], list[str]], list[str]]

    def shuffle(
        self, vectors: Sequence[str], others: Sequence[str], lanes: Sequence[int]
    ) -> list[str]:
        """Lanes of each vector (0 ... width - 1) or its other (from width on)."""
        mask = f"<{len(lanes)} x i32> <{', '.join(f'i32 {lane}' for lane in lanes)}>"
        return [
            self.emitter.value(f"shufflevector {type} {vector}, {type} {other}, {mask}")
            for type, vector, other in zip(self.types, vectors, others, strict=True)
        ]


def scan_lanes(scan: LaneScan, vectors: list[str]) -> list[str]:
    """Each lane combined with all that come before it."""
    width, distance = scan.width, 1
    while distance < width:
        step = -distance if scan.reverse else distance
        sources = [lane - step for lane in range(width)]
        is_inside = [0 <= lane < width for lane in sources]
        before = scan.shuffle(
            vectors,
            vectors,
            [source if inside else 0 for source, inside in zip(sources, is_inside, strict=True)],
        )
        combined = scan.combine(before, vectors)
        kept = [lane + width * inside for lane, inside in enumerate(is_inside)]
        vectors = scan.shuffle(vectors, combined, kept)
        distance *= 2
    return vectors


def repeat_last_lane(scan: LaneScan, vectors: list[str]) -> list[str]:
    """The total, in every lane."""
    if scan.width == 1:
        return vectors
    last = 0 if scan.reverse else scan.width - 1
    return scan.shuffle(vectors, vectors, [last] * scan.width)
