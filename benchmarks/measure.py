"""Measures workloads: lazyblock, its peers and a plain copy take turns, round by round.

No contestant stops the run: what cannot do a workload is absent from its record, with the reason.
All that a workload holds in memory is freed before the next one.
"""

from __future__ import annotations

import contextlib
import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.clocks import Clock, Sample
from benchmarks.peers import LazyBlock, Library, describe
from benchmarks.workloads import Workload

OURS, COPY = LazyBlock.name, "copy"
ROUNDS = 7
_LEAST_LAUNCHES, _MOST_LAUNCHES = 3, 100  # of a round
_COMPARED = 1 << 16  # elements of the first result

Record = dict[str, Any]
Reasons = dict[str, str]


@dataclass
class Contest:
    """A contestant's call in one workload, how often a round makes it, and the times."""

    clock: Clock
    call: Callable[[], Any]
    facts: Record = field(default_factory=dict)
    launches: int = _LEAST_LAUNCHES
    lead: float = 0.0
    samples: list[Sample] = field(default_factory=list)

    def warm_up(self) -> None:
        """Fill the pools, and size the rounds by what calls take."""
        self.clock.time(self.call, 2)
        trial = self.clock.time(self.call, _LEAST_LAUNCHES)
        wanted = math.ceil(self.clock.least_seconds / max(trial.seconds, 1e-9))
        self.launches = min(max(wanted, _LEAST_LAUNCHES), _MOST_LAUNCHES)
        self.lead = self.launches * trial.host_seconds

    def run_round(self) -> None:
        self.samples.append(self.clock.time(self.call, self.launches, self.lead))

    def summary(self) -> Record:
        times = [sample.seconds for sample in self.samples]
        median = statistics.median(times)
        return {
            "ms": median * 1e3,
            "spread": (max(times) - min(times)) / median,
            "host_ms": statistics.median(sample.host_seconds for sample in self.samples) * 1e3,
            "launches": self.launches,
            "clock": self.clock.how,
            **self.facts,
        }


def measure(
    workload: Workload,
    ours: LazyBlock,
    peers: Sequence[Library] = (),
    missing: Reasons | None = None,
    rounds: int = ROUNDS,
) -> Record:
    """Return the record of a workload. missing: peers known to be absent, and why."""
    libraries = [ours, *peers]
    absent = dict(missing or {})
    contests = _prepare(workload, libraries, absent) | _prepare_copy(workload, ours, absent)
    for _ in range(rounds):
        _run_round(contests, absent)
    summaries = {name: contest.summary() for name, contest in contests.items()}
    contests.clear()
    gc.collect()
    for library in libraries:
        with contextlib.suppress(Exception):  # of a lost GPU: the next workload tells
            library.trim()
    return _record(workload, summaries, absent)


def _prepare(
    workload: Workload, libraries: Sequence[Library], absent: Reasons
) -> dict[str, Contest]:
    host = workload.inputs()
    contests: dict[str, Contest] = {}
    reference: np.ndarray | None = None
    for library in libraries:
        if library.is_eager and not workload.is_eager:
            absent[library.name] = "not run: every operation alone would fill the memory"
            continue
        try:
            contest, head = _enter(library, workload, host)
        except Exception as error:
            absent[library.name] = describe(error)
            continue
        reference = head if reference is None else reference
        contest.facts["difference"] = _difference(head, reference)
        contests[library.name] = contest
    return contests


def _prepare_copy(workload: Workload, ours: LazyBlock, absent: Reasons) -> dict[str, Contest]:
    """A copy that moves as many bytes as the workload."""
    try:
        contest = Contest(ours.clock, ours.make_copy(workload.nbytes // 2))
        contest.warm_up()
    except Exception as error:
        absent[COPY] = describe(error)
        return {}
    return {COPY: contest}


def _enter(
    library: Library, workload: Workload, host: list[np.ndarray]
) -> tuple[Contest, np.ndarray]:
    """Return a contestant that is warm, and the first elements of its first result."""
    arrays = [
        library.array(values, workload.dtype if values.dtype == np.float32 else "int32")
        for values in host
    ]
    function = library.compile(workload)
    start = time.perf_counter()
    result = function(*arrays)
    head = _first_elements(library, result[0] if isinstance(result, (tuple, list)) else result)
    facts: Record = {"first_call_s": time.perf_counter() - start}
    del result
    contest = Contest(library.clock, lambda: function(*arrays), facts)
    contest.warm_up()
    facts["kernels"] = [
        {"name": kernel.name, "grid": kernel.grid, **kernel.stats}
        for kernel in getattr(function, "kernels", ())
    ]
    return contest, head


def _first_elements(library: Library, result: Any) -> np.ndarray:
    if result.ndim:
        row_size = math.prod(result.shape[1:])
        result = result[: max(_COMPARED // row_size, 1)]
    return library.to_numpy(result).astype(np.float64)


def _difference(values: np.ndarray, reference: np.ndarray) -> float:
    """Largest distance, relative to the largest element."""
    if values.shape != reference.shape:
        return math.inf
    return float(np.abs(values - reference).max() / np.abs(reference).max())


def _run_round(contests: dict[str, Contest], absent: Reasons) -> None:
    for name in list(contests):
        try:
            contests[name].run_round()
        except Exception as error:
            absent[name] = describe(error)
            del contests[name]


def _record(workload: Workload, summaries: dict[str, Record], absent: Reasons) -> Record:
    """Times of all, and what they say about lazyblock."""
    record: Record = {
        "name": workload.name,
        "shapes": workload.shapes,
        "dtype": workload.dtype,
        "numerics": workload.numerics,
        "nbytes": workload.nbytes,
        "times": summaries,
        "absent": absent,
    }
    ours = summaries.get(OURS)
    if ours is None:
        return record
    record["tb_s"] = workload.nbytes / ours["ms"] / 1e9
    if COPY in summaries:
        record["of_copy"] = summaries[COPY]["ms"] / ours["ms"]
    rivals = {name: s["ms"] for name, s in summaries.items() if name not in (COPY, OURS)}
    if rivals:
        record["best_peer"] = min(rivals, key=lambda name: rivals[name])
        record["ratio"] = rivals[record["best_peer"]] / ours["ms"]
    return record
