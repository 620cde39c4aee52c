"""Every example of a kernel gives NumPy's values wherever it runs, and is short."""

import importlib
from pathlib import Path

import pytest

import examples.kernels
from examples.kernels.arrays import check
from lazyblock import config

FOLDER = Path(examples.kernels.__file__).parent
NAMES = sorted({path.stem for path in FOLDER.glob("*.py")} - {"__init__", "arrays"})
WAYS = {
    "numpy": (None, {}),
    "interpreter": (None, {"interpret": True}),
    "sanitizer": (None, {"sanitize": True}),
    "cpu": ("cpu", {}),
    "emulated": ("emulated:sm_90a", {}),
}


@pytest.mark.filterwarnings("error::lazyblock.errors.SanitizerWarning")
@pytest.mark.parametrize("way", [*WAYS, pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", NAMES)
def test_example_is_right(name, way, capsys):
    device, settings = WAYS.get(way, ("cuda", {}))
    with config.scope(**settings):
        importlib.import_module(f"examples.kernels.{name}").main(device)  # compares by itself
    assert "right, off by" in capsys.readouterr().out


def test_the_check_of_results_can_fail():

    with pytest.raises(AssertionError, match=r"sum: off by 1.0e-02, allowed 1e-05"):
        check("sum", [1.0, 100.0], [2.0, 100.0])


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_short_and_listed(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert len(text.splitlines()) < 60
    assert f"| `{name}.py` |" in (FOLDER / "README.md").read_text()
    assert f"python -m examples.kernels.{name}" in text
