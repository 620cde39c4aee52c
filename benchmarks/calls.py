"""What lazyblock itself costs per call: tiny arrays, so that the kernels take no time.

    python -m benchmarks.calls [device ...]

Prints medians in microseconds on the CPU and, when there is one, a GPU. On a GPU nothing waits for
the kernels within a round: the figures are the host's, the driver's launch included.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyblock as lb
from lazyblock.backend import devices
from lazyblock.backend.runtime import cuda

ROUNDS = 30
CALLS = 200  # per round; fewer than a GPU's launch queue holds


def measure(call: Callable[[], Any], wait: Callable[[], None]) -> float:
    """Return the median microseconds of a call."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
        wait()
    return statistics.median(times[1:])


def make_calls(device: str) -> dict[str, Callable[[], Any]]:
    """Return what is measured, by name."""
    x = lb.asarray(np.linspace(0, 1, 16, dtype=np.float32).reshape(4, 4), device=device)
    y = lb.asarray(np.ones((4, 4), np.float32), device=device)
    one_kernel = lb.compile(lambda a: a * 2 + 1)
    two_inputs = lb.compile(lambda a, b: a * b + 1)
    three_kernels = lb.compile(lambda a: a / (a.sum(axis=0) * 2).max())
    expression = (x * 2 + 1).compile()
    one_kernel(x), two_inputs(x, y), three_kernels(x), lb.eval(x * 2 + 1)
    assert len(one_kernel.kernels) == 1 and len(three_kernels.kernels) == 3
    return {
        "record x + y": lambda: x + y,
        "record x * 2": lambda: x * 2,
        "record exp(x)": lambda: lb.exp(x),
        "record x * 2 + 1": lambda: x * 2 + 1,
        "record and evaluate x * 2 + 1": lambda: lb.eval(x * 2 + 1),
        "compiled function, 1 kernel": lambda: one_kernel(x),
        "compiled function of 2 arrays": lambda: two_inputs(x, y),
        "frozen expression, 1 kernel": lambda: expression(x),
        "compiled function, 3 kernels": lambda: three_kernels(x),
    }


def main() -> None:
    names = sys.argv[1:] or ["cpu", *(["cuda"] if cuda.is_available() else [])]
    columns = []
    for name in names:
        device = devices.get_device(name)
        calls = make_calls(name)
        columns.append({what: measure(call, device.synchronize) for what, call in calls.items()})
    print(f"{'us per call':32}", *(f"{name:>8}" for name in names))
    for what in columns[0]:
        print(f"{what:32}", *(f"{column[what]:8.2f}" for column in columns))


if __name__ == "__main__":
    main()
