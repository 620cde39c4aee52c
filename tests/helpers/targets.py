"""One body, every target: programs on the CPU and on an emulated GPU, which must agree."""

import numpy as np

from tests.helpers import cpu
from tests.helpers.emulator import emulate
from tests.helpers.programs import copy_arguments


def assert_same_as_interpreter(program, arguments, grid=(1, 1, 1)):
    """Run a program in all ways on copies of `arguments`; gives the arrays after it."""
    results = cpu.assert_same_as_interpreter(program, arguments, grid)
    emulated = copy_arguments(arguments)
    emulate(program, emulated, grid)
    arrays = [argument for argument in emulated if isinstance(argument, np.ndarray)]
    for actual, expected in zip(arrays, results, strict=True):
        cpu.assert_same_bits(actual, expected)
    return results
