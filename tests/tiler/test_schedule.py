"""How tiles are cut by default: rows that registers hold."""

import pytest

from lazyblock import dtypes, pipeline
from lazyblock.target import cuda_target
from lazyblock.tiler.row_cut import Row, cut_row
from tests.helpers.expressions import array, softmax, standardise, total
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


def test_an_empty_row_is_not_cut():
    assert cut_row(Row(0, 4, 4, False), cuda_target("sm_90a")) is None
