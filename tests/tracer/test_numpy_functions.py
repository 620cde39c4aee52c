"""NumPy's functions on lazy arrays, call by call, beside NumPy on the same operands."""

import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_kernel_count
from tests.helpers.numpy_calls import assert_call_agrees, invoke, to_lazy
from tests.tracer.numpy_cases import CALLS, FUSED

NAMES = list(dict.fromkeys(call.name for call in CALLS))


@pytest.mark.parametrize("name", NAMES)
def test_calls_give_what_numpy_gives(name):
    for call in CALLS:
        if call.name == name:
            try:
                assert_call_agrees(call)
            except Exception as error:
                raise AssertionError(f"{call} differs: {error}") from error


@pytest.mark.parametrize("call", FUSED, ids=str)
def test_call_is_one_kernel(call):
    result, _ = invoke(call, to_lazy)
    assert_kernel_count(result, 1)
    assert_call_agrees(call, lb.Array.numpy)
