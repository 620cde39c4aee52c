"""Shapes as tuples of ints: broadcasting, axes, contiguous strides. Strides count elements."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.errors import AxisError, ShapeError, ValueRangeError

Shape = tuple[int, ...]
Strides = tuple[int, ...]


def size_of(shape: Sequence[int]) -> int:
    """Number of elements of an array of this shape."""
    return math.prod(shape)


def contiguous_strides(shape: Sequence[int]) -> Strides:
    """C-order strides, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def broadcast_shapes(*shapes: Shape, operation: str = "broadcast") -> Shape:
    """Shape all `shapes` broadcast to, by NumPy's rule.

    Raises: ShapeError naming `operation` and the shapes.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for position, extent in enumerate(shape, len(result) - len(shape)):
            if extent == 1 or extent == result[position]:
                continue
            if result[position] != 1:
                raise _cannot_broadcast(shapes, operation)
            result[position] = extent
    return tuple(result)


def _cannot_broadcast(shapes: tuple[Shape, ...], operation: str) -> ShapeError:
    listed = " with ".join(str(shape) for shape in dict.fromkeys(shapes))
    hint = "extents must be equal or 1, counted from the last axis."
    if len(shapes) == 2 and shapes[0] == shapes[1][::-1]:
        hint = "transpose one operand, e.g. 'x.T'."
    return ShapeError(f"Cannot broadcast {listed} in '{operation}'.", hint=hint)


def normalize_axis(axis: Any, ndim: int, operation: str) -> int:
    """One axis as a number in [0, ndim). Raises: AxisError, TypeError for non-integers."""
    position: int = operator.index(axis)
    if not -ndim <= position < ndim:
        raise AxisError(position, ndim, operation)
    return position % ndim


def normalize_axes(axes: Any, ndim: int, operation: str) -> tuple[int, ...]:
    """Axes (None = all, an int or a sequence) as a sorted tuple. Raises: AxisError on repeats."""
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, (tuple, list)):
        axes = (axes,)
    normal = sorted(normalize_axis(axis, ndim, operation) for axis in axes)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"Duplicate axis in {tuple(axes)} of '{operation}'.")
    return tuple(normal)


def as_shape(shape: Any, operation: str) -> Shape:
    """An int or a sequence of ints as a shape. Raises: ShapeError on negative extents."""
    if not isinstance(shape, (tuple, list)):
        shape = (shape,)
    result = tuple(operator.index(extent) for extent in shape)
    if any(extent < 0 for extent in result):
        raise ShapeError(f"Negative extent in shape {result} of '{operation}'.")
    return result


def cdiv(a: int, b: int) -> int:
    """Ceiling division of non-negative ints."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """Smallest power of two that is >= n (1 for n <= 1)."""
    return 1 << max(n - 1, 0).bit_length()


def reshape_strides(shape: Shape, strides: Strides, new_shape: Shape) -> Strides | None:
    """Strides that read the same memory in the same order under `new_shape`, or None.

    Both shapes have the same size. Axes fall into blocks of equal element count; within a block the
    old axes must lie in memory as one.
    """
    if size_of(shape) == 0:
        return contiguous_strides(new_shape)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result: list[int] = []
    position = 0
    pending = list(new_shape)
    while pending:
        if pending[0] == 1:
            result.append(0)
            pending.pop(0)
            continue
        block_old, block_new = [old[position]], [pending.pop(0)]
        position += 1
        while (a := size_of([n for n, _ in block_old])) != (b := size_of(block_new)):
            if a < b:
                block_old.append(old[position])
                position += 1
            else:
                block_new.append(pending.pop(0))
        if any(s != t * n for (_, s), (n, t) in itertools.pairwise(block_old)):
            return None
        result.extend(block_old[-1][1] * stride for stride in contiguous_strides(block_new))
    return tuple(result)


def strided_view(
    array: npt.NDArray[Any], shape: Sequence[int], strides: Sequence[int]
) -> npt.NDArray[Any]:
    """An array over the memory of `array`, from its first element on; strides count elements.

    Elements may be of types that NumPy's own `as_strided` cannot name.
    """
    bits = array.view(f"V{array.itemsize}")
    steps = [stride * array.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(bits, tuple(shape), steps).view(array.dtype)


def folded_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """The shape of a reduction over `axes`."""
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(shape))
    return tuple(n for a, n in enumerate(shape) if a not in axes)


def check_grid(name: str, grid: tuple[int, int, int]) -> None:
    """Raise ValueRangeError for a launch of `name` whose instances int32 cannot number."""
    if min(grid) < 0:
        raise ValueRangeError(f"The grid {grid} of '{name}' is negative.")
    if max(grid) > _MOST_INSTANCES:
        raise ValueRangeError(
            f"The grid {grid} of '{name}' has more than {_MOST_INSTANCES} instances on an axis.",
            hint="let an instance do more, or use another axis of the grid.",
        )


_MOST_INSTANCES = 2**31 - 1  # program ids are int32
