"""The NVPTX lowering, read as text; test_emulated.py runs it."""

import numpy as np
import pytest

from lazyblock.backend.llvm.atomics import Atomic
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.nvptx_functions import GLOBAL_POINTER
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.errors import OutOfResourcesError, UnsupportedError
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import float32, int32
from tests.backend.kernels import (
    argmax,
    axpy,
    expect,
    in_place_reverse,
    layer_norm,
    pointer,
    reductions_in_loop,
    row_softmax,
    transpose_values,
)
from tests.helpers.emulator import emulate

TARGET = cuda_target("sm_90a")


def emit(make):
    return emit_nvptx(make(np.random.default_rng(0)).program, TARGET)


def count_barriers(kernel):
    return kernel.llvm.count("call void @lazyblock.barrier()")


# --- barriers and shared memory ------------------------------------------------------------------


def test_elementwise_kernels_need_no_barrier():
    kernel = emit(axpy())
    assert count_barriers(kernel) == 0
    assert kernel.shared_bytes == 0


def test_reductions_in_turn_need_one_barrier_each():
    kernel = emit(row_softmax(4096, 4096, 8, 16))
    assert count_barriers(kernel) == 2
    assert kernel.shared_bytes == 2 * 8 * 4  # the second slot lies where the first is not read


def test_reductions_within_a_warp_need_no_barrier():
    assert count_barriers(emit(layer_norm(8, 64, 2))) == 0


def test_values_reduced_together_share_a_barrier():
    kernel = emit(argmax(256, 4))
    assert count_barriers(kernel) == 1
    assert kernel.shared_bytes == 4 * 4 + 4 * 8


def test_reductions_that_take_turns_in_a_loop_need_one_barrier_each():
    assert count_barriers(emit(reductions_in_loop())) == 3


def test_a_third_reduction_takes_the_place_of_the_first():
    def three(rng):
        case = row_softmax(4096, 4096, 8, 16)(rng)
        b = Builder("three", num_warps=8)
        x, out = pointer(b, "x"), pointer(b, "out")
        row = b.load(b.add_pointer(x, b.arange(0, 4096)))
        for _ in range(3):
            row = b.sub(row, b.splat(b.reduce_with("add", row, 0), (4096,)))
        b.store(b.add_pointer(out, b.arange(0, 4096)), row)
        return case._replace(program=b.finish())

    kernel = emit(three)
    assert count_barriers(kernel) == 3
    assert kernel.shared_bytes == 2 * 8 * 4


def test_reading_and_writing_one_array_across_threads_waits():
    assert count_barriers(emit(in_place_reverse())) == 1


def test_updating_in_place_does_not_wait():
    b = Builder("update", num_warps=4)
    x = pointer(b, "x")
    place = b.add_pointer(x, b.arange(0, 512))
    b.store(place, b.mul(b.load(place), 2.0))
    assert count_barriers(emit_nvptx(b.finish(), TARGET)) == 0


# --- the frame -----------------------------------------------------------------------------------


def test_parameters_state_alignment_and_aliasing():
    program = axpy()(np.random.default_rng(0)).program
    assert "noalias" not in emit_nvptx(program, TARGET).llvm
    program.noalias = True
    text = emit_nvptx(program, TARGET).llvm
    reads = "ptr addrspace(1) align 16 noalias readonly %p0"
    writes = "ptr addrspace(1) align 16 noalias %p2, i32 %p3"
    assert reads in text
    assert writes in text


def test_kernel_names_are_identifiers():
    b = Builder("<lambda>.f-1", num_warps=2)
    kernel = emit_nvptx(b.finish(), TARGET)
    assert kernel.name == "_lambda__f_1"
    assert kernel.num_threads == 64
    assert 'ptx_kernel void @_lambda__f_1() nounwind "nvvm.reqntid"="64"' in kernel.llvm


def test_long_chains_do_not_recurse():
    b = Builder("chain", num_warps=1)
    x = pointer(b, "x")
    place = b.add_pointer(x, b.arange(0, 32))
    value = b.load(place)
    for _ in range(3000):
        value = b.add(value, 1.0)
    b.store(place, value)
    assert emit_nvptx(b.finish(), TARGET).llvm.count("fadd") == 3000


def test_equal_elements_are_computed_once():
    b = Builder("splats", num_warps=1)
    out, n = pointer(b, "out"), b.parameter("n", float32)
    wide = b.add(b.broadcast_to(n, (256,)), 1.0)
    b.store(b.add_pointer(out, b.arange(0, 256)), wide)
    assert emit_nvptx(b.finish(), TARGET).llvm.count("fadd") == 1


def test_too_many_threads_are_refused():
    with pytest.raises(OutOfResourcesError, match="wants 2048 threads, sm_90a has 1024"):
        emit_nvptx(Builder("wide", num_warps=64).finish(), TARGET)


def test_too_much_shared_memory_is_refused():
    b = Builder("large", num_warps=8)
    x, out = pointer(b, "x", int32), pointer(b, "out", int32)
    shape = (256, 256)
    offsets = b.reshape(b.arange(0, 1 << 16), shape)
    value = b.transpose(b.load(b.add_pointer(x, offsets)), (1, 0))
    b.store(b.add_pointer(out, offsets), value)
    with pytest.raises(OutOfResourcesError, match=r"'large' wants 262,144 bytes of shared memory"):
        emit_nvptx(b.finish(), TARGET)


def test_maths_must_be_expanded_first():
    b = Builder("maths", num_warps=1)
    place = b.add_pointer(pointer(b, "x"), b.arange(0, 32))
    b.store(place, b.math("exp", b.load(place)))
    with pytest.raises(UnsupportedError, match="'math'"):
        emit_nvptx(b.finish(), TARGET)


# --- shared memory -------------------------------------------------------------------------------


def converted_twice(rows, columns, num_warps):
    """Two conversions one after the other, of as much shared memory as the block."""
    b = Builder("converted_twice", num_warps=num_warps)
    x, out = pointer(b, "x"), pointer(b, "out")
    offsets = b.reshape(b.arange(0, rows * columns), (rows, columns))
    moved = b.transpose(b.load(b.add_pointer(x, offsets)), (1, 0))
    again = b.load(b.add_pointer(x, b.reshape(offsets, moved.shape)))
    turned = b.transpose(b.add(moved, again), (1, 0))
    b.store(b.add_pointer(out, offsets), turned)
    return emit_nvptx(b.finish(), TARGET)


def test_exchanges_one_after_the_other_need_one_barrier_each():
    kernel = converted_twice(64, 64, 4)
    assert count_barriers(kernel) == 2
    assert kernel.shared_bytes == 2 * 64 * 64 * 4


def test_memory_serves_again_where_there_is_none_left():
    kernel = converted_twice(256, 128, 32)
    assert kernel.shared_bytes == 256 * 128 * 4
    assert count_barriers(kernel) == 3


def test_an_exchange_of_more_than_48_kib_runs():
    case = transpose_values(128, 128, float32, 8)(np.random.default_rng(0))
    assert emit_nvptx(case.program, TARGET).shared_bytes == 64 << 10
    data, moved, flat, *_ = expect(case, emulate)
    np.testing.assert_array_equal(moved.reshape(128, 128), data.T)
    np.testing.assert_array_equal(flat.reshape(128, 128), data.T)


# --- functions of a warp -------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_shuffles_votes_and_atomics_are_single_instructions(arch):
    emitter = ThreadEmitter()
    emitter.start(32, 1)
    value = emitter.ask("thread_index")
    for kind in ("xor", "up", "down", "idx"):
        value = emitter.shuffle(kind, int32, value, "3")
    votes = emitter.ballot(emitter.value(f"icmp slt i32 {value}, 7"))
    emitter.atomic(TARGET, Atomic("add", int32, is_used=False), f"{GLOBAL_POINTER} %p0", votes)
    emitter.finish()
    frame = emitter.kernel("k", [f"{GLOBAL_POINTER} %p0"], 32)
    ptx = to_ptx(frame + emitter.surroundings(), cuda_target(arch))
    wanted = ["shfl.sync.bfly", "shfl.sync.up", "shfl.sync.down", "shfl.sync.idx"]
    for instruction in (*wanted, "vote.sync.ballot", "red.relaxed.gpu.global.add.u32"):
        assert ptx.count(instruction) == 1, instruction
