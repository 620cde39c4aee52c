"""Every elementwise function on two devices, which must give the same bits.

    python -m benchmarks.bit_identity [--devices cpu cuda] [--dtypes float32 ...] [--count 10000000]
        [--functions exp ...] [--processes 12] [--output benchmarks/results/bit_identity.json]

Every function gets `count` arguments (or pairs): random bit patterns, numbers of all magnitudes,
numbers near those where functions change their formula, every special value and every pair of
them. Results are compared bit for bit; only a NaN equals every other NaN. Functions are shared out
to processes. Prints a table, writes a record, and ends with status 1 where bits differ.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import lazyblock as lb
from lazyblock import config
from lazyblock.tracer import elementwise

Array = np.ndarray[Any, Any]
Record = dict[str, Any]

_CHUNK = 1 << 21  # arguments computed at once
_NEAR = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 8.0, 88.0, 103.0, np.pi / 4, np.pi / 2, np.pi)
_RANGES = (1.0, 10.0, 100.0, 1e5)  # sampled evenly, on both sides of zero
_WHOLE = (*range(10), 15, 16, 23, 24, 52, 53, 127, 128, 2**15, 2**23, 2**24, 2**31)

# Functions of three operands, as functions of two
_OF_TWO: dict[str, Callable[..., Any]] = {
    "clip": lambda x, y: lb.clip(x, -abs(y), y),
    "where": lambda x, y: lb.where(x < y, x, y),
}


def list_functions(dtype: Any) -> dict[str, int]:
    """Names of the elementwise functions of `dtype`, without aliases, and how many operands."""
    x, y = (lb.asarray(np.array([0.5, 0.25], dtype) + k, device="cpu") for k in (0, 1))
    found: dict[Any, tuple[str, int]] = {}
    for name in elementwise.__all__:
        arity = 2 if name in _OF_TWO else _count_operands(getattr(lb, name))
        try:
            results = call(name, (x, y)[:arity])
        except TypeError:  # bits of floats
            continue
        found.setdefault(tuple(result.node for result in results), (name, arity))
    return dict(found.values())


def _count_operands(function: Callable[..., Any]) -> int:
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind is p.POSITIONAL_ONLY and p.default is p.empty for p in parameters)


def call(name: str, arguments: Any) -> tuple[Any, ...]:
    """The results of a function of lazy arrays."""
    result = _OF_TWO.get(name, getattr(lb, name))(*arguments)
    return result if isinstance(result, tuple) else (result,)


@np.errstate(all="ignore")
def list_specials(dtype: Any) -> Array:
    """Zeros, infinities, NaNs, the ends of the number range, and numbers functions look at."""
    info = lb.finfo(dtype)
    ends = [float(v) for v in (info.max, info.smallest_normal, info.eps)]
    tiny = np.array(1, f"u{info.bits // 8}").view(dtype).item()  # the smallest subnormal
    plain = np.array([*ends, tiny, 3 * tiny, np.inf, *_NEAR, *_WHOLE], dtype)
    halves = plain + np.asarray(0.5, dtype)
    near = np.concatenate([np.nextafter(plain, halves), np.nextafter(plain, -halves)])
    return np.concatenate([plain, -plain, near, -near, halves, [np.nan], [-np.nan]]).astype(dtype)


@functools.lru_cache(maxsize=64)
@np.errstate(all="ignore")
def draw_pairs(dtype: Any, count: int, seed: int) -> tuple[Array, Array]:
    """`count` pairs of numbers of all kinds; every pair of special values, if there is room."""
    rng = np.random.default_rng(seed)
    specials = list_specials(dtype)
    every = np.stack(np.meshgrid(specials, specials)).reshape(2, -1)
    pairs = rng.permutation(every, axis=1)[:, : count // 2]
    x, y = (draw(dtype, count - pairs.shape[1], rng) for _ in range(2))
    close = slice(0, count // 16)
    y[close] = np.nextafter(x[close], y[close])
    return np.concatenate([pairs[0], x]), np.concatenate([pairs[1], y])


def draw(dtype: Any, count: int, rng: np.random.Generator) -> Array:
    """Half are random bits; the others of ordinary sizes, near looked-at numbers, and special."""
    kind = np.dtype(dtype)
    bits = rng.integers(0, 1 << 8 * kind.itemsize, count // 2, dtype=f"u{kind.itemsize}").view(kind)
    part = -(-(count - bits.size) // (len(_RANGES) + 3))
    evenly = [rng.uniform(-bound, bound, part) for bound in _RANGES]
    magnitudes = np.exp2(rng.uniform(-30, 30, part)) * rng.choice([-1, 1], part)
    offsets = np.exp2(rng.uniform(-24, -1, part)) * rng.choice([-1, 1], part)
    near = rng.choice(_NEAR, part) * rng.choice([-1, 1], part) + offsets
    drawn = np.concatenate([*evenly, magnitudes, near]).astype(dtype)
    specials = rng.choice(list_specials(dtype), part)
    return rng.permutation(np.concatenate([bits, drawn, specials]))[:count]


def compare(name: str, arity: int, dtype: str, count: int, devices: tuple[str, str]) -> Record:
    """How many results of a function differ between the devices, and the first that does."""
    record: Record = {"function": name, "dtype": dtype, "arguments": 0, "differing": 0}
    start = time.perf_counter()
    for seed, first in enumerate(range(0, count, _CHUNK)):
        arguments = draw_pairs(np.dtype(dtype), min(_CHUNK, count - first), seed)[:arity]
        results = [_results(name, arguments, device) for device in devices]
        differing = np.zeros(arguments[0].shape, bool)
        for one, other in zip(*results, strict=True):
            differing |= differ(one, other)
        record["arguments"] += differing.size
        record["differing"] += int(np.count_nonzero(differing))
        if differing.any() and "example" not in record:
            at = int(np.flatnonzero(differing)[0])
            record["example"] = {
                "arguments": [_in_hex(argument[at]) for argument in arguments],
                **{d: [_in_hex(r[at]) for r in rs] for d, rs in zip(devices, results, strict=True)},
            }
    record["seconds"] = time.perf_counter() - start
    return record


def _results(name: str, arguments: tuple[Array, ...], device: str) -> list[Array]:
    lazy = [lb.asarray(argument, device=device) for argument in arguments]
    results = call(name, lazy)
    lb.eval(*results)
    return [result.numpy() for result in results]


def differ(one: Array, other: Array) -> Array:
    """Where bits differ; any NaN equals any NaN."""
    unsigned = f"u{one.dtype.itemsize}"
    found: Array = one.view(unsigned) != other.view(unsigned)
    if found.any() and one.dtype.kind not in "biu":
        found &= ~(np.isnan(one) & np.isnan(other))
    return found


def _in_hex(value: Any) -> str:
    return f"{value} ({value.view(f'u{value.itemsize}'):#x})"


def _set_up_worker() -> None:
    config.current.num_threads = 1


def main(given: list[str] | None = None) -> int:
    """Compare all functions; print and write what was found."""
    options = _parse(given)
    tasks = [
        (name, arity, dtype, options.count, tuple(options.devices))
        for dtype in options.dtypes
        for name, arity in list_functions(np.dtype(dtype)).items()
        if not options.functions or name in options.functions
    ]
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, context, _set_up_worker) as pool:
        records = list(pool.map(compare, *zip(*tasks, strict=True)))
    report: Record = {
        "devices": options.devices,
        "machine": platform.machine(),
        "version": lb.__version__,
        "seconds": time.perf_counter() - start,
        "functions": records,
    }
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(summarize(report))
    return int(any(record["differing"] for record in records))


def _parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bit_identity")
    parser.add_argument("--devices", nargs=2, default=["cpu", "cuda"])
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--functions", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--output", type=Path)
    return parser.parse_args(given)


def summarize(report: Record) -> str:
    """A table of the functions that differ, and a line about all."""
    records = report["functions"]
    wrong = [record for record in records if record["differing"]]
    lines = ["| function | dtype | arguments | differing | first |", "|---|---|---:|---:|---|"]
    lines += [
        f"| {r['function']} | {r['dtype']} | {r['arguments']:,} | {r['differing']:,} | "
        f"{r['example']} |"
        for r in wrong
    ]
    arguments = sum(record["arguments"] for record in records)
    counted = (
        f"{len(records)} functions, {arguments:,} arguments, {' and '.join(report['devices'])}"
    )
    verdict = f"{len(wrong)} functions differ" if wrong else "all results have the same bits"
    return "\n".join(
        [*(lines if wrong else ()), f"{counted}: {verdict} ({report['seconds']:.0f} s)"]
    )


if __name__ == "__main__":
    sys.exit(main())
