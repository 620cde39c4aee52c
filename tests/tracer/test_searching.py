"""Where elements are, beside NumPy."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_same_as_numpy

VALUES = np.array([[0, 2, 0, -1], [5, 0, 0, 3]], np.int32)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("dtype", [np.int32, np.float64, np.complex64, np.bool_])
def test_count_nonzero(axis, dtype):
    values = VALUES.astype(dtype)
    found = lb.count_nonzero(lb.asarray(values, device="cpu"), axis=axis)
    expected = np.asarray(np.count_nonzero(values, axis=axis))
    assert found.dtype == lb.int64
    np.testing.assert_array_equal(found.numpy(), expected)


def test_nonzero_evaluates():
    x = lb.asarray(VALUES, device="cpu")
    assert_same_as_numpy(lambda x: np.nonzero(x), VALUES)
    with pytest.raises(lb.errors.EvaluationForbiddenError, match="'nonzero'"), lb.forbid_eval():
        lb.nonzero(x + 1)
    with pytest.raises(ValueError, match="0d arrays"):
        lb.nonzero(x[0, 0])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    line = lb.asarray([5.0, 1.0, 3.0, 3.0], device="cpu")
    wanted = lb.asarray([[3.0, 0.0], [9.0, 4.0]], device="cpu")
    expected = np.searchsorted([1.0, 3.0, 3.0, 5.0], wanted.numpy(), side)
    with lb.forbid_eval():
        found = lb.searchsorted(lb.sort(line), wanted, side=side)
        same = lb.searchsorted(line, wanted, side=side, sorter=lb.argsort(line))
        one = lb.searchsorted(lb.sort(line), 3, side=side)
    assert found.dtype == lb.int64
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(same.numpy(), expected)
    assert (one.shape, one.item()) == ((), expected[0, 0])
    with pytest.raises(ValueError, match="'left' or 'right'"):
        lb.searchsorted(line, wanted, side="middle")
