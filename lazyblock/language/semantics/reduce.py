"""Reductions and scans along an axis, with any combine function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder
from lazyblock.language.semantics.convert import cast, retype, to_tensor
from lazyblock.language.semantics.create import arange
from lazyblock.language.semantics.mapping import apply
from lazyblock.language.semantics.shapes import (
    check_axis,
    expand_dims,
    first_element,
    ravel,
    reshape,
    stretch,
    stretch_together,
)
from lazyblock.language.tensor import describe, tensor
from lazyblock.tiler.ir import Value


def _operands(input: Any, what: str) -> list[tensor]:
    items = input if isinstance(input, (tuple, list)) else (input,)
    values = [to_tensor(item) for item in items]
    for value in values:
        if not value.ndim:
            raise SemanticError(f"{what} needs a block, got {describe(value)}.")
    return stretch_together(*values, operation=what)


def _results(input: Any, found: Sequence[tensor]) -> Any:
    return tuple(found) if isinstance(input, (tuple, list)) else found[0]


def build_combine(combine: Any, operands: Sequence[tensor]) -> Callable[..., list[Value]]:
    """A builder's combine function from one of the language's, over scalars of the operands' types.

    What it gives is converted to the operands' types. Its branches become choices.
    """
    types = [value.dtype for value in operands]
    function = getattr(combine, "inline", combine)

    def build(*handles: Value) -> list[Value]:
        scalars = [tensor(h, t) for h, t in zip(handles, types * 2, strict=True)]
        results = apply(function, scalars)
        if len(results) != len(types):
            raise SemanticError(
                f"The combine function gives {len(results)} values for {len(types)} operands."
            )
        return [cast(r, t).handle for r, t in zip(results, types, strict=True)]

    return build


@builtin
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: bool = False) -> Any:
    """All elements along `axis` combined by `combine_fn(*left, *right)`; axis=None: all there are.

    input: a block, or a tuple of blocks that are reduced together. In which order is unspecified,
    so the function must be associative; masked elements are the caller's business.
    """
    values = _operands(input, "tl.reduce")
    ndim = values[0].ndim
    if axis is None:
        values, place = [ravel(value) for value in values], 0
    else:
        place = check_axis(axis, ndim)
    combine = build_combine(combine_fn, values)
    handles = current_builder().reduce([v.handle for v in values], place, combine)
    found = [retype(h, v.dtype) for h, v in zip(handles, values, strict=True)]
    if keep_dims:
        found = [keep_axes(value, place, ndim if axis is None else 0) for value in found]
    return _results(input, found)


def keep_axes(value: tensor, place: int, ndim: int) -> tensor:
    """A reduction's result with an axis of extent 1 where it reduced; or `ndim` such axes."""
    if ndim:
        return reshape(value, (1,) * ndim)
    return expand_dims(value, place)


@builtin
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: bool = False) -> Any:
    """Each element combined with all before it along `axis` (behind it, if reverse)."""
    values = _operands(input, "tl.associative_scan")
    place = check_axis(axis, values[0].ndim)
    combine = build_combine(combine_fn, values)
    handles = current_builder().scan([v.handle for v in values], place, combine, bool(reverse))
    return _results(input, [retype(h, v.dtype) for h, v in zip(handles, values, strict=True)])


def index_along(value: tensor, axis: int) -> tensor:
    """Each element's number along `axis`, int32."""
    shape = value.handle.shape
    index = arange(0, shape[axis])
    others = tuple(place for place in range(len(shape)) if place != axis)
    return stretch(expand_dims(index, others) if others else index, shape)


__all__ = ["associative_scan", "first_element", "reduce"]
