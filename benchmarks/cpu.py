"""Fused kernels against NumPy on this machine's CPU, both in one run.

    python -m benchmarks.cpu [--only name] [--scale 64]

Prints per workload the median time of both and the ratio; rounds are interleaved, so that changes
of clock speed hit both alike.
"""

from __future__ import annotations

import argparse

from benchmarks.measure import measure
from benchmarks.peers import LazyBlock, NumPy
from benchmarks.report import header, notes, row
from benchmarks.workloads import make_workloads


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.cpu")
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    parser.add_argument("--scale", type=int, default=64, help="divides the sizes of a GPU's run")
    arguments = parser.parse_args()
    ours, numpy = LazyBlock("cpu"), NumPy()
    print(header([numpy.name]))
    records = []
    for workload in make_workloads(arguments.scale):
        if arguments.only in workload.name:
            records.append(measure(workload, ours, [numpy]))
            print(row(records[-1], [numpy.name]), flush=True)
    print(*notes(records), sep="\n")


if __name__ == "__main__":
    main()
