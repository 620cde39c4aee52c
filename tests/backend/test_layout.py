"""Layout algebra against brute force over every register, lane and warp."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyblock.backend.llvm.layout import LinearLayout, blocked_layout


def all_places(layout):
    return itertools.product(
        range(layout.num_registers), range(1 << len(layout.lane)), range(layout.num_warps)
    )


def held_elements(layout):
    """Map (register, lane, warp) to the coordinates held there."""
    return {place: layout.coordinates(*place) for place in all_places(layout)}


def all_elements(shape):
    return set(itertools.product(*map(range, shape)))


@st.composite
def layouts(draw):
    shape = tuple(1 << n for n in draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    order = draw(st.permutations(range(len(shape))))
    reduced = draw(st.sets(st.sampled_from(range(len(shape)))))
    vector = 1 << draw(st.integers(0, 3))
    return blocked_layout(shape, 1 << draw(st.integers(0, 2)), vector, order, tuple(reduced))


def test_elementwise_block_is_one_vector_per_thread():
    layout = blocked_layout((1024,), num_warps=8, vector_width=4)
    assert layout.num_registers == 4
    for warp, lane in itertools.product(range(8), range(32)):
        first = 4 * (32 * warp + lane)
        held = [layout.coordinates(register, lane, warp) for register in range(4)]
        assert held == [(first + i,) for i in range(4)]


def test_row_is_thread_consecutive_vectors_that_wrap_around():
    layout = blocked_layout((1, 4096), num_warps=8, vector_width=4)
    assert layout.num_registers == 16
    for register, lane, warp in itertools.product(range(16), (0, 1, 31), (0, 1, 7)):
        column = register % 4 + 4 * lane + 128 * warp + 1024 * (register // 4)
        assert layout.coordinates(register, lane, warp) == (0, column)


def test_warps_avoid_reduced_axes():
    layout = blocked_layout((4, 1024), 4, 4, reduced_axes=(1,))
    assert layout.warp == ((1, 0), (2, 0))
    assert blocked_layout((4, 1024), 4, 4).warp == ((0, 128), (0, 256))


def test_small_blocks_are_replicated():
    layout = blocked_layout((16,), num_warps=2, vector_width=4)
    assert layout.replica_masks() == (0, 0b11100, 0b1)
    assert blocked_layout((), 4).replica_masks() == (0, 31, 3)
    assert blocked_layout((), 4).num_registers == 1


@given(layouts())
def test_blocked_layout_holds_every_element(layout):
    assert set(held_elements(layout).values()) == all_elements(layout.shape)


@given(layouts())
def test_replica_masks_leave_every_element_once(layout):
    masks = layout.replica_masks()
    kept = [
        coordinates
        for place, coordinates in held_elements(layout).items()
        if all(index & mask == 0 for index, mask in zip(place, masks, strict=True))
    ]
    assert sorted(kept) == sorted(all_elements(layout.shape))


def test_replica_masks_see_dependent_vectors():
    layout = LinearLayout((4,), ((1,), (2,)), ((3,), (0,)), ((1,),))
    assert layout.replica_masks() == (0, 0b11, 0b1)


@given(layouts(), st.data())
def test_transforms_move_elements_as_numpy_does(layout, data):
    axis = data.draw(st.integers(0, len(layout.shape) - 1))
    permutation = data.draw(st.permutations(range(len(layout.shape))))
    flat = tuple(np.prod(layout.shape, keepdims=True).tolist())
    numbers = np.arange(flat[0]).reshape(layout.shape)
    for place, c in held_elements(layout).items():
        without = c[:axis] + c[axis + 1 :]
        _, lane, warp = place
        thread = {
            layout.squeeze(axis).coordinates(r, lane, warp)
            for r in range(layout.squeeze(axis).num_registers)
        }
        assert without in thread
        assert layout.expand(axis).coordinates(*place) == (*c[:axis], 0, *c[axis:])
        moved = layout.transpose(permutation)
        assert numbers.transpose(permutation)[moved.coordinates(*place)] == numbers[c]
        assert numbers.reshape(flat)[layout.reshape(flat).coordinates(*place)] == numbers[c]
    assert layout.project(axis) == layout.squeeze(axis).expand(axis)
    assert layout.reshape(flat).reshape(layout.shape) == layout


@given(layouts())
def test_separable_axes_and_vectors_of_blocked_layouts(layout):
    for axis in range(len(layout.shape)):
        assert layout.is_separable(axis)
        assert layout.has_disjoint_bits(axis)
        positions = layout.vector_positions(axis)
        for index in range(1 << len(positions)):
            register = sum(1 << p for i, p in enumerate(positions) if index >> i & 1)
            expected = tuple(index if a == axis else 0 for a in range(len(layout.shape)))
            assert layout.coordinates(register) == expected


def test_swizzled_layout_is_not_separable():
    swizzled = LinearLayout((4, 4), ((0, 1), (0, 2), (1, 1), (2, 2)), ((0, 0),) * 5, ())
    assert not swizzled.is_separable(0)
    assert not swizzled.is_separable(1)
    assert set(held_elements(swizzled).values()) == all_elements((4, 4))


def test_register_map_is_a_permutation_of_registers():
    left = LinearLayout((8,), ((1,), (2,), (4,)), ((0,),) * 5, ())
    right = LinearLayout((8,), ((4,), (1,), (2,)), ((0,),) * 5, ())
    assert left.register_map(left) == tuple(range(8))
    mapping = left.register_map(right)
    assert sorted(mapping) == list(range(8))
    for index, register in enumerate(mapping):
        assert right.coordinates(index) == left.coordinates(register)


@pytest.mark.parametrize("shape", [(64,), (2, 32)])
def test_register_map_is_none_across_threads(shape):
    left = blocked_layout(shape, 1, 2)
    assert left.register_map(blocked_layout(shape, 1, 1)) is None


def test_without_registers_keeps_the_first_of_each_vector():
    layout = blocked_layout((1, 4096), 8, 4)
    leaders = layout.without_registers(layout.vector_positions(1)[:2])
    assert [leaders.coordinates(r) for r in range(4)] == [(0, 1024 * r) for r in range(4)]
    assert layout.register_map(leaders) == (0, 4, 8, 12)
