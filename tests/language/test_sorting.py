"""Sorting, its payloads, and flipping."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, evaluate
from tests.language.rules import FLOATS, NAMES, NUMPY, sample


def ordered(a, descending=False):
    result = np.sort(a.astype(np.float64) if a.dtype == NUMPY["bf16"] else a, axis=-1)
    return (result[..., ::-1] if descending else result).astype(a.dtype)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_sort(name, descending):
    a = sample(name, 32).reshape(2, 16)
    result = evaluate(lambda x: tl.sort(x, descending=descending), a)
    assert result.type == name
    assert_same_bits(result.data, ordered(a, descending))


@pytest.mark.parametrize("size", [1, 2, 16])
def test_sort_of_any_size_on_devices(size):
    a = np.random.default_rng(size).integers(-50, 50, size).astype(np.int32)
    results = evaluate(lambda x: [tl.sort(x), tl.sort(x, 0, True)], a, ways=ALL)
    assert_same_bits(results[0].data, np.sort(a))
    assert_same_bits(results[1].data, np.sort(a)[::-1])


@pytest.mark.parametrize("name", FLOATS)
def test_floats_sort_by_a_total_order(name):
    a = np.array([np.nan, 1.0, -0.0, 0.0, np.inf, -np.inf, np.nan, -1.0], NUMPY[name])
    result = evaluate(tl.sort, a, ways=DEVICES).data.astype(np.float64)
    np.testing.assert_array_equal(result, [-np.inf, -1, 0, 0, 1, np.inf, np.nan, np.nan])
    assert np.signbit(result[2:4]).tolist() == [True, False]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", ["int8", "uint32", "fp32", "bf16", "int1"])
def test_argsort_is_stable(name, descending):
    a = (
        np.random.default_rng(5)
        .integers(0, 2 if name == "int1" else 5, (2, 16))
        .astype(NUMPY[name])
    )
    result = evaluate(lambda x: tl.argsort(x, descending=descending), a)
    keys = a.astype(np.float64)
    expected = np.argsort(-keys if descending else keys, axis=-1, kind="stable")
    assert_same_bits(result.data, expected.astype(np.int32))


def test_payloads_move_as_the_elements_do():
    a = np.random.default_rng(6).normal(size=16).astype(np.float32)
    b, c = np.arange(16, dtype=np.int8), np.arange(16, dtype=np.float64) * 0.5
    results = evaluate(lambda x, y, z: tl.sort(x, payload=(y, z)), a, b, c, ways=DEVICES)
    order = np.argsort(a, kind="stable")
    for result, data in zip(results, (a, b, c), strict=True):
        assert_same_bits(result.data, data[order])


@pytest.mark.parametrize("k", [1, 2, 4, 16])
@pytest.mark.parametrize("name", ["int32", "fp16", "uint8"])
def test_topk(name, k):
    a = sample(name, 32, seed=8).reshape(2, 16)
    result = evaluate(lambda x: tl.topk(x, k), a, ways=DEVICES)
    assert_same_bits(result.data, ordered(a, descending=True)[:, :k])


def test_topk_of_the_smallest():
    a = sample("int32", 32, seed=8).reshape(2, 16)
    result = evaluate(lambda x: tl.topk(x, 4, descending=False), a, ways=DEVICES)
    assert_same_bits(result.data, ordered(a, descending=False)[:, :4])


def test_topk_with_places():
    a = np.random.default_rng(9).permutation(16).astype(np.float32)
    values, places = evaluate(lambda x: tl.topk(x, 4, payload=tl.arange(0, 16)), a, ways=DEVICES)
    assert values.data.tolist() == [15, 14, 13, 12]
    assert a[places.data].tolist() == [15, 14, 13, 12]


@pytest.mark.parametrize("descending", [False, True])
def test_bitonic_merge(descending):
    a = np.array([1, 4, 6, 9, 8, 5, 3, 2], np.int32)
    result = evaluate(lambda x: tl.bitonic_merge(x, descending=descending), a, ways=DEVICES)
    assert_same_bits(result.data, ordered(a, descending))


def test_only_the_last_axis_is_sorted():
    a = np.zeros((4, 4), np.int32)
    for function in (tl.sort, tl.argsort, lambda x, dim: tl.topk(x, 2, dim)):
        with pytest.raises(SemanticError, match="along the last axis, got dim 0 of 2"):
            evaluate(lambda x, f=function: f(x, 0), a)
    with pytest.raises(SemanticError, match="needs 1 to 4 as k, got 5"):
        evaluate(lambda x: tl.topk(x, 5), a)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [None, 0, 1, 2])
def test_flip(name, dim):
    a = sample(name, 32).reshape(2, 4, 4)
    result = evaluate(lambda x: tl.flip(x, dim), a)
    assert_same_bits(result.data, np.flip(a, -1 if dim is None else dim))
