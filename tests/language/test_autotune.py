"""Choosing arguments of a kernel by measuring and by functions of the others."""

import itertools

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock import errors


def scale_body(x_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)


def grid(meta):
    return (lb.cdiv(meta["n"], meta["BLOCK"]),)


CONFIGS = [lb.Config({"BLOCK": block}) for block in (64, 128, 256)]
TIMES = {64: 3.0, 128: 1.0, 256: 2.0}


class FakeClock:
    """Stands for do_bench: launches once, and takes times from a table by what was launched."""

    def __init__(self, times=TIMES):
        self.times = times
        self.measured = []

    def __call__(self, launch, quantiles):
        launch()
        self.measured.append(self.kernel.launched[-1])
        return [self.times[self.measured[-1]]] * len(quantiles)


def make_kernel(configs=CONFIGS, clock=None, body=scale_body, **settings):
    """A tuned kernel that notes the BLOCK of every launch, and measures by a table."""
    clock = clock or FakeClock()
    settings = {"key": ["n"], "do_bench": clock, "cache_results": False, **settings}
    kernel = lb.autotune(configs, **settings)(lb.jit(body))
    kernel.launched = []
    kernel.base_fn.pre_run_hooks.append(
        lambda *args, **kwargs: kernel.launched.append(kwargs["BLOCK"])
    )
    clock.kernel = kernel
    return kernel, clock


def numbers(n):
    return np.random.default_rng(0).standard_normal(n).astype(np.float32)


def test_the_fastest_configuration_is_launched():
    kernel, clock = make_kernel()
    x = numbers(1000)
    expected = x * 2
    kernel[grid](x, n=1000, factor=2.0)
    np.testing.assert_array_equal(x, expected)
    assert clock.measured == [64, 128, 256]
    assert kernel.launched[-1] == 128
    assert kernel.best_config == CONFIGS[1]
    assert {c.kwargs["BLOCK"]: t for c, t in kernel.configs_timings.items()} == TIMES


def test_it_is_measured_once_per_key_and_dtype():
    kernel, clock = make_kernel()
    for n, dtype in ((1000, np.float32), (1000, np.float32), (500, np.float32)):
        kernel[grid](numbers(n).astype(dtype), n=n, factor=2.0)
    assert len(clock.measured) == 6
    kernel[grid](numbers(500).astype(np.float64), n=500, factor=2.0)
    kernel[grid](numbers(500), n=500, factor=3.0)  # not in the key
    assert len(clock.measured) == 9


@pytest.mark.parametrize("step", [1, -2])
def test_arrays_are_written_once_however_often_it_is_measured(step):
    base = numbers(64)
    x = base[::step]

    def body(x_ptr, n, stride, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        places = x_ptr + i * stride
        tl.store(places, tl.load(places, mask=i < n) + 1, mask=i < n)

    kernel, _ = make_kernel(body=body)
    before = x.copy()
    kernel[(1,)](x, len(x), step)
    np.testing.assert_array_equal(x, before + 1)


GPU = pytest.param("cuda", marks=pytest.mark.gpu)


@pytest.mark.parametrize("device", ["cpu", "emulated:sm_90a", GPU])
def test_lazy_arrays_are_written_once(device):
    x = lb.asarray(numbers(100), device=device)
    recorded = x + 1
    kernel, _ = make_kernel()
    kernel[grid](x, n=100, factor=2.0)
    np.testing.assert_array_equal(x.numpy(), numbers(100) * 2)
    np.testing.assert_array_equal(recorded.numpy(), numbers(100) + 1)


def test_hooks_see_the_arguments_by_name():
    seen = []
    configs = [
        lb.Config(c.kwargs, pre_hook=lambda args: seen.append(args["BLOCK"])) for c in CONFIGS
    ]
    around = []
    kernel, _ = make_kernel(
        configs,
        pre_hook=lambda args, reset_only: around.append(("pre", args["n"])),
        post_hook=lambda args, exception: around.append(("post", exception)),
    )
    kernel[grid](numbers(100), n=100, factor=2.0)
    assert seen == [64, 128, 256, 128]
    assert around == [("pre", 100), ("post", None)] * 3


def test_values_are_reset_and_restored_before_each_run():
    seen = []

    def body(x_ptr, y_ptr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)
        tl.store(y_ptr + i, tl.load(y_ptr + i) + 1)

    kernel, _ = make_kernel(
        body=body,
        key=[],
        reset_to_zero=["x_ptr"],
        restore_value=["y_ptr"],
        post_hook=lambda args, exception: seen.append((args["x_ptr"][0], args["y_ptr"][0])),
    )
    kernel[(1,)](np.full(256, 7.0), np.full(256, 5.0))
    assert seen == [(1, 6)] * 3


def test_configurations_that_fail_are_not_chosen():
    def body(x_ptr, n, factor, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK % 64 == 0, "whole vectors only")
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)

    configs = [*CONFIGS, lb.Config({"BLOCK": 100})]
    clock = FakeClock({**TIMES, 100: 0.0})
    kernel, _ = make_kernel(configs, clock, body)
    kernel[grid](numbers(100), n=100, factor=2.0)
    assert kernel.best_config == CONFIGS[1]
    assert kernel.configs_timings[configs[-1]] == float("inf")
    kernel, _ = make_kernel([lb.Config({"BLOCK": b}) for b in (100, 200)], clock, body)
    with pytest.raises(errors.CompileError, match="whole vectors only"):
        kernel[grid](numbers(100), n=100, factor=2.0)


def test_pruning():
    kernel, clock = make_kernel(
        prune_configs_by={"early_config_prune": lambda configs, named, **kwargs: configs[1:]}
    )
    kernel[grid](numbers(100), n=100, factor=2.0)
    assert clock.measured == [128, 256]
    kernel, clock = make_kernel(
        prune_configs_by={"perf_model": lambda BLOCK, **others: -BLOCK, "top_k": 2}
    )
    kernel[grid](numbers(100), n=100, factor=2.0)
    assert clock.measured == [256, 128]


def test_times_are_kept_on_disk_and_only_new_configurations_measured(tmp_path):
    settings = {"do_bench": None, "cache_results": True, "warmup": 0, "rep": 0}
    with lb.config.scope(cache_dir=str(tmp_path)):
        first, _ = make_kernel(CONFIGS[:2], **settings)
        first[grid](numbers(100), n=100, factor=2.0)
        again, _ = make_kernel(CONFIGS, **settings)
        again[grid](numbers(100), n=100, factor=2.0)
    known = first.configs_timings
    assert {c: again.configs_timings[c] for c in known} == known
    assert set(again.launched[:-1]) == {256}


@pytest.mark.parametrize("device", ["emulated:sm_90a", GPU])
def test_devices_are_measured_apart(device):
    kernel, clock = make_kernel()
    arrays = [lb.asarray(numbers(100), device=name) for name in ("cpu", device, "cpu", device)]
    kernel[grid](arrays[0], n=100, factor=2.0)
    clock.times = {64: 1.0, 128: 2.0, 256: 3.0}
    for x in arrays[1:]:
        kernel[grid](x, n=100, factor=2.0)
        np.testing.assert_array_equal(x.numpy(), numbers(100) * 2)
    assert clock.measured == [64, 128, 256] * 2
    assert kernel.launched[-2:] == [128, 64]


@pytest.mark.gpu
def test_a_gpu_is_measured_by_its_own_clock():
    x = lb.asarray(numbers(1 << 20), device="cuda")
    kernel, _ = make_kernel(do_bench=None, warmup=1, rep=2)
    kernel[grid](x, n=x.size, factor=2.0)
    np.testing.assert_array_equal(x.numpy(), numbers(1 << 20) * 2)
    assert all(0 < time < 10 for time in kernel.configs_timings.values())
    assert kernel.best_config in CONFIGS


def test_one_configuration_is_not_measured():
    kernel, clock = make_kernel(CONFIGS[:1])
    kernel[grid](numbers(100), n=100, factor=2.0)
    assert clock.measured == []


def test_interpreter_mode_takes_the_first():
    kernel, clock = make_kernel()
    x = numbers(100)
    with lb.config.scope(interpret=True):
        kernel[grid](x, n=100, factor=2.0)
    assert clock.measured == []
    np.testing.assert_array_equal(x, numbers(100) * 2)


def test_unknown_names_are_told_when_decorating():
    with pytest.raises(errors.ValueRangeError, match="'scale_body' has no parameter 'm'"):
        make_kernel(reset_to_zero=["m"])
    with pytest.warns(UserWarning, match="no parameter 'm', which is a key"):
        make_kernel(key=["m"])
    with pytest.raises(errors.ValueRangeError, match=r"sets \['SIZE'\]"):
        make_kernel([lb.Config({"SIZE": 3})])
    with pytest.raises(errors.LaunchError, match=r"put this decorator above @lb\.jit"):
        lb.autotune(CONFIGS, key=[])(lambda: None)


def test_configurations_may_carry_hints_of_other_gpus():
    kernel, _ = make_kernel([lb.Config({"BLOCK": 64, "waves_per_eu": 2, "kpack": 1})])
    x = numbers(100)
    kernel[grid](x, n=100, factor=2.0)
    np.testing.assert_array_equal(x, numbers(100) * 2)


def test_subclasses_of_the_tuner_choose_themselves():
    class Chooser(lb.runtime.Autotuner):
        def run(self, *args, grid, **kwargs):
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            times = {c: self._bench(*args, config=c, grid=grid) for c in self.prune_configs(kwargs)}
            self.best_config = max(times, key=times.__getitem__)
            return self.fn.run(*args, grid=grid, **self.best_config.all_kwargs())

    base, clock = make_kernel()
    chooser = Chooser(base.fn, base.fn.arg_names, CONFIGS, ["n"], do_bench=clock)
    x = numbers(100)
    chooser[grid](x, 100, 2.0)
    assert len(clock.measured) == len(CONFIGS) and chooser.best_config in CONFIGS
    np.testing.assert_array_equal(x, numbers(100) * 2)


def test_warmup_compiles_every_configuration():
    kernel, clock = make_kernel()
    kernels = kernel.warmup(np.float32, n=100, factor=2.0)
    assert [k.kinds[-1][2] for k in kernels] == [64, 128, 256]
    assert clock.measured == []


def test_heuristics_compute_arguments_in_order():
    @lb.heuristics(
        {
            "BLOCK": lambda args: lb.next_power_of_2(args["n"]),
            "HALF": lambda args: args["BLOCK"] // 2,
        }
    )
    @lb.jit
    def fill(x_ptr, n, BLOCK: tl.constexpr, HALF: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.where(i < HALF, 1, 2), mask=i < n)

    x = np.zeros(100, np.int32)
    fill[(1,)](x, 100)
    np.testing.assert_array_equal(x, np.where(np.arange(100) < 64, 1, 2))
    assert fill.warmup(np.int32, 100).kinds[-1][2] == 64


def test_tuned_heuristics():
    clock = FakeClock()
    kernel = lb.heuristics({"factor": lambda args: 3.0})(make_kernel(clock=clock)[0])
    x = numbers(100)
    kernel[grid](x, n=100)
    np.testing.assert_array_equal(x, numbers(100) * 3)


def test_long_tuning_tells_how_far_it_is(monkeypatch, capsys):
    clock = itertools.count(0, 10)
    monkeypatch.setattr("lazyblock.language.autotune.time.perf_counter", lambda: next(clock))
    kernel, _ = make_kernel()
    kernel[grid](numbers(100), n=100, factor=2.0)
    told = capsys.readouterr().err
    assert "tuning 'scale_body'" in told
    assert "1 of 3 configurations" in told
