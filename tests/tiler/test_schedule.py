"""How tiles are cut by default: rows that clusters hold."""

import pytest

from lazyblock import dtypes, pipeline
from lazyblock.target import cuda_target
from tests.helpers.expressions import array, softmax, standardise, total
from tests.helpers.ptxas import assemble


def schedule(outputs, arch="sm_90a"):
    """(CTAs, warps of each, loops over the row) of the only kernel."""
    _, (lowered,), _ = pipeline.compile_for(outputs, cuda_target(arch))
    program = lowered.program
    loops = sum(op.name == "for" for op in program.body.ops)
    return program.num_ctas, program.num_warps, loops


@pytest.mark.parametrize(
    ("columns", "num_ctas", "num_warps"),
    [(8192, 1, 8), (8193, 2, 8), (16384, 2, 8), (32768, 4, 8), (50257, 8, 8), (131072, 8, 16)],
)
def test_long_rows_spread_over_a_cluster(columns, num_ctas, num_warps):
    assert schedule([softmax(array((64, columns)))]) == (num_ctas, num_warps, 0)


@pytest.mark.parametrize("columns", [16384, 32768])
def test_many_rows_need_no_cluster(columns):
    assert schedule([softmax(array((4096, columns)))]) == (1, columns // 1024, 0)


def test_many_rows_that_no_cta_holds_do():
    assert schedule([softmax(array((4096, 50257)))]) == (8, 8, 0)


def test_wide_elements_need_more_ctas():
    assert schedule([softmax(array((64, 8192), dtypes.float64))]) == (2, 8, 0)


def test_targets_without_clusters_keep_a_row_in_one_cta():
    assert schedule([softmax(array((64, 16384)))], "sm_80") == (1, 16, 0)


def test_rows_too_long_for_a_cluster_are_walked_in_loops():
    assert schedule([softmax(array((64, 131073)))]) == (1, 16, 2)


def test_what_walks_a_row_once_needs_no_cluster():
    assert schedule([total(array((1024, 65536)), (1,))]) == (1, 16, 1)
    assert schedule([standardise(array((64, 65536)), (1,))])[0] == 8


@pytest.mark.parametrize(
    ("rows", "columns", "registers"), [(4096, 32768, 64), (64, 32768, 64), (64, 50257, 128)]
)
def test_long_rows_do_not_spill(rows, columns, registers, tmp_path):
    outputs = [softmax(array((rows, columns)))]
    _, _, (kernel,) = pipeline.compile_for(outputs, cuda_target("sm_90a"))
    usage = assemble(kernel.stages["ptx"], "sm_90a", tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0
    assert usage.registers <= registers
