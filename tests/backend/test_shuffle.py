"""Conversions by shuffles, played on lists: every lane sends one register a round."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lazyblock.backend.llvm.layout import LinearLayout, blocked_layout
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.nvptx_shuffle import plan_shuffles
from lazyblock.target import cuda_target
from lazyblock.tiler.types import bfloat16, float32, float64, int1
from tests.backend.kernels import expect, transpose_values
from tests.backend.test_layout import layouts
from tests.helpers.emulator import emulate

SM_90 = cuda_target("sm_90a")


def total(weights, thread):
    result = 0
    for bit, weight in enumerate(weights):
        result ^= weight if thread >> bit & 1 else 0
    return result


def play(source, target, plan):
    """What each thread holds after the rounds: coordinates by (register, lane, warp)."""
    result = {}
    for warp in range(source.num_warps):
        for lane in range(32):
            thread = lane | warp << 5
            for number, offset in enumerate(plan.offsets):
                other = lane ^ total(plan.reads, thread) ^ offset
                register = plan.sent[number] ^ total(plan.swaps, other | warp << 5)
                taken = number ^ total(plan.order, lane)
                result[taken, lane, warp] = source.coordinates(register, other, warp)
    return result


def assert_converts(source, target):
    plan = plan_shuffles(source, target)
    assert plan is not None
    for place, coordinates in play(source, target, plan).items():
        assert coordinates == target.coordinates(*place)
    return plan


@st.composite
def in_one_warp(draw):
    """Two layouts of a block that one warp holds."""
    shape = tuple(1 << n for n in draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    orders = [draw(st.permutations(range(len(shape)))) for _ in range(2)]
    widths = [1 << draw(st.integers(0, 3)) for _ in range(2)]
    return [blocked_layout(shape, 1, *pair) for pair in zip(widths, orders, strict=True)]


@given(in_one_warp())
def test_any_two_layouts_of_a_warp(pair):
    assert_converts(*pair)


@given(layouts(), st.data())
def test_plans_of_several_warps(source, data):
    order = data.draw(st.permutations(range(len(source.shape))))
    target = blocked_layout(source.shape, source.num_warps, 1, order)
    assume(plan_shuffles(source, target) is not None)
    assert_converts(source, target)


def test_what_other_warps_hold_needs_shared_memory():
    source = blocked_layout((64, 64), 4, 4)
    assert plan_shuffles(source, blocked_layout((64, 64), 4, 1, (0, 1))) is None


def test_turned_blocks_take_one_shuffle_per_register():
    source = blocked_layout((8, 8), 1, 2, (1, 0))
    plan = assert_converts(source, blocked_layout((8, 8), 1, 2, (0, 1)))
    assert plan.count() == 2


@pytest.mark.parametrize("num_warps", [1, 4])
def test_results_of_rows_spread_over_lanes_without_other_warps(num_warps):
    rows = blocked_layout((32, 64), 1, 1).squeeze(1)
    source = LinearLayout(rows.shape, rows.register, rows.lane, ((0,),) * (num_warps // 2))
    target = blocked_layout((32,), 1)
    target = LinearLayout(target.shape, target.register, target.lane, source.warp)
    assert_converts(source, target)


ELEMENTS = [int1, bfloat16, float32, float64]


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (4, 64)])
def test_blocks_turned_in_a_warp(rows, columns, element):
    case = transpose_values(rows, columns, element, 1)(np.random.default_rng(5))
    data, moved, flat = expect(case, emulate)
    np.testing.assert_array_equal(moved.reshape(columns, rows), data.T)
    np.testing.assert_array_equal(flat, data.T.reshape(flat.shape))


def test_small_blocks_need_neither_memory_nor_barrier():
    kernel = emit_nvptx(transpose_values(8, 8, float32, 1)(np.random.default_rng(0)).program, SM_90)
    assert kernel.shared_bytes == 0
    assert "@lazyblock.barrier()" not in kernel.llvm
    assert kernel.llvm.count("call i32 @lazyblock.shuffle_xor") <= 8
