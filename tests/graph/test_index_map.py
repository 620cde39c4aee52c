"""Index maps against NumPy's own views, by brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyblock.graph import index_map
from lazyblock.graph.index_map import IndexMap
from lazyblock.shapes import contiguous_strides

BASE = np.arange(24).reshape(2, 3, 4)

CASES = {
    "permutation": (index_map.permutation((2, 0, 1)), BASE.transpose(2, 0, 1)),
    "broadcast": (
        index_map.broadcast((2, 3, 4), (5, 2, 3, 4)),
        np.broadcast_to(BASE, (5, 2, 3, 4)),
    ),
    "slices": (index_map.slices((1, 2, 3), (1, -2, -1)), BASE[1:, 2::-2, ::-1]),
    "inserted": (index_map.inserted_axes(3, (0, 3)), BASE[None, :, :, None]),
    "removed": (index_map.removed_axes(3, (0, 2), (1, 3)), BASE[1, :, 3]),
}


def assert_reads(map, base, expected):
    for index in np.ndindex(*expected.shape):
        assert base[map(index)] == expected[index]


@pytest.mark.parametrize("name", CASES)
def test_map_reads_what_numpys_view_shows(name):
    assert_reads(CASES[name][0], BASE, CASES[name][1])


@pytest.mark.parametrize("name", CASES)
def test_strides_are_numpys(name):
    map, expected = CASES[name]
    offset, strides = map.strides(contiguous_strides(BASE.shape))
    assert BASE.reshape(-1)[offset:][:1] == expected.reshape(-1)[:1]
    numpys = [s // BASE.itemsize for s in expected.strides]
    assert [s for s, n in zip(strides, expected.shape, strict=True) if n > 1] == [
        s for s, n in zip(numpys, expected.shape, strict=True) if n > 1
    ]


def test_unit_axes_broadcast():
    base = np.arange(3).reshape(3, 1)
    map = index_map.broadcast((3, 1), (2, 3, 4))
    assert_reads(map, base, np.broadcast_to(base, (2, 3, 4)))


@given(
    st.permutations(range(3)), st.tuples(*[st.sampled_from([-1, 1])] * 3), st.permutations(range(3))
)
def test_composition_is_the_view_of_the_view(first, steps, second):
    turned = BASE.transpose(first)
    starts = [n - 1 if step < 0 else 0 for n, step in zip(turned.shape, steps, strict=True)]
    expected = turned[tuple(slice(None, None, step) for step in steps)].transpose(second)
    map = index_map.permutation(first).compose(index_map.slices(starts, steps))
    assert_reads(map.compose(index_map.permutation(second)), BASE, expected)


def test_maps_that_agree_everywhere_are_equal_when_normalized():
    by_slice, by_index = index_map.slices((0, 0), (1, 7)), index_map.identity(2)
    assert by_slice != by_index
    assert by_slice.normalized((3, 1), (3, 1)) == by_index.normalized((3, 1), (3, 1))
    assert by_slice.normalized((3, 1), (3, 9)) != by_slice.normalized((3, 2), (3, 9))


def test_identity():
    assert index_map.identity(2).is_identity
    assert not index_map.permutation((1, 0)).is_identity
    assert IndexMap((), (), 0).is_identity
