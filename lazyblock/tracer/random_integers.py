"""Random integers of a range, from 128 random bits each.

The number is the top of (bits / 2**128) * range, so that no value is likelier than another by more
than 2**-64 (a range below 2**32: by 2**-32 of 2**-32).
"""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.tracer.array import Array, Cell
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.random_bits import Words, long_word

_HALF = 32
_WORD_RANGE = 2**64


def integers_of(words: Words, low: Any, high: Any, dtype: DType, endpoint: bool) -> Array:
    """low <= result < high (<= high with `endpoint`), from the words of every element."""
    first, second = (_lazy(long_word(*pair)) for pair in (words[:2], words[2:]))
    if isinstance(low, int) and isinstance(high, int):
        extent = high - low + endpoint
        start: Any = to_array_of(low % _WORD_RANGE)
        if extent == _WORD_RANGE:
            return _typed(first + start, dtype)
        if extent <= 1 << _HALF:
            return _typed(_scaled_word(first, to_array_of(extent)) + start, dtype)
        return _typed(_scaled(first, second, to_array_of(extent)) + start, dtype)
    start, stop = (to_array(x).astype(dtypes.uint64) for x in (low, high))
    extents = stop - start + int(endpoint)
    whole = _scaled(first, second, extents)
    is_whole = (extents == 0).astype(dtypes.uint64)  # of 2**64 numbers
    return _typed(whole + start + first * is_whole, dtype)


def to_array_of(value: int) -> Array:
    """A number that may differ from call to call, as uint64."""
    return _lazy(build.constant(value, dtypes.uint64))


def _lazy(node: Node) -> Array:
    return Array(Cell(node, None))


def _typed(x: Array, dtype: DType) -> Array:
    """Taken modulo 2**64, as signed numbers come out of it."""
    signed = x if dtype == dtypes.uint64 else x.astype(dtypes.int64)
    return signed.astype(dtype)


def _scaled_word(word: Array, extent: Array) -> Array:
    """The top of word * extent, for extents up to 2**32."""
    carried = ((word & 0xFFFFFFFF) * extent) >> _HALF
    scaled: Array = ((word >> _HALF) * extent + carried) >> _HALF
    return scaled


def _scaled(first: Array, second: Array, extent: Array) -> Array:
    """The top of (first, second) * extent, words of 64 bits."""
    carried = _top_of_product(second, extent)
    product = first * extent
    total = product + carried
    scaled: Array = _top_of_product(first, extent) + (total < product).astype(dtypes.uint64)
    return scaled


def _top_of_product(x: Array, y: Array) -> Array:
    """The high 64 bits of the product of two words, by halves."""
    x_low, x_high, y_low, y_high = x & 0xFFFFFFFF, x >> _HALF, y & 0xFFFFFFFF, y >> _HALF
    crossed = x_high * y_low + ((x_low * y_low) >> _HALF)
    middle = x_low * y_high + (crossed & 0xFFFFFFFF)
    top: Array = x_high * y_high + (crossed >> _HALF) + (middle >> _HALF)
    return top
