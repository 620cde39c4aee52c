"""Reductions of blocks of any shape along any axis, on emulated GPUs against the interpreter."""

import dataclasses

import numpy as np
import pytest

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import float32, int32, int64, to_numpy
from tests.backend.kernels import Case, expect, pointer, reduce_axis, sample
from tests.helpers.arrays import assert_equal_values
from tests.helpers.emulator import emulate
from tests.helpers.ptxas import assemble

# shape, axis, warps, CTAs: one element to 64 Ki, every rank, more threads than elements and fewer
SHAPES = [
    ((1,), 0, 4, 1),
    ((2,), 0, 1, 1),
    ((64,), 0, 4, 1),
    ((4096,), 0, 2, 1),
    ((65536,), 0, 8, 1),
    ((16384,), 0, 2, 4),
    ((1, 64), 0, 2, 1),
    ((64, 1), 1, 2, 1),
    ((2, 256), 1, 4, 1),
    ((512, 2), 0, 4, 1),
    ((16, 16), 0, 8, 2),
    ((4, 2, 64), 2, 4, 1),
    ((4, 32, 4), 1, 4, 1),
    ((64, 2, 4), 0, 2, 2),
    ((2, 4, 2, 16), 1, 4, 1),
    ((8, 1, 2, 8), 2, 4, 1),
    ((2, 2, 4, 2, 8), 4, 2, 1),
    ((16, 2, 2, 2, 2), 0, 4, 1),
    ((2, 8, 2, 2, 2), 1, 1, 2),
]


def assert_same(case):
    expected = expect(case, interpret)
    for actual, wanted in zip(expect(case, emulate), expected, strict=True):
        assert_equal_values(actual, wanted)


@pytest.mark.parametrize(("shape", "axis", "num_warps", "num_ctas"), SHAPES, ids=str)
def test_sums_along_any_axis(shape, axis, num_warps, num_ctas):
    case = reduce_axis(shape, axis, "add", int32, num_warps)(np.random.default_rng(0))
    assert_same(case._replace(program=dataclasses.replace(case.program, num_ctas=num_ctas)))


def extremes(shape, axis, num_warps):
    """Three values reduced together, of three widths: the extremes, and where the largest is."""

    def make(rng):
        b = Builder("extremes", num_warps=num_warps)
        x = pointer(b, "x")
        outs = [pointer(b, f"out{n}", e) for n, e in enumerate((float32, float32, int64))]
        offsets = b.reshape(b.arange(0, int(np.prod(shape))), shape)
        place = b.cast(offsets, int64)

        def combine(low, high, at, other_low, other_high, other_at):
            is_first = b.and_(b.compare("eq", high, other_high), b.compare("lt", at, other_at))
            keep = b.or_(b.compare("gt", high, other_high), is_first)
            largest = b.select(keep, high, other_high), b.select(keep, at, other_at)
            return [b.binary("min", low, other_low), *largest]

        value = b.load(b.add_pointer(x, offsets))
        results = b.reduce([value, value, place], axis, combine)
        rest = results[0].shape
        places = b.reshape(b.arange(0, int(np.prod(rest))), rest)
        for out, result in zip(outs, results, strict=True):
            b.store(b.add_pointer(out, places), result)
        data = sample(rng, float32, int(np.prod(shape)))
        empty = [np.zeros(int(np.prod(rest)), to_numpy(e)) for e in (float32, float32, int64)]
        return Case(b.finish(), [data, *empty])

    return make


TUPLES = [((2, 64), 1, 4, 1), ((64, 2), 0, 4, 1), ((2, 16, 4), 1, 2, 2), ((4, 256), 1, 2, 4)]


@pytest.mark.parametrize(("shape", "axis", "num_warps", "num_ctas"), TUPLES, ids=str)
def test_tuples_of_different_widths(shape, axis, num_warps, num_ctas):
    case = extremes(shape, axis, num_warps)(np.random.default_rng(3))
    assert_same(case._replace(program=dataclasses.replace(case.program, num_ctas=num_ctas)))


def composed(shape, num_warps):
    """Maps x -> a x + b that commute (a = 1), reduced by composing them, left after right."""

    def make(rng):
        b = Builder("composed", num_warps=num_warps)
        x, out = pointer(b, "x", int32), pointer(b, "out", int32)
        offsets = b.reshape(b.arange(0, int(np.prod(shape))), shape)
        shift = b.load(b.add_pointer(x, offsets))
        scale = b.full_like(shift, 1)

        def combine(a, c, other_a, other_c):
            return [b.mul(a, other_a), b.add(b.mul(other_a, c), other_c)]

        _, total = b.reduce([scale, shift], len(shape) - 1, combine)
        places = b.reshape(b.arange(0, int(np.prod(shape[:-1]))), shape[:-1])
        b.store(b.add_pointer(out, places), total)
        data = sample(rng, int32, int(np.prod(shape)))
        return Case(b.finish(), [data, np.zeros(int(np.prod(shape[:-1])), np.int32)])

    return make


@pytest.mark.parametrize(("shape", "num_warps"), [((4, 64), 2), ((1, 512), 4)], ids=str)
def test_combines_of_no_known_kind(shape, num_warps):
    assert_same(composed(shape, num_warps)(np.random.default_rng(4)))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("shape", "axis", "num_warps"),
    [((65536,), 0, 32), ((16384,), 0, 8), ((256, 64), 0, 8), ((2, 8, 2, 16, 4), 3, 4)],
    ids=str,
)
def test_reductions_assemble_without_spills(shape, axis, num_warps, arch, tmp_path):
    target = cuda_target(arch)
    program = reduce_axis(shape, axis, "add", float32, num_warps)(np.random.default_rng(0)).program
    usage = assemble(to_ptx(emit_nvptx(program, target).llvm, target), arch, tmp_path)
    assert usage.spill_bytes == 0
    assert usage.stack_bytes == 0
