"""Sorting: NumPy's order and dtypes, both directions, lazily."""

import ml_dtypes
import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes
from tests.helpers.arrays import assert_equal_values, assert_same_as_numpy

REAL = [*dtypes.SIGNED, *dtypes.UNSIGNED, *dtypes.FLOATING, dtypes.bool_]


def draw(dtype, shape=(3, 7)):
    values = np.random.default_rng(0).integers(0, 5, shape).astype(dtype)
    if dtypes.is_floating(np.dtype(dtype)):
        values[0, :3] = [np.nan, -0.0, np.inf]
    return values


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("axis", [0, -1, None])
def test_ascending(dtype, axis):
    values = draw(dtype)
    wide = values.astype(np.float32) if dtype == ml_dtypes.bfloat16 else values
    x = lb.asarray(values, device="cpu")
    assert_equal_values(
        lb.sort(x, axis=axis).numpy(), np.sort(wide, axis=axis, stable=True).astype(dtype)
    )
    places = np.argsort(wide, axis=axis, stable=True)
    np.testing.assert_array_equal(lb.argsort(x, axis=axis).numpy(), places)


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex128"])
def test_descending_keeps_equal_elements_in_their_order(dtype):
    x = lb.asarray([3, 1, 3, 2, 1], dtype=dtype, device="cpu")
    assert lb.argsort(x, descending=True).tolist() == [0, 2, 3, 1, 4]
    assert lb.sort(x, descending=True).tolist() == [3, 3, 2, 1, 1]


def test_sorting_records():
    x = lb.asarray([[3.0, 1.0], [2.0, 5.0]], device="cpu")
    with lb.forbid_eval():
        ranked = lb.sort(x + 1, axis=0)[0] * 2
        places = lb.argsort(x)
    assert (ranked.shape, places.dtype) == ((2,), lb.int64)
    assert (ranked.tolist(), places.tolist()) == ([6.0, 4.0], [[1, 0], [0, 1]])


def test_through_numpy_and_of_nothing():
    assert_same_as_numpy(lambda x: np.sort(x, axis=0), draw(np.float32))
    assert_same_as_numpy(lambda x: np.sort(x), np.zeros((2, 0)))
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        lb.sort(lb.zeros((2, 2)), axis=2)
