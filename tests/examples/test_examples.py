"""The examples and the README's tour run, and their results are NumPy's."""

import re
from pathlib import Path

import numpy as np
import pytest

import lazyblock as lb
from examples.demo import list_workloads
from examples.measure import as_tuple, measure_error

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("workload", list_workloads(), ids=lambda workload: workload.name)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_example_gives_what_numpy_gives(workload):
    outputs = as_tuple(workload.function(*map(lb.asarray, workload.inputs)))
    lb.eval(*outputs)
    expected = as_tuple(workload.function(*workload.inputs))
    assert measure_error([output.numpy() for output in outputs], expected) <= workload.tolerance


@pytest.mark.parametrize("name", ["rows: emphasise", "options: call and put", "plane: mandelbrot"])
def test_example_is_one_kernel(name):
    (workload,) = [workload for workload in list_workloads() if workload.name == name]
    frozen = lb.compile(workload.function)
    frozen(*map(lb.asarray, workload.inputs))
    assert len(frozen.kernels) == 1


def test_readme_tour_runs(tmp_path, monkeypatch):
    (tour,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(tour, str(README), "exec"), names)
    np.testing.assert_allclose(names["y"].numpy().sum(axis=1), 1, rtol=1e-5)
    assert list(tmp_path.joinpath("out").iterdir())
