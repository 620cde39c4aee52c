"""Basic indexing against NumPy, drawn at random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyblock as lb
from lazyblock.tracer.indexing import basic_index
from tests.helpers.arrays import assert_records_numpy

BOUND = st.one_of(st.none(), st.integers(-6, 6))
STEP = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
ENTRY = st.one_of(
    st.integers(-5, 5), st.builds(slice, BOUND, BOUND, STEP), st.none(), st.just(Ellipsis)
)


@given(st.lists(st.integers(0, 5), max_size=3).map(tuple), st.lists(ENTRY, max_size=4).map(tuple))
def test_map_and_shape_are_numpys(shape, key):
    base = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    try:
        expected = base[key]
    except IndexError:
        with pytest.raises(IndexError):
            basic_index(shape, key)
        return
    index_map, result = basic_index(shape, key)
    assert result == expected.shape
    for index in np.ndindex(*result):
        assert base[index_map(index)] == expected[index]


@given(st.lists(st.lists(ENTRY, max_size=2).map(tuple), max_size=3))
def test_views_of_views(keys):
    base = np.arange(60.0).reshape(3, 4, 5)
    try:
        for key in keys:
            base = base[key]
    except IndexError:
        return

    def index(x):
        for key in keys:
            x = x[key]
        return x

    assert_records_numpy(index, np.arange(60.0).reshape(3, 4, 5))


@pytest.mark.parametrize("index", [np.int8(1), np.uint64(1), np.array(1)[()]])
def test_numpy_integers_are_indices(index):
    assert basic_index((3,), index) == basic_index((3,), 1)


def test_new_axis_is_none():
    x = lb.zeros((2, 3), device="cpu")
    assert x[:, lb.newaxis].shape == (2, 1, 3)
