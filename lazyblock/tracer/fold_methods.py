"""Reductions and scans as methods, with NumPy's keywords.

The usual call goes straight to `folds.py`; `out`, `initial` and `where` by way of `ufunc_methods`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazyblock import dtypes
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ReduceKind
from lazyblock.lazy_imports import lazy_import
from lazyblock.tracer import folds
from lazyblock.tracer.folds import NOT_GIVEN, Axis
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.operands import check_cast

if TYPE_CHECKING:
    from typing_extensions import Self

arguments = lazy_import("lazyblock.tracer.arguments")
ufunc_methods = lazy_import("lazyblock.tracer.ufunc_methods")
masked_folds = lazy_import("lazyblock.tracer.masked_folds")


def _is_special(out: Any, initial: Any, where: Any) -> bool:
    """Whether a fold is more than one reduction."""
    return out is not None or initial is not NOT_GIVEN or where is not True


class Folds(Handle):
    """Sums, extremes, truth, moments; running sums and products."""

    __slots__ = ()

    def sum(
        self,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Self:
        if _is_special(out, initial, where):
            return self._fold(np.add, axis, dtype, out, keepdims, initial, where)
        return self._with(folds.total(ReduceKind.SUM, self.node, axis, dtype, keepdims))

    def prod(
        self,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Self:
        if _is_special(out, initial, where):
            return self._fold(np.multiply, axis, dtype, out, keepdims, initial, where)
        return self._with(folds.total(ReduceKind.PROD, self.node, axis, dtype, keepdims))

    def max(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Self:
        if _is_special(out, initial, where):
            return self._fold(np.maximum, axis, None, out, keepdims, initial, where)
        return self._with(folds.extreme(ReduceKind.MAX, self.node, axis, keepdims))

    def min(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NOT_GIVEN,
        where: Any = True,
    ) -> Self:
        if _is_special(out, initial, where):
            return self._fold(np.minimum, axis, None, out, keepdims, initial, where)
        return self._with(folds.extreme(ReduceKind.MIN, self.node, axis, keepdims))

    def any(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Self:
        if out is not None or where is not True:
            return self._fold(np.logical_or, axis, None, out, keepdims, NOT_GIVEN, where)
        return self._with(folds.truth(ReduceKind.ANY, self.node, axis, keepdims))

    def all(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Self:
        if out is not None or where is not True:
            return self._fold(np.logical_and, axis, None, out, keepdims, NOT_GIVEN, where)
        return self._with(folds.truth(ReduceKind.ALL, self.node, axis, keepdims))

    def _fold(self, ufunc: np.ufunc, *settings: Any) -> Self:
        result: Self = ufunc_methods.fold(ufunc, self, *settings)
        return result

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Self:
        node = folds.place_of_extreme(ReduceKind.MAX, self.node, axis, keepdims)
        return self._give_place(node, out, "argmax")

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Self:
        node = folds.place_of_extreme(ReduceKind.MIN, self.node, axis, keepdims)
        return self._give_place(node, out, "argmin")

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Self:
        return self.accumulate(ReduceKind.SUM, axis, dtype, "cumsum", out=out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Self:
        return self.accumulate(ReduceKind.PROD, axis, dtype, "cumprod", out=out)

    def accumulate(
        self,
        kind: ReduceKind,
        axis: int | None,
        dtype: Any,
        operation: str = "accumulate",
        include_initial: bool = False,
        out: Any = None,
    ) -> Self:
        """Combine every element with all before it; axis None takes them in C order."""
        if out is not None:
            ufunc = np.add if kind is ReduceKind.SUM else np.multiply
            dtype = ufunc_methods.computed_dtype(ufunc, self, dtype, out)
        node = folds.running(kind, self.node, axis, dtype, operation, include_initial)
        return self._give(node, out, operation)

    def mean(
        self,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Any = True,
    ) -> Self:
        if out is not None and dtypes.is_inexact(self.dtype) and not dtypes.is_half(self.dtype):
            dtype = ufunc_methods.computed_dtype(np.add, self, dtype, out)
        if where is not True:
            return self._store(masked_folds.mean(self, axis, dtype, keepdims, where), out, "mean")
        return self._give(folds.mean(self.node, axis, dtype, keepdims), out, "mean")

    def var(
        self,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = NOT_GIVEN,
        correction: Any = NOT_GIVEN,
    ) -> Self:
        ddof = folds.lost_freedom(ddof, correction)
        if where is not True or mean is not NOT_GIVEN:
            given = (where, None if mean is NOT_GIVEN else mean)
            result = masked_folds.variance(self, axis, dtype, ddof, keepdims, *given)
            return self._store(result, out, "var")
        return self._give(folds.variance(self.node, axis, dtype, ddof, keepdims), out, "var")

    def std(
        self,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = NOT_GIVEN,
        correction: Any = NOT_GIVEN,
    ) -> Self:
        ddof = folds.lost_freedom(ddof, correction)
        if where is not True or mean is not NOT_GIVEN:
            given = (where, None if mean is NOT_GIVEN else mean)
            result = masked_folds.deviation(self, axis, dtype, ddof, keepdims, *given)
        else:
            result = self._with(folds.deviation(self.node, axis, dtype, ddof, keepdims))
        if out is not None:
            check_cast(result.dtype, out.dtype, "sqrt")
        return self._store(result, out, "std")

    def _give_place(self, node: Node, out: Any, name: str) -> Self:
        arguments.check_taken(out, node.shape, node.dtype, f"np.{name}")
        return self._give(node, out, name)

    def _give(self, node: Node, out: Any, name: str) -> Self:
        result = self._with(node)
        return result if out is None else self._store(result, out, name)

    def _store(self, result: Any, out: Any, name: str) -> Self:
        """Write a result into `out`, if there is one, by any cast."""
        stored: Self = ufunc_methods.store(result, out, name)
        return stored
