"""Elements chosen by place: subscripts, gather, histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, unwrap
from lazyblock.language.context import current_builder, mark_extension
from lazyblock.language.dtypes import int1, int32, uint32
from lazyblock.language.semantics.convert import cast, retype, to_tensor
from lazyblock.language.semantics.create import arange
from lazyblock.language.semantics.shapes import (
    check_axis,
    check_static_int,
    expand_dims,
    squeeze,
    stretch,
)
from lazyblock.language.tensor import describe, tensor


@builtin
def gather(src: Any, index: Any, axis: Any) -> tensor:
    """result[..., i, ...] = src[..., index[..., i, ...], ...] along `axis`.

    Other axes of `index` have the extents of `src`.
    """
    value, places = to_tensor(src), to_tensor(index)
    axis = check_axis(axis, value.ndim)
    if not places.dtype.is_int():
        raise SemanticError(f"tl.gather needs integer indices, got {describe(places)}.")
    others = [
        tuple(extent for place, extent in enumerate(v.handle.shape) if place != axis)
        for v in (value, places)
    ]
    if value.ndim != places.ndim or others[0] != others[1]:
        raise SemanticError(
            f"tl.gather along axis {axis} needs other extents to be equal, got {describe(value)}"
            f" and {describe(places)}."
        )
    if places.dtype.primitive_bitwidth < 32:
        places = cast(places, int32)
    return retype(current_builder().gather(value.handle, places.handle, axis), value.dtype)


@builtin
def histogram(input: Any, num_bins: Any, mask: Any = None) -> tensor:
    """How many elements equal 0, 1, ..., num_bins - 1; int32. Others do not count."""
    value, bins = to_tensor(input), check_static_int(num_bins, "'num_bins'")
    if value.ndim != 1 or value.dtype not in (int32, uint32):
        raise SemanticError(
            f"tl.histogram is of 32-bit integers along one axis, got {describe(value)}."
        )
    lanes = None
    if mask is not None:
        lanes = stretch(cast(to_tensor(mask), int1), value.handle.shape, "a mask").handle
    return tensor(current_builder().histogram(value.handle, bins, lanes))


# --- subscripts ----------------------------------------------------------------------------------


def subscript(value: tensor, index: Any) -> tensor:
    """`x[:, None]` adds axes; static integers and slices choose, as an extension."""
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = _fill_ellipsis([unwrap(part) for part in parts], value.ndim)
    axis = 0
    for part in parts:
        if part is None:
            value = expand_dims(value, axis) if value.ndim else stretch(value, (1,))
            axis += 1
        elif isinstance(part, slice):
            value = _slice(value, axis, part)
            axis += 1
        else:
            value = squeeze(_choose(value, axis, [_static_index(value, axis, part)]), axis)
    return value


def _fill_ellipsis(parts: list[Any], ndim: int) -> list[Any]:
    """`parts` with an entry for each axis; a last ':' for no axis, any in a scalar, is nothing."""
    if not ndim:
        parts = [part for part in parts if not _is_whole(part)]
    taken = len([part for part in parts if part is not None and part is not Ellipsis])
    while taken > ndim and _is_whole(parts[-1]):
        parts, taken = parts[:-1], taken - 1
    if taken > ndim:
        raise SemanticError(f"{taken} indices for a block of {ndim} axes.")
    dots = [place for place, part in enumerate(parts) if part is Ellipsis]
    if not dots:
        return parts
    place = dots[0]
    return [*parts[:place], *[slice(None)] * (ndim - taken), *parts[place + 1 :]]


def _is_whole(part: Any) -> bool:
    """Whether it is ':'."""
    return isinstance(part, slice) and part == slice(None)


def _slice(value: tensor, axis: int, part: slice) -> tensor:
    bounds = [unwrap(bound) for bound in (part.start, part.stop, part.step)]
    if bounds == [None, None, None]:
        return value
    given = [None if bound is None else check_static_int(bound, "a bound") for bound in bounds]
    places = list(range(*slice(*given).indices(value.handle.shape[axis])))
    if not places:
        raise SemanticError("A slice without elements.")
    return _choose(value, axis, places)


def _static_index(value: tensor, axis: int, index: Any) -> int:
    if not isinstance(index, (int, np.integer)):
        raise SemanticError(
            f"Blocks take None, ':' and static integers as indices, got {describe(index)}.",
            hint="use tl.gather for computed places.",
        )
    return check_axis(index, value.handle.shape[axis], "index")


def _choose(value: tensor, axis: int, places: list[int]) -> tensor:
    """Elements at equally spaced static places along an axis."""
    mark_extension("An index other than None and ':'")
    step = places[1] - places[0] if len(places) > 1 else 1
    b = current_builder()
    index = b.add(b.mul(arange(0, len(places)).handle, step), places[0])
    shape = [1] * value.ndim
    shape[axis] = len(places)
    wide = list(value.handle.shape)
    wide[axis] = len(places)
    spread = stretch(tensor(b.reshape(index, tuple(shape))), tuple(wide))
    return retype(b.gather(value.handle, spread.handle, axis), value.dtype)
