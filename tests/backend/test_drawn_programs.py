"""Drawn block programs: interpreter = CPU = emulated GPU, bit for bit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lazyblock import pipeline
from lazyblock.backend.runtime.emulated import ARCHITECTURES
from lazyblock.tiler.interpret import interpret
from tests.backend.kernels import expect
from tests.helpers.block_drawing import block_programs
from tests.helpers.cpu import assert_same_bits, run_on_cpu
from tests.helpers.emulator import emulate


def on_cpu(program, arguments, grid):
    legal = pipeline._run_passes(program, pipeline.CPU_PASSES)
    run_on_cpu(legal, arguments, grid)


def on_emulator(arch):
    return lambda *arguments: emulate(*arguments, arch)


def assert_same_as_interpreter(case, run):
    for actual, expected in zip(expect(case, run), expect(case, interpret), strict=True):
        assert_same_bits(actual, expected)


def assert_all_agree(case, arch):
    assert_same_as_interpreter(case, on_emulator(arch))
    assert_same_as_interpreter(case, on_cpu)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@settings(max_examples=60)
@given(data=st.data())
def test_programs_of_any_rank(rank, data):
    case = data.draw(block_programs(rank))
    assert_all_agree(case, data.draw(st.sampled_from(ARCHITECTURES)))


@settings(max_examples=50)
@given(data=st.data())
def test_combines_that_do_not_commute_run_in_order(data):
    case = data.draw(block_programs(data.draw(st.integers(1, 3)), num_steps=5, ordered=True))
    assert_same_as_interpreter(case, on_emulator(data.draw(st.sampled_from(ARCHITECTURES))))


@settings(max_examples=10)
@given(block_programs(2, 1 << 14, num_steps=4))
def test_large_blocks(case):
    assert_all_agree(case, "sm_90a")
