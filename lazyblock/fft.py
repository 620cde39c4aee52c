"""Discrete Fourier transforms: the array API standard's extension, and NumPy's beyond it."""

from lazyblock.tracer import fourier
from lazyblock.tracer.fourier import *

__all__ = list(fourier.__all__)
