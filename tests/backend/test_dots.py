"""Dots of all shapes and types: interpreter = CPU = emulated GPUs = GPU, and how well they sum."""

import dataclasses

import numpy as np
import pytest

from lazyblock import pipeline
from lazyblock.backend.llvm.host import emit_host
from lazyblock.backend.llvm.optimize import host_target
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ops.contract import PRECISIONS
from lazyblock.tiler.types import bfloat16, float16, float32, float64, to_numpy
from tests.backend.dots import CASES, Dot, any_dot, dot_case, matmul, two_dots
from tests.backend.kernels import expect
from tests.helpers.cpu import assert_same_bits, run_on_cpu
from tests.helpers.emulator import run_on

EMULATED = ["emulated:sm_80", "emulated:sm_90a"]
GPU = pytest.param("cuda", marks=pytest.mark.gpu)


def legal(program):
    for run in pipeline.CPU_PASSES:
        program = run(program)
    return program


def on(device):
    if device == "cpu":
        return lambda program, *rest: run_on_cpu(legal(program), *rest, level=0)
    return lambda *case: run_on(device, *case)


def assert_same(case, device):
    for actual, wanted in zip(expect(case, on(device)), expect(case, interpret), strict=True):
        assert_same_bits(actual, wanted)


@pytest.mark.parametrize("device", ["cpu", *EMULATED, GPU])
@pytest.mark.parametrize("name", CASES)
def test_dots_agree_with_the_interpreter(name, device):
    assert_same(CASES[name](np.random.default_rng(0)), device)


@pytest.mark.parametrize(
    ("device", "most_bits"), [("cpu", 16), (EMULATED[0], 11), (EMULATED[1], 11)]
)
@pytest.mark.parametrize("seed", range(24))
def test_drawn_dots_agree_with_the_interpreter(seed, device, most_bits):
    rng = np.random.default_rng(seed)
    assert_same(dot_case(any_dot(rng, most_bits))(rng), device)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(100))
def test_drawn_dots_agree_on_a_gpu(seed):
    rng = np.random.default_rng(seed)
    assert_same(dot_case(any_dot(rng, 20))(rng), "cuda")


@pytest.mark.parametrize("num_ctas", [2, 4])
def test_dots_of_clusters(num_ctas):
    case = CASES["cut_loop"](np.random.default_rng(0))
    program = dataclasses.replace(case.program, num_ctas=num_ctas)
    assert_same(case._replace(program=program), "emulated:sm_90a")


# --- real numbers --------------------------------------------------------------------------------


def normal_numbers(rng, scalar, shape):
    return rng.normal(size=shape).astype(to_numpy(scalar))


def worst_error(element, precision, device):
    """Largest error of sums of 64 products of normal numbers."""
    tile = (32, 32, 32)
    make = matmul((32, 32, 64), tile, element, float32, 4, precision, normal_numbers)
    case = make(np.random.default_rng(3))
    x, y, actual = expect(case, on(device))
    return np.abs(actual - x.astype(float) @ y.astype(float)).max()


# between which bounds it lies: units of float32 in sums of about 30, or what products lack
ERRORS = {
    "ieee": (0, 2e-5),
    "tf32": (1e-3, 2e-2),
    "tf32x3": (0, 1e-4),
    "bf16x3": (1e-5, 1e-3),
    "bf16x6": (0, 1e-4),
}


@pytest.mark.parametrize("device", [*EMULATED, GPU])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_precisions_err_as_much_as_they_may(precision, device):
    least, most = ERRORS[precision]
    assert least <= worst_error(float32, precision, device) < most


@pytest.mark.parametrize("element", [float16, bfloat16, float32], ids=str)
@pytest.mark.parametrize("device", ["cpu", EMULATED[1], GPU])
def test_sums_are_as_good_as_of_float32(element, device):
    assert worst_error(element, "ieee", device) < 1e-4


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("device", ["cpu", EMULATED[1], GPU])
def test_infinities_and_nans_stay_themselves(precision, device):
    case = dot_case(Dot(16, 16, 16, precision=precision))(np.random.default_rng(0))
    x, y, *_ = case.arguments
    x[3, 5], x[4, 6], y[:] = np.inf, np.nan, 1
    *_, actual = expect(case, on(device))
    assert np.all(actual[3] == np.inf) and np.all(np.isnan(actual[4]))
    assert np.isfinite(np.delete(actual, (3, 4), axis=0)).all()


# --- the CPU's code ------------------------------------------------------------------------------


def host_text(make):
    return emit_host(legal(make(np.random.default_rng(0)).program), host_target()).llvm


def test_code_on_the_cpu_does_not_grow_with_the_block():
    tiles = (64, 64, 32), (128, 256, 64)
    small, large = (host_text(matmul((512,) * 3, tile)).count("\n") for tile in tiles)
    assert large < 1.1 * small  # memory from the heap is given back


@pytest.mark.parametrize("make", [matmul((256,) * 3, (128, 128, 32)), two_dots(64, 32, 32)])
def test_a_carried_accumulator_stays_in_its_tile(make):
    assert "memcpy" not in host_text(make)


def test_float64_is_summed_in_float64():
    case = matmul((16, 16, 64), (16, 16, 16), float64, float64, numbers=normal_numbers)
    x, y, actual = expect(case(np.random.default_rng(0)), on("cpu"))
    np.testing.assert_allclose(actual, x @ y, rtol=1e-12, atol=1e-13)
