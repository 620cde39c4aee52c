"""Linear algebra: the array API standard's extension, and NumPy's functions beyond it."""

from numpy.linalg import LinAlgError

from lazyblock.tracer import decompositions, norms
from lazyblock.tracer.decompositions import *
from lazyblock.tracer.linear_algebra import matmul, tensordot, vecdot
from lazyblock.tracer.manipulation import matrix_transpose
from lazyblock.tracer.norms import *

__all__ = ["LinAlgError", "matmul", "matrix_transpose", "tensordot", "vecdot"]
__all__ += decompositions.__all__
__all__ += norms.__all__
