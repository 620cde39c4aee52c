"""`Array`: a handle on a value that is recorded now and computed later.

A handle is a cell (the base's current node) and a view of it (None = all of it). Reading applies
the view to the node of that moment; writing puts a new node into the cell, seen by every handle
that shares it. Nodes never change, so what was recorded keeps the old values. No numerics here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DeviceError, DTypeError, ShapeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.shapes import Shape, broadcast_shapes
from lazyblock.tracer.cells import ArrayCell, Cell, UnwrittenCell
from lazyblock.tracer.complex_parts import ComplexParts
from lazyblock.tracer.conversions import Conversions
from lazyblock.tracer.exports import Exports
from lazyblock.tracer.functions import FUNCTIONS, Function
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.indexing import basic_index, is_basic, read_entries, select
from lazyblock.tracer.methods import Methods
from lazyblock.tracer.operands import (
    Operand,
    as_assigned,
    as_element,
    as_node,
    check_cast,
    convert,
    is_operand_type,
)
from lazyblock.tracer.operators import Operators, binary, reflected, unary
from lazyblock.tracer.protocols import NumPyProtocols, namespace
from lazyblock.tracer.selections import (
    check_line,
    fit_assigned,
    fit_selected,
    is_full_mask,
    pick,
    put,
    put_where,
)
from lazyblock.tracer.shaping import Shaping
from lazyblock.tracer.stages import pipeline

__all__ = [
    "Array",
    "ArrayCell",
    "Cell",
    "UnwrittenCell",
    "as_constant",
    "common_device",
    "from_host",
    "operand_of",
    "record",
    "recorder",
]

NDArray = npt.NDArray[Any]


def _is_view(shape: Shape, key: Any) -> bool:
    """Whether a basic index gives a view: of one element only by `...`, never by 0-d arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, (np.ndarray, Handle)) for part in parts):
        return False
    return bool(shape) or any(part is Ellipsis for part in parts)


# Operands


def operand_of(value: Any, device: str | None) -> Operand | None:
    """A value as an operand on `device`; None when it is of no known kind.

    Python numbers stay weak, NumPy scalars become constants, NumPy arrays and lists are copied.
    Raises: DTypeError for dtypes that are not supported.
    """
    kind = type(value)
    if kind is Array:
        return value.node  # type: ignore[no-any-return]
    if kind is float or kind is int or kind is bool or kind is complex:
        return value  # type: ignore[no-any-return]
    if not is_operand_type(kind):
        return None
    if isinstance(value, np.generic):
        return as_constant(value)
    if isinstance(value, (np.ndarray, list, tuple)):
        return from_host(np.asarray(value), device)
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    return complex(value) if isinstance(value, complex) else None


def as_constant(value: np.generic) -> Node:
    """A NumPy scalar, with its dtype."""
    return _constant_of(value.dtype, value.tobytes())


@lru_cache(maxsize=512)
def _constant_of(dtype: np.dtype[Any], data: bytes) -> Node:
    return build.constant(np.frombuffer(data, dtype)[0], dtypes.as_dtype(dtype))


def from_host(array: NDArray, device: str | None) -> Node:
    """Copy a NumPy array to a device (None = default). Raises: DTypeError."""
    dtype = dtypes.as_dtype(array.dtype)
    return pipeline.from_numpy(array if array.dtype == dtype else array.astype(dtype), device)


def record(function: Function, *values: Any) -> Array:
    """Record an elementwise function; NotImplemented when a value is of no known kind.

    Raises: DeviceError for arrays on different devices, ShapeError, DTypeError.
    """
    device: str | None = None
    operands: list[Any] = []
    has_others = False
    for value in values:
        kind = type(value)
        if kind is Array:
            cell = value._cell
            operands.append(cell.node if value._view is None else value._view.read(cell.node))
            if cell.device is not device and cell.device is not None:
                device = cell.device if device is None else common_device(*values)
        else:
            operands.append(value)
            has_others = has_others or not (kind is float or kind is int)
    if has_others:
        for position, value in enumerate(operands):
            if isinstance(value, (np.ndarray, list, tuple)):
                device = device or pipeline.default_device()
            operands[position] = value if type(value) is Node else operand_of(value, device)
        if None in operands:
            return NotImplemented  # type: ignore[no-any-return]
    return Array(Cell(function(*operands), device))


def common_device(*values: Any) -> str | None:
    """The device of all arrays among `values`. Raises: DeviceError."""
    devices = {v._cell.device for v in values if isinstance(v, Array)} - {None}
    if len(devices) > 1:
        names = " and ".join(sorted(f"'{name}'" for name in devices))
        raise DeviceError(
            f"Arrays on {names} cannot be used together.",
            hint="move one with 'lb.asarray(x, device=...)'.",
        )
    return devices.pop() if devices else None


class Array(Operators, Shaping, Methods, ComplexParts, Conversions, Exports, NumPyProtocols):
    """A lazy array. Make one with `lb.asarray` or a creation function."""

    __slots__ = ()
    _record = staticmethod(record)  # for the operators

    def compile(self, *, mode: str | None = None, numerics: str | None = None) -> Any:
        """Freeze: a function of new data for its leaf arrays, in order of first use."""
        return namespace().compile(self, mode=mode, numerics=numerics)

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The kernels that compute it."""
        return pipeline.kernels([self.node])

    def explain(self) -> str:
        """Which operations share a kernel, and why others do not."""
        return pipeline.explain([self.node])

    # views and indexing

    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise DTypeError("iteration over a 0-d array")
        return (self[position] for position in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Array:
        if is_basic(key):
            shown = self._as_array().see(*basic_index(self.shape, key))
            return shown if _is_view(shown.shape, key) else shown._with(shown.node)
        selection = select(self.shape, read_entries(self.shape, key))
        shown = self.see(selection.map, selection.shape)
        device = common_device(self, *selection.positions.values()) or self.device
        return Array(Cell(pick(shown.node, selection, device), device))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._is_number:
            self._rebase(self.node)
        if is_basic(key):
            shown = self.see(*basic_index(self.shape, key))
            if shown._is_same_view(value):
                return None  # x[key] += y assigns what it has written
            if not shown.shape and not _is_view((), key) and np.ndim(value):
                value = as_element(value, self.dtype)
            return shown._write(shown._converted(value, shown.shape))
        is_mask = is_full_mask(key, self.ndim)
        if type(key) is Array and self._is_mask(key):
            node = self._converted(value)
            if is_mask:
                check_line(node.shape)
            self._cell.device = common_device(self, key)
            updated = put_where(self.node, key.node, node)
            if updated is not None:
                return self._write(updated)
        entries = read_entries(self.shape, key)  # before values are looked at, as in NumPy
        node = self._converted(value)
        if is_mask:
            check_line(node.shape)
        selection = select(self.shape, entries)
        node = fit_selected(node, selection, is_mask)
        shown = self.see(selection.map, selection.shape)
        self._cell.device = common_device(self, *selection.positions.values()) or self.device
        if shown.size:
            shown._write(put(shown.node, selection, node, self._cell.device))

    def _is_same_view(self, value: Any) -> bool:
        is_same = type(value) is Array and value._cell is self._cell and value._view == self._view
        return is_same and self._cell.is_writeable

    def _is_mask(self, key: Array) -> bool:
        """Whether a key has a bool for every element of the first axes."""
        is_like = 0 < key.ndim <= self.ndim and key.shape == self.shape[: key.ndim]
        return is_like and dtypes.is_bool(key.dtype)

    # writing

    def update(self, result: Array, name: str) -> Array:
        """Write the result of ufunc `name` into this array, as `x += y` and `out=x` do.

        Raises: DTypeError when NumPy's 'same_kind' rule forbids the cast, ShapeError.
        """
        if not self._cell.is_writeable:
            raise ValueRangeError("output array is read-only")
        check_cast(result.dtype, self.dtype, name)
        if broadcast_shapes(result.shape, self.shape, operation=name) != self.shape:
            raise ShapeError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {result.shape}"
            )
        self._cell.device = common_device(self, result)
        self._write(result.node)
        return self

    def _converted(self, value: Any, shape: Shape | None = None) -> Node:
        """A value to be assigned to elements, in the array's dtype.

        Raises: ShapeError if it does not broadcast to `shape`; what NumPy raises for values that
        are no arrays.
        """
        operand: Any = value
        if type(value) not in dtypes.WEAK_TYPES:
            if type(value) is not np.ndarray and not isinstance(value, Array):
                value = as_assigned(value, self.dtype, is_fancy=shape is None)
            operand = operand_of(value, self._cell.device)
        if isinstance(value, Array):
            self._cell.device = common_device(self, value)
        to_node = convert if isinstance(operand, Node) else as_node
        node = to_node(operand, self.dtype)
        return node if shape is None else fit_assigned(node, shape)

    def _write(self, node: Node) -> None:
        """Give the elements shown the values of a node that broadcasts to their shape."""
        if not self._cell.is_writeable:
            raise ValueRangeError("assignment destination is read-only")
        node, view = convert(node, self.dtype), self._view
        if view is None:
            self._cell.write(build.broadcast_to(node, self.shape))
        elif self.size:
            self._cell.write(view.write(self._cell.node, node))


# Elementwise functions


def recorder(name: str) -> Callable[..., Any]:
    """What records an elementwise function of any values, as `record` does, usual ones faster."""
    function = FUNCTIONS[name]
    if function.num_operands == 1:
        compute = unary(name)
        return lambda x: compute(x) if type(x) is Array else record(function, x)
    if function.num_operands > 2:
        return partial(record, function)
    of_array, of_other = binary(name), reflected(name)

    def recorded(x1: Any, x2: Any) -> Any:
        if type(x1) is Array:
            return of_array(x1, x2)
        return of_other(x2, x1) if type(x2) is Array else record(function, x1, x2)

    return recorded
