"""Every workload computes on lazyblock what it computes on NumPy in float64."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import lazyblock as lb
from benchmarks.peers import LazyBlock
from benchmarks.workloads import FUNCTIONS, make_workloads

WORKLOADS = {workload.name: workload for workload in make_workloads(scale=1 << 14)}
if not hasattr(lb, "cumulative_sum"):
    del WORKLOADS["running sum"]
ON_NUMPY = SimpleNamespace(
    erf=np.vectorize(math.erf), **{name: getattr(np, name) for name in FUNCTIONS if name != "erf"}
)
# Relative to the largest result. strict: the rounding of float32 in sums of up to 2^15 terms.
TOLERANCE = {"strict": 2e-6, "fast": 1e-5}
TOLERANCE_BFLOAT16 = 2e-2  # a dozen operations, each rounded


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_gives_the_values_of_float64(name):
    workload = WORKLOADS[name]
    host = workload.inputs()
    library = LazyBlock("cpu")
    arrays = [library.array(x, workload.dtype if x.dtype == np.float32 else "int32") for x in host]
    tolerance = TOLERANCE_BFLOAT16 if workload.dtype == "bfloat16" else TOLERANCE[workload.numerics]
    results = as_tuple(library.compile(workload)(*arrays))
    wide = [
        array.numpy().astype(np.float64) if x.dtype == np.float32 else x
        for array, x in zip(arrays, host, strict=True)
    ]
    for actual, expected in zip(results, as_tuple(workload.run(ON_NUMPY, *wide)), strict=True):
        assert actual.dtype == workload.dtype
        error = np.abs(actual.numpy().astype(np.float64) - expected).max()
        assert error <= tolerance * np.abs(expected).max()


def test_scale_divides_the_bytes_of_every_workload():
    for large, small in zip(make_workloads(), make_workloads(scale=64), strict=True):
        elements = [sum(map(math.prod, w.shapes)) for w in (large, small)]
        factor = 8 if large.name == "n-body" else 64
        assert elements[0] / elements[1] == pytest.approx(factor, rel=0.01)


def test_classes_are_numbers_below_their_count():
    workload = next(w for w in make_workloads(scale=8) if w.classes)
    _, target = workload.inputs()
    assert target.dtype == np.int32
    assert target.min() >= 0
    assert workload.classes // 2 < target.max() < workload.classes
