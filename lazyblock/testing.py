"""Measuring and comparing, under Triton's names: `do_bench`, `perf_report`, `assert_close`."""

from __future__ import annotations

import importlib
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lazyblock import dtypes, events
from lazyblock.errors import ValueRangeError
from lazyblock.lazy_imports import lazy_import

pipeline = lazy_import("lazyblock.pipeline")

_FEWEST_CALLS = 5  # that the estimate of a call's time is taken from
_SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    device: str | None = None,
) -> Any:
    """Milliseconds that `fn` takes, on a GPU those of the device alone, its caches emptied first.

    Parameters: warmup and rep, milliseconds to spend; grad_to_none, tensors whose `grad` is dropped
    before each call; quantiles, give these instead of one number; return_mode, "mean", "median",
    "min", "max" or "all"; device, where it works (None: where it launches kernels).
    Raises: ValueRangeError for another return_mode.
    """
    if return_mode not in (*_SUMMARIES, "all"):
        known = ", ".join(map(repr, (*_SUMMARIES, "all")))
        raise ValueRangeError(f"return_mode is {return_mode!r}, expected one of {known}.")
    place = pipeline.get_device(device or _find_device(fn))
    flush, timed = place.make_flush(), _with_torch(fn, place)

    def call_once() -> Callable[[], float]:
        for tensor in grad_to_none or ():
            tensor.grad = None
        flush()
        read: Callable[[], float] = place.time_call(timed)
        return read

    estimate = statistics.fmean(call_once()() for _ in range(_FEWEST_CALLS))
    for _ in range(max(1, int(warmup / max(estimate, 1e-4)))) if warmup else ():
        fn()
    readers = [call_once() for _ in range(max(1, int(rep / max(estimate, 1e-4))))]
    times = [read() for read in readers]
    if quantiles is not None:
        found = [float(value) for value in np.quantile(times, quantiles)]
        return found[0] if len(found) == 1 else found
    return times if return_mode == "all" else _SUMMARIES[return_mode](times)


do_bench_cudagraph = do_bench


def _find_device(fn: Callable[[], Any]) -> str:
    """The device that a call launches kernels on; the host if it launches none."""
    names: list[str] = []

    def note(event: events.Event) -> None:
        if isinstance(event, events.KernelLaunch):
            names.append(event.device)

    with events.listen(note):
        fn()
    return names[-1] if names else ("cuda" if _torch_stream() is not None else "cpu")


def _with_torch(fn: Callable[[], Any], place: Any) -> Callable[[], Any]:
    """A call whose work on torch's stream lies between the device's own before and after."""
    stream = _torch_stream()
    if stream is None or not place.target.is_gpu:
        return fn

    def call() -> None:
        place.release_to(stream)
        fn()
        place.wait_for(stream)

    return call


def _torch_stream() -> int | None:
    """Number of torch's current CUDA stream, if torch uses a GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return int(torch.cuda.current_stream().cuda_stream)


# --- reports -------------------------------------------------------------------------------------


@dataclass
class Benchmark:
    """What `perf_report` varies: x along the table's rows, `line_arg` along its columns."""

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Sequence[tuple[str, str]] | None = None


class Mark:
    """A function measured for the values of its benchmarks; `run` prints the tables."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Measure; gives, if `return_df`, per benchmark a dict of columns."""
        single = isinstance(self.benchmarks, Benchmark)
        listed = [self.benchmarks] if single else list(self.benchmarks)  # type: ignore[arg-type]
        tables = [self._measure(benchmark, kwargs) for benchmark in listed]  # type: ignore[arg-type]
        for benchmark, table in zip(listed, tables, strict=True):
            assert isinstance(benchmark, Benchmark)
            if print_data:
                print(f"{benchmark.plot_name}:\n{_print_table(table)}")
            if show_plots or save_path:
                _plot(benchmark, table, show_plots, save_path)
        if not return_df:
            return None
        return tables[0] if single else tables

    def _measure(self, benchmark: Benchmark, kwargs: Mapping[str, Any]) -> dict[str, list[Any]]:
        names = list(benchmark.x_names)
        table: dict[str, list[Any]] = {name: [] for name in (*names, *benchmark.line_names)}
        for x in benchmark.x_vals:
            row = list(x) if isinstance(x, (tuple, list)) else [x] * len(names)
            place = dict(zip(names, row, strict=True))
            for name, value in place.items():
                table[name].append(value)
            for line, name in zip(benchmark.line_vals, benchmark.line_names, strict=True):
                lines = {benchmark.line_arg: line}
                found = self.fn(**place, **lines, **benchmark.args, **kwargs)
                table[name].append(found[0] if isinstance(found, (tuple, list)) else found)
        return table


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[..., Mark]:
    """Make a function that measures one point one that measures and prints whole tables."""
    return lambda fn: Mark(fn, benchmarks)


def _print_table(table: Mapping[str, Sequence[Any]]) -> str:
    texts = [[name, *map(_cell, column)] for name, column in table.items()]
    widths = [max(map(len, column)) for column in texts]
    rows = zip(*texts, strict=True)
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )


def _cell(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _plot(
    benchmark: Benchmark, table: Mapping[str, Sequence[Any]], show: bool, save_path: str
) -> None:
    """Draw the lines of a table. Needs matplotlib."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    x = table[benchmark.x_names[0]]
    for number, name in enumerate(benchmark.line_names):
        style = benchmark.styles[number] if benchmark.styles else (None, None)
        axes.plot(x, table[name], label=name, color=style[0], linestyle=style[1])
    axes.set_xlabel(benchmark.xlabel or benchmark.x_names[0])
    axes.set_ylabel(benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    axes.set_title(benchmark.plot_name)
    axes.legend()
    if save_path:
        figure.savefig(os.path.join(save_path, f"{benchmark.plot_name}.png"))
    if show:
        pyplot.show()
    pyplot.close(figure)


# --- comparing -----------------------------------------------------------------------------------


def assert_close(
    x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Compare arrays of any library; NaN equals NaN. Tolerances are 1e-2 and 0 by default.

    Raises: AssertionError with the largest differences.
    """
    left, right = _to_wide(x), _to_wide(y)
    if left.size > 1 or right.size > 1:
        atol = 1e-2 if atol is None else atol
    np.testing.assert_allclose(
        left, right, rtol=rtol or 0.0, atol=atol or 0.0, equal_nan=True, err_msg=err_msg
    )


_NEAR = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4, "float64": 1e-9}


def assert_near(result: Any, expected: Any) -> None:
    """Two results of one computation: equal, floats up to the order of sums.

    Floats may differ by a share of the largest, which depends on their dtype.
    Raises: AssertionError.
    """
    dtype = np.dtype(getattr(expected, "dtype", type(expected)))
    left, right = np.atleast_1d(_to_wide(result)), np.atleast_1d(_to_wide(expected))
    share = _NEAR.get(dtype.name, 0.0)
    finite = np.abs(right[np.isfinite(right)]) if share else right[:0]
    limit = share * float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(left, right, rtol=share, atol=limit, equal_nan=True)


def random_array(size: int, dtype: Any, seed: int = 0) -> Any:
    """Numbers to try a kernel on: floats around 0, small integers, bools."""
    rng = np.random.default_rng(seed)
    target = dtypes.as_dtype(dtype)
    if dtypes.is_floating(target):
        return rng.standard_normal(size).astype(target)
    return rng.integers(0, 2 if dtypes.is_bool(target) else 100, size).astype(target)


def _to_wide(value: Any) -> Any:
    """An array as NumPy's, in a dtype that NumPy can compare."""
    if "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor):
        value = value.detach().cpu()
        value = value.float() if "float" in str(value.dtype) and value.itemsize < 4 else value
    array = np.asarray(value)
    return (
        array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.itemsize < 4 else array
    )
