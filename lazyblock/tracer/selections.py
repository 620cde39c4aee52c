"""Reading and writing what a `Selection` picks, on nodes.

Known positions are checked when they are recorded. Lazy ones are checked when a result is
evaluated: outside of their axis they read nothing, and IndexError names the recorded line.

Writing gives a new value of the whole: where an element is picked, the one that the last of its
positions brings. For known positions that is a gather from the new values; for lazy ones the
host does it (`explain()` shows that).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ShapeError
from lazyblock.graph import build, index_map
from lazyblock.graph.host_call import make_host_call
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.indexing import Position, Selection
from lazyblock.tracer.stages import pipeline

NDArray = npt.NDArray[Any]


def pick(node: Node, selection: Selection, device: str | None) -> Node:
    """The elements that a selection picks from the view it is about."""
    shape, joint = selection.result_shape, selection.joint
    is_checked = any(isinstance(p, Handle) for p in selection.positions.values())
    positions = {
        axis: _spread(
            position_node(position, node.shape[axis], device), joint, shape, selection.place
        )
        for axis, position in selection.positions.items()
    }
    axes = _result_axes(selection)
    rows = [axes.get(axis) for axis in range(node.ndim)]
    return build.gather(node, index_map.from_axes(rows, len(shape)), positions, shape, is_checked)


def position_node(position: Position, extent: int, device: str | None) -> Node:
    """Positions as a node of int64, negative lazy ones counted from the end of the axis."""
    if not isinstance(position, Handle):
        return pipeline.from_numpy(np.asarray(position, np.int64), device)
    return wrap_negative(build.cast(position.node, dtypes.int64), extent)


def wrap_negative(position: Node, extent: int) -> Node:
    """Count negative indices from the end."""
    zero, size = build.fixed(0, dtypes.int64), build.fixed(extent, dtypes.int64)
    is_negative = build.elementwise(Op.LESS, position, zero)
    return build.where(is_negative, build.elementwise(Op.ADD, position, size), position)


def _spread(position: Node, joint: Shape, shape: Shape, place: int) -> Node:
    """Positions, broadcast to `joint`, over a result where the joint axes start at `place`."""
    lead = place + len(joint) - position.ndim
    axes = [None if extent == 1 else lead + axis for axis, extent in enumerate(position.shape)]
    return build.view(position, index_map.from_axes(axes, len(shape)), shape)


def _result_axes(selection: Selection) -> dict[int, int]:
    """Axes of the result by the axes of the view that are kept."""
    number, place = len(selection.joint), selection.place
    return {axis: k if k < place else k + number for k, axis in enumerate(selection.others)}


# Writing


def put(node: Node, selection: Selection, value: Node, device: str | None) -> Node:
    """`node`, the view that a selection is about, with `value` in the elements it picks.

    The value broadcasts to the selection; of several for one element the last counts.
    """
    known = {a: p for a, p in selection.positions.items() if isinstance(p, np.ndarray)}
    if len(known) < len(selection.positions):
        return _put_on_host(node, selection, value, device)
    axes = sorted(known)
    extents = tuple(selection.shape[axis] for axis in axes)
    positions = np.broadcast_arrays(*(known[axis] for axis in axes))
    places = np.asarray(np.ravel_multi_index(tuple(positions), extents))
    return _put_known(node, selection, value, places, extents, device)


def _put_known(
    node: Node,
    selection: Selection,
    value: Node,
    places: NDArray,
    extents: Shape,
    device: str | None,
) -> Node:
    """places: which element, in C order of the axes picked along, each position is."""
    picked = index_map.from_axes(sorted(selection.positions), node.ndim)
    if not places.size:
        return node
    source = np.full(extents, -1, np.int64)
    source.reshape(-1)[places.reshape(-1)] = np.arange(places.size)

    def over_view(array: NDArray) -> Node:
        return build.view(pipeline.from_numpy(array, device), picked, node.shape)

    rows, along = _find_source(selection, value)
    map = index_map.from_axes(rows, node.ndim)
    if along:
        found = np.unravel_index(np.maximum(source, 0), selection.joint)
        positions = {axis: over_view(found[number]) for axis, number in along.items()}
        new = build.gather(value, map, positions, node.shape)
    else:
        new = build.view(value, map, node.shape)
    return build.where(over_view(source >= 0), new, node)


def _find_source(selection: Selection, value: Node) -> tuple[list[int | None], dict[int, int]]:
    """How the axes of a value follow those of the view, or joint axes by number."""
    lead = len(selection.result_shape) - value.ndim
    view_axis = {result: axis for axis, result in _result_axes(selection).items()}
    rows: list[int | None] = []
    along: dict[int, int] = {}
    for axis, extent in enumerate(value.shape):
        target = view_axis.get(lead + axis)
        rows.append(None if extent == 1 else target)
        if target is None and extent != 1:
            along[axis] = lead + axis - selection.place
    return rows, along


def put_where(node: Node, mask: Node, value: Node) -> Node | None:
    """`node` with `value` where a mask over its first axes is true; None if the values are many.

    A value that is the same for every element of the mask needs no knowledge of the mask.
    """
    others = node.ndim - mask.ndim
    lead = value.ndim - others
    if lead > 1 or set(value.shape[: max(lead, 0)]) - {1}:
        return None
    if lead == 1:
        value = build.squeeze(value, (0,))
    over = build.view(mask, index_map.from_axes(range(mask.ndim), node.ndim), node.shape)
    return build.where(over, build.broadcast_to(value, node.shape), node)


def _put_on_host(node: Node, selection: Selection, value: Node, device: str | None) -> Node:
    axes = tuple(sorted(selection.positions))
    positions = [
        p.node if isinstance(p, Handle) else pipeline.from_numpy(p, device)
        for p in (selection.positions[axis] for axis in axes)
    ]
    call = make_host_call(put_items, {"axes": axes, "place": selection.place})
    value = build.broadcast_to(value, selection.result_shape)
    (result,) = build.host_call(call, [node, value, *positions], [(node.shape, node.dtype)])
    return result


def put_items(
    array: NDArray, value: NDArray, *positions: NDArray, axes: tuple[int, ...], place: int
) -> NDArray:
    """A copy of `array` with `value` at positions along `axes`.

    place: which axis of the value is the first of those that the positions share.
    """
    shared = range(np.broadcast(*positions).ndim)
    result = array.copy()
    rows = np.moveaxis(result, axes, range(len(axes)))
    rows[positions] = np.moveaxis(value, [place + axis for axis in shared], shared)
    return result


# What may be assigned


def fit_assigned(node: Node, shape: Shape) -> Node:
    """A value without leading axes of extent 1 that elements of `shape` have not.

    Raises: ShapeError if it does not broadcast to them.
    """
    node = _without_extra_axes(node, len(shape))
    if not _broadcasts(node.shape, shape):
        raise ShapeError(
            f"could not broadcast input array from shape {node.shape} into shape {shape}"
        )
    return node


def _without_extra_axes(node: Node, ndim: int) -> Node:
    """A value without leading axes of extent 1 beyond the last `ndim` axes."""
    extra = node.ndim - ndim
    has_extra = extra > 0 and set(node.shape[:extra]) == {1}
    return build.squeeze(node, range(extra)) if has_extra else node


def is_full_mask(key: Any, ndim: int) -> bool:
    """Whether a key is a bool for every element of an array of `ndim` axes."""
    (item,) = key if type(key) is tuple and len(key) == 1 else (key,)
    if isinstance(item, (list, bool)):
        item = np.asarray(item)
    return getattr(item, "dtype", None) == dtypes.bool_ and item.ndim == ndim


def check_line(shape: Shape) -> None:
    """Raises: DTypeError where a bool for every element is to pick values of several axes."""
    if len(shape) > 1:
        raise DTypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input "
            f"has {len(shape)} dimensions"
        )


def fit_selected(node: Node, selection: Selection, is_mask: bool) -> Node:
    """As `fit_assigned`, for the elements that a key picks.

    is_mask: the key is a bool for every element. Raises: ShapeError.
    """
    shape, target = node.shape, selection.result_shape
    node = _without_extra_axes(node, len(target))
    extra = node.ndim - len(target)
    if extra > 0 and 0 in shape[extra:]:  # NumPy gives such a value another shape
        node = build.reshape(node, shape[extra:])
    if _broadcasts(node.shape, target):
        return node
    if is_mask:
        raise ShapeError(
            f"NumPy boolean array indexing assignment cannot assign {shape[0]} input values to "
            f"the {target[0]} output values where the mask is true"
        )
    raise ShapeError(
        f"shape mismatch: value array of shape {_shown(shape)} could not be broadcast to indexing "
        f"result of shape {_shown(target)}"
    )


def _shown(shape: Shape) -> str:
    return str(shape).replace(", ", ",")


def _broadcasts(shape: Shape, target: Shape) -> bool:
    lead = len(target) - len(shape)
    return lead >= 0 and all(n in (1, target[lead + d]) for d, n in enumerate(shape))
