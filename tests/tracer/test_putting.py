"""Functions that write into an array, and indices of complex arrays, beside NumPy."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_records_numpy, assert_same_as_numpy, assert_same_error

Z = (np.arange(6) + 1j * np.arange(6)[::-1]).reshape(2, 3)


def changed(function):
    """What a copy of an array is after `function(copy)`."""

    def run(x):
        y = x.copy()
        function(y)
        return y

    return run


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.put(x, [1, -1], [50, 60]),
        lambda x: np.put(x, [0, 9, -8], 7, mode="clip"),
        lambda x: np.put(x, [0, 9, -8], [7, 8], mode="wrap"),
        lambda x: np.place(x, [True, False, True] * 2, [10, 20, 30]),
        lambda x: np.place(x, x > 1, [10, 20]),
        lambda x: np.putmask(x, x > 2, [9, 8]),
        lambda x: np.copyto(x, [[1, 2, 3], [4, 5, 6]], where=[True, False, True]),
        lambda x: np.copyto(x[:, 1], 3),
        lambda x: np.put_along_axis(x, np.array([[2], [0]]), 7.0, 1),
        lambda x: np.put_along_axis(x, np.array([2, 0]), np.array([7.0, 8]), None),
        lambda x: np.fill_diagonal(x, 5),
        lambda x: np.fill_diagonal(x.T, [5, 6]),
        lambda x: np.add.at(x, (0, [1, 1, 2]), [1, 2, 3]),
        lambda x: np.maximum.at(x.T, [[0, 0], [2, -1]], 2.5),
    ],
)
def test_values_are_numpys(write):
    assert_records_numpy(changed(write), np.arange(6.0).reshape(2, 3))


def test_complex_arrays_are_read_written_and_joined():
    def several(z):
        y, last = z.copy(), np.array([1])
        y[0, 1:] = 5j
        y[last] = z[0]
        y.T[::2, 0] *= 2
        y[y == 5j] = 1
        joined = np.concatenate([z, z * 1j], axis=1)
        return y, (z * 2)[[1, 0, -1]], joined, np.pad(z, 1, constant_values=2j)

    assert_same_as_numpy(several, Z)


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda x: np.put(x, [6], 0), IndexError),
        (lambda x: np.place(x, [True], 0), ValueError),
        (lambda x: np.copyto(x, 1j), TypeError),
        (lambda x: np.copyto(x, np.zeros(4)), ValueError),
        (lambda x: np.fill_diagonal(x[0], 0), ValueError),
        (lambda x: np.add.at(x, [2], 1), IndexError),
    ],
)
def test_mistakes_are_refused(write, kind):
    assert_same_error(write, np.arange(6.0).reshape(2, 3), kind=kind)


def test_targets_are_lazy_arrays():
    with pytest.raises(TypeError, match="argument 1 of 'put' must be a lazy array, not ndarray"):
        lb.put(np.zeros(3), [0], 1)
