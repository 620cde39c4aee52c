"""Random programs of NumPy calls give on lazy arrays what they give on NumPy's.

2,000 programs run here, `make fuzz` runs 20,000; LAZYBLOCK_FUZZ_PROGRAMS says how many, and
LAZYBLOCK_FUZZ_SEED where their seeds start. A program that differs is printed as a script, without
the lines that it differs without too.
"""

import os
import random
import subprocess
import sys

import pytest

import lazyblock as lb
from lazyblock import pipeline
from tests.helpers import program_ways as ways
from tests.helpers.array_programs import Program, draw_program

PROGRAMS = int(os.environ.get("LAZYBLOCK_FUZZ_PROGRAMS", "2000"))
FIRST_SEED = int(os.environ.get("LAZYBLOCK_FUZZ_SEED", "800000"))
PARTS = 4  # tests that share them, for several workers


def check_programs(run, count, number=0, is_large=False):
    """Draw the programs of `count` seeds and run them: the same ones in every run of the tests."""
    for start in range(FIRST_SEED + number * count, FIRST_SEED + (number + 1) * count):
        ways.check(draw_program(random.Random(start).randint, is_large), run)


@pytest.mark.parametrize("part", range(PARTS))
def test_recorded_programs(part):
    """What is recorded means what NumPy computes, by the graph interpreter."""
    check_programs(ways.run_interpreted, PROGRAMS // PARTS, part)


def test_interpreted_programs_make_no_plans(monkeypatch):
    assert (lb.arange(3) + 1).sum().item() == 6  # whatever has been evaluated before

    def refuse(*arguments):
        raise AssertionError("a plan is made")

    monkeypatch.setattr(pipeline, "_find_plan", refuse)
    ways.check(draw_program(random.Random(FIRST_SEED).randint), ways.run_interpreted)
    with pytest.raises(AssertionError, match="a plan is made"):
        ways.run_fused(draw_program(random.Random(FIRST_SEED).randint))


@pytest.mark.parametrize("run", [ways.run_fused, ways.run_unfused, ways.run_compiled])
def test_computed_programs(run):
    """By kernels on the CPU: of all variables, one operation at a time, as a compiled function."""
    check_programs(run, PROGRAMS // 100)


def test_programs_of_large_arrays():
    """Thousands of elements: the tiles, split reductions and loops that small ones do not reach."""
    check_programs(ways.run_fused, PROGRAMS // 250, is_large=True)


def test_a_program_that_differs_is_printed_as_a_script(tmp_path):
    inputs = ("v0 = xp.asarray(np.arange(6.0).reshape(2, 3))", "v1 = xp.zeros(3)")
    lines = ("v2 = v0 + 1", "v0[0] = v0[1]", "v3 = v0.T[::-1]", "w0 = np.exp(v1)")

    def run_wrongly(program):
        values = ways.run_interpreted(program)
        return {name: value + (name == "v3") for name, value in values.items()}

    with pytest.raises(AssertionError) as caught:
        ways.check(Program(inputs, lines), run_wrongly)
    script = str(caught.value).partition("\n\n")[2]
    assert "v3 = v0.T[::-1]" in script
    assert not any(line in script for line in (inputs[1], lines[0], lines[3]))
    path = tmp_path / "program.py"
    path.write_text(script)
    shown = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == ["v0 same", "v3 same"]
