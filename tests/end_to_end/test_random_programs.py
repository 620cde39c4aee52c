"""Random programs of NumPy calls give on lazy arrays what they give on NumPy's.

2,000 programs run here, `make fuzz` runs 20,000; LAZYBLOCK_FUZZ_PROGRAMS says how many. A program
that differs is printed as a script, made as short as hypothesis can.
"""

import os

import numpy as np
import pytest
from hypothesis import given, note, seed, settings

import lazyblock as lb
from lazyblock import config
from tests.helpers.array_programs import array_programs
from tests.helpers.arrays import interpret_array

PROGRAMS = int(os.environ.get("LAZYBLOCK_FUZZ_PROGRAMS", "2000"))
PARTS = 4  # tests that share them, for several workers


def assert_program_agrees(program, evaluate):
    note(program.script())
    expected = program.run(np)
    with config.scope(device="cpu"):
        actual = program.run(lb)
        for name, reference in expected.items():
            assert_same(name, evaluate(actual[name]), np.asarray(reference))


def assert_same(name, value, reference):
    assert (value.shape, value.dtype) == (reference.shape, reference.dtype), name
    np.testing.assert_array_equal(value, reference, err_msg=name)
    if reference.dtype.kind == "f":
        numbers = ~np.isnan(reference)
        signs = np.signbit(value), np.signbit(reference)
        np.testing.assert_array_equal(*(sign[numbers] for sign in signs), err_msg=name)


@pytest.mark.parametrize("part", range(PARTS))
def test_recorded_programs(part):
    """What is recorded means what NumPy computes, by the graph interpreter."""

    @seed(part)
    @settings(max_examples=PROGRAMS // PARTS)
    @given(array_programs())
    def check(program):
        assert_program_agrees(program, interpret_array)

    check()


@settings(max_examples=PROGRAMS // 100)
@given(array_programs())
def test_computed_programs(program):
    """Fused kernels on the CPU."""
    assert_program_agrees(program, lb.Array.numpy)


@settings(max_examples=PROGRAMS // 100)
@given(array_programs())
def test_programs_computed_one_operation_at_a_time(program):
    with config.scope(fuse=False):
        assert_program_agrees(program, lb.Array.numpy)
