"""Fused kernels on an NVIDIA GPU, against its peers and a copy on the device, all in one run.

    python -m benchmarks.gpu [results.json] [--peers torch,torch.compile,jax,cupy] [--only name]
                             [--scale 1|100] [--numerics strict|fast] [--limit seconds]

Prints per workload lazyblock's median time, TB/s, the fraction of the speed of a copy that moves as
many bytes, every peer's milliseconds, the best peer, its time over lazyblock's, registers and
spills; then what was absent, and why. `results.json` holds all of it, and grows by workload.
`--scale 100` makes the arrays fit the L2 cache. Times are the device's (of CUDA events, with the
launches waiting in the stream), but JAX's are the wall clock's. Past `--limit` peers sit out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import OURS, ROUNDS, Record, measure
from benchmarks.peers import PEERS, LazyBlock, Library, open_peers
from benchmarks.report import header, notes, row
from benchmarks.workloads import Workload, make_workloads

_OUT_OF_TIME = "not run: out of time"


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.gpu")
    parser.add_argument("results", nargs="?", help="JSON file to write")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma list, or none")
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    parser.add_argument("--scale", type=int, default=1, help="divides the sizes")
    parser.add_argument("--numerics", choices=["strict", "fast"], help="for all workloads")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--limit", type=float, default=270, help="seconds until peers sit out")
    found = parser.parse_args(arguments)
    found.peers = [name for name in found.peers.split(",") if name not in ("", "none")]
    unknown = [name for name in found.peers if name not in PEERS]
    if unknown:
        parser.error(f"there is no peer {unknown}, only {list(PEERS)}")
    return found


def describe_run(scale: int, libraries: Sequence[Library]) -> dict[str, Any]:
    """What figures depend on, besides the code."""
    from cuda.bindings import driver

    _, name = driver.cuDeviceGetName(64, 0)
    _, version = driver.cuDriverGetVersion()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "device": name.decode().rstrip("\0"),
        "driver_cuda": version,
        "scale": scale,
        "versions": {library.name: library.version for library in libraries},
    }


def choose_workloads(arguments: argparse.Namespace) -> list[Workload]:
    chosen = [w for w in make_workloads(arguments.scale) if arguments.only in w.name]
    if arguments.numerics:
        return [dataclasses.replace(w, numerics=arguments.numerics) for w in chosen]
    return chosen


def run(arguments: argparse.Namespace) -> list[Record]:
    """Measure and print, workload by workload; write what there is after each."""
    deadline = time.monotonic() + arguments.limit
    ours = LazyBlock("cuda")
    peers, missing = open_peers(arguments.peers)
    about = describe_run(arguments.scale, [ours, *peers])
    print(json.dumps(about))
    print(header(arguments.peers), flush=True)
    records: list[Record] = []
    for workload in choose_workloads(arguments):
        is_late = time.monotonic() > deadline
        present = [] if is_late else peers
        late = {peer.name: _OUT_OF_TIME for peer in peers} if is_late else {}
        records.append(measure(workload, ours, present, missing | late, arguments.rounds))
        print(row(records[-1], arguments.peers), flush=True)
        if arguments.results:
            text = json.dumps({**about, "records": records}, indent=1)
            Path(arguments.results).write_text(text)
    return records


def main() -> int:
    records = run(parse_arguments(sys.argv[1:]))
    print(*notes(records), sep="\n")
    return int(any(OURS in record["absent"] for record in records))


if __name__ == "__main__":
    sys.exit(main())
