"""What people read of a measurement: lines while it runs, and Markdown of the results it wrote.

python -m benchmarks.report gpu.json
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import OURS, Record


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
    ours = times.get(OURS)
    if ours is None:
        return f"{record['name']:18}{'-':>9}{'':16}{columns}"
    known = [kernel for kernel in ours["kernels"] if kernel["registers"] is not None]
    uses = " ".join(f"{kernel['registers']}/{kernel['spill_bytes']}" for kernel in known)
    ratio = f"{record['ratio']:6.2f}" if "ratio" in record else f"{'-':>6}"
    return (
        f"{record['name']:18}{_milliseconds(ours):>9}{record['tb_s']:8.3f}"
        f"{record.get('of_copy', math.nan):8.3f}{columns}"
        f"  {record.get('best_peer', '-'):14}{ratio}  {uses}"
    )


def _milliseconds(summary: Record | None) -> str:
    return "-" if summary is None else f"{summary['ms']:.4f}"


def notes(records: Sequence[Record]) -> list[str]:
    """Lines for the absent, a reason each, and for results that differ from lazyblock's."""
    absences: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for name, reason in record["absent"].items():
            absences.setdefault((name, reason), []).append(record["name"])
    lines = [
        f"{name} is absent from {_enumerate(where, len(records))}: {reason}"
        for (name, reason), where in absences.items()
    ]
    for record in records:
        for name, summary in record["times"].items():
            difference = summary.get("difference", 0.0)
            if not difference < _tolerance(record):
                lines.append(f"{name} differs in {record['name']} by {difference:.2g}")
    return lines


def _enumerate(names: Sequence[str], num_records: int) -> str:
    return "all" if len(names) == num_records > 1 else ", ".join(names)


def _tolerance(record: Record) -> float:
    return 2e-2 if record["dtype"] == "bfloat16" else 1e-4


def markdown(records: Sequence[Record], peers: Sequence[str]) -> str:
    """A table of all records; "-" for what is absent."""
    names = ["workload", "ms", "TB/s", "of the copy", *peers, "best peer / lazyblock", "kernels"]
    lines = [names, ["---", *["---:"] * (len(names) - 1)]]
    lines += [_cells(record, peers) for record in records]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(record: Record, peers: Sequence[str]) -> list[str]:
    times = record["times"]
    kernels = len(times[OURS]["kernels"]) if OURS in times else 0
    return [
        record["name"] + (" (fast)" if record["numerics"] == "fast" else ""),
        _milliseconds(times.get(OURS)),
        _figure(record.get("tb_s")),
        _figure(record.get("of_copy")),
        *(_milliseconds(times.get(name)) for name in peers),
        _figure(record.get("ratio")),
        str(kernels or "-"),
    ]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())
    peers = [name for name in results["versions"] if name != OURS]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    print(f"{results['device']}, {results['date']}, scale {results['scale']}: {versions}\n")
    print(markdown(results["records"], peers), "", *notes(results["records"]), sep="\n")


if __name__ == "__main__":
    main()
