"""Lowered groups mean what their nodes mean: block interpreter = graph interpreter."""

import numpy as np
import pytest

from lazyblock import dtypes, pipeline
from lazyblock.fusion.planner import plan_fusion
from lazyblock.graph import build, index_map
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.target import Target, cuda_target
from lazyblock.tiler.lower.group import lower_group
from lazyblock.tiler.printer import print_program
from tests.helpers.expressions import apply, array, highest, scalar, softmax, standardise, total
from tests.helpers.lowering import random_inputs, run_blocks

TARGETS = [Target("cpu", "generic", vector_bytes=32, num_units=2), cuda_target("sm_90a")]
SHAPES = [(4, 6), (1, 1), (5, 1), (1, 7), (33, 129), (0, 4), (3, 0), (3, 20000), (300, 7)]


def assert_lowers(outputs, target):
    inputs = random_inputs(outputs, np.random.default_rng(0))
    expected = interpret(outputs, inputs)
    for result, reference in zip(run_blocks(outputs, inputs, target), expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_columns_and_maps(shape, target):
    x = array(shape)
    if shape[1]:
        assert_lowers([softmax(x), highest(x, (1,))], target)
    for axes in ((0,), (1,), (0, 1)):
        assert_lowers([standardise(x, axes), total(x, axes)], target)
    turned = build.permute(array(shape[::-1]), (1, 0))
    assert_lowers([apply(Op.EXP, x), apply(Op.MULTIPLY, x, turned)], target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (1, 3), (0, 1, 3), (0, 1, 2, 3)])
def test_any_axes_of_four(axes, target):
    x = array((3, 5, 7, 2))
    assert_lowers([standardise(x, axes), build.reduce(ReduceKind.SUM, x, axes)], target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("size", [524288, 524287])
def test_long_sums_are_split(size, target):
    assert_lowers([build.reduce(ReduceKind.SUM, array((size,)), (0,))], target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
def test_stencils_flips_steps_and_iota(target):
    x = array((40, 50))
    inner = [build.view(x, index_map.slices((i, j), (1, 1)), (38, 48)) for i, j in [(0, 1), (2, 1)]]
    flipped = build.view(x, index_map.slices((39, 48), (-1, -2)), (40, 25))
    count = build.broadcast_to(build.cast(build.iota(25, dtypes.int64), dtypes.float32), (40, 25))
    assert_lowers([apply(Op.ADD, *inner), apply(Op.ADD, flipped, count)], target)


def lower(expression, target=TARGETS[0]):
    (group,) = plan_fusion([expression]).groups
    return lower_group(group, frozenset(group.stored), target)


def test_new_sizes_are_not_new_programs():
    def text(shape, value):
        return print_program(lower(apply(Op.ADD, array(shape), scalar(value))).program)

    assert text((100, 50), 1.0) == text((300, 70), 2.0)
    assert text((10_000,), 1.0) == text((20_000,), 1.0)


def test_large_offsets_are_computed_in_64_bits():
    small, large = (
        lower(apply(Op.NEGATIVE, array((n,), dtypes.int8))).program for n in (2**20, 2**31 + 64)
    )
    assert "i64" not in print_program(small)
    assert "i64" in print_program(large)


def test_a_kernel_is_named_after_its_content():
    assert lower(softmax(array((4, 6)))).program.name == "fused_max_subtract_exp_sum_f32"


def test_every_root_of_a_row_is_loaded_once():
    text = print_program(lower(softmax(array((64, 1000)))).program)
    assert text.count("= load(") == 1 or text.count(" load") == 1


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_standardised_arrays_are_one_kernel(axes, target):
    _, lowered, _ = pipeline.compile_for([standardise(array((2048, 4096)), axes)], target)
    assert len(lowered) == 1


def test_deviations_of_columns_are_not_computed_for_every_element():
    outputs = [standardise(array((16384, 4096)), (0,))]
    _, lowered, _ = pipeline.compile_for(outputs, cuda_target("sm_90a"))
    *_, last = lowered
    assert "sqrt" not in print_program(last.program)


@pytest.mark.parametrize(
    ("parts", "read"),
    [
        ([(0, 4), (4, 4)], 8),  # halves
        ([(0, 6), (1, 6), (2, 6)], 8),  # neighbours
        ([(0, 3), (0, 3)], 3),
    ],
)
def test_bytes_are_those_of_elements_read_once(parts, read):
    x = array((8, 5))
    slices = [build.view(x, index_map.slices((start, 0), (1, 1)), (n, 5)) for start, n in parts]
    total_of = slices[0]
    for part in slices[1:]:
        total_of = apply(Op.ADD, total_of, part)
    assert lower(total_of).nbytes == 4 * 5 * (read + parts[0][1])


def pairs(rows, columns, dtype=dtypes.float32):
    """x[:, None] - y[None, :]."""
    shape = (rows, columns)
    x, y = array((rows, 1), dtype), array((1, columns), dtype)
    return apply(Op.SUBTRACT, *(build.broadcast_to(side, shape) for side in (x, y)))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("axes", [(0,), (1,)])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (33, 130), (129, 129), (0, 3), (3, 0)], ids=str)
def test_functions_of_all_pairs(shape, axes, target):
    distance = apply(Op.ABSOLUTE, pairs(*shape))
    assert_lowers([total(distance, axes), total(apply(Op.SQRT, distance), axes)], target)
    if shape[axes[0]]:
        assert_lowers([softmax(distance, axes)], target)


@pytest.mark.parametrize(
    ("rows", "dtype", "tile"),
    [
        (65536, dtypes.float32, "<32x32xf32>"),
        (2048, dtypes.float32, "<8x32xf32>"),  # a program for every unit
        (65536, dtypes.float64, "<32x32xf64>"),
    ],
)
def test_a_tile_of_pairs_holds_several_rows(rows, dtype, tile):
    kernel = lower(total(pairs(rows, 65536, dtype), (1,)), TARGETS[1])
    assert tile in print_program(kernel.program)


def test_few_columns_are_one_tile():
    kernel = lower(total(pairs(65536, 100), (1,)), TARGETS[1])
    assert "<128x32xf32>" in print_program(kernel.program)


def test_what_is_read_at_every_pair_keeps_whole_rows():
    shape = (4096, 1024)
    product = apply(Op.MULTIPLY, array(shape), pairs(*shape))
    text = print_program(lower(total(product, (1,)), TARGETS[1]).program)
    assert "<2x256xf32>" in text
    assert "for %" not in text


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("axis", [0, 1])
def test_reads_outside_of_arrays_are_masked(axis, target):
    x = array((9, 70))
    padded = build.pad(apply(Op.EXP, x), axis, 2, 3, 1.0)
    turned = build.pad(build.permute(array((70, 9)), (1, 0)), axis, 2, 3, 0.0)
    assert_lowers([apply(Op.ADD, padded, turned), total(padded, (axis,))], target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((3, 70), 1), ((600, 3), 0), ((2, 0), 1), ((1, 5), 0)])
def test_scans_start_where_they_are_told(shape, axis, reverse, target):
    x, start = array(shape), array(shape[:axis] + shape[axis + 1 :])
    scanned = build.scan(ReduceKind.SUM, x, axis, reverse, start)
    highest_so_far = build.scan(ReduceKind.MAX, scanned, axis, reverse)
    assert_lowers([apply(Op.SUBTRACT, highest_so_far, scanned), total(x, (axis,))], target)
