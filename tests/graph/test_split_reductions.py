"""Which reductions are cut in two so that all units share them."""

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.passes.split_reductions import split_reductions
from lazyblock.graph.traverse import topological
from lazyblock.tracer.folds import variance
from tests.helpers.expressions import (
    apply,
    array,
    highest,
    mean,
    scalar,
    softmax,
    standardise,
    total,
)

PROGRAMS = 1056  # eight for each of 132 units


def is_cut(*outputs, num_programs=PROGRAMS):
    return num_reductions(split_reductions(outputs, num_programs)) > num_reductions(outputs)


def num_reductions(outputs):
    return sum(node.op is Op.REDUCE for node in topological(outputs))


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        ((1 << 20,), (0,), True),
        ((1000, 1 << 12), (0,), True),
        ((1 << 20, 16), (0,), True),
        ((1 << 12, 1 << 14), (0,), False),  # 512 programs of 32 columns
        ((1 << 14, 1 << 12), (1,), False),
        ((8, 1 << 17), (1,), True),
        ((100,), (0,), False),
    ],
)
def test_few_results_of_many_elements_are_cut(shape, axes, expected):
    assert is_cut(build.reduce(ReduceKind.SUM, array(shape), axes)) is expected


@pytest.mark.parametrize("shape", [(1 << 11, 1 << 12), (1 << 14, 512)])
def test_chains_along_columns_stay_whole(shape):
    assert not is_cut(standardise(array(shape), (0,)))


@pytest.mark.parametrize(
    ("chain", "shape", "axes", "expected"),
    [
        (standardise, (1 << 14, 1 << 12), (0,), True),
        (standardise, (1 << 12, 1 << 14), (0,), False),  # programs enough
        (softmax, (1 << 14, 1 << 12), (0,), False),  # exponentials need the maximum first
        (standardise, (100, 1 << 17), (1,), False),  # rows that registers hold
        (standardise, (100, 1 << 20), (1,), True),
    ],
)
def test_what_no_cache_holds_is_cut_if_one_walk_finds_all(chain, shape, axes, expected):
    assert is_cut(chain(array(shape), axes)) is expected


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((1 << 19,), (0,)), (((1 << 18) + 77,), (0,)), ((17, 3, 6001), (0, 2)), ((1 << 15, 9), (0,))],
)
@pytest.mark.parametrize("offset", [0, 1e4])
def test_a_variance_in_pieces_reads_its_operand_once(shape, axes, offset):
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32) + np.float32(offset)
    x = array(values.shape)
    outputs = [variance(x, axes, None, 0, keepdims=True)]
    order = topological(split_reductions(outputs, PROGRAMS))
    large = [n for n in order if n.op is Op.REDUCE and n.inputs[0].size > values.size // 2]
    assert len({n.inputs[0].shape for n in large}) == 1
    assert all(n.size > outputs[0].size for n in large)
    (result,) = interpret(split_reductions(outputs, PROGRAMS), {x: values})
    expected = values.astype(np.float64).var(axes, keepdims=True)
    np.testing.assert_allclose(result, expected, rtol=3e-6)


def test_chains_along_rows_stay_whole_with_what_walks_along():
    x = array((81, 50257))
    exponentials = apply(Op.EXP, apply(Op.SUBTRACT, x, highest(x, (1,))))
    outputs = [total(exponentials, (1,)), total(apply(Op.MULTIPLY, x, x), (1,))]
    assert not is_cut(*outputs)
    assert is_cut(outputs[1])


@pytest.mark.parametrize("num_programs", [8, PROGRAMS])
def test_a_chain_that_is_one_program_is_cut(num_programs):
    assert is_cut(standardise(array((1 << 20,)), (0,)), num_programs=num_programs)
    assert is_cut(softmax(array((1, 1 << 20))), num_programs=num_programs)


def test_uncut_graphs_stay_the_same_objects():
    x = array((64, 64))
    outputs = [apply(Op.ADD, mean(x, (1,)), scalar(1.0))]
    assert split_reductions(outputs, PROGRAMS)[0] is outputs[0]


def test_sums_of_halves_are_not_taken_about_means_of_pieces():
    x = array((1 << 28,), dtypes.float16)  # in pieces that a half cannot count
    squares = apply(Op.MULTIPLY, *2 * [apply(Op.SUBTRACT, x, mean(x, (0,)))])
    order = topological(split_reductions([total(squares, (0,))], PROGRAMS))
    counts = [build.constant_value(n) for n in order if n.op is Op.CONSTANT]
    assert all(np.isfinite(count) for count in counts)
