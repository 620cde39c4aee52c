"""Drawn block programs: interpreter = CPU = emulated GPU, bit for bit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lazyblock import pipeline
from lazyblock.backend.compile import compile_program
from lazyblock.backend.runtime.emulated import ARCHITECTURES
from lazyblock.tiler.interpret import interpret
from tests.backend.kernels import expect
from tests.helpers.block_drawing import block_programs
from tests.helpers.cpu import assert_same_bits, run_on_cpu
from tests.helpers.emulator import emulate

ONLY_ON_GPUS = pipeline.EMULATOR_PASSES[len(pipeline.CPU_PASSES) :]


def run_passes(program, passes):
    for run in passes:
        program = run(program)
    return program


def on_cpu(program, arguments, grid):
    run_on_cpu(program, arguments, grid, level=0)  # compiling takes longer than running


def on_emulator(arch):
    def compile(program, target):
        return compile_program(run_passes(program, ONLY_ON_GPUS), target, "", "")

    return lambda *arguments: emulate(*arguments, arch, compile)


def assert_same_as_interpreter(case, *runs):
    expected = expect(case, interpret)
    legal = case._replace(program=run_passes(case.program, pipeline.CPU_PASSES))
    for run in runs:
        for actual, wanted in zip(expect(legal, run), expected, strict=True):
            assert_same_bits(actual, wanted)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@settings(max_examples=50)
@given(data=st.data())
def test_programs_of_any_rank(rank, data):
    case = data.draw(block_programs(rank))
    assert_same_as_interpreter(case, on_cpu, on_emulator(data.draw(st.sampled_from(ARCHITECTURES))))


@settings(max_examples=45)
@given(data=st.data())
def test_combines_that_do_not_commute_run_in_order(data):
    case = data.draw(block_programs(data.draw(st.integers(1, 3)), num_steps=4, ordered=True))
    assert_same_as_interpreter(case, on_emulator(data.draw(st.sampled_from(ARCHITECTURES))))


@settings(max_examples=10)
@given(block_programs(2, 1 << 14, num_steps=4))
def test_large_blocks(case):
    assert_same_as_interpreter(case, on_cpu, on_emulator("sm_90a"))
