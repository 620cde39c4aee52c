"""Functions about the parts of complex numbers. Real numbers are complex ones without a second."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.elementwise import arctan2, equal, multiply, not_equal

__all__ = [
    "angle",
    "imag",
    "iscomplex",
    "iscomplexobj",
    "isreal",
    "isrealobj",
    "real",
]


def real(x: Any, /) -> Array:
    """The real parts, a view of an array."""
    return to_array(x).real


def imag(x: Any, /) -> Array:
    """The imaginary parts, a view of a complex array; of real numbers zeros."""
    return to_array(x).imag


def angle(z: Any, /, deg: bool = False) -> Array:
    """The angle to the positive real axis, in radians or (deg) degrees."""
    x = to_array(z)
    radians = arctan2(x.imag, x.real)
    return multiply(radians, 180 / math.pi) if deg else radians


def iscomplex(x: Any, /) -> Array:
    """Whether there is an imaginary part other than 0."""
    return not_equal(to_array(x).imag, 0)


def isreal(x: Any, /) -> Array:
    """Whether there is no imaginary part other than 0."""
    return equal(to_array(x).imag, 0)


def iscomplexobj(x: Any, /) -> bool:
    """Whether the dtype is a complex one."""
    dtype = getattr(x, "dtype", None)
    return dtypes.is_complex(np.asarray(x).dtype if dtype is None else np.dtype(dtype))


def isrealobj(x: Any, /) -> bool:
    """Whether the dtype is none of the complex ones."""
    return not iscomplexobj(x)
