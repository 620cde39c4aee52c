"""Rearranging functions are NumPy's, through NumPy's own functions."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_records_numpy, assert_same_error

CUBE = np.arange(24.0).reshape(2, 3, 4)
FUNCTIONS = [
    lambda x: np.broadcast_to(x, (5, 2, 3, 4)),
    lambda x: np.broadcast_arrays(x, x[:1], x[0, 0]),
    lambda x: np.expand_dims(x, 1),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: np.squeeze(x[:, :1], axis=1),
    lambda x: np.reshape(x, (4, -1)),
    lambda x: np.ravel(x),
    lambda x: np.transpose(x),
    lambda x: np.transpose(x, (2, 0, 1)),
    lambda x: np.swapaxes(x, 0, -1),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
    lambda x: np.flip(x),
    lambda x: np.flip(x, (0, 2)),
    lambda x: x.mT,
    lambda x: np.astype(x, np.int8),
    lambda x: np.copy(x),
    lambda x: np.round(x / 3),
    lambda x: np.roll(x, 5),
    lambda x: np.roll(x, -1, axis=1),
    lambda x: np.roll(x, (1, 5, -9), axis=(0, 2, 2)),
    lambda x: np.roll(x, 2, axis=(0, 1)),
    lambda x: np.roll(x[:, :0], 3, axis=1),
    lambda x: np.tile(x, 2),
    lambda x: np.tile(x, (3, 1, 2, 1)),
    lambda x: np.tile(x, (0, 2)),
    lambda x: np.tile(x[0, 0, 0], (2, 2)),
    lambda x: np.repeat(x, 3),
    lambda x: np.repeat(x, 2, axis=1),
    lambda x: np.repeat(x, 0, axis=-1),
    lambda x: np.unstack(x, axis=1),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_function(number):
    assert_records_numpy(FUNCTIONS[number], CUBE)


def test_errors():
    assert_same_error(lambda x: np.moveaxis(x, (0, 1), 0), CUBE, kind=ValueError)
    assert_same_error(lambda x: np.transpose(x, (0, 1)), CUBE, kind=ValueError)
    with pytest.raises(ValueError, match=r"Cannot broadcast \(2, 3, 4\) to \(5,\)"):
        lb.broadcast_to(lb.asarray(CUBE, device="cpu"), 5)


def test_ravel_is_a_view_of_contiguous_elements_only():
    def write(x):
        x = x.copy()
        x[:1].ravel()[:] = 7
        x[::-1].ravel()[:] = 8
        x[:, 0].reshape(-1)[:] = 9
        return x

    assert_records_numpy(write, np.arange(6).reshape(3, 2))


def test_questions():
    x = lb.asarray(CUBE, device="cpu")
    assert (np.ndim(x), np.shape(x), np.size(x), np.size(x, 1)) == (3, (2, 3, 4), 24, 3)
    assert not np.iscomplexobj(x) and np.iscomplexobj(x + 1j)
    assert np.result_type(x, np.float32(1)) == np.float64
    assert lb.result_type(lb.float32, 1.0) == np.float32
    assert lb.can_cast(lb.int8, lb.int16) and not lb.can_cast(lb.int16, lb.int8)


def test_repeat_takes_a_count_for_each_element():
    x = lb.asarray(CUBE, device="cpu")
    for counts in ([2, 0, 3], lb.asarray([2, 0, 3])):
        found = lb.repeat(x, counts, axis=1)
        np.testing.assert_array_equal(found.numpy(), np.repeat(CUBE, [2, 0, 3], axis=1))
    assert_same_error(lambda x: np.repeat(x, [1, 2], axis=1), CUBE, kind=ValueError)
    assert_same_error(lambda x: np.repeat(x, -1), CUBE, kind=ValueError)


def test_unstacked_parts_are_views():
    x = lb.asarray(CUBE, device="cpu")
    lb.unstack(x, axis=2)[1][...] = 0
    assert not x[:, :, 1].any() and x[:, :, 2].all()


def test_shapes_broadcast():
    assert lb.broadcast_shapes((2, 1), (3,), ()) == np.broadcast_shapes((2, 1), (3,), ())
    assert lb.broadcast_shapes() == ()
    with pytest.raises(ValueError, match="Cannot broadcast"):
        lb.broadcast_shapes((2,), (3,))


def test_axes_are_permuted_by_the_array_apis_name():
    x = lb.asarray(CUBE, device="cpu")
    assert lb.permute_dims(x, (2, 0, 1)).node is x.transpose(2, 0, 1).node
    assert lb.matrix_transpose(x).node is x.mT.node
