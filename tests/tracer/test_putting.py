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


def test_places_of_flat_take_values_over_and_over():
    def several(x):
        x.flat[1::2] = []
        x.flat[[0, 3, 5]] = [7, 8]
        x.flat[-1] = 9

    assert_records_numpy(changed(several), np.arange(6.0).reshape(2, 3))


def test_a_number_as_array_takes_a_copy():
    def several(x):
        x[np.array(0)][0] = 7
        x[np.array(1), 1:][0] = 8
        np.take(x, 1, axis=0)[2] = 9
        x[np.array(1), 0] = 10

    assert_records_numpy(changed(several), np.arange(6.0).reshape(2, 3))


def test_arrays_without_axes_are_written():
    def write(x):
        y = np.pad(x, 0)
        y[...][...] = 5
        return y

    assert_records_numpy(write, np.array(2.0))


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
        (lambda x: x.flat.__setitem__(1, [1, 2]), ValueError),
        (lambda x: x.imag.__iadd__(1j), ValueError),
        (lambda x: x.astype("u1").__setitem__(0, [-1, 2, 3]), OverflowError),
    ],
)
def test_mistakes_are_refused(write, kind):
    assert_same_error(write, np.arange(6.0).reshape(2, 3), kind=kind)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[:1].__iadd__(np.zeros((5, 5))),
        lambda x: np.add(x, np.zeros((5, 5)), out=x),
        lambda x: np.matmul(x, np.zeros((5, 5)), out=x),
    ],
)
def test_dtypes_are_a_first_concern(write):
    """Shapes that do not fit come after them."""
    for x in (np.ones((2, 3), int), lb.ones((2, 3), dtype="int64")):
        with pytest.raises(TypeError, match="same_kind"):
            write(x)


def test_targets_are_lazy_arrays():
    with pytest.raises(TypeError, match="argument 1 of 'put' must be a lazy array, not ndarray"):
        lb.put(np.zeros(3), [0], 1)
