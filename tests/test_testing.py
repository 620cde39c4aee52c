"""Measuring and comparing under Triton's names, and its names for devices."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors, testing


def test_do_bench_calls_and_summarises():
    calls = []
    one = testing.do_bench(lambda: calls.append(1), warmup=0, rep=0)
    assert one >= 0
    assert calls
    low, high = testing.do_bench(lambda: None, warmup=0, rep=0.1, quantiles=[0.2, 0.8])
    assert low <= high
    assert all(t >= 0 for t in testing.do_bench(lambda: None, 0, 0.1, return_mode="all"))
    with pytest.raises(errors.ValueRangeError, match="return_mode is 'best'"):
        testing.do_bench(lambda: None, return_mode="best")


def test_perf_report_fills_a_table(capsys, tmp_path):
    benchmark = testing.Benchmark(
        x_names=["n"],
        x_vals=[1, 2],
        line_arg="provider",
        line_vals=["a", "b"],
        line_names=["A", "B"],
        plot_name="times",
        args={"offset": 10},
    )

    @testing.perf_report(benchmark)
    def measure(n, provider, offset):
        return n + offset + (0.5 if provider == "b" else 0.0)

    assert measure.run(return_df=True) == {"n": [1, 2], "A": [11.0, 12.0], "B": [11.5, 12.5]}
    measure.run(print_data=True)
    assert "times:" in capsys.readouterr().out


def test_assert_close_and_assert_near():
    testing.assert_close(np.ones(3), lb.ones(3))
    testing.assert_close(np.float32([1, np.nan]), [1.005, np.nan])
    with pytest.raises(AssertionError):
        testing.assert_close(np.ones(3), np.ones(3) * 1.1)
    testing.assert_near(np.float32([1000, 0.01]), np.float32([1000, 0.02]))
    with pytest.raises(AssertionError):
        testing.assert_near(np.float32([1, 0.01]), np.float32([1, 0.02]))
    with pytest.raises(AssertionError):
        testing.assert_near(np.arange(3), np.arange(3) + 1)


def test_names_of_the_device_in_use():
    active = lb.runtime.driver.active
    with lb.config.scope(device="emulated:sm_90a"):
        assert active.get_current_target() == lb.runtime.GPUTarget("cuda", 90, 32)
        assert active.utils.get_device_properties(0)["multiprocessor_count"] == 132
    with lb.config.scope(device="cpu"):
        assert active.get_current_target().backend == "cpu"
        assert active.get_current_device() == 0
        assert str(active.get_active_torch_device()) == "cpu"
    lb.set_allocator(None)
