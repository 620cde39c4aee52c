"""+ - * / sqrt, comparisons and casts give NumPy's bits, on every dtype."""

import operator

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyblock as lb
from lazyblock import dtypes
from tests.helpers.arrays import assert_equal_values

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
ALL_DEVICES = [*DEVICES, "emulated:sm_90a"]  # for what is small
SIZES = st.sampled_from([1, 3, 8, 17, 64, 130])


def raw_bits(dtype, size, seed):
    """Return arbitrary bit patterns, half of them ordinary numbers; NaNs included for floats."""
    rng = np.random.default_rng(seed)
    if dtypes.is_bool(dtype):
        return rng.integers(0, 2, size).astype(bool)
    bits = rng.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype)
    ordinary = (rng.integers(-9, 10, size) / 2).astype(np.float32).astype(dtype)
    return np.where(rng.random(size) < 0.5, bits, ordinary)


def arrays(dtype):
    return st.builds(raw_bits, st.just(dtype), SIZES, st.integers(0, 2**32))


def promotes(left, right):
    """Whether NumPy has a common dtype (ml_dtypes gives bfloat16 one with few others)."""
    try:
        np.promote_types(left, right)
    except TypeError:
        return False
    return True


PAIRS = [(a, b) for a in dtypes.REAL for b in dtypes.REAL if promotes(a, b)]


@st.composite
def pairs(draw):
    """Draw two arrays of one size."""
    size, seed = draw(SIZES), draw(st.integers(0, 2**32))
    return [raw_bits(d, size, seed + n) for n, d in enumerate(draw(st.sampled_from(PAIRS)))]


def on(device, function, *hosts):
    return function(*(lb.asarray(host, device=device) for host in hosts)).numpy()


def assert_same_bits(device, function, *hosts):
    with np.errstate(all="ignore"):
        try:
            expected = function(*hosts)
        except TypeError:  # bool - bool
            with pytest.raises(TypeError):
                on(device, function, *hosts)
            return
    assert_equal_values(on(device, function, *hosts), np.asarray(expected))


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=150)
@given(pair=pairs(), function=st.sampled_from(BINARY + COMPARISONS))
def test_arithmetic_and_comparisons(device, pair, function):
    assert_same_bits(device, function, *pair)


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("dtype", dtypes.FLOATING, ids=str)
def test_sqrt(device, dtype):
    @settings(max_examples=20)
    @given(arrays(dtype))
    def check(host):
        with np.errstate(all="ignore"):
            expected = np.sqrt(host)
        assert_equal_values(on(device, lb.sqrt, host), expected)

    check()


def is_defined(host, dtype):
    """Where C defines the cast: floats must fit the integer type after truncation."""
    if not (dtypes.is_floating(host.dtype) and dtypes.is_integer(dtype)):
        return np.ones(host.shape, bool)
    wide = host.astype(np.float64)
    info = np.iinfo(dtype)
    return (wide > float(info.min) - 1) & (wide < float(info.max)) & np.isfinite(wide)


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("source", dtypes.REAL, ids=str)
@pytest.mark.parametrize("target", dtypes.REAL, ids=str)
def test_casts(device, source, target):
    host = raw_bits(source, 4096, 7)
    host = host[is_defined(host, target)]
    with np.errstate(all="ignore"):
        expected = host.astype(target)
    assert_equal_values(on(device, lambda x: x.astype(target), host), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_every_half_survives_float32(device, half):
    host = np.arange(1 << 16, dtype=np.uint16).view(half)
    assert_equal_values(on(device, lambda x: x.astype(np.float32), host), host.astype(np.float32))
    assert_equal_values(on(device, lambda x: x.astype(np.float32).astype(half), host), host)


@pytest.mark.parametrize("device", [*DEVICES, "emulated:sm_90a"])
@pytest.mark.parametrize("dtype", [d for d in dtypes.REAL if dtypes.is_floating(d)], ids=str)
def test_reciprocals(device, dtype):
    x = raw_bits(dtype, 1000, 0)
    for function in (lambda x: 1 / x, lambda x: x**-1):
        assert_same_bits(device, function, x)
