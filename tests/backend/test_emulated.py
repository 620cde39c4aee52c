"""Emulated GPUs: the code that ships gives what the interpreter does; faults are reported."""

import numpy as np
import pytest
from hypothesis import given, settings

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.backend.devices import get_device
from lazyblock.backend.runtime.emulated import ARCHITECTURES
from lazyblock.errors import DeviceError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.types import bfloat16, float16
from tests.backend.kernels import (
    CASES,
    half_to_float,
)
from tests.end_to_end.test_random_expressions import assert_exact, evaluate_on
from tests.helpers.arrays import assert_equal_values
from tests.helpers.cpu import assert_same_bits
from tests.helpers.drawing import exact_graphs
from tests.helpers.emulator import emulate
from tests.helpers.programs import GRID, ZOO, copy_arguments, make_arguments

DEVICES = [f"emulated:{arch}" for arch in ARCHITECTURES]


def assert_same_as_interpreter(program, arguments, grid, arch="sm_90a"):
    actual, expected = copy_arguments(arguments), copy_arguments(arguments)
    interpret(program, expected, grid)
    emulate(program, actual, grid, arch)
    for left, right in zip(actual, expected, strict=True):
        assert_same_bits(np.asarray(left), np.asarray(right))


def uses_maths(program):
    return any(isinstance(op, ops.Math) for op in walk(program.body))


# --- the same results ----------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_the_interpreter(name, arch):
    case = CASES[name](np.random.default_rng(1))
    assert_same_as_interpreter(case.program, case.arguments, case.grid, arch)


@pytest.mark.parametrize("element", [float16, bfloat16], ids=str)
def test_halves_agree_with_the_interpreter(element):
    case = half_to_float(element)(np.random.default_rng(1))
    assert_same_as_interpreter(case.program, case.arguments, case.grid)


@pytest.mark.parametrize("name", ZOO)
def test_zoo_agrees_with_the_interpreter(name):
    program = ZOO[name]()
    if uses_maths(program):
        pytest.skip("the interpreter's maths is NumPy's")
    knows_its_place = any(isinstance(op, ops.ProgramId) for op in walk(program.body))
    grid = GRID if knows_its_place else (1, 1, 1)  # several would race
    assert_same_as_interpreter(program, make_arguments(program, np.random.default_rng(0)), grid)


# --- through the public names --------------------------------------------------------------------


def softmax(x):
    e = lb.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


ELEMENTWISE = {
    "polynomial": lambda x: 0.5 * x * (1 + x * x),
    "tanh": lambda x: lb.tanh(x + 0.25),
    "transpose": lambda x: x.mT * 2,
    "maximum": lambda x: x.max(axis=0),
}
SUMS = {
    "all": lambda x: x.sum(),
    "rows": lambda x: x.sum(axis=1),
    "columns": lambda x: x.sum(axis=0),
    "softmax": softmax,
}


def sample(dtype):
    return np.random.default_rng(0).normal(size=(17, 131)).astype(dtype)


def evaluate(function, data, device):
    return np.asarray(function(lb.asarray(data, device=device)))


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_expressions_give_the_bits_of_the_cpu(name, dtype):
    data = sample(dtype)
    expected = evaluate(ELEMENTWISE[name], data, "cpu")
    for device in DEVICES:
        assert_equal_values(evaluate(ELEMENTWISE[name], data, device), expected)


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_right(name):
    data = sample(np.float32)
    wide = evaluate(SUMS[name], data.astype(np.float64), "cpu")
    for device in DEVICES:  # up to log2(2227) roundings of a tree
        actual = evaluate(SUMS[name], data, device)
        np.testing.assert_allclose(actual, wide, rtol=2e-6, atol=2e-5)


def test_integer_sums_are_numpys():
    data = np.random.default_rng(0).integers(-99, 99, (33, 65), np.int32)
    actual = evaluate(lambda x: x.sum(axis=0), data, "emulated:sm_90a")
    np.testing.assert_array_equal(actual, data.sum(axis=0))


@settings(max_examples=50)
@given(exact_graphs())
def test_drawn_expressions(outputs):
    assert_exact(outputs, lambda *graph: evaluate_on("emulated:sm_90a", *graph))


def test_arrays_may_be_empty():
    assert evaluate(lambda x: x + 1, np.zeros((0, 3), np.float32), DEVICES[0]).shape == (0, 3)


# --- the device ----------------------------------------------------------------------------------


def test_devices_are_made_once():
    assert get_device("emulated:sm_80") is get_device("emulated:sm_80")
    assert str(get_device("emulated:sm_80")) == "emulated:sm_80"


def test_unknown_architectures_are_refused():
    with pytest.raises(DeviceError, match=r"no device 'emulated:sm_1'.[^$]*'emulated:sm_90a'"):
        get_device("emulated:sm_1")


def test_arrays_come_back_under_any_strides():
    device = get_device("emulated:sm_80")
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    buffer = device.from_host(data.T)
    actual = device.to_host(buffer, 23, data.dtype, (6, 4), (-4, -1))
    np.testing.assert_array_equal(actual, data.T[::-1, ::-1])
    assert device.to_host(buffer, 3, data.dtype, (2, 2), (0, 1)).tolist() == [[18.0, 1.0]] * 2
