"""Which contractions get a kernel of their own, which are sums, which run on the host."""

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op
from lazyblock.graph.passes.place_contractions import place_contractions
from lazyblock.graph.traverse import topological
from lazyblock.graph.verify import verify_graph
from tests.helpers.graphs import new_input

LARGE = ((2, 30, 20), (2, 20, 40))


def product(left, right, dtype=dtypes.float32, result=None):
    a, b = new_input(left, dtype), new_input(right, dtype)
    return build.contract(a, b, result or dtype)


def place(node, on_host=False):
    (placed,) = place_contractions([node], in_kernels={dtypes.float32}, on_host=on_host)
    verify_graph([placed])
    return placed


def ops_of(node):
    return {n.op for n in topological([node])}


def test_matrices_stay_for_kernels_that_take_them():
    node = product(*LARGE)
    assert place(node) is node


def test_on_the_cpu_numpy_multiplies():
    placed = place(product(*LARGE), on_host=True)
    assert placed.op is Op.HOST and Op.CONTRACT not in ops_of(placed)


@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((1, 1, 900), (1, 900, 700)),
        ((1, 900, 700), (1, 700, 1)),
        ((2, 300, 1), (2, 1, 200)),
        ((5, 4, 4), (5, 4, 4)),
    ],
)
def test_vectors_and_tiny_matrices_are_sums_of_products(left, right, on_host):
    placed = place(product(left, right), on_host)
    assert not ops_of(placed) & {Op.CONTRACT, Op.HOST}


def test_dtypes_without_kernels_are_sums_of_products():
    assert Op.CONTRACT not in ops_of(place(product(*LARGE, dtypes.int64)))
    assert place(product(*LARGE, dtypes.int64), on_host=True).op is Op.HOST


@pytest.mark.parametrize("shapes", [((2, 0, 20), (2, 20, 40)), ((1, 30, 0), (1, 0, 40))])
def test_of_nothing_there_is_zero(shapes):
    placed = place(product(*shapes))
    assert ops_of(placed) == {Op.CONSTANT, Op.VIEW}


@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (dtypes.bool_, dtypes.bool_),
        (dtypes.int8, dtypes.int8),
        (dtypes.uint8, dtypes.int32),
        (dtypes.float16, dtypes.float16),
        (dtypes.float16, dtypes.float32),
        (dtypes.float64, dtypes.float64),
    ],
)
@pytest.mark.parametrize("shapes", [LARGE, ((3, 1, 5), (3, 5, 4)), ((1, 3, 1), (1, 1, 2))])
def test_values_stay(shapes, dtype, result, on_host):
    node = product(*shapes, dtype, result)
    rng = np.random.default_rng(0)
    values = {n: rng.integers(-3, 4, n.shape).astype(n.dtype) for n in node.inputs}
    expected, found = (interpret([n], values)[0] for n in (node, place(node, on_host)))
    assert found.dtype == expected.dtype == result
    np.testing.assert_array_equal(found, expected)
