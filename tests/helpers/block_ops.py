"""Single block ops as kernels: blocks in, blocks out, on every level."""

import math

import numpy as np

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import PointerType, from_numpy
from lazyblock.tiler.verify import verify_program
from tests.helpers.cpu import assert_same_bits
from tests.helpers.emulator import run_on

RUNS = ("interpreter", "cpu", "emulated:sm_80", "emulated:sm_90a")


def block_kernel(build, *arrays, num_warps=4, num_ctas=1):
    """A program that loads whole arrays, applies `build(b, *blocks)` and stores what it gives."""
    b = Builder("op", num_warps=num_warps, num_ctas=num_ctas)
    inputs = [
        b.parameter(f"x{number}", PointerType(from_numpy(array.dtype)), 16)
        for number, array in enumerate(arrays)
    ]
    blocks = [b.load(_addresses(b, p, a.shape)) for p, a in zip(inputs, arrays, strict=True)]
    results = build(b, *blocks)
    for number, result in enumerate(results):
        out = b.parameter(f"out{number}", PointerType(result.type.scalar), 16)
        b.store(_addresses(b, out, result.shape), result)
    program = b.finish()
    verify_program(program)
    return program


def _addresses(b, pointer, shape):
    if not shape:
        return pointer
    return b.add_pointer(pointer, b.reshape(b.arange(0, math.prod(shape)), shape))


def assert_block_op(build, arrays, expected, runs=RUNS, **hints):
    """`build` gives `expected` bit for bit, wherever it runs."""
    program = block_kernel(build, *arrays, **hints)
    for run in runs:
        results = [np.zeros(array.shape, array.dtype) for array in expected]
        arguments = [array.reshape(-1) for array in (*map(np.copy, arrays), *results)]
        if run == "interpreter":
            interpret(program, arguments)
        else:
            run_on(run, program, arguments)
        for actual, wanted in zip(results, expected, strict=True):
            assert_same_bits(actual, wanted)
