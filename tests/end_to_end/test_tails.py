"""Reductions of many elements to few: one launch, whose last program combines what all gave."""

import dataclasses

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import pipeline
from lazyblock.fusion.planner import plan_fusion
from lazyblock.graph import build
from lazyblock.graph.ops import Op
from lazyblock.graph.passes import split_reductions
from lazyblock.recently_used import RecentlyUsed
from lazyblock.target import cuda_target
from lazyblock.tiler.lower.group import lower_group
from lazyblock.tiler.lower.tail import join_tails
from tests.helpers.arrays import assert_kernel_count
from tests.helpers.expressions import apply, array, total

TARGET = cuda_target("sm_90a", 132)

EMULATED = ["emulated:sm_80", "emulated:sm_90a"]
GPUS = [*EMULATED, pytest.param("cuda", marks=pytest.mark.gpu)]

EXPRESSIONS = {
    "sum": lambda xp, x: xp.sum(x),
    "mean square": lambda xp, x: xp.mean((x - 1) * (x - 1)),
    "product of signs": lambda xp, x: xp.prod(xp.sign(x) + (x == 0)),
    "largest": lambda xp, x: xp.max(x, axis=0, keepdims=True) * 2,
    "span": lambda xp, x: xp.max(x) - xp.min(x),
    "any": lambda xp, x: xp.any(x > 3),
    "columns": lambda xp, x: xp.sum(x.reshape(-1, 4), axis=0),
}


@pytest.fixture(autouse=True)
def _few_elements_are_many(monkeypatch):
    monkeypatch.setattr(pipeline, "_plans", RecentlyUsed(64))
    monkeypatch.setattr(split_reductions, "_LEAST_ELEMENTS", 1 << 10)
    monkeypatch.setattr(split_reductions, "_LEAST_PIECE", 1 << 8)


def whole_numbers(size):
    """Sums of these are exact."""
    return np.random.default_rng(size).integers(-4, 5, size).astype(np.float32)


@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("size", [4096, 5000, 20_004])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_one_launch(name, size, device):
    x = whole_numbers(size)
    y = EXPRESSIONS[name](lb, lb.asarray(x, device=device))
    if size < 20_004:  # which no number of parts divides
        assert_kernel_count(y, 1)
    expected = EXPRESSIONS[name](np, x.astype(np.float64))
    np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-6)


@pytest.mark.parametrize("device", GPUS)
def test_launch_after_launch(device):
    f = lb.compile(lambda x: lb.sum(x))
    for size in (5000, 5000, 5000, 7000):
        x = whole_numbers(size) + np.float32(size % 7)
        assert f(lb.asarray(x, device=device)).item() == x.sum(dtype=np.float64)


@pytest.mark.parametrize("device", GPUS)
def test_what_needs_the_result_everywhere_is_a_kernel_of_its_own(device):
    x = whole_numbers(5000)
    y = lb.asarray(x, device=device)
    assert_kernel_count((y.sum() + 1) * y, 2)
    np.testing.assert_array_equal(((y.sum() + 1) * y).numpy(), (x.sum() + 1) * x)


@pytest.mark.parametrize("device", GPUS)
def test_results_are_the_same_every_time(device):
    x = np.random.default_rng(3).standard_normal(9001).astype(np.float32)
    y = lb.asarray(x, device=device)
    assert len({(y * n / n).sum().item() for n in (1, 2, 4, 8)}) == 1


def lowered(outputs):
    plan = plan_fusion(outputs)
    stored = frozenset(node for group in plan.groups for node in group.stored)
    return [(group, lower_group(group, stored, TARGET)) for group in plan.groups]


def count_launches(first_grid, size):
    """Of a map, and of the program that sums up what it gives."""
    doubled = apply(Op.ADD, x := array((size,)), x)
    (group, first), *others = lowered([doubled, total(build.reshape(doubled, (1, size)), (1,))])
    first = dataclasses.replace(first, grid=(first_grid, 1, 1))
    return len(join_tails([(group, first), *others], TARGET.warp_size))


def test_only_few_elements_of_launches_that_run_are_tails():
    assert count_launches(8, 4096) == 1
    assert count_launches(0, 4096) == 2  # no program would come last
    assert count_launches(1, 4096) == 2
    assert count_launches(8, 8192) == 2  # 64 for every thread
