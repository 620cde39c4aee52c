"""Scans of long rows in pieces: the same values, three passes, and where it does not pay."""

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.passes import GRAPH_PASSES, split_scans
from lazyblock.graph.passes.split_scans import split_scans as run
from lazyblock.target import cuda_target
from tests.helpers.graphs import assert_same_meaning, count_op, new_input
from tests.helpers.lowering import run_blocks

KINDS = [ReduceKind.SUM, ReduceKind.PROD, ReduceKind.MAX, ReduceKind.MIN]
NUM_PROGRAMS = 64


@pytest.fixture
def small(monkeypatch):
    """Split what is short enough to look at."""
    settings = {"SHORT_ROW": 99, "SHORT_COLUMN": 99, "PIECES": (16, 32), "STEP": 8, "COLUMNS": 8}
    for name, value in settings.items():
        monkeypatch.setattr(split_scans, f"_{name}", value)


def scan_of(shape, axis, kind=ReduceKind.SUM, reverse=False, dtype=dtypes.float64):
    return build.scan(kind, new_input(shape, dtype), axis, reverse)


def values(node, rng):
    """Numbers whose sums and products are exact in any order."""
    return {node.inputs[0]: rng.choice([-1.0, 1.0, 2.0], node.shape).astype(node.dtype)}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
@pytest.mark.parametrize(
    ("shape", "axis"), [((256,), 0), ((131,), 0), ((2, 128), 1), ((129, 3), 0), ((1, 133, 2), 1)]
)
def test_pieces_combine_to_the_whole(small, shape, axis, kind, reverse):
    node = scan_of(shape, axis, kind, reverse)
    (cut,) = outputs = run([node], NUM_PROGRAMS)
    assert (count_op(cut, Op.REDUCE), count_op(cut, Op.SCAN)) == (1, 2)
    inputs = values(node, np.random.default_rng(0))
    assert_same_meaning([node], outputs, inputs)
    for tidy in GRAPH_PASSES:
        outputs = tidy(outputs)
    assert_same_meaning([node], outputs, inputs)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((300,), 0), ((256,), 0), ((2, 131), 1), ((139, 2), 0)]
)
def test_pieces_in_block_programs(small, shape, axis, reverse):
    node = scan_of(shape, axis, reverse=reverse, dtype=dtypes.float32)
    assert run([node], NUM_PROGRAMS)[0] is not node
    inputs = values(node, np.random.default_rng(1))
    (actual,) = run_blocks([node], inputs, cuda_target("sm_90a"), NUM_PROGRAMS)
    flipped = np.flip(inputs[node.inputs[0]], axis) if reverse else inputs[node.inputs[0]]
    expected = np.cumsum(flipped, axis)
    np.testing.assert_array_equal(actual, np.flip(expected, axis) if reverse else expected)


def test_what_is_short_or_has_many_rows_stays(small):
    for shape, axis in (((96,), 0), ((99, 5), 0), ((17, 256), 1), ((131, 200), 0), ((0, 131), 1)):
        node = scan_of(shape, axis)
        assert run([node], NUM_PROGRAMS) == [node]
    node = scan_of((1 << 20,), 0)
    assert run([node], 32) == [node]


def test_a_long_row_of_a_gpu_is_cut_without_padding():
    (cut,) = run([scan_of((1 << 20,), 0)], 1056)
    assert count_op(cut, Op.WHERE) == 1  # for the first piece
