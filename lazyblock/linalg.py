"""Linear algebra: the array API standard's extension, and NumPy's functions beyond it."""

import numpy
from numpy.linalg import LinAlgError

from lazyblock.tracer import decompositions, norms
from lazyblock.tracer.decompositions import *
from lazyblock.tracer.linear_algebra import matmul, tensordot, vecdot
from lazyblock.tracer.manipulation import matrix_transpose
from lazyblock.tracer.norms import *
from lazyblock.tracer.numpy_names import accept_numpy_calls

__all__ = ["LinAlgError", "matmul", "matrix_transpose", "tensordot", "vecdot"]
__all__ += decompositions.__all__
__all__ += norms.__all__

accept_numpy_calls(globals(), numpy.linalg)
