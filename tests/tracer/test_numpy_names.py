"""The namespace called as NumPy's: in NumPy's spelling, and under names beside the standard's."""

import pickle

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_equal_values, interpret_array

X = np.arange(12.0).reshape(3, 4) - 5
# `m` is the module, `x` an array, `y` one of its shape, `w` whole numbers, `o` room for a result.
CALLS = """
m.sum(a=x)
m.sum(x, 0, None, o[0])
m.mean(a=x, axis=1)
m.max(a=x, axis=0)
m.amax(x, 1)
m.amin(x, axis=0, keepdims=True)
m.argmax(a=x)
m.std(a=x, ddof=1)
m.cumsum(a=x, axis=1)
m.cumsum(x, 1, None, o)
m.clip(a=x, a_min=-1, a_max=2)
m.clip(x, -1, 2, out=o)
m.around(x / 3, 1)
m.round(a=x / 3, decimals=1)
m.reshape(x, shape=(4, 3))
m.reshape(x, (4, 3), "F")
m.reshape(x, (4, 3), order="F")
m.ravel(x, "F")
m.ravel(a=x, order="F")
np.reshape(x, (4, 3), order="F")
np.ravel(x, order="F")
m.transpose(a=x)
m.swapaxes(a=x, axis1=0, axis2=1)
m.moveaxis(a=x, source=0, destination=1)
m.expand_dims(a=x, axis=0)
m.squeeze(a=x[:1])
m.repeat(a=x, repeats=2, axis=0)
m.tile(A=x, reps=(2, 1))
m.roll(a=x, shift=1, axis=1)
m.rot90(m=x, k=1)
m.flip(m=x, axis=0)
m.take(a=x, indices=[0, 2], axis=1)
m.take(x, [0, 5], 1, None, "clip")
np.take(x, indices=[0, 2], axis=1)
np.repeat(x, repeats=[1, 0, 2], axis=0)
m.argpartition(a=x, kth=1, axis=1)[:, 1:2]
m.take_along_axis(arr=x, indices=w, axis=1)
m.diff(a=x, n=1, axis=0)
m.trace(a=x)
m.tril(m=x, k=1)
m.sort(a=x, axis=0, kind="stable")
m.sort(x, 0, "stable")
m.argsort(a=x, axis=None)
m.searchsorted(a=x[0], v=x[1])
m.where(x > 0, x, y)
m.nonzero(a=x)
m.tensordot(x, y.T, 1)
m.tensordot(a=x, b=y.T, axes=1)
m.dot(a=x, b=y.T)
m.stack(arrays=[x, y], axis=1)
m.vstack(tup=(x, y))
m.concatenate((x, y), 1)
m.broadcast_to(array=x[0], shape=(2, 4))
m.zeros_like(a=x)
m.full_like(a=x, fill_value=3)
m.asarray(a=[1, 2])
m.array(object=[1, 2])
m.array([1, 2], ndmin=2)
m.arange(stop=3)
m.arange(2, dtype=bool)
m.arange(6, 8, dtype="bool")
m.arange(np.True_)
m.arange(start=3, stop=9, step=2.0)
m.arange(1, stop=4)
m.eye(3, M=4)
m.eye(N=3, M=2, k=1)
m.linspace(start=0, stop=1, num=5)
m.unique(w)
m.unique(w, return_counts=True)
m.copy(a=x, order="C")
m.count_nonzero(a=x)
m.fft.fft(x, 8)
m.fft.fft(a=x, n=8, axis=0)
m.fft.ifft(x, 4, 0, "ortho")
m.fft.fftshift(x, 1)
m.linalg.inv(a=x[:, :3] + 10 * m.eye(3))
m.linalg.solve(a=x[:, :3] + 10 * m.eye(3), b=x)
m.linalg.qr(x, "r")
m.linalg.matrix_power(a=x[:, :3], n=2)
m.linalg.norm(x, 1, 0)
m.add(x, y, o)
m.add(x, y, out=o)
m.add(x, y, where=x > 0, out=m.zeros((3, 4)))
m.sqrt(x * x, out=o)
m.add(w, w, dtype=np.float32)
m.multiply([1, 2], 3, dtype="f4")
m.exp(x, out=o, where=w > 1)
m.add.reduce(x, axis=1)
m.add.accumulate(x)
m.maximum.reduce(x)
m.multiply.outer(x[0], y[:, 0])
m.add.reduceat(x[0], [0, 2])
m.gcd(w, 6)
m.lcm(w, [4, 6, 8, 1])
m.modf(x / 3)
m.frexp(x)
m.ldexp(x, 2)
m.spacing(x)
m.mgrid[0:2, 0:3]
m.ogrid[0:2, 0:3]
m.r_[x[0], 0, 1:3]
m.c_[x[0], x[1]]
m.s_[1:2]
m.isscalar(3.0)
m.promote_types("f4", "i4")
m.issubdtype(x.dtype, m.floating)
m.array2string(x)
m.ndim(x)
m.shape(a=x)
m.size(a=x, axis=0)
"""


def evaluate(call, m):
    shape = X.shape
    make = np.array if m is np else lb.asarray
    names = {"x": make(X), "y": make(X[::-1] + 0.5), "w": make(np.arange(12).reshape(shape) % 4)}
    return eval(call, {"np": np, "lb": lb, "m": m, "o": make(np.zeros(shape)), **names})


def assert_alike(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other)
    elif isinstance(ours, lb.Array):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(interpret_array(ours), theirs, rtol=1e-12, atol=1e-12)
    else:
        assert ours == theirs


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_calls_in_numpy_spelling(call):
    ours = evaluate(call, lb)
    assert_alike(ours, evaluate(call, np))


def test_calls_that_fit_neither_are_refused():
    x = lb.asarray(X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        lb.sum(x, axes=0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        lb.reshape(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'end'"):
        lb.arange(end=3)
    with pytest.raises(TypeError, match="length 2"):
        lb.arange(3, dtype="bool")
    for wrong in ({}, {"step": 3}, {"start": 4}):
        with pytest.raises(TypeError, match="arange"):
            lb.arange(**wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dtype'"):
        lb.erf(x, dtype="f4")
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        lb.sum(x, axis="a")


def test_methods_of_ufuncs_write_in_place():
    ours, theirs = lb.asarray(X), X.copy()
    lb.add.at(ours, [0, 0], 1.0)
    np.add.at(theirs, [0, 0], 1.0)
    assert_equal_values(ours.numpy(), theirs)


def test_functions_are_found_by_name():
    for function in (lb.sum, lb.fft.fft, lb.linalg.inv):
        assert pickle.loads(pickle.dumps(function)) is function


def test_arrays_are_of_the_class_ndarray():
    assert isinstance(lb.asarray([1]), lb.ndarray)
    assert not isinstance(np.asarray([1]), lb.ndarray)


def test_room_for_places_has_their_shape():
    x = lb.asarray(X)
    for name in ("argmax", "argmin"):
        with pytest.raises(ValueError, match=f"output array does not match result of np.{name}."):
            getattr(x, name)(1, out=lb.zeros((2,), dtype=int))


def test_choices_one_after_the_other():
    number = np.array([1, 0, 1])
    choices = [np.array([1, 2, 3]), np.array([4, 5, 6])]
    expected = number.choose(*choices, mode="wrap")
    assert_equal_values(lb.asarray(number).choose(*choices, mode="wrap").numpy(), expected)
