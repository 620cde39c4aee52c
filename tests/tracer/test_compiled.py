"""Frozen expressions and compiled functions: one plan, new data, clear refusals."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors
from lazyblock.tracer import compiled


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def test_frozen_expression_takes_new_data_in_order_of_first_use():
    a, b = lazy([1.0, 2.0]), lazy([10.0, 20.0])
    f = (b - a * 2).compile()
    assert f(b, a).tolist() == [8.0, 16.0]
    assert f(np.array([1.0, 1.0]), lazy([3.0, 4.0]) + 0).tolist() == [-5.0, -7.0]
    assert [node.shape for node in f.inputs] == [(2,), (2,)]


def test_frozen_expression_refuses_other_arrays():
    f = (lazy([1.0, 2.0]) + 1).compile()
    with pytest.raises(errors.ShapeError, match=r"Input 0 has shape \(3,\), expected \(2,\)"):
        f(np.zeros(3))
    with pytest.raises(errors.DTypeError, match="Input 0 has dtype int64, expected float64"):
        f(np.array([1, 2]))
    with pytest.raises(TypeError, match="Expected 1 arrays, got 2"):
        f(np.zeros(2), np.zeros(2))
    with pytest.raises(TypeError, match="Expected an array, not a list"):
        f([1.0, 2.0])


def test_frozen_expression_takes_any_layout():
    f = (lazy(np.zeros((2, 3))) * 2).compile()
    strided = np.arange(6.0).reshape(3, 2).T
    assert f(lb.asarray(strided, device="cpu", copy=False)).tolist() == (strided * 2).tolist()
    assert f(lazy(np.arange(12.0).reshape(4, 3))[1:3]).tolist() == [[6, 8, 10], [12, 14, 16]]


def test_several_arrays_freeze_together():
    x = lazy([1.0, 4.0])
    f = lb.compile([x + 1, lb.sqrt(x)])
    first, second = f(np.array([9.0, 16.0]))
    assert (first.tolist(), second.tolist()) == ([10, 17], [3, 4])


def test_function_is_traced_once_per_signature():
    traced = []

    @lb.compile
    def scale(x, factor=2):
        """Scale."""
        traced.append(x.shape)
        return x * factor

    assert scale.__name__ == "scale" and scale.__doc__ == "Scale."
    assert scale(lazy([1.0, 2.0])).tolist() == [2, 4]
    assert scale(np.array([3.0, 4.0])).tolist() == [6, 8]
    assert scale(lazy([1.0, 2.0]), 3).tolist() == [3, 6]
    assert scale(lazy([1.0, 2.0]), factor=3).tolist() == [3, 6]
    assert scale(lazy([1, 2])).dtype == np.int64
    assert len(traced) == 4


def test_one_array_given_twice_is_not_a_signature():
    add = lb.compile(lambda x, y: x - y)
    x = lazy([1.0, 2.0])
    assert add(x, x).tolist() == [0, 0]
    assert add(x, lazy([5.0, 5.0])).tolist() == [-4, -3]


def test_structures_come_back_as_they_were():
    x = lazy([1.0, 2.0])
    result = lb.compile(lambda a: {"sum": a.sum(), "rest": [a, (a + 1, 7)], "none": None})(x)
    assert result["sum"].item() == 3
    assert result["rest"][0].tolist() == [1, 2]
    assert isinstance(result["rest"][1], tuple)
    assert result["rest"][1][0].tolist() == [2, 3] and result["rest"][1][1] == 7
    assert result["none"] is None


def test_arrays_in_containers_are_inputs():
    f = lb.compile(lambda pair, scale: pair["x"] * scale[0] + pair["y"])
    x, y = lazy([1.0]), lazy([2.0])
    assert f({"x": x, "y": y}, [3]).tolist() == [5]
    assert f({"x": y, "y": x}, [3]).tolist() == [7]


def test_captured_arrays_are_kept():
    weights = lazy([1.0, 2.0])
    f = lb.compile(lambda x: (x * weights, weights))
    product, same = f(lazy([3.0, 4.0]))
    assert product.tolist() == [3, 8] and same.tolist() == [1, 2]


def test_unused_inputs_and_constant_results():
    f = lb.compile(lambda x, y: (lb.zeros(2), y))
    zeros, y = f(lazy([1.0]), lazy([2.0]))
    assert zeros.tolist() == [0, 0] and y.tolist() == [2]


def test_values_may_not_steer_a_traced_function():
    f = lb.compile(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(errors.EvaluationForbiddenError, match=r"'bool' at .*traces the function"):
        f(lazy([1.0]))


@pytest.mark.parametrize("read", [lb.Array.item, np.flatnonzero, np.asarray])
def test_values_of_arguments_may_not_be_read(read):
    with pytest.raises(errors.EvaluationForbiddenError, match="traces the function"):
        lb.compile(lambda x: x + read(x))(lazy([1.0]))


def test_arguments_may_not_be_written():
    def clear(x):
        x += 1
        return x

    x = lazy([1.0])
    with pytest.raises(errors.UnsupportedError, match="may not write into its arguments"):
        lb.compile(clear)(x)
    assert x.tolist() == [1.0]
    assert lb.compile(lambda a: clear(a.copy()))(x).tolist() == [2.0]


def test_signed_zeros_are_different_signatures():
    f = lb.compile(lambda x, zero: lb.copysign(x, zero))
    x = lazy([1.0])
    assert (f(x, 0.0).item(), f(x, -0.0).item()) == (1, -1)


def test_settings():
    decorated = lb.compile(numerics="strict")(lambda x: x + 1)
    assert decorated(lazy([1.0])).tolist() == [2]
    with pytest.raises(NotImplementedError, match="max-autotune"):
        lb.compile(lambda x: x, mode="max-autotune")
    with pytest.raises(ValueError, match="numerics is 'sloppy'"):
        lb.compile(lambda x: x, numerics="sloppy")
    with pytest.raises(TypeError, match="Cannot compile a int"):
        lb.compile(3)
    with pytest.raises(TypeError, match="cannot be part of a signature"):
        decorated({1, 2})


def test_nothing_to_compile_is_refused():
    with pytest.raises(errors.ValueRangeError, match="got an empty list"):
        lb.compile([])


def test_old_signatures_are_forgotten(monkeypatch):
    monkeypatch.setattr(compiled, "_MOST_SIGNATURES", 2)
    traced = []

    @lb.compile
    def scale(x, factor):
        traced.append(factor)
        return x * factor

    for factor in (1, 2, 1, 3, 1, 2):
        assert scale(lazy([5.0]), factor).tolist() == [5 * factor]
    assert traced == [1, 2, 3, 2]


def test_devices_are_part_of_a_signature():
    there = lb.asarray([1.0, 2.0], device="emulated:sm_80")
    f = lb.compile(lambda x: x + 1)
    g = (lazy([0.0, 0.0]) + 1).compile()
    for call in (f, g):
        for x in (lazy([1.0, 2.0]), there, lazy([1.0, 2.0])):
            result = call(x)
            assert result.tolist() == [2, 3] and result.device == x.device
    with pytest.raises(errors.DeviceError, match="different devices"):
        (lazy([1.0]) + lazy([2.0])).compile()(lazy([1.0]), there[:1])


def test_results_know_what_computed_them():
    f = lb.compile(lambda x: lb.exp(x) + 1)
    (kernel,) = f(lazy([1.0])).kernels
    assert kernel.name == f.kernels[0].name and "exp" in kernel.name
    assert kernel.stats["warnings"] == () and kernel.log == ""


def test_calls_take_the_same_memory_again():
    f = lb.compile(lambda x: x + 1)
    x = lazy([1.0, 2.0])
    first, second = f(x), f(x)
    assert first.numpy().ctypes.data != second.numpy().ctypes.data
    address = first.numpy().ctypes.data
    del first
    assert f(x).numpy().ctypes.data == address
    assert second.tolist() == [2, 3]
