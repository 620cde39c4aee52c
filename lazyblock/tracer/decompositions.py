"""Decompositions of matrices and what follows from them: by NumPy's LAPACK, on the host.

On a GPU, matrices are copied to the host and results back. float32 stays float32, complex64 stays
complex64, integers become float64. Singular matrices are found when results are evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.shapes import size_of
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.stacked_calls import stacked_call

__all__ = [
    "cholesky",
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
]

NDArray = npt.NDArray[Any]


class EigResult(NamedTuple):
    """Eigenvalues (..., N) and, as columns, eigenvectors (..., N, N)."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Ascending eigenvalues (..., N) and, as columns, eigenvectors (..., N, N)."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """An orthonormal and an upper triangular factor."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """Sign of a determinant and logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Singular vectors and, descending, singular values: x = U @ diag(S) @ Vh."""

    U: Array
    S: Array
    Vh: Array


# --- factors -------------------------------------------------------------------------------------


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The triangular factor of positive definite matrices: x = L @ L^H, or U^H @ U.

    Raises: LinAlgError, evaluated, when one is not positive definite.
    """
    (factor,) = stacked_call(np.linalg.cholesky, [_matrices(x)], upper=bool(upper))
    return factor


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """x = Q @ R; modes "reduced", "complete", and NumPy's "r" (R alone) and "raw"."""
    found = stacked_call(np.linalg.qr, [_matrices(x)], mode=mode)
    if len(found) == 1:
        return found[0]
    return tuple(found) if mode == "raw" else QRResult(*found)


def svd(
    x: Any,
    /,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Any:
    """Singular value decomposition; compute_uv False gives the values alone."""
    settings = {"full_matrices": bool(full_matrices), "hermitian": bool(hermitian)}
    found = stacked_call(np.linalg.svd, [_matrices(x)], compute_uv=bool(compute_uv), **settings)
    return SVDResult(*found) if compute_uv else found[0]


def svdvals(x: Any, /) -> Array:
    """Singular values, descending."""
    (values,) = stacked_call(np.linalg.svdvals, [_matrices(x)])
    return values


def eigh(x: Any, /, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return EighResult(*stacked_call(np.linalg.eigh, [_matrices(x)], UPLO=UPLO))


def eigvalsh(x: Any, /, UPLO: str = "L") -> Array:
    """Eigenvalues of Hermitian matrices, ascending."""
    (values,) = stacked_call(np.linalg.eigvalsh, [_matrices(x)], UPLO=UPLO)
    return values


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices; always complex."""
    return EigResult(*stacked_call(_complex_eig, [_matrices(x)]))


def eigvals(x: Any, /) -> Array:
    """Eigenvalues of square matrices; always complex."""
    (values,) = stacked_call(_complex_eigvals, [_matrices(x)])
    return values


def _complex_eig(a: NDArray) -> tuple[NDArray, NDArray]:
    dtype = np.result_type(a.dtype, np.complex64)
    values, vectors = np.linalg.eig(a)
    return values.astype(dtype), vectors.astype(dtype)


def _complex_eigvals(a: NDArray) -> NDArray:
    values: NDArray = np.linalg.eigvals(a).astype(np.result_type(a.dtype, np.complex64))
    return values


# --- inverses ------------------------------------------------------------------------------------


def inv(x: Any, /) -> Array:
    """Inverses. Raises: LinAlgError, evaluated, when a matrix is singular."""
    (inverse,) = stacked_call(np.linalg.inv, [_matrices(x)])
    return inverse


def pinv(x: Any, /, *, rtol: Any = None, rcond: Any = None, hermitian: bool = False) -> Array:
    """Pseudo-inverses; singular values up to `rtol` (NumPy: rcond) times the largest count as 0.

    rtol: numbers for the stack; None for max(M, N) times the dtype's epsilon.
    Raises: ValueRangeError for both.
    """
    if rtol is not None and rcond is not None:
        raise ValueRangeError("`rtol` and `rcond` can't be both set.")
    matrices = _matrices(x)
    bound = rtol if rcond is None else rcond
    if bound is None:
        bound = max(matrices.shape[-2:]) * float(np.finfo(matrices.dtype).eps)
    if isinstance(bound, (int, float)):
        settings: dict[str, Any] = {"rtol": float(bound), "hermitian": bool(hermitian)}
        (inverse,) = stacked_call(np.linalg.pinv, [matrices], **settings)
    else:
        arrays = [matrices, to_array(bound)]
        (inverse,) = stacked_call(_pinv, arrays, hermitian=bool(hermitian))
    return inverse


def _pinv(a: NDArray, rtol: NDArray, *, hermitian: bool) -> NDArray:
    return np.linalg.pinv(a, rtol=rtol, hermitian=hermitian)


def solve(x1: Any, x2: Any, /) -> Array:
    """The solution of x1 @ x = x2, for one vector (1 axis) or the columns of matrices.

    Raises: LinAlgError, evaluated, when a matrix is singular.
    """
    a, b = _meet(_matrices(x1), _inexact(to_array(x2)))
    if b.ndim == 1:
        _require_square(a)
        return solve(a, b.reshape(-1, 1)).squeeze(-1) if a.shape[-1] == b.size else _refuse(a, b)
    rank = max(a.ndim, b.ndim)
    a, b = (m.reshape((1,) * (rank - m.ndim) + m.shape) for m in (a, b))
    (solution,) = stacked_call(np.linalg.solve, [a, b])
    return solution


def _refuse(a: Array, b: Array) -> Array:
    raise ShapeError(
        "solve1: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
        f"(m,m),(m)->(m) (size {b.size} is different from {a.shape[-1]})"
    )


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Array, Array, int, Array]:
    """Least squares: solution, residuals, rank, singular values.

    The shape of the residuals depends on the rank, so it is computed at once.
    """
    matrix, right = to_array(a), to_array(b)
    device = matrix._cell.device or right._cell.device
    found = np.linalg.lstsq(matrix.numpy(), right.numpy(), rcond)
    solution, residuals, values = (asarray(found[n], device=device) for n in (0, 1, 3))
    return solution, residuals, int(found[2]), values


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse for tensordot over the first `ind` axes."""
    array = to_array(a)
    if ind <= 0:
        raise ValueRangeError("Invalid ind argument.")
    shape = array.shape[ind:] + array.shape[:ind]
    return inv(array.reshape(size_of(array.shape[ind:]), -1)).reshape(shape)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """x such that tensordot(a, x, x.ndim) is `b`; axes: of `a`, to be moved to its end."""
    array, right = to_array(a), to_array(b)
    moved = [axis % array.ndim for axis in axes or ()]
    rest = [axis for axis in range(array.ndim) if axis not in moved]
    array = array.transpose((*rest, *moved))
    shape = array.shape[right.ndim - array.ndim :]
    size = size_of(shape)
    if array.size != size**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == "
            "prod(a.shape[:b.ndim])"
        )
    return solve(array.reshape(size, size), right.reshape(-1)).reshape(shape)


# --- numbers -------------------------------------------------------------------------------------


def det(x: Any, /) -> Array:
    """Determinants."""
    (determinants,) = stacked_call(np.linalg.det, [_matrices(x)])
    return determinants


def slogdet(x: Any, /) -> SlogdetResult:
    """Signs of determinants and logarithms of their absolute values."""
    return SlogdetResult(*stacked_call(np.linalg.slogdet, [_matrices(x)]))


def matrix_rank(x: Any, /, *, rtol: Any = None, tol: Any = None, hermitian: bool = False) -> Array:
    """How many singular values are above `rtol` times the largest (or above `tol`).

    rtol: None for max(M, N) times the dtype's epsilon. With fewer than two axes, whether an
    element is not 0.
    """
    array = to_array(x)
    if array.ndim < 2:
        is_any: Array = array != 0
        return is_any.any().astype(dtypes.int64)
    values: Array = abs(eigvalsh(array)) if hermitian else svdvals(array)
    if tol is None:
        if rtol is None:
            rtol = max(array.shape[-2:]) * float(np.finfo(values.dtype).eps)
        bound = _column(rtol) * values.max(axis=-1, keepdims=True)
    else:
        bound = _column(tol)
    is_counted: Array = values > bound
    return is_counted.sum(axis=-1)


def _column(value: Any) -> Any:
    """Numbers of a stack, with an axis for what belongs to each."""
    if isinstance(value, (int, float)):
        return value
    array = to_array(value)
    return array.reshape((*array.shape, 1))


def cond(x: Any, p: Any = None) -> Array:
    """Condition numbers in norm `p` (None: the quotient of the extreme singular values)."""
    array = to_array(x)
    if array.size == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    matrices = _matrices(array)
    if p not in (None, 2, -2):
        _require_square(matrices)
    part = np.empty(0, matrices.dtype).real.dtype
    results = [(matrices.shape[:-2], part)]
    (numbers,) = host_call(_cond, [matrices], results, p=p)
    return numbers


def _cond(a: NDArray, *, p: Any) -> NDArray:
    return np.asarray(np.linalg.cond(a, p)).astype(a.real.dtype)


# --- operands ------------------------------------------------------------------------------------


def _matrices(x: Any) -> Array:
    """An argument as a stack of matrices of numbers that LAPACK takes."""
    array = _inexact(to_array(x))
    if array.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{array.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    return array


def _inexact(array: Array) -> Array:
    """Integers as float64. Raises: DTypeError for half types."""
    if dtypes.is_half(array.dtype):
        raise DTypeError(
            f"array type {array.dtype} is unsupported in linalg", hint="convert to float32 first."
        )
    return array.astype(dtypes.float64) if array.dtype.kind in "biu" else array


def _meet(*arrays: Array) -> Sequence[Array]:
    dtype = dtypes.result_type(*(array.dtype for array in arrays))
    return [array.astype(dtype, copy=False) for array in arrays]


def _require_square(array: Array) -> None:
    if array.shape[-1] != array.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
