"""Making arrays: from data (copied to a device), or from nothing (constants, recorded lazily)."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from lazyblock import config, dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.graph.node import Node
from lazyblock.shapes import Shape, as_shape
from lazyblock.tracer.array import Array, ArrayCell, Cell, UnwrittenCell, from_host
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.layout import check_order
from lazyblock.tracer.operands import Operand
from lazyblock.tracer.stages import pipeline

__all__ = [
    "arange",
    "array",
    "asarray",
    "default_device",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


_NUMBERS = frozenset((bool, int, float, complex))


def default_device() -> str:
    """Name of the device that new arrays go to."""
    return pipeline.default_device()


def asarray(
    obj: Any,
    /,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
) -> Array:
    """Give an array of the elements of NumPy arrays, numbers, nested lists or lazy arrays.

    Host data is copied (later writes to it are not seen) unless `copy=False`, which aliases a NumPy
    array on the CPU. device: None = the default device, or where a lazy array already is.
    order: NumPy's, here and in all that make arrays; elements have one memory order.
    Raises: DTypeError for unsupported dtypes, ValueRangeError when a copy is unavoidable.
    """
    check_order(order)
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(obj, Array):
        return _from_array(obj, wanted, device, copy)
    items = _on_host(obj)
    values = np.asarray(items)
    if copy is False:
        return _alias(values, obj, wanted, device)
    if wanted is not None and wanted != values.dtype:
        values = np.asarray(items, wanted)
    node = from_host(values, device)
    return Array(ArrayCell(node, pipeline.device_of(node)))


def array(
    obj: Any,
    /,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = None,
    ndmin: int = 0,
    device: str | None = None,
) -> Array:
    """As `asarray`, but copies lazy arrays too. ndmin: fewer axes get new ones in front."""
    made = asarray(obj, dtype, order, device=device, copy=copy)
    return made if made.ndim >= ndmin else made.reshape((1,) * (ndmin - made.ndim) + made.shape)


def _on_host(obj: Any) -> Any:
    """Nested lists with NumPy arrays in place of the lazy ones in them, which are evaluated."""
    if type(obj) in (list, tuple) and not _NUMBERS.issuperset(map(type, obj)):
        return [_on_host(item) for item in obj]
    return obj.numpy() if isinstance(obj, Array) else obj


def _from_array(x: Array, dtype: DType | None, device: str | None, copy: bool | None) -> Array:
    changes_device = device is not None and not _is_device(device, x.device)
    if copy is False and (changes_device or dtype not in (None, x.dtype)):
        raise ValueRangeError("Unable to avoid copy while creating an array as requested.")
    x = x._as_array()
    if changes_device:
        moved = from_host(x.numpy(), device)
        x = Array(ArrayCell(moved, pipeline.device_of(moved)))
    if dtype is not None and dtype != x.dtype:
        return x.astype(dtype)
    return x.copy() if copy else x


def _is_device(asked: str, name: str) -> bool:
    """Whether `asked` names the device, "cuda" being "cuda:0"."""
    return name in (asked, f"{asked}:0")


def _alias(values: Any, obj: Any, dtype: DType | None, device: str | None) -> Array:
    dtypes.as_dtype(values.dtype)
    place = pipeline.default_device() if device is None else device
    is_same = values is obj and dtype in (None, values.dtype)
    if not is_same or place != "cpu" or values.dtype.byteorder == ">":
        raise ValueRangeError("Unable to avoid copy while creating an array as requested.")
    return Array(ArrayCell(pipeline.alias_numpy(values), place))


def created(node: Node, device: str | None) -> Array:
    """A recorded value on a device. Only on the default one can it stay unevaluated."""
    if device is None or _is_device(device, pipeline.default_device()):
        return Array(ArrayCell(node, None))
    (done,) = pipeline.evaluate([node], "creation on another device")
    moved = pipeline.from_numpy(pipeline.to_numpy(done), device)
    return Array(ArrayCell(moved, pipeline.device_of(moved)))


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Every element is `fill_value`, a number or an array that broadcasts to `shape`."""
    check_order(order)
    new_shape = _shape(shape, "full")
    if isinstance(fill_value, Array):
        value = fill_value if dtype is None else fill_value.astype(dtype)
        return Array(ArrayCell(build.broadcast_to(value.node, new_shape), value._cell.device))
    values = np.asarray(fill_value)
    if values.ndim:
        return full(new_shape, asarray(values, device=device), dtype=dtype)
    target = dtypes.as_dtype(values.dtype if dtype is None else dtype)
    number = fill_value if isinstance(fill_value, (bool, int, float, complex)) else values
    return created(build.broadcast_to(build.constant(number, target), new_shape), device)


def _shape(shape: Any, operation: str) -> Shape:
    return as_shape(tuple(shape) if np.iterable(shape) else shape, operation)


def zeros(
    shape: Any, dtype: Any = None, order: str | None = None, *, device: str | None = None
) -> Array:
    """Zeros; float64 by default."""
    return full(shape, 0, dtypes.float64 if dtype is None else dtype, order, device=device)


def ones(
    shape: Any, dtype: Any = None, order: str | None = None, *, device: str | None = None
) -> Array:
    """Ones; float64 by default."""
    return full(shape, 1, dtypes.float64 if dtype is None else dtype, order, device=device)


def empty(
    shape: Any, dtype: Any = None, order: str | None = None, *, device: str | None = None
) -> Array:
    """Zeros: there is no cheaper value, as nothing is stored yet.

    Under `config.sanitize` a kernel that reads them before it has written them is reported.
    """
    return _unwritten(zeros(shape, dtype, order, device=device))


def _unwritten(x: Array) -> Array:
    return Array(UnwrittenCell(x._cell.node, x._cell.device)) if config.current.sanitize else x


def full_like(
    x: Any,
    /,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    shape: Any = None,
) -> Array:
    """`full` in the shape and dtype of `x`."""
    like = x if isinstance(x, Array) else np.asarray(x)
    new_shape = like.shape if shape is None else shape
    if device is None and isinstance(x, Array):
        device = x._cell.device
    return full(new_shape, fill_value, like.dtype if dtype is None else dtype, order, device=device)


def zeros_like(
    x: Any,
    /,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    shape: Any = None,
) -> Array:
    """Zeros in the shape and dtype of `x`."""
    return full_like(x, 0, dtype, order, device=device, shape=shape)


def ones_like(
    x: Any,
    /,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    shape: Any = None,
) -> Array:
    """Ones in the shape and dtype of `x`."""
    return full_like(x, 1, dtype, order, device=device, shape=shape)


def empty_like(
    x: Any,
    /,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    shape: Any = None,
) -> Array:
    """`empty` in the shape and dtype of `x`."""
    return _unwritten(full_like(x, 0, dtype, order, device=device, shape=shape))


def arange(
    start: Any = None,
    /,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    device: str | None = None,
    **named: Any,
) -> Array:
    """start, start + step, ... below `stop` (of one number: 0 .. start - 1).

    named: `start`, by its name.
    """
    if named.keys() - {"start"} or ("start" in named and (start is not None or stop is None)):
        raise DTypeError(f"arange() got an unexpected keyword argument '{next(iter(named))}'")
    start = named.get("start", start)
    if start is None:
        if stop is None:
            raise DTypeError("arange() requires stop to be specified.")
        start = 0
    first, end = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueRangeError("Maximum allowed size exceeded")
    kinds = {type(value) for value in (first, end, step)}
    default = dtypes.float64 if any(issubclass(k, (float, np.floating)) for k in kinds) else None
    target = dtypes.as_dtype(dtype or default or dtypes.int64)
    first, end = (int(x) if isinstance(x, np.bool_) else x for x in (first, end))
    size = max(math.ceil((end - first) / step), 0)
    if dtypes.is_bool(target):
        if size > 2:
            raise DTypeError(
                "arange() is only supported for booleans when the result has at most length 2."
            )
        return created(build.cast(_steps(first, step, size, dtypes.int64), target), device)
    return created(_steps(first, step, size, target), device)


def _steps(first: float, step: float, size: int, dtype: DType) -> Node:
    """first + i * step, the step being the difference of the first two elements as NumPy's is."""
    wide = dtypes.accumulator_dtype(dtype)
    zeroth, second = (np.asarray(value).astype(dtype) for value in (first, first + step))
    with np.errstate(all="ignore"):
        delta = second.astype(wide) - zeroth.astype(wide)
    count = build.cast(build.iota(size, dtypes.int64), wide)
    spread = count if delta == 1 else _apply("multiply", count, build.constant(delta, wide))
    if zeroth != 0 or dtypes.is_floating(dtype):
        spread = _apply("add", build.constant(zeroth, wide), spread)
    return build.cast(spread, dtype)


def _apply(name: str, *operands: Operand) -> Node:
    return FUNCTIONS[name](*operands)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Ones on diagonal number `k`, zeros elsewhere."""
    check_order(order)
    columns = n_rows if n_cols is None else n_cols
    target = dtypes.float64 if dtype is None else dtypes.as_dtype(dtype)
    shape = as_shape((n_rows, columns), "eye")
    row = build.expand_dims(build.iota(shape[0], dtypes.int64), (1,))
    column = build.expand_dims(build.iota(shape[1], dtypes.int64), (0,))
    nearest = max(-shape[0], min(operator.index(k), shape[1]))  # beyond, there is no diagonal
    on_diagonal = _apply("equal", _apply("add", row, nearest), column)
    return created(build.cast(on_diagonal, target), device)


def meshgrid(
    *arrays: Any, indexing: str = "xy", copy: bool = True, sparse: bool = False
) -> tuple[Array, ...]:
    """Coordinates of a grid: an array per axis, over all axes (sparse: over its own).

    indexing: "ij" keeps the order of the axes, "xy" exchanges the first two. copy: False gives
    views.
    """
    if indexing not in ("xy", "ij"):
        raise ValueRangeError("Valid values for `indexing` are 'xy' and 'ij'.")
    lines = [to_array(x).reshape(-1) for x in arrays]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    extents = [line.size for line in lines]
    shape = tuple(extents[order[axis]] for axis in range(len(lines)))
    grids = []
    for line, axis in zip(lines, order, strict=True):
        over = tuple(n if a == axis or not sparse else 1 for a, n in enumerate(shape))
        grid = line.see(index_map.from_axes([axis], len(shape)), over)
        grids.append(grid.copy() if copy else grid)
    return tuple(grids)


def tril(x: Any, /, k: int = 0) -> Array:
    """The elements on and below diagonal number `k`, zeros elsewhere."""
    return _triangle(to_array(x), "less_equal", k)


def triu(x: Any, /, k: int = 0) -> Array:
    """The elements on and above diagonal number `k`, zeros elsewhere."""
    return _triangle(to_array(x), "greater_equal", k)


def _triangle(x: Array, relation: str, k: int) -> Array:
    if not x.ndim:
        raise DTypeError("A triangle is taken of arrays that have axes.")
    extents = (x.shape * 2)[-2:]  # of one axis: as many equal rows
    row = build.expand_dims(build.iota(extents[0], dtypes.int64), (1,))
    column = build.expand_dims(build.iota(extents[1], dtypes.int64), (0,))
    is_kept = _apply(relation, column, _apply("add", row, operator.index(k)))
    zero = build.constant(0, x.dtype)
    return Array(Cell(build.where(is_kept, x.node, zero), x._cell.device))


def to_array(value: Any) -> Array:
    """An argument of a function as an array; numbers become 0-d arrays.

    Raises: DTypeError for what is no array.
    """
    if isinstance(value, Array):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic, np.ndarray, list, tuple)):
        return asarray(value)
    raise DTypeError(f"Expected an array, not a {type(value).__name__}.")
