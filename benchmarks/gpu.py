"""Fused kernels on an NVIDIA GPU, against a device-to-device copy measured in the same run.

    python -m benchmarks.gpu [results.json]

Prints per workload the median time, TB/s, the fraction of the copy's TB/s, registers and spills.
Each workload's rounds alternate with rounds of the copy. Times are CUDA events around several
launches, divided.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cuda.bindings import driver

import lazyblock as lb
from benchmarks.workloads import (
    Workload,
    elementwise_and_row_workloads,
    memory_bound_workloads,
)
from lazyblock.backend import devices

ROUNDS = 7
LAUNCHES = 10


def check(result: Sequence[Any]) -> Any:
    """Return what a driver call gives; raise when it fails."""
    status, *values = result
    if status.value:
        raise RuntimeError(status.name)
    return values[0] if values else None


def time_launches(stream: Any, call: Callable[[], Any]) -> float:
    """Return the seconds one call takes on the device."""
    start, end = check(driver.cuEventCreate(0)), check(driver.cuEventCreate(0))
    check(driver.cuEventRecord(start, stream))
    kept = [call() for _ in range(LAUNCHES)]
    check(driver.cuEventRecord(end, stream))
    check(driver.cuEventSynchronize(end))
    del kept
    return check(driver.cuEventElapsedTime(start, end)) / 1e3 / LAUNCHES


def make_copy(device: Any, nbytes: int) -> Callable[[], None]:
    """Return a copy of `nbytes` between two buffers that the call keeps alive."""
    source, target = device.allocate(nbytes), device.allocate(nbytes)

    def copy() -> None:
        check(driver.cuMemcpyDtoDAsync(target.pointer, source.pointer, nbytes, device.stream))

    return copy


def measure(workloads: Sequence[Workload], size: int) -> list[dict[str, Any]]:
    """Return one record per workload, a copy of `size` float32 first."""
    device = devices.get_device("cuda")
    copy = make_copy(device, 4 * size)
    times: dict[str, list[float]] = {"copy": []}
    records = []
    for workload in workloads:
        arrays = [
            lb.asarray(array, device="cuda").astype(workload.dtype) for array in workload.inputs()
        ]
        lb.eval(*arrays)
        function = lb.compile(lambda *xs, w=workload: w.run(lb, *xs))
        function(*arrays)
        device.synchronize()
        for _ in range(ROUNDS):
            times["copy"].append(time_launches(device.stream, copy))
            launch = time_launches(device.stream, lambda f=function, a=arrays: f(*a))
            times.setdefault(workload.name, []).append(launch)
        records.append(_record(workload.name, times[workload.name], workload.nbytes, function))
    return [_record("copy", times["copy"], 8 * size, None), *records]


def _record(name: str, times: list[float], nbytes: int, frozen: Any) -> dict[str, Any]:
    median = statistics.median(times)
    kernels = frozen.kernels if frozen else ()
    return {
        "name": name,
        "ms": median * 1e3,
        "spread": (max(times) - min(times)) / median,
        "tb_s": nbytes / median / 1e12,
        "kernels": [
            {"name": k.name, "grid": k.grid, **{key: v for key, v in k.stats.items()}}
            for k in kernels
        ],
    }


def main() -> None:
    size = 1 << 28
    workloads = [*elementwise_and_row_workloads(size, 16384, 4096), *memory_bound_workloads()]
    records = measure(workloads, size)
    copy = records[0]["tb_s"]
    print(f"{'workload':22} {'ms':>8} {'TB/s':>6} {'of copy':>8} {'spread':>7}  registers/spills")
    for record in records:
        record["of_copy"] = record["tb_s"] / copy
        uses = " ".join(f"{k['registers']}/{k['spill_bytes']}" for k in record["kernels"])
        print(
            f"{record['name']:22} {record['ms']:8.4f} {record['tb_s']:6.3f}"
            f" {record['of_copy']:8.3f} {record['spread']:7.3f}  {uses}"
        )
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            json.dump(records, file, indent=1)


if __name__ == "__main__":
    main()
