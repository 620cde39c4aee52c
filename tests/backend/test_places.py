"""Ops that move elements: as NumPy does it, on the interpreter, the CPU and emulated GPUs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.errors import LaunchError, VerifyError
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import SCALARS, PointerType, float32, int32, to_numpy
from tests.helpers.block_ops import RUNS, assert_block_op, block_kernel
from tests.helpers.programs import random_array
from tests.helpers.ptxas import assemble

ELEMENTS = ["i1", "u8", "bf16", "f32", "i64"]


@st.composite
def blocks(draw, most=512, ranks=(1, 4), last=None):
    """An array of any element, of up to `most` elements; maybe with a given last extent."""
    rank = draw(st.integers(*ranks))
    shape = [1] * rank
    for _ in range(draw(st.integers(0, most.bit_length() - 1))):
        shape[draw(st.integers(0, rank - 1))] *= 2
    shape = (*shape[: rank - 1], last or shape[-1])
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    scalar = SCALARS[draw(st.sampled_from(ELEMENTS))]
    return random_array(rng, scalar, math.prod(shape)).reshape(shape)


def hints(draw, num_ctas=True):
    chosen = {"num_warps": draw(st.sampled_from([1, 2, 4, 8]))}
    return {**chosen, "runs": ["interpreter", "cpu", draw(st.sampled_from(RUNS[2:]))]}


@settings(max_examples=25)
@given(st.data())
def test_join_and_split(data):
    x = data.draw(blocks())
    pair = np.stack([x, x[::-1]], -1)
    given_hints = hints(data.draw)
    assert_block_op(lambda b, *v: [b.join(*v)], [x, x[::-1].copy()], [pair], **given_hints)
    halves = [pair[..., 0], pair[..., 1]]
    assert_block_op(lambda b, v: b.split(v), [pair], halves, **given_hints)


def test_join_and_split_of_scalars():
    x, y = np.array(3, np.int32), np.array(5, np.int32)
    assert_block_op(lambda b, *v: [b.join(*v)], [x, y], [np.array([3, 5], np.int32)])
    assert_block_op(lambda b, v: b.split(v), [np.array([3, 5], np.int32)], [x, y])


@settings(max_examples=40)
@given(st.data())
def test_exchange_bits(data):
    x = data.draw(blocks())
    axis = data.draw(st.integers(0, x.ndim - 1))
    mask = data.draw(st.integers(0, x.shape[axis] - 1))
    expected = x.take(np.arange(x.shape[axis]) ^ mask, axis)
    assert_block_op(lambda b, v: [b.exchange(v, axis, mask)], [x], [expected], **hints(data.draw))


@settings(max_examples=60)
@given(st.data())
def test_gather(data):
    x = data.draw(blocks())
    axis = data.draw(st.integers(0, x.ndim - 1))
    extent = data.draw(st.sampled_from([1, 2, 16, *[x.shape[axis]] * 3]))
    shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from([np.int32, np.int64, np.uint16]))
    index = rng.integers(0, x.shape[axis], shape).astype(dtype)
    expected = np.take_along_axis(x, index.astype(np.int64), axis)
    assert_block_op(lambda b, *v: [b.gather(*v, axis)], [x, index], [expected], **hints(data.draw))


@settings(max_examples=25)
@given(st.data())
def test_histogram(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    num_bins = 1 << data.draw(st.integers(0, 8))
    dtype = data.draw(st.sampled_from([np.int32, np.uint32]))
    x = rng.integers(-3, num_bins + 9, 1 << data.draw(st.integers(0, 9))).astype(dtype)
    mask = rng.random(x.shape) < 0.7
    counts = np.array([(x == number).sum() for number in range(num_bins)], np.int32)
    kept = np.array([(x[mask] == number).sum() for number in range(num_bins)], np.int32)

    def build(b, v, m):
        return [b.histogram(v, num_bins), b.histogram(v, num_bins, m)]

    assert_block_op(build, [x, mask], [counts, kept], **hints(data.draw))


def everything(num_warps, num_ctas, runs):
    """All ops on blocks of 32 rows of 16."""
    x = np.arange(512, dtype=np.int32).reshape(32, 16) * 7 % 512
    rows, columns = x.T.reshape(32, 16) % 32, x.T.reshape(32, 16) % 16
    flat, row = x.reshape(-1), np.arange(32)

    def build(b, v, i, j):
        moved = [b.exchange(v, 0, 16), b.exchange(v, 0, 31), b.exchange(v, 1, 5)]
        halves = b.split(b.transpose(b.reshape(v, (2, 16, 16)), (1, 2, 0)))
        gathered = [b.gather(v, i, 0), b.gather(v, j, 1)]
        counts = b.histogram(b.reshape(v, (512,)), 64)
        return [*moved, *halves, b.join(v, i), *gathered, counts]

    expected = [x[row ^ 16], x[::-1], x[:, np.arange(16) ^ 5], x[:16], x[16:]]
    expected += [np.stack([x, rows], -1), np.take_along_axis(x, rows, 0)]
    expected += [np.take_along_axis(x, columns, 1)]
    expected += [np.array([(flat == number).sum() for number in range(64)], np.int32)]
    hints = {"num_warps": num_warps, "num_ctas": num_ctas}
    assert_block_op(build, [x, rows, columns], expected, runs, **hints)


def test_clusters():
    """CTAs of a cluster share out a block, and read what others hold."""
    everything(2, 4, ["emulated:sm_90a"])


@pytest.mark.gpu
@pytest.mark.parametrize("num_warps, num_ctas", [(1, 1), (4, 1), (8, 1), (2, 4)])
def test_elements_move_on_a_gpu(num_warps, num_ctas):
    everything(num_warps, num_ctas, ["cuda"])


# --- places outside ------------------------------------------------------------------------------


def test_the_interpreter_refuses_an_index_outside():
    index = np.array([0, 1, 8, 3], np.int32)
    program = block_kernel(lambda b, *v: [b.gather(*v, 0)], np.zeros(8, np.float32), index)
    with pytest.raises(LaunchError, match=r"reads element 8 of 8 along axis 0.*lane \(2,\)"):
        interpret(program, [np.zeros(8, np.float32), index, np.zeros(4, np.float32)])


@pytest.mark.parametrize("run", RUNS[1:])
def test_an_index_outside_reads_some_element(run):
    x, index = np.arange(8, dtype=np.float32), np.array([-1, 1 << 30, -(1 << 31), 9], np.int32)
    out = x[index % 8]
    assert_block_op(lambda b, *v: [b.gather(*v, 0)], [x, index], [out], [run])


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda b, v: b.split(v), "last axis is not of extent 2"),
        (lambda b, v: b.exchange(v, 1, 1), "exchange along axis 1"),
        (lambda b, v: b.exchange(v, 0, 8), "mask 8 of 8 places"),
        (lambda b, v: b.gather(v, v, 0), "index is an integer"),
        (
            lambda b, v: b.gather(b.reshape(v, (2, 4)), b.reshape(b.arange(0, 8), (4, 2)), 0),
            "gather of",
        ),
        (lambda b, v: b.histogram(v, 8), "of integers"),
        (lambda b, v: b.histogram(b.cast(v, SCALARS["i64"]), 8), "32-bit"),
        (lambda b, v: b.join(v, b.arange(0, 8)), "different types"),
    ],
)
def test_operands_that_do_not_fit(build, message):
    b = Builder()
    value = b.load(b.add_pointer(b.parameter("x", PointerType(float32)), b.arange(0, 8)))
    with pytest.raises(VerifyError, match=message):
        build(b, value)


# --- sorting -------------------------------------------------------------------------------------


def bitonic_sort(b, v, step):
    """Sort a block of one axis by 2^j-element exchanges."""
    size = v.shape[0]
    for stage in range(1, size.bit_length()):
        for bit in reversed(range(stage)):
            v = step(b, v, bit, stage)
    return v


def exchange_step(b, v, bit, stage):
    place = b.arange(0, v.shape[0])
    other = b.exchange(v, 0, 1 << bit)
    is_upper, is_falling = (b.compare("ne", b.and_(place, 1 << n), 0) for n in (bit, stage))
    wants_larger = b.xor(is_upper, is_falling)
    return b.select(b.xor(b.compare("gt", v, other), wants_larger), other, v)


def halves(b, v, bit):
    shape = (v.shape[0] >> bit + 1, 2, 1 << bit)
    return b.split(b.transpose(b.reshape(v, shape), (0, 2, 1)))


def split_step(b, v, bit, stage):
    left, right = halves(b, v, bit)
    place, _ = halves(b, b.arange(0, v.shape[0]), bit)
    is_falling = b.compare("ne", b.and_(place, 1 << stage), 0)
    swaps = b.xor(b.compare("gt", left, right), is_falling)
    left, right = b.select(swaps, right, left), b.select(swaps, left, right)
    return b.reshape(b.transpose(b.join(left, right), (0, 2, 1)), v.shape)


STEPS = {"exchange": exchange_step, "split": split_step}


@pytest.mark.parametrize("name", STEPS)
def test_bitonic_sorts(name):
    x = np.random.default_rng(0).normal(size=256).astype(np.float32)
    build = lambda b, v: [bitonic_sort(b, v, STEPS[name])]  # noqa: E731
    assert_block_op(build, [x[:64]], [np.sort(x[:64])], num_warps=2)
    assert_block_op(build, [x], [np.sort(x)], ["interpreter", "cpu"])


@pytest.mark.gpu
@pytest.mark.parametrize("name", STEPS)
def test_a_gpu_sorts(name):
    x = np.random.default_rng(0).normal(size=1024).astype(np.float32)
    assert_block_op(lambda b, v: [bitonic_sort(b, v, STEPS[name])], [x], [np.sort(x)], ["cuda"])


@pytest.mark.parametrize(
    "name, size, registers, lines", [("exchange", 1024, 32, 2500), ("split", 256, 40, 1500)]
)
def test_sorts_stay_in_few_registers(name, size, registers, lines, tmp_path):
    program = block_kernel(
        lambda b, v: [bitonic_sort(b, v, STEPS[name])], np.zeros(size, np.float32)
    )
    target = cuda_target("sm_90a")
    ptx = to_ptx(emit_nvptx(program, target).llvm, target)
    usage = assemble(ptx, "sm_90a", tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0
    assert usage.registers <= registers and ptx.count("\n") < lines


# --- how it is lowered ---------------------------------------------------------------------------


def lowered(build, shape, num_warps=4):
    program = block_kernel(build, np.zeros(shape, np.float32), num_warps=num_warps)
    llvm = emit_nvptx(program, cuda_target("sm_90a")).llvm
    words = ("call i32 @lazyblock.shuffle", "call void @lazyblock.barrier")
    return tuple(llvm.count(word) for word in words)


def test_exchanges_by_register_lane_and_warp():
    """128 threads of 4 neighbours each, twice: bits of place 0, 1 and 9 are registers'."""
    exchange = lambda mask: lowered(lambda b, v: [b.exchange(v, 0, mask)], (1024,))  # noqa: E731
    assert exchange(1) == exchange(2) == exchange(3) == exchange(512) == (0, 0)
    assert exchange(4) == exchange(4 | 64 | 3) == (8, 0)
    assert exchange(128) == exchange(1023) == (0, 1)


def test_gathers_stay_in_a_warp_where_they_can():
    def gather(axis, num_warps=4):
        def build(b, v):
            index = b.reshape(b.and_(b.mul(b.arange(0, 1024), 7), v.shape[axis] - 1), v.shape)
            return [b.gather(v, index, axis)]

        return build

    assert lowered(gather(1), (32, 32)) == (4 * 8, 0)  # a lane has 4 neighbours of a row, twice
    assert lowered(gather(0), (32, 32))[1] == 1
    assert lowered(gather(0), (32, 32), num_warps=1)[1] == 1  # a thread has 8 of a column
    assert lowered(gather(1), (1, 1024))[1] == 1


def test_halves_in_registers_move_nothing():
    assert lowered(lambda b, v: b.split(v), (512, 2)) == (0, 0)
    assert lowered(lambda b, v: [b.join(*b.split(v))], (512, 2)) == (0, 0)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("element", ["i1", "u8", "bf16", "f32", "f64"])
def test_ptx_assembles_without_spills(element, arch, tmp_path):
    x = np.zeros((64, 16), to_numpy(SCALARS[element]))

    def build(b, v):
        index = b.reshape(b.rem(b.arange(0, 1024), 64), v.shape)
        counts = b.histogram(b.reshape(b.cast(v, int32), (1024,)), 64)
        return [
            b.gather(v, index, 0),
            b.exchange(v, 0, 63),
            b.join(*halves(b, b.reshape(v, (1024,)), 9)),
            counts,
        ]

    target = cuda_target(arch)
    program = block_kernel(build, x)
    usage = assemble(to_ptx(emit_nvptx(program, target).llvm, target), arch, tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0
