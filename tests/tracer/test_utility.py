"""Differences along an axis are NumPy's."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_same_as_numpy, assert_same_error

VALUES = np.array([[1, 4, 9, 16], [2, 3, 5, 7], [0, 0, 1, 1]])
FUNCTIONS = [
    lambda x: np.diff(x),
    lambda x: np.diff(x, axis=0),
    lambda x: np.diff(x, n=3),
    lambda x: np.diff(x, n=4),
    lambda x: np.diff(x, n=0),
    lambda x: np.diff(x, prepend=0),
    lambda x: np.diff(x, append=x[:, :2], axis=1),
    lambda x: np.diff(x, 2, 0, prepend=x[:1], append=5),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8"])
def test_diff(number, dtype):
    assert_same_as_numpy(FUNCTIONS[number], VALUES.astype(dtype))


def test_diff_of_bools_tells_where_they_change():
    assert_same_as_numpy(lambda x: np.diff(x), VALUES > 3)


def test_errors():
    assert_same_error(lambda x: np.diff(x, n=-1), VALUES, kind=ValueError)
    assert_same_error(lambda x: np.diff(x), np.array(1), kind=ValueError)


def test_diff_records():
    with lb.forbid_eval():
        assert lb.diff(lb.asarray(VALUES, device="cpu"), n=2).shape == (3, 2)
