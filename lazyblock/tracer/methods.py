"""NumPy's methods of arrays: other shapes (views where NumPy's are), folds, rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lazyblock import dtypes
from lazyblock.errors import ShapeError, UnsupportedError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.graph.ops import ReduceKind
from lazyblock.shapes import Shape, normalize_axes, normalize_axis, size_of
from lazyblock.tracer import folds
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.operands import convert, is_out_of_range
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.views import whole

if TYPE_CHECKING:
    from typing_extensions import Self


class Methods(Handle):
    """Methods that record or give views."""

    __slots__ = ()

    # shapes

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
            axes = normalize_axes(axis, self.ndim, "squeeze")
        if any(self.shape[a] != 1 for a in axes):
            raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
        shape = tuple(n for a, n in enumerate(self.shape) if a not in axes)
        return self.see(index_map.removed_axes(self.ndim, axes, [0] * len(axes)), shape)

    def reshape(self, *shape: Any, copy: bool | None = None) -> Self:
        """The elements in C order under another shape; a view where NumPy gives one."""
        asked = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        new_shape = _complete_shape(asked, self.shape)
        view = (self._view or whole(self._cell.node.shape)).reshaped(new_shape)
        if view is not None and not copy:
            return type(self)(self._cell, None if self._shows_all(view) else view)
        if copy is False:
            raise ValueRangeError("Unable to avoid creating a copy while reshaping.")
        return self._with(build.reshape(self.node, new_shape))

    def ravel(self) -> Self:
        """One axis; a view where NumPy gives one."""
        return self.reshape(-1)

    def flatten(self) -> Self:
        """One axis; always a copy."""
        return self.reshape(-1, copy=True)

    # values

    def to_device(self, device: str, /, *, stream: Any = None) -> Self:
        """The same values on another device. stream: None, there is one of each device only."""
        if stream is not None:
            raise ValueRangeError("The stream argument to to_device() is not supported")
        moved: Self = namespace().asarray(self, device=device)
        return moved

    def copy(self) -> Self:
        """The same values, not seen by later writes."""
        return self._with(self.node)

    def astype(self, dtype: Any, *, copy: bool = True) -> Self:
        """Convert the elements, as NumPy casts them."""
        target = dtypes.as_dtype(dtype)
        if not copy and target == self.dtype:
            return self
        return self._with(convert(self.node, target))

    def sum(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Self:
        return self._with(folds.total(ReduceKind.SUM, self.node, axis, dtype, keepdims))

    def prod(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Self:
        return self._with(folds.total(ReduceKind.PROD, self.node, axis, dtype, keepdims))

    def max(self, axis: Axis = None, keepdims: bool = False) -> Self:
        return self._with(folds.extreme(ReduceKind.MAX, self.node, axis, keepdims))

    def min(self, axis: Axis = None, keepdims: bool = False) -> Self:
        return self._with(folds.extreme(ReduceKind.MIN, self.node, axis, keepdims))

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self._with(folds.place_of_extreme(ReduceKind.MAX, self.node, axis, keepdims))

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self._with(folds.place_of_extreme(ReduceKind.MIN, self.node, axis, keepdims))

    def any(self, axis: Axis = None, keepdims: bool = False) -> Self:
        return self._with(folds.truth(ReduceKind.ANY, self.node, axis, keepdims))

    def all(self, axis: Axis = None, keepdims: bool = False) -> Self:
        return self._with(folds.truth(ReduceKind.ALL, self.node, axis, keepdims))

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Self:
        return self.accumulate(ReduceKind.SUM, axis, dtype, "cumsum")

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Self:
        return self.accumulate(ReduceKind.PROD, axis, dtype, "cumprod")

    def accumulate(
        self,
        kind: ReduceKind,
        axis: int | None,
        dtype: Any,
        operation: str = "accumulate",
        include_initial: bool = False,
    ) -> Self:
        """Combine every element with all before it; axis None takes them in C order."""
        node = folds.running(kind, self.node, axis, dtype, operation, include_initial)
        return self._with(node)

    def mean(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Self:
        return self._with(folds.mean(self.node, axis, dtype, keepdims))

    def var(
        self, axis: Axis = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Self:
        return self._with(folds.variance(self.node, axis, dtype, ddof, keepdims))

    def std(
        self, axis: Axis = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Self:
        return self._with(folds.deviation(self.node, axis, dtype, ddof, keepdims))

    def clip(self, min: Any = None, max: Any = None) -> Self:
        """Move elements into min..max; None leaves a side open.

        Python ints beyond an integer dtype leave a side open too, as in NumPy.
        """
        low = None if is_out_of_range(min, self.dtype) and min < 0 else min
        high = None if is_out_of_range(max, self.dtype) and max > 0 else max
        if low is None and high is None:
            return self.copy()
        if low is None or high is None:
            name, bound = ("minimum", high) if low is None else ("maximum", low)
            return self._record(FUNCTIONS[name], self, bound)
        return self._record(FUNCTIONS["clip"], self, low, high)

    def round(self, decimals: int = 0) -> Self:
        """Nearest integral values, halves to even. Raises: UnsupportedError for decimals."""
        if decimals:
            raise UnsupportedError("'round' to decimals is not offered yet.")
        return (
            self._record(FUNCTIONS["rint"], self) if dtypes.is_inexact(self.dtype) else self.copy()
        )


def _complete_shape(asked: Any, shape: Shape) -> Shape:
    """A reshape's target with -1 filled in. Raises: ShapeError in NumPy's words."""
    new = list(asked) if isinstance(asked, Sequence) else [asked]
    size = size_of(shape)
    shown = str(tuple(new)).replace(" ", "")
    if new.count(-1) > 1:
        raise ShapeError("can only specify one unknown dimension")
    if -1 in new:
        rest = -math.prod(new)
        new[new.index(-1)] = size // rest if rest else -1
    if any(extent < 0 for extent in new) or math.prod(new) != size:
        raise ShapeError(f"cannot reshape array of size {size} into shape {shown}")
    return tuple(int(extent) for extent in new)
