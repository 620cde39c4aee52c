"""Measures workloads: lazyblock, its peers and a plain copy take turns, round by round.

No contestant stops the run: what cannot do a workload is absent from its record, with the reason.
All that a workload holds in memory is freed before the next one.
"""

from __future__ import annotations

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

ROUNDS = 7
_LEAST_LAUNCHES, _MOST_LAUNCHES = 5, 100  # of a round
_COMPARED = 1 << 16  # elements of the first result
_COPY = "copy"

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
    contests = _prepare(workload, libraries, absent)
    contests[_COPY] = Contest(ours.clock, ours.make_copy(workload.nbytes // 2))
    contests[_COPY].warm_up()
    for _ in range(rounds):
        _run_round(contests, absent)
    summaries = {name: contest.summary() for name, contest in contests.items()}
    contests.clear()
    gc.collect()
    for library in libraries:
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
    ours = summaries.get(LazyBlock.name)
    if ours is None:
        return record
    record["tb_s"] = workload.nbytes / ours["ms"] / 1e9
    if _COPY in summaries:
        record["of_copy"] = summaries[_COPY]["ms"] / ours["ms"]
    rivals = {name: s["ms"] for name, s in summaries.items() if name not in (_COPY, LazyBlock.name)}
    if rivals:
        record["best_peer"] = min(rivals, key=lambda name: rivals[name])
        record["ratio"] = rivals[record["best_peer"]] / ours["ms"]
    return record


# --- what people read ----------------------------------------------------------------------------


def header(peers: Sequence[str]) -> str:
    """The first line of the table; `peers` get a column of milliseconds each."""
    columns = "".join(f"{name:>14}" for name in peers)
    return (
        f"{'workload':18}{'ms':>9}{'TB/s':>8}{'of copy':>8}{columns}"
        f"  {'best peer':14}{'ratio':>6}  registers/spilled bytes"
    )


def row(record: Record, peers: Sequence[str]) -> str:
    """One line of the table; "-" for what is absent."""
    times = record["times"]
    columns = "".join(f"{_milliseconds(times.get(name)):>14}" for name in peers)
    ours = times.get(LazyBlock.name)
    if ours is None:
        return f"{record['name']:18}{'-':>9}{'':16}{columns}"
    uses = " ".join(f"{k.get('registers')}/{k.get('spill_bytes')}" for k in ours["kernels"])
    ratio = f"{record['ratio']:6.2f}" if "ratio" in record else f"{'-':>6}"
    return (
        f"{record['name']:18}{_milliseconds(ours):>9}{record['tb_s']:8.3f}"
        f"{record.get('of_copy', math.nan):8.3f}{columns}"
        f"  {record.get('best_peer', '-'):14}{ratio}  {uses}"
    )


def _milliseconds(summary: Record | None) -> str:
    return "-" if summary is None else f"{summary['ms']:.4f}"


def notes(records: Sequence[Record]) -> list[str]:
    """Lines for the absent and for results that differ."""
    lines = [
        f"{record['name']}: {name} is absent: {reason}"
        for record in records
        for name, reason in record["absent"].items()
    ]
    for record in records:
        for name, summary in record["times"].items():
            difference = summary.get("difference", 0.0)
            if not difference < _tolerance(record):
                lines.append(f"{record['name']}: {name} differs by {difference:.2g}")
    return lines


def _tolerance(record: Record) -> float:
    return 2e-2 if record["dtype"] == "bfloat16" else 1e-4
