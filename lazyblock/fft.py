"""Discrete Fourier transforms: the array API standard's extension, and NumPy's beyond it."""

import numpy

from lazyblock.tracer import fourier
from lazyblock.tracer.fourier import *
from lazyblock.tracer.numpy_names import accept_numpy_calls

__all__ = list(fourier.__all__)

accept_numpy_calls(globals(), numpy.fft)
