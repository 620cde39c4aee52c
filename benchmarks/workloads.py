"""What the benchmarks run: ordinary array code over a namespace, with inputs and their floors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Workload:
    """Array code `run(xp, *arrays)` on inputs of `shapes`, all of one dtype.

    moved: elements read and written at least once by any program that computes it.
    """

    name: str
    run: Callable[..., Array]
    shapes: tuple[tuple[int, ...], ...]
    moved: int
    dtype: str = "float32"

    @property
    def nbytes(self) -> int:
        return (2 if self.dtype == "bfloat16" else 4) * self.moved

    def inputs(self, seed: int = 0) -> list[np.ndarray]:
        """Return random float32 arrays in [0.5, 1.5), to be converted to `dtype`."""
        rng = np.random.default_rng(seed)
        return [rng.random(shape, dtype=np.float32) + np.float32(0.5) for shape in self.shapes]


def axpy(xp: Any, x: Array, y: Array) -> Array:
    return 2.5 * x + y


def gelu(xp: Any, x: Array) -> Array:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(xp: Any, x: Array) -> Array:
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm_in_float32(xp: Any, x: Array) -> Array:
    wide = x.astype(np.float32)
    centred = wide - wide.mean(axis=1, keepdims=True)
    scale = xp.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
    return (centred / scale).astype(x.dtype)


def total(xp: Any, x: Array) -> Array:
    return x.sum()


def row_sums(xp: Any, x: Array) -> Array:
    return x.sum(axis=1)


def column_sums(xp: Any, x: Array) -> Array:
    return x.sum(axis=0)


def running_sum(xp: Any, x: Array) -> Array:
    return x.cumsum(axis=0)


def running_sums_of_rows(xp: Any, x: Array) -> Array:
    return x.cumsum(axis=1)


def standardise_columns(xp: Any, x: Array) -> Array:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def normalise(xp: Any, x: Array, mean: Array, scale: Array) -> Array:
    return (x - mean) * scale


def mean_square_error(xp: Any, x: Array, y: Array) -> Array:
    return ((x - y) * (x - y)).mean()


def add_transposed(xp: Any, x: Array, y: Array) -> Array:
    return x + y.T


def laplacian(xp: Any, x: Array) -> Array:
    across = x[1:-1, :-2] + x[1:-1, 2:]
    return across + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1]


def elementwise_and_row_workloads(size: int, rows: int, columns: int) -> list[Workload]:
    """Return axpy, gelu and sum of `size` elements, softmax and columns of (rows, columns)."""
    table = (rows, columns)
    return [
        Workload("axpy", axpy, ((size,), (size,)), 3 * size),
        Workload("gelu", gelu, ((size,),), 2 * size),
        Workload(f"softmax {rows}x{columns}", softmax, (table,), 2 * rows * columns),
        Workload("sum", total, ((size,),), size),
        Workload(f"columns {rows}x{columns}", standardise_columns, (table,), 2 * rows * columns),
    ]


def memory_bound_workloads(scale: int = 1) -> list[Workload]:
    """Return the memory-bound workloads of 2^28 elements, divided by `scale`."""
    size = (1 << 28) // scale
    side = 16384
    rows = size // side
    square, flat = (rows, side), (size,)
    vector = (side,)
    return [
        Workload("gelu bf16", gelu, (flat,), 2 * size, "bfloat16"),
        Workload("normalise rows", normalise, (square, vector, vector), 2 * size),
        Workload("mean square error", mean_square_error, (flat, flat), 2 * size),
        Workload("add transposed", add_transposed, (square, square[::-1]), 3 * size),
        Workload("row sums", row_sums, (square,), size),
        Workload("softmax 1000", softmax, ((size // 1000, 1000),), 2 * size),
        Workload("softmax 4096", softmax, ((size // 4096, 4096),), 2 * size),
        Workload("softmax 32768", softmax, ((size // 32768, 32768),), 2 * size),
        Workload(
            "layer norm bf16", layernorm_in_float32, ((size // 4096, 4096),), 2 * size, "bfloat16"
        ),
        Workload("column sums", column_sums, (square,), size),
        Workload("16 column sums", column_sums, ((size // 16, 16),), size),
        Workload("Laplacian", laplacian, (square,), 2 * size),
        Workload("running sum", running_sum, ((size // 4,),), size // 2),
        Workload("running sums of rows", running_sums_of_rows, ((size // 4096, 4096),), 2 * size),
        Workload("running sums of columns", running_sum, (square,), 2 * size),
    ]
