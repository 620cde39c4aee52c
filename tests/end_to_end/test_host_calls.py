"""NumPy functions as operations on lazy arrays: what they see, when they run, what is told."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors, events
from lazyblock.fusion.plan import Reason
from lazyblock.fusion.planner import plan_fusion
from lazyblock.tracer.host_calls import host_call
from tests.helpers.arrays import interpret_array

DEVICES = ["cpu", "emulated:sm_90a"]
F32 = np.dtype(np.float32)


def sort_columns(a, *, descending=False):
    return np.sort(-a if descending else a, axis=0)


def smallest_and_largest(a, b):
    return np.minimum(a, b), np.maximum(a, b)


def count_bytes(a):
    return np.asarray([a.nbytes, a.flags.c_contiguous, a.flags.writeable])


def first_row(a):
    return a[0]


def write(a):
    a[...] = 0
    return a


def fail(a):
    raise np.linalg.LinAlgError("Singular matrix")


def count_down():
    return np.arange(5, 0, -1)


def show_type(a, *, value):
    return np.asarray([isinstance(value, bool), isinstance(value, float)])


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def sorted_columns(x, **settings):
    (result,) = host_call(sort_columns, [x], [(x.shape, x.dtype)], **settings)
    return result


@pytest.mark.parametrize("device", DEVICES)
def test_it_runs_between_kernels(device):
    a = numbers(7, 5)
    x = lb.asarray(a, device=device)
    told = []
    with events.listen(told.append):
        result = sorted_columns(x * 2, descending=True).sum(axis=1) + 1
        assert not [event for event in told if isinstance(event, events.HostCall)]
        value = result.numpy()
    np.testing.assert_allclose(value, np.sort(-2 * a, axis=0).sum(axis=1) + 1, rtol=1e-6)
    ran = [event for event in told if isinstance(event, (events.KernelLaunch, events.HostCall))]
    kinds = [type(event) for event in ran]
    assert kinds == [events.KernelLaunch, events.HostCall, events.KernelLaunch]
    assert (ran[1].function, ran[1].device) == (f"{__name__}.sort_columns", device)


@pytest.mark.parametrize("device", DEVICES)
def test_results_are_told_apart(device):
    a, b = numbers(2, 30)
    x, y = lb.asarray(a, device=device), lb.asarray(b, device=device)
    small, large = host_call(smallest_and_largest, [x, y], [(x.shape, F32), (x.shape, F32)])
    difference = large - small
    np.testing.assert_array_equal(difference.numpy(), np.abs(a - b))
    np.testing.assert_array_equal(large.numpy(), np.maximum(a, b))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[1:, ::-2],
        lambda x: (x + 1)[::2].T,
        lambda x: x.reshape(2, 3, 10).sum(axis=1),
        lambda x: lb.full((3, 4), 2.0, dtype=np.float32),
        lambda x: lb.arange(6, dtype=np.float32).reshape(2, 3),
        lambda x: (x[:, :3] * 2).reshape(9, 2),
        lambda x: x[:0],
        lambda x: sorted_columns(x)[1:3],
        lambda x: lb.broadcast_to(x[:1], (3, 10)),
    ],
)
def test_operands_may_lie_anyhow(view, device):
    x = lb.asarray(numbers(6, 10), device=device)
    operand = view(x)
    result = sorted_columns(operand)
    expected = np.sort(view(x).numpy(), axis=0)
    np.testing.assert_array_equal(interpret_array(result), expected)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_an_array_in_memory_is_seen_without_a_copy():
    x = lb.asarray(numbers(6, 10), device="cpu")
    (facts,) = host_call(count_bytes, [x.T], [((3,), np.int64)])
    np.testing.assert_array_equal(facts.numpy(), [240, False, False])
    assert facts.kernels == ()


def test_a_result_does_not_share_memory_with_an_operand():
    memory = numbers(2, 4)
    x = lb.asarray(memory, device="cpu", copy=False)
    (row,) = host_call(first_row, [x], [((4,), F32)])
    row.numpy()
    memory[...] = 0
    np.testing.assert_array_equal(row.numpy(), numbers(2, 4)[0])


def test_a_function_may_have_no_operands():
    (result,) = host_call(count_down, [], [((5,), np.int64)])
    np.testing.assert_array_equal((result + 1).numpy(), [6, 5, 4, 3, 2])


@pytest.mark.parametrize("device", DEVICES)
def test_errors_are_the_functions_own_and_name_the_line(device):
    x = lb.asarray(numbers(3), device=device) + 1
    (result,) = host_call(fail, [x], [((3,), F32)])
    with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix\n") as caught:
        result.numpy()
    assert "'tests.end_to_end.test_host_calls.fail' on the host" in caught.value.__notes__[0]
    assert "test_host_calls.py:" in caught.value.__notes__[0]
    np.testing.assert_array_equal(x.numpy(), numbers(3) + 1)


def test_operands_cannot_be_written():
    (result,) = host_call(write, [lb.asarray(numbers(3), device="cpu")], [((3,), F32)])
    with pytest.raises(ValueError, match="read-only"):
        result.numpy()


def test_what_it_gives_is_checked():
    x = lb.asarray(numbers(3), device="cpu")
    (result,) = host_call(first_row, [x], [((3,), F32)])
    with pytest.raises(errors.VerifyError, match=r"first_row\(\) gave"):
        result.numpy()


def test_settings_are_told_apart_by_type():
    x = lb.asarray(numbers(3), device="cpu")
    found = []
    for value in (1, True, 1.0):
        (result,) = host_call(show_type, [x], [((2,), np.bool_)], value=value)
        found.append(result.tolist())
    assert found == [[False, False], [True, False], [False, True]]
    with pytest.raises(TypeError, match="unhashable"):
        host_call(show_type, [x], [((2,), np.bool_)], value=[])


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_functions_call_it_each_time(device):
    compiled = lb.compile(lambda x: sorted_columns(x * 2) + 1)
    for seed in range(3):
        a = np.random.default_rng(seed).standard_normal((8, 3)).astype(np.float32)
        expected = np.sort(a * 2, axis=0) + 1
        np.testing.assert_array_equal(compiled(lb.asarray(a, device=device)).numpy(), expected)
    assert len(compiled.kernels) == 2


def test_it_is_a_barrier_and_explained(tmp_path):
    x = lb.asarray(numbers(4, 4), device="cpu")
    ordered = sorted_columns(x + 1, descending=True)
    result = ordered * 2
    plan = plan_fusion([result.node])
    assert {verdict.reason for verdict in plan.verdicts} == {Reason.HOST}
    lb.dump(result, tmp_path)
    text = (tmp_path / "explain.txt").read_text()
    assert f"no kernel: {__name__}.sort_columns(descending=True) runs NumPy on the host" in text
    assert "NumPy computes it on the host" in text
    assert [kernel.name for kernel in result.kernels] == ["fused_add_f32", "fused_multiply_f32"]
    assert "kernel 1: map" in text and "kernel 2" not in text


def test_equal_calls_are_one():
    x = lb.asarray(numbers(4, 4), device="cpu")
    assert sorted_columns(x).node is sorted_columns(x).node
    assert sorted_columns(x).node is not sorted_columns(x, descending=True).node


def test_a_kernel_behind_it_can_be_replaced(tmp_path):
    x = lb.asarray(numbers(4, 4), device="cpu")
    frozen = (sorted_columns(x + 1) * 2).compile()
    lb.dump(frozen, tmp_path)
    frozen.replace(1, lb.load_kernel(tmp_path / "k1_0_source.py"))
    np.testing.assert_array_equal(frozen(x).numpy(), np.sort(numbers(4, 4) + 1, axis=0) * 2)
    with pytest.raises(errors.ReplacementError, match="no kernel 2 among 2"):
        frozen.replace(2, lb.load_kernel(tmp_path / "k1_0_source.py"))
