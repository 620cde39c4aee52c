"""`Generator`: NumPy's, lazy. The same seed gives the same numbers on every device.

Numbers are expressions: they fuse into what reads them and are drawn again, alike, in every kernel
that does. They are not those of NumPy's generators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.shapes import as_shape, normalize_axis, size_of
from lazyblock.tracer.array import Array, Cell
from lazyblock.tracer.creation import arange, asarray, to_array
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.random_bits import long_word
from lazyblock.tracer.random_distributions import Distributions
from lazyblock.tracer.random_host import HostDistributions
from lazyblock.tracer.random_integers import integers_of
from lazyblock.tracer.random_source import Size, check_parameters, shape_of
from lazyblock.tracer.searching import searchsorted
from lazyblock.tracer.sorting import argsort
from lazyblock.tracer.taking import take, take_along_axis

__all__ = ["Generator", "SeedSequence", "default_rng"]


def default_rng(seed: Any = None) -> Generator:
    """A generator from a seed: ints, a SeedSequence, or a Generator, which is given back."""
    return seed if isinstance(seed, Generator) else Generator(seed)


class Generator(Distributions, HostDistributions):
    """Random numbers from a seed (None: another one each time); see NumPy's Generator."""

    def __repr__(self) -> str:
        return f"Generator(Philox) of key {self._key}, draw {self._draws}"

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators that are independent of this one and of each other."""
        return [Generator(seeds) for seeds in self._seeds.spawn(n_children)]

    def bytes(self, length: int) -> bytes:
        """Random bytes; evaluates."""
        words = self.integers(0, 256, length, np.uint8)
        return words.numpy().tobytes()

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Array:
        """low <= result < high (<= with `endpoint`); of one number: 0 <= result < low."""
        target = dtypes.as_dtype(dtype)
        if not (dtypes.is_integer(target) or dtypes.is_bool(target)):
            raise DTypeError(f"Unsupported dtype {target!r} for integers")
        low, high = (0, low) if high is None else (low, high)
        check_parameters("integers", low, high, dtype=target, endpoint=endpoint)
        shape = shape_of("integers", size, (low, high))
        low, high = (_as_int(x) for x in (low, high))
        return integers_of(self._words(shape), low, high, target, endpoint)

    # order and choice

    def _random_order(self, shape: tuple[int, ...], axis: int) -> Array:
        """Places along `axis` in random order, in every line anew."""
        words = self._words(shape)
        return argsort(Array(Cell(long_word(words[0], words[1]), None)), axis)

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The slices of `x` along an axis (of a number: 0, 1, ... below it) in random order."""
        array = arange(int(x)) if np.ndim(x) == 0 else to_array(x)
        axis = normalize_axis(axis, array.ndim, "permutation")
        return take(array, self._random_order((array.shape[axis],), 0), axis=axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of an array along an axis, or a list's items, into random order."""
        if isinstance(x, (Array, np.ndarray)):
            shuffled = self.permutation(x, axis)
            x[...] = shuffled if isinstance(x, Array) else shuffled.numpy()
            return
        order = self._random_order((len(x),), 0).tolist()
        x[:] = [x[place] for place in order]

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Array:
        """Every line along an axis in an order of its own (None: all elements)."""
        array = to_array(x)
        if axis is None:
            mixed = self.permutation(array.reshape(-1)).reshape(array.shape)
        else:
            axis = normalize_axis(axis, array.ndim, "permuted")
            mixed = take_along_axis(array, self._random_order(array.shape, axis), axis=axis)
        if out is None:
            return mixed
        out[...] = mixed
        result: Array = out
        return result

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Array:
        """Slices of `a` (of a number: ints below it), p their probabilities.

        Raises: ValueRangeError as NumPy does. `shuffle` is NumPy's affair: the order is random.
        """
        is_number = isinstance(a, (int, np.integer))
        array = None if is_number else to_array(a)
        if array is None:
            extent = int(a)
        else:
            axis = normalize_axis(axis, array.ndim, "choice")
            extent = array.shape[axis]
        shape = () if size is None else as_shape(size, "choice")
        count = size_of(shape)
        if extent < 0 or (extent == 0 and count):
            raise ValueRangeError("a must be a positive integer unless no samples are taken")
        weights = None if p is None else _probabilities(p, extent)
        if replace:
            places = self._places_with_replacement(extent, count, weights)
        elif count > extent:
            raise ValueRangeError(
                "Cannot take a larger sample than population when replace is False"
            )
        else:
            places = self._places_without_replacement(extent, count, weights)
        if array is None:
            return places.reshape(shape)
        taken = take(array, places, axis=axis)
        return taken.reshape(array.shape[:axis] + shape + array.shape[axis + 1 :])

    def _places_with_replacement(self, extent: int, count: int, weights: Array | None) -> Array:
        if weights is None:
            return self.integers(0, max(extent, 1), count)
        bounds = weights.cumsum()
        found: Array = searchsorted(bounds / bounds[-1], self.random(count), side="right")
        return found

    def _places_without_replacement(self, extent: int, count: int, weights: Array | None) -> Array:
        """The first of a random order; with weights, by keys that likelier places lead in."""
        if weights is None:
            return self._random_order((extent,), 0)[:count]
        if int((weights > 0).sum()) < count:
            raise ValueRangeError("Fewer non-zero entries in p than size")
        keys = self.standard_exponential(extent) / weights
        return argsort(keys, 0)[:count]


def _as_int(value: Any) -> Any:
    """A number as Python's; arrays as they are."""
    return int(value) if np.ndim(value) == 0 and not isinstance(value, Array) else value


def _probabilities(p: Any, extent: int) -> Array:
    """Raises: ValueRangeError in NumPy's words."""
    values = np.asarray(to_host(p, "random"), np.float64)
    if values.ndim != 1:
        raise ValueRangeError("p must be 1-dimensional")
    if values.size != extent:
        raise ValueRangeError("a and p must have same size")
    if np.isnan(values).any():
        raise ValueRangeError("Probabilities contain NaN")
    if (values < 0).any():
        raise ValueRangeError("Probabilities are not non-negative")
    if abs(values.sum() - 1) > max(1e-8, np.sqrt(np.finfo(np.float64).eps)):
        raise ValueRangeError(
            "Probabilities do not sum to 1. See Notes section of docstring for more information."
        )
    return asarray(values)
