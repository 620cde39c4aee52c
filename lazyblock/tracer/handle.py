"""`Handle`: a cell and a view of it (None = all of it), the state behind every `Array`.

Reading applies the view to the cell's node of that moment. What an `Array` can do is written in
mixins on this base, one per file: operators, methods, conversions, protocols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy.typing as npt

from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.shapes import Shape, size_of
from lazyblock.tracer.cells import ArrayCell, Cell
from lazyblock.tracer.evaluation import evaluate
from lazyblock.tracer.memory import find_base, find_memory
from lazyblock.tracer.stages import pipeline
from lazyblock.tracer.views import View, whole

if TYPE_CHECKING:
    from typing_extensions import Self

NDArray = npt.NDArray[Any]
_Kind = TypeVar("_Kind", bound="Handle")


_new = object.__new__


def wrap(kind: type[_Kind], node: Node, device: str | None) -> _Kind:
    """What `kind(Cell(node, device))` gives, in less time."""
    cell = _new(Cell)
    cell.node = node
    cell.device = device
    handle = _new(kind)
    handle._cell = cell
    handle._view = None
    return handle


class Handle:
    """A handle on a base array, with a view of it."""

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
        dtype = self._cell.node.dtype
        return dtype if self._view is None else self._view.dtype_of(dtype)

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

    def see(self, map: IndexMap, shape: Shape) -> Self:
        """A view of this array: element i is element map(i)."""
        return self._show((self._view or whole(self._cell.node.shape)).then(map, shape))

    def _show(self, view: View) -> Self:
        """A view of its base, or of a copy of a number, which nobody can write to."""
        if self._shows_all(view):
            return type(self)(self._cell)
        return type(self)(self._as_array()._cell, view)

    def _shows_all(self, view: View) -> bool:
        return view.is_whole and view.shape == self._cell.node.shape

    # inside

    _record: Callable[..., Self]  # of elementwise functions: `array.record`

    def _with(self, node: Node) -> Self:
        return type(self)(Cell(node, self._cell.device))

    def _alike(self, node: Node) -> Self:
        """An array of its own, or a number if this is one."""
        kind = Cell if self._is_number else ArrayCell
        return type(self)(kind(node, self._cell.device))

    def _as_array(self) -> Self:
        """Itself, or an array of its own where NumPy gives a scalar."""
        return self if not self._is_number else type(self)(ArrayCell(self.node, self._cell.device))

    def _as_number(self) -> Self:
        """Itself, or a number if it has no axes."""
        return self if self.shape else type(self)(Cell(self.node, self._cell.device))

    @property
    def _is_number(self) -> bool:
        """Whether NumPy gives a scalar here: a computed value without axes."""
        cell = self._cell
        return self._view is None and not cell.node.shape and not isinstance(cell, ArrayCell)

    def _rebase(self, node: Node) -> None:
        """Become the whole of a base of its own."""
        self._cell, self._view = ArrayCell(node, self._cell.device), None

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
