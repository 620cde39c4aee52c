"""`lb.call`: block kernels as operations on lazy arrays."""

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock import errors, events

DEVICES = ["cpu", "emulated:sm_90a"]


@lb.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    total = tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, total, mask=mask)


@lb.jit
def split_parts(x_ptr, low_ptr, high_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(low_ptr + i, tl.minimum(x, 0.0), mask=i < n)
    tl.store(high_ptr + i, tl.maximum(x, 0.0), mask=i < n)


class Foreign:
    """An array of another library."""

    dtype = "float32"

    def data_ptr(self):
        raise AssertionError("nobody may look")


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def record_add(x, y, n):
    return lb.call(add, (lb.cdiv(n, 64),), x, y, out=lb.empty_spec(n, np.float32), n=n, BLOCK=64)


@pytest.mark.parametrize("device", DEVICES)
def test_it_runs_in_order_with_the_rest(device):
    a = numbers(100)
    x = lb.asarray(a, device=device)
    launched = []
    with events.listen(lambda e: isinstance(e, events.KernelLaunch) and launched.append(e.kernel)):
        result = record_add(x * 2, x + 1, 100).sum() + 1
        assert launched == []
        value = result.numpy()
    assert launched[-2] == "add"
    np.testing.assert_allclose(value, (a * 2 + a + 1).sum() + 1, rtol=1e-5)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[::-1],
        lambda x: x.reshape(10, 10).T,
        lambda x: lb.broadcast_to(x[:1], (100,)),
        lambda x: x + x[3],
        lambda x: lb.full((100,), 3.0, dtype=np.float32),
        lambda x: lb.arange(100, dtype=np.float32),
        lambda x: x.reshape(10, 10).sum(axis=1).reshape(10, 1) + x.reshape(10, 10),
    ],
)
def test_operands_lie_in_memory_in_c_order(view):
    a = numbers(100)
    x = lb.asarray(a, device="cpu")
    result = record_add(view(x), x, 100)
    expected = np.asarray(view(lb.asarray(a, device="cpu"))).reshape(-1) + a
    np.testing.assert_array_equal(result.numpy(), expected)


def test_results_feed_calls_and_views():
    a = numbers(64)
    x = lb.asarray(a, device="cpu")
    once = record_add(x, x, 64)
    twice = record_add(once, once.reshape(8, 8).T, 64).reshape(8, 8)
    expected = a * 2 + (a * 2).reshape(8, 8).T.reshape(-1)
    np.testing.assert_array_equal(twice[1:].numpy(), expected.reshape(8, 8)[1:])


def test_several_results_come_from_one_launch():
    a = numbers(100)
    x = lb.asarray(a, device="cpu")
    spec = lb.empty_spec((100,), np.float32)
    low, high = lb.call(split_parts, (2,), x, out=[spec, spec], n=100, BLOCK=64)
    launched = []
    with events.listen(lambda e: isinstance(e, events.KernelLaunch) and launched.append(e.kernel)):
        lb.eval(low, high)
    assert launched == ["split_parts"]
    np.testing.assert_array_equal(low.numpy(), np.minimum(a, 0))
    np.testing.assert_array_equal(high.numpy(), np.maximum(a, 0))


def test_a_result_nobody_asks_for_is_made_and_dropped():
    a = numbers(100)
    spec = lb.empty_spec((100,), np.float32)
    both = {"low_ptr": spec, "high_ptr": spec}
    results = lb.call(split_parts, (2,), lb.asarray(a, device="cpu"), out=both, n=100, BLOCK=64)
    np.testing.assert_array_equal(results["high_ptr"].numpy(), np.maximum(a, 0))


def test_the_operands_are_those_of_the_recording():
    a = numbers(64)
    x = lb.asarray(a, device="cpu")
    result = record_add(x, a, 64)
    x += 1
    a[:] = 0
    np.testing.assert_array_equal(result.numpy(), numbers(64) * 2)


def test_equal_calls_run_once_and_new_data_plans_nothing():
    x = lb.asarray(numbers(64), device="cpu")
    first, second = record_add(x, x, 64), record_add(x, x, 64)
    assert first.node is second.node
    compiled = lb.compile(lambda a: record_add(a, a + 1, 64))
    for seed in range(3):
        a = np.random.default_rng(seed).standard_normal(64).astype(np.float32)
        np.testing.assert_array_equal(compiled(a).numpy(), a + (a + 1))
    assert [kernel.name for kernel in compiled.kernels][-1] == "add"


def test_the_graph_interpreter_knows_calls():
    from lazyblock.graph.interpret import interpret

    a = numbers(64)
    x = lb.asarray(a, device="cpu")
    (result,) = interpret([record_add(x, x, 64).node], {x.node: a})
    np.testing.assert_array_equal(result, a + a)


def test_explain_tells_why_nothing_fuses_into_it():
    x = lb.asarray(numbers(64), device="cpu")
    assert "is the result of a kernel called as it is" in record_add(x * 2, x, 64).explain()


def test_mistakes_are_told_when_recorded():
    x = lb.asarray(numbers(64), device="cpu")
    spec = lb.empty_spec(64, np.float32)
    with pytest.raises(errors.LaunchError, match="writes into argument 'out_ptr'"):
        lb.call(add, (1,), x, out={"y_ptr": spec}, out_ptr=x, n=64, BLOCK=64)
    with pytest.raises(errors.DTypeError, match=r"'out' takes what lb\.empty_spec"):
        lb.call(add, (1,), x, x, out=x, n=64, BLOCK=64)
    with pytest.raises(errors.DTypeError, match=r"cannot take a Foreign.*\n.*lb\.asarray"):
        lb.call(add, (1,), Foreign(), x, out=spec, n=64, BLOCK=64)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'n'"):
        lb.call(add, (1,), x, x, out=spec, BLOCK=64)
