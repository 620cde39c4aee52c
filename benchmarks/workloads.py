"""What the benchmarks run: ordinary array code over a namespace, with inputs and their floors.

A workload uses operators, basic indexing, `.T` and the functions of the namespace that `FUNCTIONS`
names, no methods: so the same code runs on NumPy, lazyblock and its peers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Shape = tuple[int, ...]

FUNCTIONS = ["arange", "astype", "cumulative_sum", "erf", "exp", "log", "max", "mean", "sqrt"]
FUNCTIONS += ["std", "sum", "tanh", "where"]
_ALIGNMENT = 1024  # elements; scaled sizes stay multiples of it
_SHIFT = 4096  # elements between the starts of two inputs in the noise they share


@dataclass(frozen=True)
class Workload:
    """Array code `run(xp, *arrays)` on inputs of `shapes`.

    written: elements of its results; None: as many as the first input has.
    classes: if not 0, the last input holds int32 below it; all others hold `dtype`.
    numerics: lazyblock's. is_eager: whether a peer that does not fuse is worth the wait.
    """

    name: str
    run: Callable[..., Any]
    shapes: tuple[Shape, ...]
    written: int | None = None
    dtype: str = "float32"
    classes: int = 0
    numerics: str = "strict"
    is_eager: bool = True

    @property
    def nbytes(self) -> int:
        """Bytes that any program moves: every input read and every result written once."""
        sizes = [math.prod(shape) for shape in self.shapes]
        written = sizes[0] if self.written is None else self.written
        return (2 if self.dtype == "bfloat16" else 4) * (sum(sizes) + written)

    def inputs(self) -> list[np.ndarray]:
        """Return random arrays: float32 in [0.5, 1.5), to be converted to `dtype`, and classes."""
        drawn = [_draw(shape, position) for position, shape in enumerate(self.shapes)]
        if self.classes:
            drawn[-1] = ((drawn[-1] - np.float32(0.5)) * self.classes).astype(np.int32)
        return drawn


@functools.cache
def _noise(size: int) -> np.ndarray:
    noise = np.random.default_rng(0).random(size, dtype=np.float32)
    noise += np.float32(0.5)
    return noise


def _draw(shape: Shape, position: int) -> np.ndarray:
    """A window of the noise: fresh gigabytes for every input would take minutes."""
    size, start = math.prod(shape), position * _SHIFT
    noise = _noise(1 << (size + start).bit_length())
    return noise[start : start + size].reshape(shape)


# --- elementwise ---------------------------------------------------------------------------------


def axpy(xp: Any, x: Array, y: Array) -> Array:
    return 2.5 * x + y


def gelu(xp: Any, x: Array) -> Array:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def normalise(xp: Any, x: Array, mean: Array, scale: Array) -> Array:
    return (x - mean) * scale


def add_transposed(xp: Any, x: Array, y: Array) -> Array:
    return x + y.T


def laplacian(xp: Any, x: Array) -> Array:
    across = x[1:-1, :-2] + x[1:-1, 2:]
    return across + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1]


def black_scholes(xp: Any, spot: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    """Prices of European calls and puts at a rate of 3% and a volatility of 25%."""
    spread = 0.25 * xp.sqrt(years)
    first = (xp.log(spot / strike) + (0.03 + 0.03125) * years) / spread
    above = 0.5 + 0.5 * xp.erf(first * 0.7071067811865476)
    below = 0.5 + 0.5 * xp.erf((first - spread) * 0.7071067811865476)
    discounted = strike * xp.exp(-0.03 * years)
    return spot * above - discounted * below, discounted * (1 - below) - spot * (1 - above)


# --- sums ----------------------------------------------------------------------------------------


def total(xp: Any, x: Array) -> Array:
    return xp.sum(x)


def mean_square_error(xp: Any, x: Array, y: Array) -> Array:
    return xp.mean((x - y) * (x - y))


def row_sums(xp: Any, x: Array) -> Array:
    return xp.sum(x, axis=1)


def column_sums(xp: Any, x: Array) -> Array:
    return xp.sum(x, axis=0)


def running_sum(xp: Any, x: Array) -> Array:
    return xp.cumulative_sum(x)


def accelerations(xp: Any, x: Array, y: Array, z: Array, mass: Array) -> tuple[Array, ...]:
    """Softened gravity of all bodies on each."""
    dx, dy, dz = (c[None, :] - c[:, None] for c in (x, y, z))
    inverse = 1 / xp.sqrt(dx * dx + dy * dy + dz * dz + 1e-4)
    pull = mass[None, :] * (inverse * inverse * inverse)
    return xp.sum(pull * dx, axis=1), xp.sum(pull * dy, axis=1), xp.sum(pull * dz, axis=1)


# --- rows and columns ----------------------------------------------------------------------------


def softmax(xp: Any, x: Array) -> Array:
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def layernorm_in_float32(xp: Any, x: Array) -> Array:
    wide = xp.astype(x, "float32")
    centred = wide - xp.mean(wide, axis=1, keepdims=True)
    scale = xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True) + 1e-5)
    return xp.astype(centred / scale, x.dtype)


def standardise_columns(xp: Any, x: Array) -> Array:
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


def cross_entropy(xp: Any, logits: Array, target: Array) -> Array:
    """Logarithm of the sum of exponentials of each row, less the logit of its class."""
    highest = xp.max(logits, axis=1, keepdims=True)
    exponentials = xp.sum(xp.exp(logits - highest), axis=1, keepdims=True)
    is_target = xp.arange(logits.shape[1], dtype="int32") == target[:, None]
    picked = xp.sum(xp.where(is_target, logits, 0.0), axis=1)
    return (xp.log(exponentials) + highest)[:, 0] - picked


# --- the list ------------------------------------------------------------------------------------


def _divided(size: int, factor: float, alignment: int) -> int:
    return max(round(size / factor / alignment), 1) * alignment


def make_workloads(scale: int = 1) -> list[Workload]:
    """Return all workloads, of 2^28 elements mostly; `scale` divides the elements of each."""
    size = _divided(1 << 28, scale, _ALIGNMENT)
    tenth = math.sqrt(scale)  # of both sides of squares
    side, narrow = _divided(16384, tenth, 128), _divided(4096, tenth, 128)
    flat, square, vector = (size,), (side, side), (side,)
    bodies = _divided(32768, tenth, 128)
    texts, words = max(8192 // scale, 1), 50257
    quarter = (size // 4,)

    def rows(columns: int) -> tuple[Shape, ...]:
        return ((max(size // columns, 1), columns),)

    return [
        Workload("axpy", axpy, (flat, flat)),
        Workload("gelu", gelu, (flat,)),
        Workload("gelu bf16", gelu, (flat,), dtype="bfloat16"),
        Workload("normalise rows", normalise, (square, vector, vector)),
        Workload("mean square error", mean_square_error, (flat, flat), 1),
        Workload("add transposed", add_transposed, (square, square)),
        Workload("sum", total, (flat,), 1),
        Workload("row sums", row_sums, (square,), side),
        Workload("softmax 1000", softmax, rows(1000)),
        Workload("softmax 4096", softmax, rows(4096)),
        Workload("softmax 32768", softmax, rows(32768)),
        Workload("layer norm bf16", layernorm_in_float32, rows(4096), dtype="bfloat16"),
        Workload("column sums", column_sums, (square,), side),
        Workload("16 column sums", column_sums, rows(16), 16),
        Workload("Laplacian", laplacian, (square,)),
        Workload("columns", standardise_columns, ((side, narrow),)),
        Workload("cross entropy", cross_entropy, ((texts, words), (texts,)), texts, classes=words),
        Workload("Black-Scholes", black_scholes, (quarter,) * 3, 2 * quarter[0], numerics="fast"),
        Workload("running sum", running_sum, (quarter,)),
        Workload(
            "n-body", accelerations, ((bodies,),) * 4, 3 * bodies, numerics="fast", is_eager=False
        ),
    ]
