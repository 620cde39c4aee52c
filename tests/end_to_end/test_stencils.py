"""Stencils: neighbours in one array, which a thread loads once however often it needs them."""

import re

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes, pipeline
from lazyblock.graph import build, index_map
from lazyblock.graph.ops import Op
from lazyblock.target import cuda_target
from tests.helpers.cpu import assert_same_bits
from tests.helpers.expressions import apply, array


def laplacian(x):
    across = x[1:-1, :-2] + x[1:-1, 2:]
    return across + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1]


def diagonal(x):
    return x[2:, 2:] - x[:-2, :-2] + x[2:, :-2] - x[:-2, 2:]


def second_difference(x):
    return x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]


def strided(x):
    return x[::2, 1::3] + x[::2, ::3][:, : x[:, 1::3].shape[1]]


def reversed_neighbours(x):
    return x[::-1][1:] - x[::-1][:-1]


def far_apart(x):
    half = x.shape[1] // 2
    return x[:, :half] * x[:, x.shape[1] - half :]


DEVICES = ["cpu", "emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)]
STENCILS = [laplacian, diagonal, second_difference, strided, reversed_neighbours, far_apart]


@pytest.mark.parametrize("shape", [(3, 3), (5, 517), (70, 64), (33, 130)], ids=str)
@pytest.mark.parametrize(
    "device", ["cpu", "emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)]
)
@pytest.mark.parametrize("stencil", STENCILS)
def test_values(stencil, device, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    assert_same_bits(stencil(lb.asarray(x, device=device)).numpy(), stencil(x))


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_neighbours(axis):
    x = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    for device in ("cpu", "emulated:sm_90a"):
        y = lb.asarray(x, device=device)
        actual = (y[1:, 1:] * y[:-1, :-1]).sum(axis=axis).numpy()
        np.testing.assert_allclose(actual, (x[1:, 1:] * x[:-1, :-1]).sum(axis), 1e-5, 1e-5)


def test_taps_of_a_thread_share_loads():
    x = array((1026, 1026), dtypes.float32)

    def tap(row, column):
        return build.view(x, index_map.slices([row, column], [1, 1]), (1024, 1024))

    taps = [tap(*place) for place in ((1, 0), (1, 2), (0, 1), (2, 1), (1, 1))]
    total = taps[0]
    for other in taps[1:]:
        total = apply(Op.ADD, total, other)
    _, _, (kernel,) = pipeline.compile_for([total], cuda_target("sm_90a"))
    assert len(re.findall(r"ptr", kernel.stages["block"].split("{")[0])) == 2  # one in, one out
    whole = kernel.stages["ptx"].split("ld.global", 1)[1].split("st.global")[0]
    elements = {"": 1, "v2.": 2, "v4.": 4}
    loads = ["", *re.findall(r"ld\.global\.nc\.(v2\.|v4\.|)b32", whole)]
    assert sum(elements[width] for width in loads) <= 40  # of 80 that 16 results add up
