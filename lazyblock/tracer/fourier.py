"""`lazyblock.fft`: discrete Fourier transforms, by NumPy on the host.

On a GPU, signals are copied to the host and spectra back. float32 gives complex64 and complex64
stays it; integers count as float64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import ShapeError, ValueRangeError
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import arange, to_array
from lazyblock.tracer.elementwise import where
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.stacked_calls import stacked_call

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_Axes = Sequence[int] | None


# --- along one axis ------------------------------------------------------------------------------


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Array:
    """Transform along an axis, of which `n` elements are taken (padded with zeros)."""
    return _along(np.fft.fft, x, n, axis, norm)


def ifft(
    x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward"
) -> Array:
    """The inverse of `fft`."""
    return _along(np.fft.ifft, x, n, axis, norm)


def rfft(
    x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward"
) -> Array:
    """The non-negative half of the spectrum of a real signal."""
    return _along(np.fft.rfft, x, n, axis, norm)


def irfft(
    x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward"
) -> Array:
    """The real signal of `n` elements (None: an even number) that `rfft` transforms to `x`."""
    return _along(np.fft.irfft, x, n, axis, norm)


def hfft(
    x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward"
) -> Array:
    """The real spectrum of a signal with Hermitian symmetry, given by half."""
    return _along(np.fft.hfft, x, n, axis, norm)


def ihfft(
    x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward"
) -> Array:
    """The inverse of `hfft`."""
    return _along(np.fft.ihfft, x, n, axis, norm)


def _along(
    function: Callable[..., Any], x: Any, n: int | None, axis: int, norm: str | None
) -> Array:
    array = to_array(x)
    place = normalize_axis(axis, array.ndim, function.__name__) - array.ndim
    count = None if n is None else operator.index(n)
    (result,) = stacked_call(function, [array], n=count, axis=place, norm=norm)
    return result


# --- along several axes --------------------------------------------------------------------------


def fftn(x: Any, /, *, s: _Axes = None, axes: _Axes = None, norm: str | None = "backward") -> Array:
    """Transform along `axes` (None: all, or the last ones of `s`), of extents `s`."""
    return _over(np.fft.fftn, x, s, axes, norm)


def ifftn(
    x: Any, /, *, s: _Axes = None, axes: _Axes = None, norm: str | None = "backward"
) -> Array:
    """The inverse of `fftn`."""
    return _over(np.fft.ifftn, x, s, axes, norm)


def rfftn(
    x: Any, /, *, s: _Axes = None, axes: _Axes = None, norm: str | None = "backward"
) -> Array:
    """`rfft` along the last of `axes`, `fft` along the others."""
    return _over(np.fft.rfftn, x, s, axes, norm)


def irfftn(
    x: Any, /, *, s: _Axes = None, axes: _Axes = None, norm: str | None = "backward"
) -> Array:
    """The inverse of `rfftn`."""
    return _over(np.fft.irfftn, x, s, axes, norm)


def fft2(
    x: Any, /, *, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = "backward"
) -> Array:
    """`fftn` of two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(
    x: Any, /, *, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = "backward"
) -> Array:
    """`ifftn` of two axes."""
    return ifftn(x, s=s, axes=axes, norm=norm)


def rfft2(
    x: Any, /, *, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = "backward"
) -> Array:
    """`rfftn` of two axes."""
    return rfftn(x, s=s, axes=axes, norm=norm)


def irfft2(
    x: Any, /, *, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = "backward"
) -> Array:
    """`irfftn` of two axes."""
    return irfftn(x, s=s, axes=axes, norm=norm)


def _over(function: Callable[..., Any], x: Any, s: _Axes, axes: _Axes, norm: str | None) -> Array:
    array = to_array(x)
    if axes is None:
        count = array.ndim if s is None else len(s)
        axes = range(-count, 0)
    name = function.__name__
    places = tuple(normalize_axis(axis, array.ndim, name) - array.ndim for axis in axes)
    if s is not None and len(s) != len(places):
        raise ShapeError("Shape and axes have different lengths.")
    extents = None if s is None else tuple(operator.index(n) for n in s)
    (result,) = stacked_call(function, [array], s=extents, axes=places, norm=norm)
    return result


# --- frequencies ---------------------------------------------------------------------------------


def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Array:
    """Frequencies of what `fft` gives for samples `d` apart: 0, 1, ..., -2, -1 over n * d."""
    count = _count(n)
    place = arange(count, device=device)
    signed = where(place > (count - 1) // 2, place - count, place)
    return _scaled(signed, count, d, dtype)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Array:
    """Frequencies of what `rfft` gives: 0, 1, ..., n // 2 over n * d."""
    count = _count(n)
    return _scaled(arange(count // 2 + 1, device=device), count, d, dtype)


def _count(n: Any) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise ValueRangeError("n should be an integer") from None


def _scaled(places: Array, count: int, d: float, dtype: Any) -> Array:
    found: Array = places * (1.0 / (count * d))
    return found.astype(dtypes.float64 if dtype is None else dtype)


def fftshift(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move frequency 0 from the front to the middle of `axes` (None: all)."""
    return _shifted(x, axes, lambda extent: extent // 2)


def ifftshift(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, lambda extent: -(extent // 2))


def _shifted(x: Any, axes: int | Sequence[int] | None, by: Callable[[int], int]) -> Array:
    array = to_array(x)
    if axes is None:
        axes = range(array.ndim)
    elif not isinstance(axes, Sequence):
        axes = [axes]
    shifts = tuple(by(array.shape[axis]) for axis in axes)
    shifted: Array = namespace().roll(array, shifts, axis=tuple(axes))
    return shifted
