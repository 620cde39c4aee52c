"""What the benchmarks run: ordinary array code over a namespace, with inputs and their floors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Workload:
    """Array code `run(xp, *arrays)` on float32 inputs of `shapes`.

    moved: elements read and written at least once by any program that computes it.
    """

    name: str
    run: Callable[..., Array]
    shapes: tuple[tuple[int, ...], ...]
    moved: int

    @property
    def nbytes(self) -> int:
        return 4 * self.moved

    def inputs(self, seed: int = 0) -> list[np.ndarray]:
        """Return normally distributed float32 arrays."""
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(shape, dtype=np.float32) for shape in self.shapes]


def axpy(xp: Any, x: Array, y: Array) -> Array:
    return 2.5 * x + y


def gelu(xp: Any, x: Array) -> Array:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(xp: Any, x: Array) -> Array:
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def total(xp: Any, x: Array) -> Array:
    return x.sum()


def standardise_columns(xp: Any, x: Array) -> Array:
    return (x - x.mean(axis=0)) / x.std(axis=0)


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
