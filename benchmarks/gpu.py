"""Fused kernels on an NVIDIA GPU, against a device-to-device copy measured in the same run.

    python -m benchmarks.gpu [results.json]

Prints per workload the median time, TB/s, the fraction of the copy's TB/s, registers and spills.
Rounds of all workloads and the copy are interleaved. Times are CUDA events around several launches,
divided.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cuda.bindings import driver

import lazyblock as lb
from benchmarks.workloads import Workload, elementwise_and_row_workloads
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


def measure(size: int, rows: int, columns: int) -> list[dict[str, Any]]:
    """Return one record per workload, the copy of `size` float32 first."""
    device = devices.get_device("cuda")
    calls: dict[str, Callable[[], Any]] = {"copy": make_copy(device, 4 * size)}
    nbytes = {"copy": 8 * size}
    frozen: dict[str, Any] = {}
    for workload in elementwise_and_row_workloads(size, rows, columns):
        arrays = [lb.asarray(array, device="cuda") for array in workload.inputs()]
        function = _freeze(workload)
        calls[workload.name] = lambda f=function, a=arrays: f(*a)
        nbytes[workload.name], frozen[workload.name] = workload.nbytes, function
    for call in calls.values():
        call()
    device.synchronize()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(time_launches(device.stream, call))
    return [_record(name, times[name], nbytes[name], frozen.get(name)) for name in calls]


def _freeze(workload: Workload) -> Any:
    return lb.compile(lambda *xs: workload.run(lb, *xs))


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
    records = measure(1 << 28, 16384, 4096)
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
