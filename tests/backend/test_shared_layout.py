"""Placement in shared memory: every element once, no bank conflicts, vectors for both sides."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyblock.backend.llvm.layout import blocked_layout
from lazyblock.backend.llvm.shared_layout import SharedLayout, choose_layout
from tests.backend.test_layout import layouts


def widths(shared, *placed):
    return tuple(1 << len(shared.vector_positions(layout)) for layout in placed)


@given(layouts(), st.data())
def test_every_element_has_a_place_of_its_own(source, data):
    order = data.draw(st.permutations(range(len(source.shape))))
    target = blocked_layout(source.shape, source.num_warps, 1, order)
    for nbytes in (1, 2, 4, 8):
        shared = choose_layout(source, target, nbytes)
        size = math.prod(source.shape)
        assert sorted(map(shared.place, range(size))) == list(range(size))
        for layout in (source, target):
            for vector in layout.vectors(shared.vector_positions(layout)):
                flat = [layout.flatten(layout.coordinates(number)) for number in vector]
                places = [shared.place(index) for index in flat]
                assert places == list(range(places[0], places[0] + len(vector)))
                assert places[0] % len(vector) == 0


TURNED = [(32, 32), (64, 64), (16, 64), (128, 8), (8, 256), (4, 16, 32)]


@pytest.mark.parametrize("nbytes", [1, 2, 4, 8])
@pytest.mark.parametrize("num_warps", [1, 2, 4])
@pytest.mark.parametrize("shape", TURNED)
def test_transposes_meet_in_no_bank(shape, num_warps, nbytes):
    axes = tuple(range(len(shape)))
    for vector, order in itertools.product((1, 16 // nbytes), (axes, axes[::-1])):
        source = blocked_layout(shape, num_warps, vector, axes[::-1])
        target = blocked_layout(shape, num_warps, min(vector, shape[0]), order)
        shared = choose_layout(source, target, nbytes)
        assert shared.wavefronts(source) == 1
        assert shared.wavefronts(target) == 1


def test_common_vectors_are_moved_at_once():
    source = blocked_layout((4, 512), 4, 4)
    target = blocked_layout((4, 512), 4, 4, reduced_axes=(1,))
    assert widths(choose_layout(source, target, 4), source, target) == (4, 4)


def test_one_side_has_vectors_where_the_other_has_not():
    source = blocked_layout((32, 32), 1, 4, (1, 0))
    target = blocked_layout((32, 32), 1, 4, (0, 1))
    shared = choose_layout(source, target, 4)
    assert sorted(widths(shared, source, target)) == [1, 4]


def test_conflicts_are_counted():
    column = blocked_layout((32, 32), 1, 1, (0, 1))
    row = blocked_layout((32, 32), 1, 1, (1, 0))
    plain = SharedLayout(4, (), tuple(1 << bit for bit in range(10)))
    assert plain.wavefronts(row) == 1
    assert plain.wavefronts(column) == 32
