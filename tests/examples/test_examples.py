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


def run_page(page, tmp_path, monkeypatch):
    """The names that a page's Python leaves."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))
    path = tmp_path / "page.py"  # a file: kernels are read from their source
    path.write_text(code)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, str(path), "exec"), names)
    return names


def test_readme_tour_runs(tmp_path, monkeypatch):
    names = run_page(README, tmp_path, monkeypatch)
    np.testing.assert_allclose(names["y"].numpy().sum(axis=1), 1, rtol=1e-5)
    assert list(tmp_path.joinpath("out").iterdir())
    np.testing.assert_array_equal(names["out"], 2)


def test_page_on_kernels_runs(tmp_path, monkeypatch):
    names = run_page(README.parent / "docs" / "kernels.md", tmp_path, monkeypatch)
    np.testing.assert_array_equal(names["out"], 2)
    np.testing.assert_array_equal(names["b"].numpy(), 4)
