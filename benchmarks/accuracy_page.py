"""Writes the tables of docs/accuracy.md.

    python -m benchmarks.accuracy_page [--samples 4000] [--device cpu] [--write]

Prints a table of strict numerics on `device` (worst and mean errors of float32 and float64 against
mpmath, where the worst ones are, the worst of float32 on 16 million arguments where NumPy's
float64 can tell, and of float16 and bfloat16 on all arguments), and one of numerics="fast" on the
CPU and with a GPU's forms. `--write` puts them into the page instead. Ends with status 1 where a
worst error is beyond what is allowed.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import lazyblock as lb
from benchmarks.accuracy import (
    ARITHMETIC,
    FAST_SPECIFICATIONS,
    SPECIFICATIONS,
    dense_error,
    draw,
    draw_fast,
    errors_of,
    fast_errors_of,
    specification_of,
)
from lazyblock import config
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import walk
from lazyblock.tiler.math import FAST_EXPANSIONS
from lazyblock.tiler.ops import Bitcast, Constant
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.expand_math import expand_math
from lazyblock.tiler.types import float32, float64

Array = np.ndarray[Any, Any]

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
_STRICT_HEAD = (
    "| function | float32 ops | worst | at | mean | of 16M | allowed | float64 ops | worst | at | "
    "mean | allowed | float16 | bfloat16 |\n"
    "|---|---:|---:|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|"
)
_FAST_HEAD = (
    "| function | float32 ops | CPU worst | mean | GPU worst | mean | allowed |\n"
    "|---|---:|---:|---:|---:|---:|---:|"
)


def make_row(samples: int, device: str, name: str) -> tuple[str, bool]:
    """The row of a function in the strict table, and whether its errors are allowed."""
    cells, is_right = [name], True
    for dtype, element in ((np.float32, float32), (np.float64, float64)):
        limit = specification_of(name).limits[dtype is np.float64]
        arguments = draw(name, dtype, samples)
        errors = errors_of(name, _compute(name, arguments, device), arguments)
        at = ", ".join(str(argument[errors.argmax()]) for argument in arguments)
        found = [_count_ops(name, element), f"{errors.max():.2f}", at, f"{errors.mean():.2f}"]
        worst = errors.max()
        if dtype is np.float32:
            dense = dense_error(name, device)
            found.append("" if np.isnan(dense) else f"{dense:.2f}")
            worst = np.nanmax([worst, dense])
        cells += [*found, f"{limit:g}"]
        is_right &= bool(worst <= limit)
    halves = [_half_error(name, dtype, device) for dtype in (np.float16, ml_dtypes.bfloat16)]
    cells += [f"{error:.2f}" for error in halves]
    return f"| {' | '.join(cells)} |", is_right and max(halves) < 1


def make_fast_row(samples: int, device: str, name: str) -> tuple[str, bool]:
    """The row of a function in the table of numerics="fast"."""
    arguments = draw_fast(name, samples)
    cells, limit, worst = [name, _count_ops(name, float32, is_fast=True)], 0.0, 0.0
    for place in ("cpu", device):
        with config.scope(numerics="fast"):
            errors = fast_errors_of(name, _compute(name, arguments, place), arguments)
        cells += [f"{errors.max():.2f}", f"{errors.mean():.2f}"]
        worst = max(worst, errors.max())
    limit = FAST_SPECIFICATIONS[name].limits[0]
    return f"| {' | '.join(cells)} | {limit:g} |", bool(worst <= limit)


def _compute(name: str, arguments: list[Array], device: str) -> Array:
    result: Array = getattr(lb, name)(*(lb.asarray(a, device=device) for a in arguments)).numpy()
    return result


def _half_error(name: str, dtype: Any, device: str) -> float:
    """Worst error on all arguments (of two: on 65,536 pairs), where float64 is the truth."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    arguments = [bits.view(dtype), np.random.default_rng(0).permutation(bits).view(dtype)]
    arguments = arguments[: specification_of(name).arity]
    result = _compute(name, arguments, device)
    true = _compute(name, [argument.astype(np.float64) for argument in arguments], device)
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        exponents = np.maximum(np.frexp(true)[1] - 1, int(info.minexp))
        error = np.abs(result.astype(np.float64) - true) / np.ldexp(1.0, exponents - info.nmant)
        rounded = true.astype(dtype)
    same = (result == rounded) | (np.isnan(result) & np.isnan(true))
    return float(np.where(same, np.where(error < 0.5, error, 0.5), error).max())


def _count_ops(name: str, element: Any, is_fast: bool = False) -> str:
    """Operations after common subexpressions are merged."""
    if name in ARITHMETIC or name in ("sqrt", "divide"):
        return "2" if name == "divide" and is_fast else "1"
    b = Builder()
    values = [b.parameter(f"x{i}", element) for i in range(specification_of(name).arity)]
    b.math(name, *values)
    program = expand_math(b.finish(), FAST_EXPANSIONS) if is_fast else expand_math(b.finish())
    program = eliminate_common(program)
    return str(sum(not isinstance(op, (Constant, Bitcast)) for op in walk(program.body)))


def main(given: list[str] | None = None) -> int:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy_page")
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    options = parser.parse_args(given)
    fast_device = options.device if options.device != "cpu" else "emulated:sm_90a"
    tables, is_right = {}, True
    with ProcessPoolExecutor() as pool:
        for title, head, row, device, names in (
            ("strict", _STRICT_HEAD, make_row, options.device, [*ARITHMETIC, *SPECIFICATIONS]),
            ("fast", _FAST_HEAD, make_fast_row, fast_device, [*FAST_SPECIFICATIONS]),
        ):
            found = list(pool.map(functools.partial(row, options.samples, device), names))
            tables[title] = "\n".join([head, *(line for line, _ in found)])
            is_right &= all(right for _, right in found)
    if options.write:
        PAGE.write_text(insert(PAGE.read_text(), tables))
    else:
        print("\n\n".join(tables.values()))
    return int(not is_right)


def insert(page: str, tables: dict[str, str]) -> str:
    """Replace what lies between `<!-- strict -->` and `<!-- end -->`, and so on."""
    for title, table in tables.items():
        pattern = f"(<!-- {title} -->\n).*?(\n<!-- end -->)"
        page, count = re.subn(pattern, lambda m, t=table: m[1] + t + m[2], page, flags=re.DOTALL)
        assert count == 1, title
    return page


if __name__ == "__main__":
    sys.exit(main())
