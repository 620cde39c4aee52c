"""What CONTRACT means, in NumPy: also how the CPU computes it, by NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType

NDArray = npt.NDArray[Any]


def sum_dtype(operand: DType, result: DType) -> DType:
    """What products are taken and added up in: float32 at least for half types."""
    return dtypes.promote(dtypes.accumulator_dtype(operand), result)


def multiply_matrices(a: NDArray, b: NDArray, *, dtype: DType) -> NDArray:
    """a @ b, rounded to `dtype` once."""
    wide = sum_dtype(a.dtype, dtype)
    product: NDArray = np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))
    return product.astype(dtype, copy=False)
