"""Broadcasting and rearranging of blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, unwrap
from lazyblock.language.context import current_builder, mark_extension
from lazyblock.language.semantics.convert import retype, to_tensor
from lazyblock.language.tensor import describe, tensor

Shape = tuple[int, ...]


def check_shape(shape: Any) -> Shape:
    """A static shape, from ints in a tuple or list, or one int."""
    shape = unwrap(shape)
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    checked = tuple(check_static_int(extent, "an extent") for extent in extents)
    for extent in checked:
        if extent < 1:
            raise SemanticError(f"Extents of blocks are positive, got {extent} in {checked}.")
    mark_odd(checked)
    return checked


def is_odd(extent: int) -> bool:
    """Whether an extent is no power of two."""
    return extent & (extent - 1) != 0


def mark_odd(shape: Shape) -> None:
    """Refuse, in strict mode, extents that are no powers of two."""
    for extent in filter(is_odd, shape):
        mark_extension(f"A block of {extent} elements, which is no power of two,")


def refuse_odd(value: tensor, function: str) -> None:
    """For what is of blocks whose extents are powers of two."""
    if any(map(is_odd, value.handle.shape)):
        raise SemanticError(
            f"{function} needs extents that are powers of two, got {describe(value)}.",
            hint="round up with lb.next_power_of_2 and mask.",
        )


def check_static_int(value: Any, name: str) -> int:
    """An integer known at compile time."""
    value = unwrap(value)
    if not isinstance(value, int | np.integer):
        raise SemanticError(
            f"{name} must be known at compile time, got {describe(value)}.",
            hint="make it a tl.constexpr parameter.",
        )
    return int(value)


def check_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """A static axis, counted from the end if negative."""
    place = check_static_int(axis, f"'{what}'")
    if not -ndim <= place < ndim:
        raise SemanticError(
            f"{what} {place} is outside a block of {ndim} axes.",
            hint=f"axes count from 0 to {ndim - 1}, or from the end: -1 is the last one."
            if ndim
            else "scalars have no axes.",
        )
    return place % ndim


# --- broadcasting --------------------------------------------------------------------------------


def common_shape(*shapes: Shape) -> Shape | None:
    """NumPy's broadcast of shapes, None where they do not fit."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = tuple(max(extents) for extents in zip(*padded, strict=True))
    fits = all(
        extent in (1, wanted)
        for shape in padded
        for extent, wanted in zip(shape, result, strict=True)
    )
    return result if fits else None


def stretch(value: tensor, shape: Shape, role: str = "a block") -> tensor:
    """`value` repeated up to `shape`."""
    if value.handle.shape == shape:
        return value
    if common_shape(value.handle.shape, shape) != shape:
        raise SemanticError(
            f"{role} of shape {value.handle.shape} does not broadcast to {shape}.",
            hint="reduce along another axis, or add axes of extent 1 with x[:, None].",
        )
    return retype(current_builder().broadcast_to(value.handle, shape), value.dtype)


def stretch_together(*values: tensor, operation: str = "this operation") -> list[tensor]:
    """All of `values` in their common shape."""
    shapes = [value.handle.shape for value in values]
    shape = common_shape(*shapes)
    if shape is None:
        listed = " and ".join(str(s) for s in shapes)
        raise SemanticError(
            f"Shapes {listed} do not broadcast together in {operation}.",
            hint="add axes of extent 1 with x[:, None], or transpose one operand.",
        )
    return [stretch(value, shape) for value in values]


@builtin
def broadcast(input: Any, other: Any) -> tuple[tensor, tensor]:
    """Both in their common shape."""
    left, right = stretch_together(to_tensor(input), to_tensor(other), operation="tl.broadcast")
    return left, right


@builtin
def broadcast_to(input: Any, *shape: Any) -> tensor:
    """`input` repeated along axes of extent 1, and new leading ones, up to `shape`."""
    return stretch(to_tensor(input), check_shape(_listed(shape)))


def _listed(arguments: Sequence[Any]) -> Sequence[Any]:
    """`f(x, 1, 2)` and `f(x, (1, 2))` mean the same."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return arguments[0]
    return arguments


# --- axes ----------------------------------------------------------------------------------------


@builtin
def expand_dims(input: Any, axis: Any) -> tensor:
    """New axes of extent 1 at the positions `axis` (an int or several) of the result."""
    value, b = to_tensor(input), current_builder()
    axes = [axis] if not isinstance(axis, (tuple, list)) else list(axis)
    ndim = value.ndim + len(axes)
    places = [check_axis(place, ndim) for place in axes]
    if len(set(places)) != len(places):
        raise SemanticError(f"tl.expand_dims got the same axis twice in {tuple(axes)}.")
    handle = value.handle
    for place in sorted(places):
        handle = b.expand_dims(handle, place)
    return retype(handle, value.dtype)


unsqueeze = expand_dims


@builtin
def squeeze(input: Any, dim: Any) -> tensor:
    """Without axis `dim`, whose extent is 1."""
    value = to_tensor(input)
    place = check_axis(dim, value.ndim, "dim")
    shape = value.handle.shape
    if shape[place] != 1:
        raise SemanticError(f"tl.squeeze of axis {place} of {shape}, which is not of extent 1.")
    return _reshape(value, shape[:place] + shape[place + 1 :])


@builtin
def reshape(input: Any, *shape: Any, can_reorder: bool = False) -> tensor:
    """The same elements in row-major order under another shape; one extent may be -1."""
    value = to_tensor(input)
    return _reshape(value, _complete(value, _listed(shape)))


def _complete(value: tensor, shape: Sequence[Any]) -> Shape:
    extents = [check_static_int(extent, "an extent") for extent in shape]
    if extents.count(-1) == 1:
        known = -math.prod(extents)
        extents[extents.index(-1)] = value.handle.type.size // max(known, 1)
    checked = check_shape(tuple(extents))
    if math.prod(checked) != value.handle.type.size:
        raise SemanticError(
            f"{describe(value)} cannot be reshaped to {checked}:"
            f" {value.handle.type.size} elements are not {math.prod(checked)}."
        )
    return checked


def _reshape(value: tensor, shape: Shape) -> tensor:
    b = current_builder()
    if not value.ndim:
        return retype(b.splat(value.handle, shape), value.dtype)
    if not shape:
        return first_element(value)
    return retype(b.reshape(value.handle, shape), value.dtype)


def first_element(value: tensor) -> tensor:
    """The scalar in a block of one element."""
    b = current_builder()
    handle = b.reshape(value.handle, (1,))
    (result,) = b.reduce([handle], 0, lambda left, right: [left])
    return retype(result, value.dtype)


@builtin
def view(input: Any, *shape: Any) -> tensor:
    """`reshape` under its older name."""
    return reshape(input, *shape)


@builtin
def ravel(x: Any, can_reorder: bool = False) -> tensor:
    """All elements along one axis, in row-major order."""
    value = to_tensor(x)
    return _reshape(value, (value.handle.type.size,))


@builtin
def permute(input: Any, *dims: Any) -> tensor:
    """Axes in another order: axis i of the result is axis `dims[i]` of `input`."""
    value = to_tensor(input)
    order = tuple(check_axis(dim, value.ndim, "dim") for dim in _listed(dims))
    if sorted(order) != list(range(value.ndim)):
        raise SemanticError(
            f"{tuple(dims)} is no order of the {value.ndim} axes of {describe(value)}."
        )
    return retype(current_builder().transpose(value.handle, order), value.dtype)


@builtin
def trans(input: Any, *dims: Any) -> tensor:
    """`permute`; without `dims` the last two axes change places."""
    value = to_tensor(input)
    if dims and _listed(dims):
        return permute(value, *dims)
    if value.ndim < 2:
        raise SemanticError(f"tl.trans needs two axes at least, got {describe(value)}.")
    order = list(range(value.ndim))
    order[-2:] = order[-1], order[-2]
    return permute(value, *order)


@builtin
def item(input: Any) -> tensor:
    """The only element as a scalar."""
    value = to_tensor(input)
    if value.handle.type.size != 1:
        raise SemanticError(f"item() is of blocks of one element, got {describe(value)}.")
    return first_element(value) if value.ndim else value


@builtin
def exchange(input: Any, axis: Any, mask: Any) -> tensor:
    """Element i along `axis` is the one at i ^ mask of `input`; an extension."""
    mark_extension("tl.exchange")
    value = to_tensor(input)
    place = check_axis(axis, value.ndim)
    bits = check_static_int(mask, "'mask'")
    if not 0 <= bits < value.handle.shape[place]:
        raise SemanticError(f"mask {bits} leaves axis {place} of {describe(value)}.")
    refuse_odd(value, "tl.exchange")
    return retype(current_builder().exchange(value.handle, place, bits), value.dtype)


# --- joining and splitting -----------------------------------------------------------------------


@builtin
def join(a: Any, b: Any) -> tensor:
    """Both along a new last axis of extent 2."""
    left, right = _same_type(to_tensor(a), to_tensor(b), "tl.join")
    left, right = stretch_together(left, right, operation="tl.join")
    return retype(current_builder().join(left.handle, right.handle), left.dtype)


def _same_type(left: tensor, right: tensor, operation: str) -> tuple[tensor, tensor]:
    if left.dtype != right.dtype:
        raise SemanticError(
            f"{operation} is of blocks of one type, got {left.dtype} and {right.dtype}."
        )
    return left, right


@builtin
def split(a: Any) -> tuple[tensor, tensor]:
    """The two halves along the last axis, whose extent is 2: the inverse of `join`."""
    value = to_tensor(a)
    shape = value.handle.shape
    if not shape or shape[-1] != 2:
        raise SemanticError(f"tl.split needs a last axis of extent 2, got {describe(value)}.")
    left, right = (retype(half, value.dtype) for half in current_builder().split(value.handle))
    return left, right


@builtin
def interleave(a: Any, b: Any) -> tensor:
    """Elements of both in turn along the last axis."""
    joined = join(a, b)
    shape = joined.handle.shape
    return joined if len(shape) == 1 else _reshape(joined, (*shape[:-2], 2 * shape[-2]))


@builtin
def cat(input: Any, other: Any, can_reorder: bool = False, dim: Any = 0) -> tensor:
    """`other` behind `input` along axis `dim`; both have one shape."""
    left, right = _same_type(to_tensor(input), to_tensor(other), "tl.cat")
    shape = left.handle.shape
    if shape != right.handle.shape or not shape:
        raise SemanticError(
            f"tl.cat is of blocks of one shape, got {describe(left)} and {describe(right)}."
        )
    place = check_axis(dim, len(shape), "dim")
    joined = join(left, right)
    order = [*range(place), len(shape), *range(place, len(shape))]
    return _reshape(permute(joined, *order), _doubled(shape, place))


def _doubled(shape: Shape, place: int) -> Shape:
    return (*shape[:place], 2 * shape[place], *shape[place + 1 :])
