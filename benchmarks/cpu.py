"""Fused kernels against NumPy on this machine's CPU, both in one run.

    python -m benchmarks.cpu

Prints per workload the median time of both and the ratio; rounds are interleaved, so that changes
of clock speed hit both alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyblock as lb
from benchmarks.workloads import Workload, elementwise_and_row_workloads

ROUNDS = 15


def time_call(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(workload: Workload) -> tuple[float, float]:
    """Return median seconds of lazyblock (frozen, warm) and of NumPy."""
    host = workload.inputs()
    arrays = [lb.asarray(array, device="cpu") for array in host]
    frozen = lb.compile(lambda *xs: workload.run(lb, *xs))

    def run_lazyblock() -> None:
        lb.eval(frozen(*arrays))

    def run_numpy() -> None:
        workload.run(np, *host)

    run_lazyblock()
    run_numpy()
    rounds = [(time_call(run_lazyblock), time_call(run_numpy)) for _ in range(ROUNDS)]
    ours, theirs = zip(*rounds, strict=True)
    return statistics.median(ours), statistics.median(theirs)


def main() -> None:
    print(f"{'workload':20} {'lazyblock ms':>13} {'NumPy ms':>10} {'ratio':>7} {'GB/s':>7}")
    for workload in elementwise_and_row_workloads(1 << 22, 1 << 12, 1 << 10):
        ours, theirs = compare(workload)
        print(
            f"{workload.name:20} {ours * 1e3:13.3f} {theirs * 1e3:10.3f} {theirs / ours:7.2f}"
            f" {workload.nbytes / ours / 1e9:7.1f}"
        )


if __name__ == "__main__":
    main()
