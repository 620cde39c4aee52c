"""Dimensions and accesses of a walk."""

import pytest

from lazyblock.fusion.plan import IterationSpace
from lazyblock.tiler.lower.walk import Access, merge_axes, share_origins
from tests.helpers.expressions import array

BASE = array((100, 64))
ROWS = (64, 1)


def shared(offsets, strides=ROWS, shape=(90, 50)):
    accesses = {offset: Access(BASE, offset, strides) for offset in offsets}
    space = IterationSpace(shape)
    return share_origins(accesses, merge_axes(space, list(accesses.values())))


def test_taps_are_shifts_from_their_lowest_corner():
    found = shared([64, 66, 1, 129, 65])
    assert {access.offset for access in found.values()} == {0}
    assert {offset: access.shift for offset, access in found.items()} == {
        **{64: (1, 0), 66: (1, 2), 1: (0, 1), 129: (2, 1), 65: (1, 1)},
    }


@pytest.mark.parametrize(
    "offsets",
    [[7], [0, 65 * 64], [3, 3 + 33 * 64 + 40]],
    ids=["one tap", "far apart", "origin before the array"],
)
def test_what_is_no_stencil_stays(offsets):
    assert all(access.shift == () for access in shared(offsets).values())


def test_other_strides_keep_their_own_origin():
    accesses = {0: Access(BASE, 5, ROWS), 1: Access(BASE, 6, (1, 64)), 2: Access(BASE, 6, ROWS)}
    space = IterationSpace((30, 30))
    found = share_origins(accesses, merge_axes(space, list(accesses.values())))
    assert found[1] == accesses[1]
    assert found[0].offset == found[2].offset == 5
    assert (found[0].shift, found[2].shift) == ((0, 0), (0, 1))


def test_steps_against_memory():
    found = shared([1000, 999, 936], (-64, -1))
    assert {access.offset for access in found.values()} == {1000}
    assert [found[offset].shift for offset in (1000, 999, 936)] == [(0, 0), (0, 1), (1, 0)]
