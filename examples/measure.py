"""Run an array function on lazyblock and on NumPy, and compare their results and their times.

Timed is what a user waits for: from arrays that are already there to the whole result as NumPy
arrays. Both sides are warm, their runs alternate, and the medians count.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lazyblock as lb

REPEATS = 9
WARM_UP_SECONDS = 0.1

Arrays = tuple[np.ndarray, ...]


class Workload(NamedTuple):
    """An array function, its inputs, and how far from NumPy's its results may be."""

    name: str
    function: Callable[..., Any]
    inputs: Arrays
    tolerance: float


class Report(NamedTuple):
    """What was seen when a workload ran on lazyblock and on NumPy."""

    workload: Workload
    outputs: Arrays
    kernels: tuple[Any, ...]
    lazyblock_ms: float
    numpy_ms: float
    error: float

    @property
    def is_accurate(self) -> bool:
        """Whether the results are as near to NumPy's as the workload asks."""
        return self.error <= self.workload.tolerance


def run_workload(workload: Workload) -> Report:
    """Run one workload on both sides."""
    frozen = lb.compile(workload.function)
    arrays = [lb.asarray(array) for array in workload.inputs]

    def run_with_lazyblock() -> Arrays:
        return tuple(output.numpy() for output in as_tuple(frozen(*arrays)))

    def run_with_numpy() -> Arrays:
        return as_tuple(workload.function(*workload.inputs))

    with np.errstate(over="ignore", invalid="ignore"):  # Mandelbrot's escaped points overflow
        outputs = run_with_lazyblock()
        error = measure_error(outputs, run_with_numpy())
        lazyblock_ms, numpy_ms = compare_times(run_with_lazyblock, run_with_numpy)
    return Report(workload, outputs, tuple(frozen.kernels), lazyblock_ms, numpy_ms, error)


def as_tuple(result: Any) -> tuple[Any, ...]:
    """Return the results of a function that gives one or several."""
    return result if isinstance(result, tuple) else (result,)


def measure_error(outputs: Arrays, expected: Arrays) -> float:
    """Return the largest absolute difference; infinity when shapes, dtypes or NaNs differ."""
    pairs = zip(outputs, expected, strict=True)
    return max(measure_difference(output, reference) for output, reference in pairs)


def measure_difference(output: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest absolute difference; equal infinities and NaNs differ by 0."""
    if output.shape != reference.shape or output.dtype != reference.dtype:
        return float("inf")
    same = (output == reference) | (np.isnan(output) & np.isnan(reference))
    difference = np.abs(output.astype(np.float64) - reference.astype(np.float64))
    return float(np.where(same, 0, np.nan_to_num(difference, nan=np.inf)).max(initial=0))


def compare_times(*calls: Callable[[], Any]) -> list[float]:
    """Return the median milliseconds of each call; the calls take turns."""
    warm_until = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < warm_until:
        for call in calls:
            call()
    rounds = [[measure_milliseconds(call) for call in calls] for _ in range(REPEATS)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def measure_milliseconds(call: Callable[[], Any]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e6
