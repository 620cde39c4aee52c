"""Methods that give other shapes: views where NumPy's are views."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.shapes import Shape, normalize_axes, normalize_axis, size_of
from lazyblock.tracer.attributes import Attributes
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.layout import axes_by_stride, check_order
from lazyblock.tracer.views import whole

if TYPE_CHECKING:
    from typing_extensions import Self


class Shaping(Attributes):
    """Axes exchanged, dropped, joined and cut."""

    __slots__ = ()

    @property
    def shape(self) -> Shape:
        return self._cell.node.shape if self._view is None else self._view.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        """Give this handle other extents. Raises: AttributeError where that takes a copy."""
        new_shape = _complete_shape(value, self.shape)
        view = (self._view or whole(self._cell.node.shape)).reshaped(new_shape)
        if view is None:
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy "
                "with the desired shape."
            )
        self._view = None if self._shows_all(view) else view

    @property
    def T(self) -> Self:
        return self.transpose()

    @property
    def mT(self) -> Self:
        """Each matrix of a stack, transposed."""
        if self.ndim < 2:
            raise ShapeError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> Self:
        """Axes in the order given (none: reversed)."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = tuple(range(self.ndim))[::-1] if axes[0] is None else tuple(axes[0])
        order = [normalize_axis(a, self.ndim, "transpose") for a in axes]
        if not axes:
            order = list(range(self.ndim))[::-1]
        if len(order) != self.ndim:
            raise ShapeError("axes don't match array")
        if len(set(order)) != len(order):
            raise ShapeError("repeated axis in transpose")
        return self.see(index_map.permutation(order), tuple(self.shape[a] for a in order))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        order = list(range(self.ndim))
        first = normalize_axis(axis1, self.ndim, "swapaxes")
        second = normalize_axis(axis2, self.ndim, "swapaxes")
        order[first], order[second] = order[second], order[first]
        return self.transpose(tuple(order))

    def squeeze(self, axis: Axis = None) -> Self:
        """Drop axes of extent 1 (None: all such)."""
        if axis is None:
            axes = tuple(a for a, extent in enumerate(self.shape) if extent == 1)
        else:
            is_scalars = self.ndim == 0 and axis in (0, -1)  # NumPy lets that pass
            axes = () if is_scalars else normalize_axes(axis, self.ndim, "squeeze")
        if any(self.shape[a] != 1 for a in axes):
            raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
        shape = tuple(n for a, n in enumerate(self.shape) if a not in axes)
        return self.see(index_map.removed_axes(self.ndim, axes, [0] * len(axes)), shape)

    def reshape(self, *shape: Any, order: str | None = "C", copy: bool | None = None) -> Self:
        """The elements in C order (or F) under another shape; a view where NumPy gives one."""
        asked = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        new_shape = _complete_shape(asked, self.shape)
        if self._is_in_columns(order):
            return self.T.reshape(new_shape[::-1], copy=copy).T
        view = (self._view or whole(self._cell.node.shape)).reshaped(new_shape)
        if view is not None and not copy:
            return self._show(view)
        if copy is False:
            raise ValueRangeError("Unable to avoid creating a copy while reshaping.")
        return self._with(build.reshape(self.node, new_shape))

    def _is_in_columns(self, order: str | None) -> bool:
        """Whether a memory order means F order here."""
        if order == "C":
            return False
        letter = check_order(order)
        return letter == "F" or (letter == "A" and self.flags.fnc)

    def ravel(self, order: str | None = "C") -> Self:
        """One axis; a view where NumPy gives one."""
        line = self._in_order(order).reshape(-1)
        return line if line.flags.contiguous else line.reshape(-1, copy=True)

    def flatten(self, order: str | None = "C") -> Self:
        """One axis; always a copy."""
        return self._in_order(order).reshape(-1, copy=True)

    def _in_order(self, order: str | None) -> Self:
        """Axes so that C order is the order asked for."""
        if order != "C" and check_order(order) == "K":
            return self.transpose(axes_by_stride(self.strides))
        return self.T if self._is_in_columns(order) else self


def _complete_shape(asked: Any, shape: Shape) -> Shape:
    """A reshape's target with -1 filled in. Raises: ShapeError in NumPy's words."""
    new = list(map(_extent, asked if np.iterable(asked) else [asked]))
    size = size_of(shape)
    shown = str(tuple(new)).replace(" ", "")
    if new.count(-1) > 1:
        raise ShapeError("can only specify one unknown dimension")
    if -1 in new:
        rest = -math.prod(new)
        new[new.index(-1)] = size // rest if rest else -1
    if any(extent < 0 for extent in new) or math.prod(new) != size:
        raise ShapeError(f"cannot reshape array of size {size} into shape {shown}")
    return tuple(new)


def _extent(value: Any) -> int:
    """Raises: DTypeError for what is no integer."""
    if isinstance(value, (bool, np.bool)):
        raise DTypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return operator.index(value)
