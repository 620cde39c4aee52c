"""The NVPTX lowering: its code, run on simulated threads and read as text."""

import numpy as np
import pytest

from lazyblock.tiler.interpret import interpret
from tests.backend.kernels import CASES, expect
from tests.backend.thread_simulator import simulate


@pytest.mark.parametrize("name", CASES)
def test_simulated_threads_agree_with_the_interpreter(name):
    case = CASES[name](np.random.default_rng(1))
    for actual, expected in zip(expect(case, simulate), expect(case, interpret), strict=True):
        np.testing.assert_array_equal(actual, expected)
