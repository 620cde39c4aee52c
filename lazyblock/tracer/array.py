"""`Array`: a handle on a value that is recorded now and computed later.

A handle is a cell (the base's current node) and a view of it (None = all of it). Reading applies
the view to the node of that moment; writing puts a new node into the cell, seen by every handle
that shares it. Nodes never change, so what was recorded keeps the old values. No numerics here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import (
    DeviceError,
    DTypeError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from lazyblock.graph import build, index_map
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import ReduceKind
from lazyblock.shapes import Shape, broadcast_shapes, normalize_axes, normalize_axis, size_of
from lazyblock.tracer import folds
from lazyblock.tracer.evaluation import evaluate
from lazyblock.tracer.folds import Axis
from lazyblock.tracer.functions import FUNCTIONS, Function
from lazyblock.tracer.indexing import basic_index
from lazyblock.tracer.memory import find_base, find_memory
from lazyblock.tracer.operands import Operand, as_node, can_cast_same_kind, is_out_of_range
from lazyblock.tracer.protocols import NumPyProtocols, namespace
from lazyblock.tracer.stages import pipeline
from lazyblock.tracer.views import View, whole

NDArray = npt.NDArray[Any]


class Cell:
    """The current value of a base array. device: None while it depends on no array in memory."""

    __slots__ = ("device", "node")

    def __init__(self, node: Node, device: str | None) -> None:
        self.node = node
        self.device = device

    @property
    def is_unwritten(self) -> bool:
        """Whether nobody has given the elements a value."""
        return False


class UnwrittenCell(Cell):
    """The value of an array of `lb.empty` under `config.sanitize`: zeros that kernels may not read.

    Whatever gives the array another value, an evaluation too, counts as writing.
    """

    __slots__ = ("_zeros",)

    def __init__(self, node: Node, device: str | None) -> None:
        super().__init__(node, device)
        self._zeros = node

    @property
    def is_unwritten(self) -> bool:
        return self.node is self._zeros


def _operator(name: str) -> Callable[[Array, Any], Array]:
    function = FUNCTIONS[name]

    def operator(self: Array, other: Any) -> Array:
        if type(other) is Array and self._view is None and other._view is None:  # for speed
            left, right = self._cell, other._cell
            if left.device is right.device:
                return Array(Cell(function.of_two(left.node, right.node), left.device))
        return record(function, self, other)

    return operator


def _reflected(name: str) -> Callable[[Array, Any], Array]:
    function = FUNCTIONS[name]

    def operator(self: Array, other: Any) -> Array:
        return record(function, other, self)

    return operator


def _in_place(name: str) -> Callable[[Array, Any], Array]:
    function = FUNCTIONS[name]

    def operator(self: Array, other: Any) -> Array:
        result = record(function, self, other)
        return result if result is NotImplemented else self.update(result, name)

    return operator


def _unary(name: str) -> Callable[[Array], Array]:
    function = FUNCTIONS[name]

    def operator(self: Array) -> Array:
        return record(function, self)

    return operator


class Array(NumPyProtocols):
    """A lazy array. Make one with `lb.asarray` or a creation function."""

    __slots__ = ("__weakref__", "_cell", "_view")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, cell: Cell, view: View | None = None) -> None:
        self._cell = cell
        self._view = view

    # what it is

    @property
    def node(self) -> Node:
        """The expression of its elements as they are now."""
        node = self._cell.node
        return node if self._view is None else self._view.read(node)

    @property
    def shape(self) -> Shape:
        return self._cell.node.shape if self._view is None else self._view.shape

    @property
    def dtype(self) -> DType:
        return self._cell.node.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return size_of(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        """The device's name: "cpu", "cuda:0"..."""
        return self._cell.device or pipeline.default_device()

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        """The same values on another device. stream: its own only, None."""
        if stream is not None:
            raise ValueRangeError("The stream argument to to_device() is not supported")
        moved: Array = namespace().asarray(self, device=device)
        return moved

    # what runs the recorded work

    def numpy(self) -> NDArray:
        """Evaluate, wait and give a NumPy array (read-only, without a copy, on the CPU)."""
        return self._values("numpy")

    def item(self, *index: Any) -> bool | int | float:
        """Evaluate and give one element as a Python number."""
        if not index and self.size != 1:
            raise ValueRangeError("can only convert an array of size 1 to a Python scalar")
        values = self._values("item")
        result: bool | int | float = values.item(*index)
        return result

    def tolist(self) -> Any:
        """Evaluate and give nested lists of Python numbers."""
        return self._values("tolist").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        values = self._values("np.asarray")
        if copy is False and (self.device != "cpu" or dtype not in (None, self.dtype)):
            raise ValueRangeError("Unable to avoid copy while creating an array as requested.")
        return values if copy is False else np.array(values, dtype, copy=copy)

    def __bool__(self) -> bool:
        if self.size == 0:
            raise ValueRangeError(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
                "that an array is not empty."
            )
        if self.size > 1:
            raise ValueRangeError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() "
                "or a.all()"
            )
        return bool(self._values("bool").item())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.ndim or not dtypes.is_integer(self.dtype):
            raise DTypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self._scalar("index"))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __repr__(self) -> str:
        values = np.array2string(self._values("repr"), separator=", ", prefix="Array(")
        return f"Array({values}, shape={self.shape}, dtype={self.dtype}, device='{self.device}')"

    def __str__(self) -> str:
        return str(self._values("print"))

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self._scalar("format"), spec)
        return format(self._values("print"), spec)

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
        return self.see(*basic_index(self.shape, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key]._assign(value)

    def see(self, map: IndexMap, shape: Shape) -> Array:
        """A view of this array: element i is element map(i)."""
        view = (self._view or whole(self._cell.node.shape)).then(map, shape)
        return Array(self._cell, None if self._shows_all(view) else view)

    def _shows_all(self, view: View) -> bool:
        return view.is_whole and view.shape == self._cell.node.shape

    @property
    def T(self) -> Array:
        return self.transpose()

    @property
    def mT(self) -> Array:
        """Each matrix of a stack, transposed."""
        if self.ndim < 2:
            raise ShapeError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> Array:
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

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        order = list(range(self.ndim))
        first = normalize_axis(axis1, self.ndim, "swapaxes")
        second = normalize_axis(axis2, self.ndim, "swapaxes")
        order[first], order[second] = order[second], order[first]
        return self.transpose(tuple(order))

    def squeeze(self, axis: Axis = None) -> Array:
        """Drop axes of extent 1 (None: all such)."""
        if axis is None:
            axes = tuple(a for a, extent in enumerate(self.shape) if extent == 1)
        else:
            axes = normalize_axes(axis, self.ndim, "squeeze")
        if any(self.shape[a] != 1 for a in axes):
            raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
        shape = tuple(n for a, n in enumerate(self.shape) if a not in axes)
        return self.see(index_map.removed_axes(self.ndim, axes, [0] * len(axes)), shape)

    def reshape(self, *shape: Any, copy: bool | None = None) -> Array:
        """The elements in C order under another shape; a view where NumPy gives one."""
        asked = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        new_shape = _complete_shape(asked, self.shape)
        view = (self._view or whole(self._cell.node.shape)).reshaped(new_shape)
        if view is not None and not copy:
            return Array(self._cell, None if self._shows_all(view) else view)
        if copy is False:
            raise ValueRangeError("Unable to avoid creating a copy while reshaping.")
        return Array(Cell(build.reshape(self.node, new_shape), self._cell.device))

    def ravel(self) -> Array:
        """One axis; a view where NumPy gives one."""
        return self.reshape(-1)

    def flatten(self) -> Array:
        """One axis; always a copy."""
        return self.reshape(-1, copy=True)

    # values

    def copy(self) -> Array:
        """The same values, not seen by later writes."""
        return Array(Cell(self.node, self._cell.device))

    def astype(self, dtype: Any, *, copy: bool = True) -> Array:
        """Convert the elements, as NumPy casts them."""
        target = dtypes.as_dtype(dtype)
        if not copy and target == self.dtype:
            return self
        return Array(Cell(build.cast(self.node, target), self._cell.device))

    def sum(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
        return self._with(folds.total(ReduceKind.SUM, self.node, axis, dtype, keepdims))

    def prod(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
        return self._with(folds.total(ReduceKind.PROD, self.node, axis, dtype, keepdims))

    def max(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._with(folds.extreme(ReduceKind.MAX, self.node, axis, keepdims))

    def min(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._with(folds.extreme(ReduceKind.MIN, self.node, axis, keepdims))

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Array:
        return self._with(folds.place_of_extreme(ReduceKind.MAX, self.node, axis, keepdims))

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Array:
        return self._with(folds.place_of_extreme(ReduceKind.MIN, self.node, axis, keepdims))

    def any(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._with(folds.truth(ReduceKind.ANY, self.node, axis, keepdims))

    def all(self, axis: Axis = None, keepdims: bool = False) -> Array:
        return self._with(folds.truth(ReduceKind.ALL, self.node, axis, keepdims))

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Array:
        return self.accumulate(ReduceKind.SUM, axis, dtype, "cumsum")

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Array:
        return self.accumulate(ReduceKind.PROD, axis, dtype, "cumprod")

    def accumulate(
        self,
        kind: ReduceKind,
        axis: int | None,
        dtype: Any,
        operation: str = "accumulate",
        include_initial: bool = False,
    ) -> Array:
        """Combine every element with all before it; axis None takes them in C order."""
        node = folds.running(kind, self.node, axis, dtype, operation, include_initial)
        return self._with(node)

    def mean(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
        return self._with(folds.mean(self.node, axis, dtype, keepdims))

    def var(
        self, axis: Axis = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Array:
        return self._with(folds.variance(self.node, axis, dtype, ddof, keepdims))

    def std(
        self, axis: Axis = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Array:
        return self._with(folds.deviation(self.node, axis, dtype, ddof, keepdims))

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Move elements into min..max; None leaves a side open.

        Python ints beyond an integer dtype leave a side open too, as in NumPy.
        """
        low = None if is_out_of_range(min, self.dtype) and min < 0 else min
        high = None if is_out_of_range(max, self.dtype) and max > 0 else max
        if low is None and high is None:
            return self.copy()
        if low is None or high is None:
            name, bound = ("minimum", high) if low is None else ("maximum", low)
            return record(FUNCTIONS[name], self, bound)
        return record(FUNCTIONS["clip"], self, low, high)

    def round(self, decimals: int = 0) -> Array:
        """Nearest integral values, halves to even. Raises: UnsupportedError for decimals."""
        if decimals:
            raise UnsupportedError("'round' to decimals is not offered yet.")
        return record(FUNCTIONS["rint"], self) if dtypes.is_floating(self.dtype) else self.copy()

    # operators

    __add__, __radd__, __iadd__ = _operator("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __isub__ = _in_place("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __imul__ = _in_place("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __itruediv__ = _in_place("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _in_place("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _reflected("remainder")
    __imod__ = _in_place("remainder")
    __pow__, __rpow__, __ipow__ = _operator("power"), _reflected("power"), _in_place("power")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __iand__ = _in_place("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __ior__ = _in_place("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")
    __ixor__ = _in_place("bitwise_xor")
    __lshift__, __rlshift__ = _operator("left_shift"), _reflected("left_shift")
    __ilshift__ = _in_place("left_shift")
    __rshift__, __rrshift__ = _operator("right_shift"), _reflected("right_shift")
    __irshift__ = _in_place("right_shift")
    __eq__ = _operator("equal")  # type: ignore[assignment]
    __ne__ = _operator("not_equal")  # type: ignore[assignment]
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __abs__, __invert__ = _unary("absolute"), _unary("invert")

    def __divmod__(self, other: Any) -> tuple[Array, Array]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Array, Array]:
        return other // self, other % self

    # writing

    def update(self, result: Array, name: str) -> Array:
        """Write the result of ufunc `name` into this array, as `x += y` and `out=x` do.

        Raises: DTypeError when NumPy's 'same_kind' rule forbids the cast, ShapeError.
        """
        if not can_cast_same_kind(result.dtype, self.dtype):
            raise DTypeError(
                f"Cannot cast ufunc '{name}' output from {result.dtype!r} to {self.dtype!r} with "
                "casting rule 'same_kind'"
            )
        if broadcast_shapes(result.shape, self.shape, operation=name) != self.shape:
            raise ShapeError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {result.shape}"
            )
        common_device(self, result)
        self._write(build.broadcast_to(result.node, self.shape))
        return self

    def _assign(self, value: Any) -> None:
        """What `x[...] = value` does."""
        operand = operand_of(value, self._cell.device)
        if operand is None:
            raise DTypeError(f"Cannot assign a {type(value).__name__} to elements.")
        if isinstance(value, Array):
            common_device(self, value)
        node = as_node(operand, self.dtype)
        extra = node.ndim - self.ndim
        if extra > 0 and set(node.shape[:extra]) == {1}:
            node = build.squeeze(node, range(extra))
        try:
            node = build.broadcast_to(node, self.shape)
        except ShapeError:
            raise ShapeError(
                f"could not broadcast input array from shape {node.shape} into shape {self.shape}"
            ) from None
        self._write(node)

    def _write(self, node: Node) -> None:
        node = build.cast(node, self.dtype)
        if self._view is not None:
            if self.size == 0:
                return
            written = self._view.write(self._cell.node, node)
            if written is None:
                raise UnsupportedError(
                    "Writing into part of an array comes in a later version.",
                    hint="make a new array with 'lb.where'.",
                )
            node = written
        self._cell.node = node

    # inside

    def _with(self, node: Node) -> Array:
        return Array(Cell(node, self._cell.device))

    def _rebase(self, node: Node) -> None:
        """Become the whole of a base of its own."""
        self._cell, self._view = Cell(node, self._cell.device), None

    def stored(self, reason: str) -> Node:
        """Evaluate and give the elements as an INPUT node."""
        evaluate([self], reason)
        base, view = self._cell.node, self._view
        node = base if view is None else view.of_input(base)
        return pipeline.evaluate([self.node], reason)[0] if node is None else node

    __lazyblock_memory__, __lazyblock_base__ = find_memory, find_base  # for kernels

    def _values(self, reason: str) -> NDArray:
        return pipeline.to_numpy(self.stored(reason))

    def _scalar(self, reason: str) -> Any:
        if self.ndim:
            raise DTypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self._values(reason).item()


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


# Operands


def operand_of(value: Any, device: str | None) -> Operand | None:
    """A value as an operand on `device`; None when it is of no known kind.

    Python numbers stay weak, NumPy scalars become constants, NumPy arrays and lists are copied.
    Raises: DTypeError for dtypes that are not supported.
    """
    kind = type(value)
    if kind is Array:
        return value.node  # type: ignore[no-any-return]
    if kind is float or kind is int or kind is bool:
        return value  # type: ignore[no-any-return]
    if isinstance(value, np.generic):
        return as_constant(value)
    if isinstance(value, (np.ndarray, list, tuple)):
        return from_host(np.asarray(value), device)
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    if isinstance(value, complex):
        dtypes.as_dtype(np.complex128)
    return None


def as_constant(value: np.generic) -> Node:
    """A NumPy scalar, with its dtype."""
    dtype = dtypes.as_dtype(value.dtype)
    return build.constant(value, dtype)


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
