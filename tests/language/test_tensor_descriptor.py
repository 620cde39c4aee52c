"""Tensor descriptors made on the host, as arguments of kernels."""

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock.errors import ValueRangeError
from lazyblock.tools.tensor_descriptor import TensorDescriptor


def multiply(a_desc, b_desc, c_desc, K, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        total = tl.dot(a_desc.load([row, k]), b_desc.load([column, k]).T, total)
    c_desc.store([row, column], total)


@pytest.mark.parametrize("interpret", [False, True])
def test_kernels_take_descriptors(interpret):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((20, 40), (30, 40)))
    c = np.zeros((20, 30), np.float32)
    descriptors = [TensorDescriptor.from_tensor(array, [16, 16]) for array in (a, b, c)]
    kernel = lb.jit(multiply, interpret=interpret)
    kernel[(2, 2)](*descriptors, 40, BLOCK=16)
    np.testing.assert_array_equal(c, a @ b.T)


@pytest.mark.parametrize("device", ["emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_descriptors_are_of_arrays_of_a_device(device):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((20, 40), (30, 40)))
    c = lb.zeros((20, 30), dtype=np.float32, device=device)
    arrays = lb.asarray(a, device=device), lb.asarray(b, device=device), c
    descriptors = [TensorDescriptor.from_tensor(array, [16, 16]) for array in arrays]
    lb.jit(multiply)[(2, 2)](*descriptors, 40, BLOCK=16)
    np.testing.assert_array_equal(c.numpy(), a @ b.T)


def copy(source, target, BLOCK: tl.constexpr):
    target.store([0, 0], source.load([tl.program_id(0) - 2, -1]))


@pytest.mark.parametrize("interpret", [False, True])
def test_descriptors_pad_and_may_have_gaps_between_rows(interpret):
    memory = np.arange(1, 65, dtype=np.float32).reshape(8, 8)
    inner = memory[1:5, 2:7]
    out = np.zeros((4, 8), np.float32)
    source = TensorDescriptor.from_tensor(inner, [4, 8], padding="nan")
    assert source.strides == [8, 1] and source.shape == [4, 5]
    target = TensorDescriptor(out, [4, 8], [8, 1], [4, 8])
    lb.jit(copy, interpret=interpret)[(1,)](source, target, BLOCK=4)
    expected = np.full((4, 8), np.nan, np.float32)
    expected[2:, 1:6] = inner[:2]
    np.testing.assert_array_equal(out, expected)


WRONG = [
    (([8, 8], [1, 8], [4, 4]), {}, "The last stride of a descriptor is 1, got 8"),
    (([8, 8], [8, 1], [4]), {}, "as many extents, strides and block extents"),
    (([1] * 6, [1] * 6, [1] * 6), {}, "1 to 5 axes, got 6"),
    (([8, 8], [8, 1], [4, 4]), {"padding": "one"}, "padding is 'one', expected 'zero' or 'nan'"),
]


@pytest.mark.parametrize(("settings", "named", "message"), WRONG)
def test_wrong_descriptions_are_refused(settings, named, message):
    with pytest.raises(ValueRangeError, match=message):
        TensorDescriptor(np.zeros((8, 8), np.float32), *settings, **named)


def test_strides_of_lazy_arrays():
    assert TensorDescriptor.from_tensor(lb.zeros((3, 4, 8)), [1, 4, 8]).strides == [32, 8, 1]
