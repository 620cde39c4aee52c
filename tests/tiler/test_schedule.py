"""How tiles are cut by default: rows that registers hold."""

import functools
from operator import add

import pytest

import lazyblock as lb
from lazyblock import dtypes, pipeline
from lazyblock.graph import build
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.target import cuda_target
from lazyblock.tiler.row_cut import Row, cut_row
from lazyblock.tiler.schedule import default_schedule
from tests.helpers.expressions import apply, array, scalar, softmax, standardise, total
from tests.helpers.ptxas import assemble


def schedule(outputs, arch="sm_90a"):
    """(CTAs, warps of each, loops over the row) of the only kernel."""
    _, (lowered,), _ = pipeline.compile_for(outputs, cuda_target(arch))
    program = lowered.program
    loops = sum(op.name == "for" for op in program.body.ops)
    return program.num_ctas, program.num_warps, loops


@pytest.mark.parametrize(
    ("rows", "columns", "num_ctas", "num_warps"),
    [
        (64, 8192, 8, 8),
        (64, 32768, 8, 8),
        (64, 131072, 8, 16),
        (4096, 1000, 1, 4),
        (4096, 5120, 1, 8),
        (4096, 16384, 1, 16),
        (4096, 20000, 1, 16),
        (4096, 32768, 4, 8),
        (4096, 50257, 4, 8),
        (4096, 131072, 8, 16),
    ],
)
def test_registers_hold_rows(rows, columns, num_ctas, num_warps):
    assert schedule([softmax(array((rows, columns)))]) == (num_ctas, num_warps, 0)


def test_wide_elements_need_more_threads():
    assert schedule([softmax(array((4096, 8192), dtypes.float64))]) == (1, 16, 0)
    assert schedule([softmax(array((4096, 16384), dtypes.float64))]) == (4, 8, 0)


def test_targets_without_clusters_keep_a_row_in_one_cta():
    assert schedule([softmax(array((64, 16384)))], "sm_80") == (1, 32, 0)
    assert schedule([softmax(array((64, 50257)))], "sm_80") == (1, 16, 2)


def test_rows_too_long_for_a_cluster_are_walked_in_loops():
    assert schedule([softmax(array((64, 400_001)))]) == (1, 16, 2)


def test_what_walks_a_row_once_needs_no_cluster():
    assert schedule([total(array((1024, 65536)), (1,))]) == (1, 16, 1)
    assert schedule([standardise(array((64, 65536)), (1,))])[0] == 8


@pytest.mark.parametrize("columns", [100, 1000, 5120, 11008, 20000, 32000, 32768, 50257, 131072])
@pytest.mark.parametrize("rows", [64, 4096])
def test_rows_hardly_spill(rows, columns, tmp_path):
    outputs = [softmax(array((rows, columns)))]
    _, _, (kernel,) = pipeline.compile_for(outputs, cuda_target("sm_90a"))
    usage = assemble(kernel.stages["ptx"], "sm_90a", tmp_path)
    assert usage.spill_bytes <= 24


@pytest.mark.parametrize("extent", [*range(1, 70), 100, 300, 1000, 5120, 11008, 50257, 131072])
@pytest.mark.parametrize("nbytes", [1, 2, 4, 8])
@pytest.mark.parametrize("num_rows", [4, 100, 10_000])
def test_pieces_hold_the_row_and_no_more_of_them_than_needed(extent, nbytes, num_rows):
    cut = cut_row(Row(extent, max(nbytes, 4), nbytes, num_rows), cuda_target("sm_90a"))
    assert cut.block * (cut.pieces - 1) < extent <= cut.block * cut.pieces
    assert cut.cta_threads <= 1024
    assert cut.num_ctas * cut.cta_threads == cut.num_threads * cut.rows


def tiles(outputs):
    """Block extents, per dimension, of the only kernel."""
    found = []

    def record(*arguments):
        found.append(default_schedule(*arguments))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lazyblock.tiler.lower.group.default_schedule", record)
        pipeline.compile_for(outputs, cuda_target("sm_90a"))
    (schedule,) = found
    return schedule.blocks


@pytest.mark.parametrize(("columns", "blocks"), [(3, (512, 4)), (10, (128, 16)), (32, (64, 32))])
def test_a_warp_takes_many_short_rows(columns, blocks):
    assert tiles([total(array((100_000, columns)), (1,))]) == blocks


@pytest.mark.parametrize(
    ("rows", "blocks"),
    [(100, (1, 128, 32)), (256, (1, 256, 16)), (512, (1, 512, 16)), (4096, (1, 4096, 8))],
)
def test_registers_hold_columns_that_are_walked_along_twice(rows, blocks):
    assert tiles([softmax(array((64, rows, 2048)))]) == blocks


def test_columns_walked_along_once_are_not_held():
    assert tiles([total(array((64, 4096, 2048)), (1,))]) == (1, 256, 32)


def distances(points, others, coordinates):
    shape = (points, others, coordinates)
    x = build.broadcast_to(
        build.reshape(array((points, coordinates)), (points, 1, coordinates)), shape
    )
    y = build.broadcast_to(array((others, coordinates)), shape)
    apart = apply(Op.SUBTRACT, x, y)
    return build.reduce(ReduceKind.SUM, apply(Op.MULTIPLY, apart, apart), (2,))


@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [
        ((4096, 4096, 3), (32, 64, 1)),
        ((4096, 4096, 64), (8, 128, 4)),
        ((100_000, 10, 64), (64, 16, 4)),
        ((10, 100_000, 2), (16, 64, 1)),
    ],
)
def test_distances_come_in_large_tiles(sizes, blocks):
    assert tiles([distances(*sizes)]) == blocks


@pytest.mark.parametrize(
    ("dtype", "block"), [(dtypes.float32, 512), (dtypes.bfloat16, 1024), (dtypes.uint8, 2048)]
)
def test_threads_of_a_map_move_enough_of_every_array(dtype, block):
    x = build.cast(array((1 << 20,), dtype), dtypes.float32)
    assert tiles([apply(Op.ADD, x, scalar(1.0))]) == (block,)


def taps(side, reach, corners):
    """A sum over neighbours up to `reach` away, of all of them or of those in line."""
    x = lb.empty((side, side), "float32", device="emulated:sm_90a")
    inside, around = side - 2 * reach, range(2 * reach + 1)
    places = [(i, j) for i in around for j in around if corners or reach in (i, j)]
    return [functools.reduce(add, [x[i : i + inside, j : j + inside] for i, j in places]).node]


@pytest.mark.parametrize(
    ("side", "corners", "blocks"),
    [
        (1664, False, (2, 256)),
        (1638, False, (8, 128)),
        (1024, False, (8, 128)),
        (1664, True, (2, 256)),
        (1000, True, (2, 256)),
    ],
)
def test_stencils_are_wide_where_that_was_faster(side, corners, blocks):
    assert tiles(taps(side, 1, corners)) == blocks


def test_blocks_of_maps_hardly_reach_past_the_end():
    x = lb.empty((768, 800), "float32", device="emulated:sm_90a")
    assert tiles([(x[:, :768] * 2).node]) == (2, 256)


def test_an_empty_row_is_not_cut():
    assert cut_row(Row(0, 4, 4, False), cuda_target("sm_90a")) is None
