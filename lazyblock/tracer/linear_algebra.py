"""Products of vectors and matrices, all written as contractions of labelled axes.

Products of one dtype add up in it; half types in float32, rounded once. float32 is as accurate as
float32 sums are: nothing is rounded to less on the way.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import IndexingError, ShapeError
from lazyblock.graph import build
from lazyblock.graph.ops import Op
from lazyblock.shapes import normalize_axis
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array, Cell, common_device
from lazyblock.tracer.contractions import Label, contract
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.protocols import namespace

__all__ = [
    "dot",
    "inner",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

_MATMUL = "(n?,k),(k,m?)->(n?,m?)"


def matmul(x1: Any, x2: Any, /) -> Array:
    """Products of the matrices of two stacks, which broadcast; one axis counts as a vector.

    Raises: ShapeError in NumPy's words.
    """
    a, b = to_array(x1), to_array(x2)
    for number, array in enumerate((a, b)):
        _require_axes("matmul", _MATMUL, array, number, 1)
    left: tuple[Label, ...] = ("i", "k") if a.ndim > 1 else ("k",)
    right: tuple[Label, ...] = ("k", "j") if b.ndim > 1 else ("k",)
    return _of_stacks("matmul", _MATMUL, (a, left), (b, right))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis of both, complex conjugates of the first; others broadcast."""
    a, b = to_array(x1), to_array(x2)
    signature = "(n),(n)->()"
    for number, array in enumerate((a, b)):
        _require_axes("vecdot", signature, array, number, 1)
    a, b = (_last(array, axis, "vecdot") for array in (a, b))
    return _of_stacks("vecdot", signature, (_conjugate(a), ("k",)), (b, ("k",)))


def matvec(x1: Any, x2: Any, /) -> Array:
    """Products of matrices of one stack and vectors of another."""
    a, b = to_array(x1), to_array(x2)
    signature = "(m,n),(n)->(m)"
    _require_axes("matvec", signature, a, 0, 2)
    _require_axes("matvec", signature, b, 1, 1)
    return _of_stacks("matvec", signature, (a, ("i", "k")), (b, ("k",)))


def vecmat(x1: Any, x2: Any, /) -> Array:
    """Products of vectors of one stack, complex conjugates of them, and matrices of another."""
    a, b = to_array(x1), to_array(x2)
    signature = "(n),(n,m)->(m)"
    _require_axes("vecmat", signature, a, 0, 1)
    _require_axes("vecmat", signature, b, 1, 2)
    return _of_stacks("vecmat", signature, (_conjugate(a), ("k",)), (b, ("k", "j")))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Sums of products over `axes`: so many last and first ones, or two sequences of them.

    Raises: ShapeError when their extents differ.
    """
    a, b = to_array(x1), to_array(x2)
    of_a, of_b = _summed_axes(axes, a.ndim)
    if len(of_a) != len(of_b):
        raise ShapeError("shape-mismatch for sum")
    left = [normalize_axis(axis, a.ndim, "tensordot") for axis in of_a]
    right = [normalize_axis(axis, b.ndim, "tensordot") for axis in of_b]
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ShapeError("duplicate axes are not allowed in tensordot")
    if any(a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)):
        raise ShapeError("shape-mismatch for sum")
    return _over_axes(a, b, left, right)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Over the last axis of `a` and the last but one (or only) of `b`; scalars multiply."""
    left, right = to_array(a), to_array(b)
    if not left.ndim or not right.ndim:
        return deliver(_multiply(left, right), out, "dot")
    axis = max(right.ndim - 2, 0)
    _require_aligned(left, right, left.ndim - 1, axis)
    return deliver(_over_axes(left, right, [left.ndim - 1], [axis]), out, "dot")


def inner(a: Any, b: Any, /) -> Array:
    """Over the last axes of both; scalars multiply."""
    left, right = to_array(a), to_array(b)
    if not left.ndim or not right.ndim:
        return _multiply(left, right)
    if left.shape[-1] != right.shape[-1]:
        flipped = right.transpose()
        _require_aligned(left, flipped, left.ndim - 1, 0)
    return _over_axes(left, right, [left.ndim - 1], [right.ndim - 1])


def vdot(a: Any, b: Any, /) -> Array:
    """Over all elements in C order, complex conjugates of `a`'s."""
    left, right = to_array(a).reshape(-1), to_array(b).reshape(-1)
    if left.shape != right.shape:
        raise ShapeError(f"cannot reshape array of size {right.size} into shape {left.shape}")
    return _over_axes(_conjugate(left), right, [0], [0])


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Products of all pairs of elements, in C order."""
    left, right = to_array(a).reshape(-1), to_array(b).reshape(-1)
    return deliver(_over_axes(left, right, [], []), out, "multiply")


# --- how they become contractions ----------------------------------------------------------------


def result_dtype(*arrays: Array) -> DType:
    """The dtype in which arrays meet."""
    return dtypes.result_type(*(array.dtype for array in arrays))


def contract_arrays(
    factors: Sequence[tuple[Array, Sequence[Label]]], out: Sequence[Label]
) -> Array:
    """`contractions.contract` of arrays, in the dtype in which they meet."""
    arrays = [array for array, _ in factors]
    dtype = result_dtype(*arrays)
    nodes = [(build.cast(array.node, dtype), labels) for array, labels in factors]
    return Array(Cell(contract(nodes, out, dtype), common_device(*arrays)))


def _of_stacks(
    name: str,
    signature: str,
    left: tuple[Array, tuple[Label, ...]],
    right: tuple[Array, tuple[Label, ...]],
) -> Array:
    """Contract the last axes, which have labels, over stacks that broadcast."""
    (a, of_a), (b, of_b) = left, right
    depth, expected = (array.shape[of.index("k") - len(of)] for array, of in (right, left))
    if depth != expected:
        raise ShapeError(
            f"{name}: Input operand 1 has a mismatch in its core dimension "
            f"{of_b.index('k')}, with gufunc signature {signature} (size {depth} is different from "
            f"{expected})"
        )
    stacks = [range(len(of) - array.ndim, 0) for array, of in (left, right)]
    longest = max(stacks, key=len)
    own = [label for label in (*of_a, *of_b) if label != "k"]
    return contract_arrays([(a, (*stacks[0], *of_a)), (b, (*stacks[1], *of_b))], (*longest, *own))


def _over_axes(a: Array, b: Array, of_a: Sequence[int], of_b: Sequence[int]) -> Array:
    """Contract pairs of axes; the others stay, those of `a` first."""
    left: list[Label] = [("a", axis) for axis in range(a.ndim)]
    right: list[Label] = [("b", axis) for axis in range(b.ndim)]
    for number, (i, j) in enumerate(zip(of_a, of_b, strict=True)):
        left[i] = right[j] = number
    out = [label for label in (*left, *right) if isinstance(label, tuple)]
    return contract_arrays([(a, left), (b, right)], out)


def _summed_axes(axes: Any, ndim: int) -> tuple[list[int], list[int]]:
    try:
        of_a, of_b = axes
    except TypeError:
        count = operator.index(axes)
        if count > ndim:
            raise IndexingError("tuple index out of range") from None
        return list(range(ndim - count, ndim)), list(range(count))
    return _as_list(of_a), _as_list(of_b)


def _as_list(axes: Any) -> list[int]:
    try:
        return [operator.index(axis) for axis in axes]
    except TypeError:
        return [operator.index(axes)]


def _last(array: Array, axis: int, name: str) -> Array:
    """The array with an axis moved to the end."""
    place = normalize_axis(axis, array.ndim, name)
    rest = [other for other in range(array.ndim) if other != place]
    return array.transpose((*rest, place))


def _multiply(a: Array, b: Array) -> Array:
    dtype = result_dtype(a, b)
    nodes = (build.cast(array.node, dtype) for array in (a, b))
    return Array(Cell(build.elementwise(Op.MULTIPLY, *nodes), common_device(a, b)))


def _conjugate(array: Array) -> Array:
    conjugate: Array = namespace().conj(array) if array.dtype.kind == "c" else array
    return conjugate


def _require_axes(name: str, signature: str, array: Array, number: int, count: int) -> None:
    if array.ndim < count:
        raise ShapeError(
            f"{name}: Input operand {number} does not have enough dimensions (has {array.ndim}, "
            f"gufunc core with signature {signature} requires {count})"
        )


def _require_aligned(a: Array, b: Array, of_a: int, of_b: int) -> None:
    if a.shape[of_a] != b.shape[of_b]:
        first, second = (str(array.shape).replace(" ", "") for array in (a, b))
        raise ShapeError(
            f"shapes {first} and {second} not aligned: {a.shape[of_a]} (dim {of_a}) != "
            f"{b.shape[of_b]} (dim {of_b})"
        )
