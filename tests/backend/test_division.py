"""float32 division on a GPU: one test for all registers of a thread, and IEEE's bits always."""

import numpy as np
import pytest

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import PointerType, float32
from tests.helpers.cpu import assert_same_bits
from tests.helpers.emulator import emulate

BLOCK = 512  # 4 for each thread of 4 warps
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e-39, 2.0**-60, 2.0**60, 3e38, 1.0, -1.0]


def divide_program(kind="div", divisor_is_scalar=False):
    """out[i] = x[i] / y[i], or x[i] / y[0]."""
    b = Builder("divide", 4)
    x, y, out = (b.parameter(name, PointerType(float32), 16) for name in ("x", "y", "out"))
    offsets = b.add(b.splat(b.mul(b.program_id(0), BLOCK), (BLOCK,)), b.arange(0, BLOCK))
    dividend = b.load(b.add_pointer(x, offsets))
    if divisor_is_scalar:
        divisor = b.splat(b.load(y), (BLOCK,))
    else:
        divisor = b.load(b.add_pointer(y, offsets))
    b.store(b.add_pointer(out, offsets), b.binary(kind, dividend, divisor))
    return b.finish()


def run(program, x, y):
    out = np.zeros_like(x)
    emulate(program, [x, y, out], (x.size // BLOCK, 1, 1))
    return out


def ordinary(rng, count):
    """Numbers of all mantissas and signs, of magnitudes that the plain steps are for."""
    return np.ldexp(rng.uniform(-1, 1, count), rng.integers(-50, 60, count)).astype(np.float32)


def test_ordinary_numbers():
    rng = np.random.default_rng(0)
    x, y = ordinary(rng, 64 * BLOCK), ordinary(rng, 64 * BLOCK)
    assert_same_bits(run(divide_program(), x, y), x / y)


@pytest.mark.parametrize("divisor", [3.0, -7.1, 1e-30, 3e38, 0.0, np.nan, np.inf])
def test_shared_divisor(divisor):
    rng = np.random.default_rng(1)
    x = np.where(rng.random(8 * BLOCK) < 0.01, -0.0, ordinary(rng, 8 * BLOCK)).astype(np.float32)
    y = np.array([divisor], np.float32)
    with np.errstate(all="ignore"):
        assert_same_bits(run(divide_program(divisor_is_scalar=True), x, y), x / y)


def test_special_operands_among_ordinary_ones():
    rng = np.random.default_rng(2)
    x, y = ordinary(rng, 32 * BLOCK), ordinary(rng, 32 * BLOCK)
    for operand in (x, y):
        places = rng.choice(x.size, x.size // 5, replace=False)
        operand[places] = rng.choice(np.array(SPECIAL, np.float32), places.size)
    with np.errstate(all="ignore"):
        assert_same_bits(run(divide_program(), x, y), x / y)
