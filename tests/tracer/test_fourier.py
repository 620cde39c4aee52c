"""`lazyblock.fft` against `numpy.fft`: values, dtypes, shapes, errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyblock as lb
from tests.helpers.arrays import assert_same_error, interpret_array

DEVICES = ["cpu", "emulated:sm_90a"]
REAL = [np.bool_, np.int16, np.float16, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
OF_ANY = ["fft", "ifft", "irfft", "hfft"]
OF_REAL = ["rfft", "ihfft"]


def signal(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "bi":
        return rng.integers(0, 100, shape).astype(dtype)
    values = rng.standard_normal(shape)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def assert_same(function, *arrays, device="cpu"):
    """The host does what NumPy does: results are equal bit by bit."""
    with np.errstate(all="ignore"):
        expected = np.asarray(function(np.fft, *arrays))
    result = function(lb.fft, *(lb.asarray(array, device=device) for array in arrays))
    assert isinstance(result, lb.Array)
    assert (result.shape, result.dtype, result.device) == (expected.shape, expected.dtype, device)
    np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(interpret_array(result), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in OF_ANY for dtype in (*REAL, *COMPLEX)]
    + [(name, dtype) for name in OF_REAL for dtype in REAL],
)
def test_along_one_axis(name, dtype, device):
    assert_same(lambda xp, a: getattr(xp, name)(a), signal(dtype, 3, 8), device=device)


@pytest.mark.parametrize("name", [*OF_ANY, *OF_REAL])
@pytest.mark.parametrize(
    "settings",
    [
        *[{"n": 5}, {"n": 12}, {"axis": 0}, {"axis": -2, "n": 4}, {"norm": "ortho"}],
        *[{"norm": "forward"}, {"norm": None}, {"n": 1}],
    ],
)
def test_arguments_along_one_axis(name, settings):
    assert_same(lambda xp, a: getattr(xp, name)(a, **settings), signal(np.float64, 6, 7))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("dtype", [np.int16, np.float32])
@pytest.mark.parametrize(
    "settings",
    [
        *[{}, {"axes": (0, 2)}, {"axes": (2, 0)}, {"axes": [1]}, {"s": (3, 4), "axes": (1, 2)}],
        *[{"s": (5, 2, 8)}, {"s": (2, 7, 3), "norm": "ortho", "axes": (0, 1, 2)}],
    ],
)
def test_over_several_axes(name, dtype, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy is to refuse s without axes
        assert_same(lambda xp, a: getattr(xp, name)(a, **settings), signal(dtype, 4, 5, 6))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_over_two_axes(name):
    settings = {"axes": (0, 1), "s": (3, 4)}
    assert_same(lambda xp, a: getattr(xp, name)(a), signal(np.float32, 2, 5, 6))
    assert_same(lambda xp, a: getattr(xp, name)(a, **settings), signal(np.float32, 2, 5, 6))


def test_empty_stacks_are_kept():
    assert_same(lambda xp, a: xp.fft(a), np.ones((0, 3)))
    assert_same(lambda xp, a: xp.irfftn(a, axes=(1,)), np.ones((0, 3)))


@pytest.mark.parametrize("n", [1, 2, 7, 10])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name, n):
    assert_same(lambda xp: getattr(xp, name)(n))
    assert_same(lambda xp: getattr(xp, name)(n, d=0.3))
    frequencies = getattr(lb.fft, name)(n, dtype=np.float32, device="emulated:sm_90a")
    assert (frequencies.dtype, frequencies.device) == (np.float32, "emulated:sm_90a")
    with pytest.raises(ValueError, match="n should be an integer"):
        getattr(lb.fft, name)(2.5)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, (1,), (0, 2), -1])
def test_shifts(name, axes):
    assert_same(lambda xp, a: getattr(xp, name)(a, axes=axes), signal(np.int16, 3, 4, 5))


def test_spectra_go_on_being_lazy():
    a = signal(np.float32, 4, 32)
    x = lb.asarray(a, device="emulated:sm_90a")
    power = (lb.abs(lb.fft.rfft(x * 2)) ** 2).sum(axis=-1)
    assert "no kernel: numpy.fft.rfft(axis=-1, n=None, norm='backward') runs" in power.explain()
    expected = (np.abs(np.fft.rfft(a * 2)) ** 2).sum(axis=-1)
    np.testing.assert_allclose(power.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda xp, a: xp.fft(a, n=0), ValueError),
        (lambda xp, a: xp.fft(a, n=3, axis=5), IndexError),
        (lambda xp, a: xp.fft(a, norm="x"), ValueError),
        (lambda xp, a: xp.fftn(a, s=(4, 5), axes=(0,)), ValueError),
        (lambda xp, a: xp.irfft(a[:1]), ValueError),
        (lambda xp, a: xp.rfft(a * 1j), TypeError),
    ],
)
def test_errors_are_numpys(function, kind):
    def call(array):
        return function(lb.fft if isinstance(array, lb.Array) else np.fft, array)

    assert_same_error(call, np.ones(3), kind=kind)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from([*OF_ANY, "rfft"]),
    st.data(),
)
@settings(max_examples=25, deadline=None)
def test_drawn_shapes(shape, name, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = data.draw(st.one_of(st.none(), st.integers(1, 12)))
    if n is None and name in ("irfft", "hfft") and shape[axis] == 1:
        n = 2
    assert_same(lambda xp, a: getattr(xp, name)(a, n=n, axis=axis), signal(np.float64, *shape))
