"""How time grows with the size of an expression: recording, first evaluation, known evaluation.

    python -m benchmarks.scale [largest number of nodes] [kind...]

Microseconds of processor time per operation, for sizes that double: where they stay level, time is
linear. Arrays are small, so that it is the host's time. A kind that takes over a minute is doubled
no more.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyblock as lb

SMALLEST = 3125
LARGEST = 200_000
_MOST_SECONDS = 60.0

Arrays = list[Any]


def chain(x: Any, size: int) -> Arrays:
    """Every operation uses the one before."""
    y = x
    for n in range(size):
        y = y * x if n % 2 else y + x
    return [y]


def scalars(x: Any, size: int) -> Arrays:
    """The same with numbers that differ."""
    for n in range(size // 2):
        x = x * 0.5 + float(n)
    return [x]


def wide_sum(x: Any, size: int) -> Arrays:
    """Many arrays added up one after the other."""
    total = x
    for other in [lb.asarray(np.full(x.shape, n, x.dtype)) for n in range(size)]:
        total = total + other
    return [total]


def tree(x: Any, size: int) -> Arrays:
    """Many arrays added up in pairs."""
    level = [lb.asarray(np.full(x.shape, n, x.dtype)) for n in range(size)]
    while len(level) > 1:
        level = [sum(level[n : n + 2][1:], level[n]) for n in range(0, len(level), 2)]
    return level


def ladder(x: Any, size: int) -> Arrays:
    """Every value is used twice."""
    y = x * 0.5
    for _ in range(size // 2):
        x, y = x + y, x - y
    return [x, y]


def fibonacci(x: Any, size: int) -> Arrays:
    """Every value is used by the next two."""
    y = x * 0.5
    for _ in range(size):
        x, y = y, x + y
    return [y]


def many_results(x: Any, size: int) -> Arrays:
    """Many results of one common value."""
    common = lb.exp(x)
    return [common + float(n) for n in range(size)]


def stencil(x: Any, size: int) -> Arrays:
    """Steps that read neighbours through views and write into the array."""
    x = x.copy()
    for _ in range(size // 5):
        x[1:-1] = (x[2:] + x[:-2]) * 0.5
    return [x]


def rolls(x: Any, size: int) -> Arrays:
    """Reversed and added again and again."""
    for _ in range(size // 2):
        x = x[::-1] + x
    return [x]


def elements(x: Any, size: int) -> Arrays:
    """Elements written one by one."""
    x = x.copy()
    for n in range(size // 2):
        x[n % 16] = float(n)
    return [x]


def means(x: Any, size: int) -> Arrays:
    """A reduction between the steps."""
    for _ in range(size // 4):
        x = x - x.mean()
    return [x]


def descent(x: Any, size: int) -> Arrays:
    """Small steps of gradient descent, with products of matrices."""
    w = lb.asarray(np.ones((16, 1), x.dtype))
    a = lb.asarray(np.eye(16, dtype=x.dtype))
    for _ in range(size // 6):
        w = w - 0.1 * (a.T @ (a @ w - 1.0))
    return [w]


def joined(x: Any, size: int) -> Arrays:
    """Many results in one array."""
    return [lb.concatenate([x * float(n) for n in range(size // 2)])]


KINDS = [
    *(chain, scalars, wide_sum, tree, ladder, fibonacci, many_results),
    *(stencil, rolls, elements, means, descent, joined),
]


def measure(kind: Callable[[Any, int], Arrays], size: int) -> list[float]:
    """Seconds of recording, the first evaluation and a second one of the same."""
    x = lb.asarray(np.linspace(0, 1, 16, dtype=np.float32))
    times = []
    for number in range(2):
        start = time.thread_time()
        results = kind(x, size)
        middle = time.thread_time()
        lb.eval(*results)
        times += [middle - start, time.thread_time() - middle][number:]
        del results
    return times


def main(largest: int, names: list[str]) -> None:
    print(f"us per operation:{'record':>16s}{'first':>10s}{'known':>10s}{'MB':>8s}")
    for kind in KINDS:
        size = LARGEST + 1 if names and kind.__name__ not in names else SMALLEST
        while size <= largest:
            times = measure(kind, size)
            figures = "".join(f"{seconds / size * 1e6:10.2f}" for seconds in times)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"{kind.__name__:14s}{size:9d}{figures}{peak:8d}", flush=True)
            size *= 2 if times[1] < _MOST_SECONDS else LARGEST


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LARGEST, sys.argv[2:])
