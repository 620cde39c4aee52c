"""Packing bits into bytes and counting them, as arithmetic that fuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.manipulation import moveaxis

__all__ = [
    "bitwise_count",
    "packbits",
    "unpackbits",
]


def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Truth values, eight along an axis in a byte; the last byte is filled with zeros."""
    x = to_array(a)
    if x.dtype.kind not in "biu":
        raise DTypeError("Expected an input array of integer or boolean data type")
    rows, place = _rows(x != 0, axis)
    rest = -rows.shape[-1] % 8
    padded = rows._with(build.pad(rows.node, rows.ndim - 1, 0, rest, False))
    bits = padded.reshape((*padded.shape[:-1], padded.shape[-1] // 8, 8))
    weighted: Array = bits * _weights(bitorder, x)
    return moveaxis(weighted.sum(-1, dtypes.uint8), -1, place)


def unpackbits(
    a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes along an axis; `count` cuts them off, or zeros follow, to be so many."""
    x = to_array(a)
    if x.dtype != dtypes.uint8:
        raise DTypeError("Expected an input array of unsigned byte data type")
    rows, place = _rows(x, axis)
    bits: Array = (rows[..., None] & _weights(bitorder, x)) != 0
    flat = bits.astype(dtypes.uint8).reshape((*rows.shape[:-1], rows.shape[-1] * 8))
    return moveaxis(_counted(flat, count), -1, place)


def _counted(x: Array, count: int | None) -> Array:
    size = x.shape[-1]
    if count is None or count == size:
        return x
    if count < 0:
        if -count > size:
            raise ValueRangeError(f"-count larger than number of elements ({size})")
        return x[..., :count]
    return x._with(build.pad(x[..., :count].node, x.ndim - 1, 0, max(count - size, 0), 0))


def _rows(x: Array, axis: int | None) -> tuple[Array, int]:
    """The array with the axis last, and where the axis belongs."""
    if axis is None:
        return x.reshape((-1,)), 0
    place = normalize_axis(axis, x.ndim, "packbits")
    return moveaxis(x, place, -1), place


def _weights(bitorder: str, like: Array) -> Array:
    """What each bit of a byte stands for."""
    if bitorder not in ("big", "little"):
        raise ValueRangeError("'order' must be either 'little' or 'big'")
    powers = 2 ** np.arange(8)
    weights = powers if bitorder == "little" else powers[::-1]
    return asarray(weights.astype(np.uint8), device=like.device)


def bitwise_count(x: Any, /) -> Array:
    """The number of bits that are set in the absolute value."""
    array = to_array(x)
    if array.dtype.kind not in "biu":
        raise DTypeError("ufunc 'bitwise_count' not supported for the input types")
    if dtypes.is_bool(array.dtype):
        return array.astype(dtypes.uint8)
    unsigned = dtypes.UNSIGNED[array.dtype.itemsize.bit_length() - 1]
    rest: Array = abs(array).astype(unsigned)
    width = 1
    while width < array.dtype.itemsize * 8:
        low = asarray(_low_halves(width, unsigned), device=array.device)
        rest = (rest & low) + ((rest >> width) & low)
        width *= 2
    return rest.astype(dtypes.uint8)


def _low_halves(width: int, dtype: dtypes.DType) -> Any:
    """Ones in the lower `width` bits of each 2 * width."""
    size = dtype.itemsize * 8
    ones = sum(((1 << width) - 1) << start for start in range(0, size, 2 * width))
    return np.asarray(ones, dtype)
