"""Keys of `x[key]`: ints, slices, None and Ellipsis become an affine map; arrays come after it.

A basic key is a view. With arrays or bools among its entries the key is a `Selection`: a basic
index that leaves some axes whole, and positions along these. Errors are NumPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, IndexingError, ValueRangeError
from lazyblock.graph.index_map import IndexMap
from lazyblock.shapes import Shape
from lazyblock.tracer.handle import Handle

NDArray = npt.NDArray[Any]
Position = NDArray | Handle  # int64 and in range, or lazy integers

_VALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)
_BASIC = frozenset((int, slice, type(None), type(Ellipsis)))
_ENDS = frozenset((int, type(None)))  # of usual slices
_MOST_AXES = 64  # NumPy's limit


@dataclass(frozen=True)
class Selection:
    """Elements picked from a view.

    map, shape: of the view, a basic index. positions: by axis of the view, broadcast together to
    the shape `joint`. place: how many of the view's other axes come before the joint axes.
    """

    map: IndexMap
    shape: Shape
    positions: dict[int, Position]
    joint: Shape
    place: int

    @property
    def others(self) -> list[int]:
        """Axes of the view that are kept as they are."""
        return [axis for axis in range(len(self.shape)) if axis not in self.positions]

    @property
    def result_shape(self) -> Shape:
        kept = tuple(self.shape[axis] for axis in self.others)
        return (*kept[: self.place], *self.joint, *kept[self.place :])


def is_basic(key: Any) -> bool:
    """Whether `x[key]` is a view."""
    if type(key) is tuple:
        return all([type(item) in _BASIC or _is_index(item) for item in key])
    return type(key) in _BASIC or _is_index(key)


def _is_index(item: Any) -> bool:
    """Whether an entry is one integer, or else nothing that could be an array."""
    if isinstance(item, (bool, np.bool, list, tuple)):
        return False
    if isinstance(item, (np.ndarray, Handle)):
        return item.ndim == 0 and dtypes.is_integer(item.dtype)
    return True


def basic_index(shape: Shape, key: Any) -> tuple[IndexMap, Shape]:
    """The map and shape of `x[key]` for an array of `shape` and a basic key.

    Raises: IndexingError, DTypeError (slices of no integers), ValueRangeError (slice step 0).
    """
    items = key if isinstance(key, tuple) else (key,)
    frozen = [_frozen(item) for item in items]
    if NotImplemented not in frozen:
        return _known_index(shape, tuple(frozen))
    return _affine(shape, _expand([_entry(item) for item in items], len(shape)))


def _frozen(item: Any) -> Any:
    """An entry as what is equal for the same entries only; NotImplemented for unusual ones."""
    kind = type(item)
    if kind is slice:
        ends = item.start, item.stop, item.step
        return ends if {*map(type, ends)} <= _ENDS else NotImplemented
    return item if kind in _BASIC else NotImplemented


@lru_cache(maxsize=4096)
def _known_index(shape: Shape, items: tuple[Any, ...]) -> tuple[IndexMap, Shape]:
    """As `basic_index`: loops index alike again and again. Slices are tuples of three."""
    entries = [slice(*item) if type(item) is tuple else item for item in items]
    return _affine(shape, _expand(entries, len(shape)))


class Entries(NamedTuple):
    """What a key has for every axis; is_split: what picks does not stand side by side."""

    items: list[Any]
    is_split: bool


def read_entries(shape: Shape, key: Any) -> Entries:
    """The entries of a key for an array of `shape`; evaluates lazy bools.

    Raises: IndexingError for what is no key, or of too many axes.
    """
    entries = list(_advanced_entries(key))
    return Entries(_expand(entries, len(shape)), _has_dots_inside(entries))


def select(shape: Shape, entries: Entries) -> Selection:
    """What a key picks of an array of `shape`.

    Raises: IndexingError, DTypeError (slices of no integers), ValueRangeError (slice step 0).
    """
    basic: list[Any] = []
    positions: dict[int, Position] = {}
    place, is_split, was_pick = 0, entries.is_split, False
    axis = 0  # of the array
    for entry in entries.items:
        is_pick = isinstance(entry, _Pick)
        if not is_pick:
            basic.append(entry)
            axis += entry is not None
        else:
            entry.check_mask(shape, axis)
            place = place if positions else len(basic)
            is_split = is_split or (bool(positions) and not was_pick)
            for position in entry.positions:
                positions[len(basic)] = position
                basic.append(slice(None) if entry.takes_axes else None)
            axis += entry.takes_axes
        was_pick = is_pick
    map, view_shape = _affine(shape, basic)
    joint = _join(positions.values())
    positions = {
        a: p if p.ndim and 0 in joint else _in_range(p, a, basic, view_shape)
        for a, p in positions.items()
    }
    return Selection(map, view_shape, positions, joint, 0 if is_split else place)


@dataclass(frozen=True)
class _Pick:
    """An entry that picks: positions along axes, or a bool per element of axes."""

    positions: tuple[Position, ...]
    mask_shape: Shape | None = None  # of bools

    @property
    def takes_axes(self) -> int:
        """How many axes of the array it is about."""
        return len(self.positions) if self.mask_shape is None else len(self.mask_shape)

    def check_mask(self, shape: Shape, axis: int) -> None:
        """Raises: IndexingError for bools that do not lie on the array's elements."""
        for number, extent in enumerate(self.mask_shape or (), axis):
            if extent and extent != shape[number]:
                raise IndexingError(
                    f"boolean index did not match indexed array along axis {number}; size of "
                    f"axis is {shape[number]} but size of corresponding boolean axis is {extent}"
                )


def _has_dots_inside(entries: Sequence[Any]) -> bool:
    """Whether an ellipsis stands between entries that pick, be it for no axis."""
    at = next((n for n, entry in enumerate(entries) if entry is Ellipsis), 0)
    sides = entries[:at], entries[at:]
    return all(any(isinstance(entry, _Pick) for entry in side) for side in sides)


def _advanced_entries(key: Any) -> Iterator[Any]:
    for item in key if isinstance(key, tuple) else (key,):
        if item is None or item is Ellipsis or isinstance(item, slice):
            yield item
        elif isinstance(item, (bool, np.bool)):
            yield _pick_where(np.asarray(item))
        elif isinstance(item, (np.ndarray, list, tuple)):
            yield _pick_of_array(item)
        elif isinstance(item, Handle):
            yield _pick_of_lazy(item)
        else:
            yield _Pick((np.asarray(_entry(item)),))


def _pick_of_array(item: Any) -> _Pick:
    array = np.asarray(item)
    if array.dtype == np.bool:
        return _pick_where(array)
    if array.size == 0 and not isinstance(item, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        if not isinstance(item, np.ndarray):
            raise IndexingError(_VALID)
        raise IndexingError("arrays used as indices must be of integer (or boolean) type")
    return _Pick((array.astype(np.int64),))


def _pick_of_lazy(item: Handle) -> _Pick:
    if dtypes.is_bool(item.dtype):
        return _pick_where(item._values("boolean index"))
    if not dtypes.is_integer(item.dtype):
        raise IndexingError("arrays used as indices must be of integer (or boolean) type")
    return _Pick((item,))


def _pick_where(mask: NDArray) -> _Pick:
    """Places where a mask is true; one without axes is about a new axis."""
    return _Pick(np.nonzero(np.atleast_1d(mask)), mask.shape)


def _in_range(position: Position, axis: int, basic: Sequence[Any], shape: Shape) -> Position:
    """Positions along an axis of a view, which errors number as the array does."""
    number = sum(entry is not None for entry in basic[:axis])
    if isinstance(position, np.ndarray):
        return in_range(position, number, shape[axis])
    if not shape[axis]:
        raise IndexingError(f"index is out of bounds for axis {number} with size 0")
    return position


def in_range(position: NDArray, axis: int, extent: int) -> NDArray:
    """Indices of an axis, negative ones counted from the end. Raises: IndexingError."""
    outside = (position < -extent) | (position >= extent)
    if outside.any():
        raise _out_of_bounds(int(position[outside].flat[0]), axis, extent)
    return np.where(position < 0, position + extent, position)


def _join(positions: Any) -> Shape:
    shapes = [position.shape for position in positions]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(str(shape).replace(", ", ",") for shape in shapes)
        raise IndexingError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {listed}"
        ) from None


def _affine(shape: Shape, entries: Sequence[Any]) -> tuple[IndexMap, Shape]:
    """The map and shape of ints, slices and None, one for every axis."""
    offsets: list[int] = []
    selected: list[tuple[int | None, int]] = []  # per operand axis: result axis and step
    result: list[int] = []
    for entry in entries:
        if entry is None:
            result.append(1)
            continue
        axis = len(offsets)
        if isinstance(entry, slice):
            start, step, extent = _slice(entry, shape[axis])
            offsets.append(start)
            selected.append((len(result), step))
            result.append(extent)
        else:
            offsets.append(_checked(entry, axis, shape[axis]))
            selected.append((None, 0))
    rank = len(result)
    if rank > _MOST_AXES:
        raise IndexingError(
            f"number of dimensions must be within [0, {_MOST_AXES}], indexing result would have "
            f"{rank}"
        )
    rows = tuple(
        tuple(step if e == target else 0 for e in range(rank)) for target, step in selected
    )
    return IndexMap(tuple(offsets), rows, rank), tuple(result)


def _expand(entries: list[Any], ndim: int) -> list[Any]:
    """The entries, with slices for what an ellipsis (or the end) stands for."""
    used = sum(
        item.takes_axes if isinstance(item, _Pick) else item is not None and item is not Ellipsis
        for item in entries
    )
    if used > ndim:
        raise IndexingError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    dots = [position for position, item in enumerate(entries) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexingError("an index can only have a single ellipsis ('...')")
    at = dots[0] if dots else len(entries)
    rest: list[Any] = [slice(None)] * (ndim - used)
    return entries[:at] + rest + entries[at + 1 :]


def _entry(item: Any) -> Any:
    """An entry as None, Ellipsis, a slice or an int."""
    if type(item) is int or item is None or item is Ellipsis or isinstance(item, slice):
        return item
    try:
        return operator.index(item)
    except TypeError:
        raise IndexingError(_VALID) from None


def _slice(entry: slice, extent: int) -> tuple[int, int, int]:
    """Start, step and number of elements."""
    try:
        start, stop, step = entry.indices(extent)
    except ValueError as error:
        raise ValueRangeError(str(error)) from None
    except TypeError as error:
        raise DTypeError(str(error)) from None
    count = len(range(start, stop, step))
    return (start if count else 0), step, count


def _checked(index: int, axis: int, extent: int) -> int:
    if not -extent <= index < extent:
        raise _out_of_bounds(index, axis, extent)
    return index + extent if index < 0 else index


def _out_of_bounds(index: int, axis: int, extent: int) -> IndexingError:
    return IndexingError(f"index {index} is out of bounds for axis {axis} with size {extent}")
