"""What recording costs the host, and evaluating what is known already, in microseconds.

    python -m benchmarks.recording [device]

Medians of processor time over many rounds, of small arrays so that kernels take no time. Recording
is timed on chains that stay alive, so that every operation makes a node; beside each figure stands
the limit it has to keep. What a Python object of two attributes takes tells machines apart.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyblock as lb

ROUNDS = 200
CHAIN = 100  # operations of a round
RECORDING_LIMIT_US = 2.0
EVALUATION_LIMIT_US = 15.0


class _Pair:
    __slots__ = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


def measure(run: Callable[[], Any], operations: int) -> float:
    """Return the median microseconds of an operation, `run` doing so many."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.thread_time()
        kept = run()
        times.append((time.thread_time() - start) / operations * 1e6)
        del kept
    return statistics.median(times[1:])


def chain(step: Callable[[Any], Any], start: Any) -> Callable[[], Any]:
    """Return what applies `step` again and again."""

    def run() -> Any:
        value = start
        for _ in range(CHAIN):
            value = step(value)
        return value

    return run


def comparisons(x: Any) -> Callable[[], Any]:
    """Return what compares an array with different numbers, again and again."""
    return lambda: [x > number for number in range(CHAIN)]


def repeat(call: Callable[[], Any]) -> Callable[[], None]:
    """Return what makes a call as often as a chain has operations."""

    def run() -> None:
        for _ in range(CHAIN):
            call()

    return run


def main(device: str | None) -> None:
    x = lb.asarray(np.linspace(0, 1, 16, dtype=np.float32), device=device)
    y = lb.asarray(np.ones(16, np.float32), device=device)
    lb.eval(x * y)
    steps: dict[str, Callable[[Any], Any]] = {
        "x + y": lambda z: z + y,
        "x * 1.5": lambda z: z * 1.5,
        "1 - x": lambda z: 1 - z,
        "x ** 2": lambda z: z**2,
        "-x": lambda z: -z,
        "lb.sin(x)": lb.sin,
        "lb.add(x, y)": lambda z: lb.add(z, y),
    }
    print(f"a Python object of two attributes {measure(repeat(lambda: _Pair(x, y)), CHAIN):8.2f}")
    for name, step in steps.items():
        took = measure(chain(step, x), CHAIN)
        print(f"recording {name:23s} {took:8.2f}   limit {RECORDING_LIMIT_US}")
    took = measure(comparisons(x), CHAIN)
    print(f"recording {'x > 0':23s} {took:8.2f}   limit {RECORDING_LIMIT_US}")
    for name, step in {"np.sin(x)": np.sin, "np.add(x, y)": lambda z: np.add(z, y)}.items():
        print(f"recording {name:23s} {measure(chain(step, x), CHAIN):8.2f}")
    for name, call in {
        "x[1:] + y[1:]": lambda: x[1:] + y[1:],
    }.items():
        print(f"recording {name:23s} {measure(repeat(call), CHAIN):8.2f}")
    recording = measure(repeat(lambda: x * y), CHAIN)
    took = measure(repeat(lambda: lb.eval(x * y)), CHAIN) - recording
    print(f"evaluating x * y, known {took:18.2f}   limit {EVALUATION_LIMIT_US}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
