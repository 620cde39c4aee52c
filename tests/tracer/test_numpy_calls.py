"""NumPy's functions record through `__array_function__`: calls are bound to NumPy's signatures."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_records_numpy, interpret_array

X = np.arange(12.0).reshape(3, 4)


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def same(array, values):
    assert isinstance(array, lb.Array)
    values = np.asarray(values)
    assert (array.shape, array.dtype) == (values.shape, values.dtype)
    np.testing.assert_array_equal(interpret_array(array), values)


CALLS = {
    "operand by its name": lambda a: np.sum(a=a, axis=0),
    "positions that differ from ours": lambda a: np.std(a, 0, None, None, 1),
    "settings by position": lambda a: np.mean(a, 1, np.float32),
    "settings at their defaults": lambda a: np.ravel(a, order="C"),
    "names of the operands differ": lambda a: np.swapaxes(a, axis1=0, axis2=1),
    "transposed by keyword": lambda a: np.transpose(a, axes=(1, 0)),
    "shape by keyword": lambda a: np.reshape(a, shape=(4, 3)),
    "broadcast by keyword": lambda a: np.broadcast_to(array=a, shape=(2, 3, 4)),
    "moved axes": lambda a: np.moveaxis(a, source=0, destination=-1),
    "extremes": lambda a: (np.max(a, axis=0, keepdims=True), np.amin(a, 1)),
    "clipped": lambda a: np.clip(a, 2, 5),
    "scans": lambda a: (np.cumsum(a, axis=1), np.cumprod(a, 0, np.float32)),
    "three operands": lambda a: np.where(a > 2, a, 0),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_are_bound_to_numpys_signature(call):
    assert_records_numpy(call, X, rtol=1e-6)


def test_out_of_functions_that_have_none_here():
    for out in (lazy(np.zeros(4)), np.zeros(4)):
        assert np.sum(lazy(X), axis=0, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), X.sum(0))
    out = lazy(np.zeros((3, 4), np.float32))
    assert np.cumsum(lazy(X), axis=1, out=out) is out
    same(out, X.cumsum(1).astype(np.float32))


def test_types_and_functions_that_are_foreign():
    class Other:
        def __array_function__(self, func, types, args, kwargs):
            return "other"

    class Refusing:
        def __array_function__(self, func, types, args, kwargs):
            return NotImplemented

    assert np.broadcast_arrays(lazy(X), Other()) == "other"
    with pytest.raises(TypeError, match="no implementation found"):
        np.broadcast_arrays(lazy(X), Refusing())
    with pytest.raises(TypeError, match=r"(?s)'np\.busday_count' of lazy.*x\.numpy\(\)"):
        np.busday_count(lazy([1]), lazy([2]))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: np.asarray([1, 2], like=x), [1, 2]),
        (lambda x: np.array([1, 2], dtype=np.float32, like=x), np.float32([1, 2])),
        (lambda x: np.zeros((2, 3), like=x), np.zeros((2, 3))),
        (lambda x: np.ones(3, np.int8, like=x), np.ones(3, np.int8)),
        (lambda x: np.full((2,), 7, like=x), np.full((2,), 7)),
        (lambda x: np.arange(3, like=x), np.arange(3)),
        (lambda x: np.arange(1, 7, 2, dtype=np.float32, like=x), np.arange(1, 7, 2, np.float32)),
        (lambda x: np.eye(3, 4, k=1, like=x), np.eye(3, 4, k=1)),
    ],
)
def test_creation_functions_make_arrays_like_ours(call, expected):
    same(call(lazy(X)), expected)


def test_functions_that_need_memory_of_the_host_get_it(tmp_path):
    x = lazy(X) + 1
    np.savez(tmp_path / "all.npz", first=x, second=x.T)
    with np.load(tmp_path / "all.npz") as found:
        np.testing.assert_array_equal(found["second"], (X + 1).T)
    np.savetxt(tmp_path / "x.txt", x)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "x.txt"), X + 1)
    assert np.array_repr(x) == repr(X + 1)
    assert np.array2string(x, precision=1) == np.array2string(X + 1, precision=1)
    assert np.shares_memory(x, x[1:])
    assert not np.shares_memory(x, lazy(X))
    with lb.forbid_eval(), pytest.raises(lb.errors.EvaluationForbiddenError, match=r"np\.save"):
        np.save(tmp_path / "x.npy", lazy(X) + 2)
