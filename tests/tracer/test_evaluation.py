"""What evaluates, what does not, and the guard against it."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors, events
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


@pytest.fixture
def evaluations():
    seen = []
    with events.listen(lambda e: isinstance(e, events.Evaluation) and seen.append(e.reason)):
        yield seen


def test_recording_evaluates_nothing(evaluations):
    x = lazy(np.ones((2, 3)))
    y = np.exp(x - x.max(axis=1, keepdims=True))
    y += 1
    _ = (y / y.sum(axis=1, keepdims=True)).T[0, ::-1].reshape(-1, 1)
    _ = np.where(y > 1, y, 0), y.shape, y.dtype, len(y), list(y)
    assert evaluations == []


@pytest.mark.parametrize(
    ("reason", "call"),
    [
        ("numpy", lambda x: x.numpy()),
        ("np.asarray", np.asarray),
        ("item", lambda x: x.item()),
        ("tolist", lambda x: x.tolist()),
        ("bool", bool),
        ("float", float),
        ("int", int),
        ("print", str),
        ("repr", repr),
        ("eval", lb.eval),
    ],
)
def test_evaluation_names_its_reason_and_runs_once(reason, call, evaluations):
    x = lazy(2.0) + 1
    call(x)
    call(x)
    assert evaluations == [reason]
    with (
        lb.forbid_eval(),
        pytest.raises(errors.EvaluationForbiddenError, match=rf"'{reason}' at .*\.py:\d+"),
    ):
        call(lazy(2.0) + 1)


def test_several_results_in_one_plan(evaluations):
    x = lazy([1.0, 2.0])
    e = lb.exp(x)
    results = (e, e + 1, e * 2, e.sum(), x)
    lb.eval(*results)
    assert evaluations == ["eval"]
    expected = np.exp([1.0, 2.0])
    for result, value in zip(
        results, (expected, expected + 1, expected * 2, expected.sum(), [1.0, 2.0]), strict=True
    ):
        np.testing.assert_allclose(result.numpy(), value, rtol=1e-15)
    assert evaluations == ["eval"]


def test_forbid_eval_ends_with_its_block():
    x = lazy([1.0]) + 1
    with lb.forbid_eval():
        y = x * 2
    assert y.tolist() == [4.0]


def test_what_is_evaluated_already_may_be_read():
    x = lazy([1.0])
    with lb.forbid_eval():
        assert x.tolist() == [1.0]


def test_loops_that_ask_about_what_they_write_begin_each_step_with_data():
    def relax(u):
        errors = []
        for _ in range(8):
            old = u.copy()
            u[1:-1] = (u[2:] + u[:-2]) / 2
            u *= 0.9
            errors.append(float(abs(u - old).max()))
            sizes.append(len(topological([u.node])) if isinstance(u, lb.Array) else 0)
        return errors

    sizes = []
    host = np.random.default_rng(0).random(20)
    u = lb.asarray(host, device="cpu")
    assert relax(u) == relax(host)
    assert sizes[0] > 1  # one question alone stores nothing else
    assert sizes[2:8] == [1] * 6
    np.testing.assert_array_equal(u.numpy(), host)


def test_written_arrays_that_nobody_asked_about_wait():
    x, y = (lb.asarray(np.ones(3), device="cpu") for _ in range(2))
    for _ in range(3):
        x += 1
        y += 1
        assert (x * 2).sum() > 0
    assert x.node.op is Op.INPUT
    assert y.node.op is not Op.INPUT
    np.testing.assert_array_equal(y.numpy(), [4, 4, 4])
