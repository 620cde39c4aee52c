"""Large expressions: right, and planned with work that grows with their size alone.

Work is counted (steps of walks, kernels made), never timed.
"""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import pipeline
from lazyblock.backend.llvm.optimize import host_target
from lazyblock.fusion import cost, planner, reads
from lazyblock.recently_used import RecentlyUsed


def chain(x, size):
    y = x
    for n in range(size):
        y = y * x if n % 2 else y + x
    return y


def reversals(x, size):
    for _ in range(size // 2):
        x = x[::-1] * 0.5 + x
    return x


def centred(x, size):
    for _ in range(size // 4):
        x = x - x.mean()
    return x


def pairs(x, size):
    y = x * 0.5
    for _ in range(size // 4):
        x, y = (x + y) * 0.5, (x - y) * 0.5
    return x + y


def smoothed(x, size):
    x = x.copy()
    for _ in range(size // 5):
        x[1:-1] = (x[2:] + x[:-2]) * 0.5
    return x


KINDS = [chain, reversals, centred, pairs, smoothed]


def values():
    return np.linspace(0.25, 0.75, 16)


def array():
    return lb.asarray(values(), device="cpu")


@pytest.fixture
def small_kernels(monkeypatch):
    """Many kernels of few operations."""
    monkeypatch.setattr(cost, "MOST_CODE", 50)
    monkeypatch.setattr(pipeline, "_plans", RecentlyUsed(100))


def test_a_chain_of_20000_operations():
    y, z = array(), values()
    x, expected = y, z
    with lb.config.scope(verify=False):
        for _ in range(10_000):
            y, z = (y + x) * 0.5, (z + expected) * 0.5
        assert np.array_equal(y.numpy(), z)


def test_a_sum_of_10000_arrays():
    total, expected = 0.0, 0.0
    with lb.config.scope(verify=False):
        for n in range(10_000):
            total = total + lb.asarray(values() * n, device="cpu")
            expected = expected + values() * n
        assert np.array_equal(total.numpy(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_numpys_and_memory_is_reused(kind, small_kernels):
    found = kind(array(), 800)
    np.testing.assert_allclose(found.numpy(), kind(values(), 800), rtol=1e-12, atol=1e-12)
    executable = found.node.attrs.maker.executable
    held, most = 0, 0
    for step in executable.steps:
        held += len(step.allocates)
        most = max(most, held)
        held -= len(step.frees)
    assert held == len(executable.results)
    assert len(executable.steps) > 5
    assert most <= 12


@pytest.mark.parametrize("kind", KINDS)
def test_planning_takes_steps_in_proportion_to_the_size(kind, small_kernels, monkeypatch):
    steps = 0

    def counting(function):
        def counted(*arguments):
            nonlocal steps
            for step in function(*arguments):
                steps += 1
                yield step

        return counted

    def count(size):
        nonlocal steps
        outputs = pipeline._simplify([kind(array(), size).node], host_target())
        steps = 0
        planner.plan_fusion(outputs)
        return steps

    monkeypatch.setattr(planner, "walk_inlined", counting(planner.walk_inlined))
    monkeypatch.setattr(planner, "walk", counting(reads.walk))
    few, many = count(400), count(1600)
    assert few < many < 5 * few


@pytest.mark.parametrize("kind", KINDS)
def test_groups_of_one_structure_share_a_program(kind, small_kernels):
    outputs = pipeline._simplify([kind(array(), 1600).node], host_target())
    steps = pipeline._lower_groups(planner.plan_fusion(outputs).groups, host_target())
    assert len(steps) >= 10
    assert len({lowered.program for _, lowered in steps}) <= 12
