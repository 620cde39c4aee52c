"""Loops that wait, atomic updates and their order: interpreter = CPU = emulated GPUs."""

import numpy as np
import pytest

from lazyblock.tiler.interpret import interpret
from tests.backend.waiting import WAITING
from tests.helpers.cpu import assert_same_bits
from tests.helpers.emulator import run_on
from tests.helpers.programs import copy_arguments

DEVICES = ["cpu", "emulated:sm_80", "emulated:sm_90a"]


def assert_agrees(case, device):
    actual, expected = copy_arguments(case.arguments), copy_arguments(case.arguments)
    interpret(case.program, expected, case.grid)
    run_on(device, case.program, actual, case.grid)
    for left, right in zip(actual, expected, strict=True):
        assert_same_bits(np.asarray(left), np.asarray(right))
    return expected


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WAITING)
def test_programs_that_wait_agree_with_the_interpreter(name, device):
    assert_agrees(WAITING[name](np.random.default_rng(1)), device)
