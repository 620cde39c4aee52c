"""Where a generator's numbers come from: a key from a seed, and a number for every draw.

A draw is an expression of its key and number (see random_bits.py). What has no such expression
(gamma, Poisson, ...) NumPy draws on the host, seeded by the same two numbers.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ShapeError
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape, as_shape, broadcast_shapes
from lazyblock.tracer.array import Array, Cell
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.random_bits import Key, random_words, unit_interval

NDArray = npt.NDArray[Any]
Size = int | tuple[int, ...] | None

_FLOATS = (dtypes.float32, dtypes.float64)
_PROBE = np.random.Generator(np.random.Philox(0))  # NumPy's checks of parameters


class Source:
    """A key and the number of the next draw; draws of equal sources are equal."""

    def __init__(self, seed: Any = None) -> None:
        is_sequence = isinstance(seed, np.random.SeedSequence)
        self._seeds = seed if is_sequence else np.random.SeedSequence(seed)
        first, second = self._seeds.generate_state(2)
        self._key: Key = int(first), int(second)
        self._draws = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        return _restore, (type(self), self._seeds, self._draws)

    def _next_draw(self) -> int:
        with self._lock:
            self._draws += 1
            return self._draws - 1

    def _words(self, shape: Shape) -> tuple[Node, Node, Node, Node]:
        return random_words(shape, self._key, self._next_draw())

    def _uniforms(self, shape: Shape, dtype: DType = dtypes.float64) -> tuple[Array, Array]:
        """Two independent arrays of numbers in [0, 1)."""
        words = self._words(shape)
        pairs = (words[:2], words[2:])
        first, second = (_lazy(unit_interval(high, low, dtype)) for high, low in pairs)
        return first, second

    def _on_host(
        self, name: str, parameters: tuple[Any, ...], size: Size, dtype: DType, row: Shape = ()
    ) -> Array:
        """A distribution drawn by NumPy. row: the shape of one result, where it is no number."""
        shape = shape_of(name, size, () if row else parameters) + row
        operands = [_lazy(self._state()), *map(to_array, parameters)]
        (drawn,) = host_call(_draw_on_host, operands, [(shape, dtype)], name=name, size=shape)
        return drawn

    def _state(self) -> Node:
        """The key and the number of a draw, as an array of two words."""
        place = build.iota(2, dtypes.int32)
        is_first = build.elementwise(Op.EQUAL, place, build.fixed(0, dtypes.int32))
        key = build.constant(self._key[0] << 32 | self._key[1], dtypes.uint64)
        return build.where(is_first, key, build.constant(self._next_draw(), dtypes.uint64))


def _restore(kind: type[Source], seeds: Any, draws: int) -> Source:
    source = kind(seeds)
    source._draws = draws
    return source


def _lazy(node: Node) -> Array:
    return Array(Cell(node, None))


def _draw_on_host(state: NDArray, *parameters: NDArray, name: str, size: Shape) -> NDArray:
    generator = np.random.Generator(np.random.Philox(key=state))
    given = [x.item() if x.ndim == 0 else x for x in parameters]
    if name in _ROWS:
        size = size[:-1]
    return np.asarray(getattr(generator, name)(*given, size=size))


_ROWS = ("dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal")


def shape_of(name: str, size: Size, parameters: tuple[Any, ...]) -> Shape:
    """The shape of a draw. Raises: ShapeError when parameters do not broadcast to it."""
    shapes = [np.shape(x) if not isinstance(x, Array) else x.shape for x in parameters]
    found = broadcast_shapes((), *shapes, operation=name)
    if size is None:
        return found
    shape = as_shape(size, name)
    if found and broadcast_shapes(found, shape, operation=name) != shape:
        raise ShapeError(
            f"Output size {shape} is not compatible with broadcast dimensions {found}."
        )
    return shape


def check_parameters(name: str, *parameters: Any, **settings: Any) -> None:
    """Raise what NumPy raises for these; arrays whose elements are not known yet pass."""
    if not any(isinstance(x, Array) for x in parameters):
        getattr(_PROBE, name)(*parameters, **settings)


def float_dtype(dtype: Any, name: str) -> DType:
    """float32 or float64. Raises: DTypeError for others, in NumPy's words."""
    found: DType = np.dtype(dtype)
    if found not in _FLOATS:
        raise DTypeError(f"Unsupported dtype {found!r} for {name}")
    return found
