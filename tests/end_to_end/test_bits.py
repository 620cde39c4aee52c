"""Views of the bits of elements as another dtype: fused when read, written through."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_equal_values, assert_kernel_count, interpret_array

DEVICES = ["cpu", "emulated:sm_90a"]
PAIRS = [("f4", "u4"), ("u8", "f8"), ("f2", "i2"), ("i1", "u1")]
SELECTIONS = [lambda x: x, lambda x: x.T, lambda x: x[::2, 1:], lambda x: x.reshape(-1)[::-1]]


def make(dtype):
    return (np.arange(12) * 37 % 101).astype(dtype).reshape(3, 4)


def bytes_of(array):
    return array.view(f"u{array.itemsize}")


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("select", SELECTIONS)
def test_bits_are_read_and_written_through(pair, select):
    dtype, other = pair
    theirs, ours = make(dtype), lb.asarray(make(dtype))
    for array in (theirs, ours):
        bits = select(array).view(other)
        assert bits.dtype == other
        bits[...] = bits[::-1].copy()
        bits[-1] = bits[-1] + bits[0]
        bits[:1] += np.ones((), other)
    assert ours.dtype == dtype
    assert_equal_values(bytes_of(interpret_array(ours)), bytes_of(theirs))
    if pair == PAIRS[0]:
        assert_equal_values(bytes_of(ours.numpy()), bytes_of(theirs))


@pytest.mark.parametrize("device", DEVICES)
def test_bit_tricks_are_one_kernel(device):
    def inverse_root(m, x):
        half = m.float32(0.5)
        y = (0x5F3759DF - (x.view(np.int32) >> 1)).view(np.float32)
        return y * (m.float32(1.5) - half * x * y * y)

    x = np.linspace(0.25, 9, 37, dtype=np.float32)
    result = inverse_root(lb, lb.asarray(x, device=device))
    assert_kernel_count(result, 1)
    assert_equal_values(result.numpy(), inverse_root(np, x))


@pytest.mark.parametrize("device", DEVICES)
def test_signs_are_flipped_in_parts_of_complex_elements(device):
    x = np.array([1 + 2j, 3 - 4j, -5j], np.complex64)
    ours = lb.asarray(x, device=device)
    for array in (x, ours):
        array.imag[1:].view(np.uint32)[...] ^= np.uint32(1 << 31)
    assert_equal_values(ours.numpy(), x)


def test_bits_of_another_size_are_a_copy():
    x = lb.asarray(make("f4"))
    assert_equal_values(x.view(np.uint8).numpy(), make("f4").view(np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        x.view(np.uint8)[0] = 1


def test_snapshots_keep_their_bits():
    x = lb.asarray(make("f4"))
    bits = x.view(np.int32)
    before = bits + 0
    x[0] = -1.0
    assert_equal_values(before.numpy(), make("f4").view(np.int32))
    assert (bits[0] < 0).all()
    assert bits.view(np.float32).base is not None
    assert_equal_values(bits.view(np.float32).numpy(), x.numpy())
