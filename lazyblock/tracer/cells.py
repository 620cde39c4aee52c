"""Cells: the current value of a base array, shared by all handles of it."""

from __future__ import annotations

from weakref import WeakValueDictionary

from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

_pending: WeakValueDictionary[int, Cell] = WeakValueDictionary()  # by address: no __hash__ needed


class Cell:
    """The current value of a base array. device: None while it depends on no array in memory.

    is_met: set when it waited for evaluation while something else was evaluated.
    """

    __slots__ = ("__weakref__", "_is_protected", "device", "is_met", "node")

    is_met: bool

    def __init__(self, node: Node, device: str | None) -> None:
        self.node = node
        self.device = device

    def write(self, node: Node) -> None:
        """Have another value, which waits for evaluation."""
        self.node = node
        _pending[id(self)] = self

    @property
    def is_writeable(self) -> bool:
        """Whether handles may write into it."""
        return not getattr(self, "_is_protected", False)

    @is_writeable.setter
    def is_writeable(self, value: bool) -> None:
        self._is_protected = not value

    @property
    def is_unwritten(self) -> bool:
        """Whether nobody has given the elements a value."""
        return False


class ArrayCell(Cell):
    """The value of an array that was made as one.

    Without axes, other values are numbers as NumPy's scalars are: in-place operators give new ones.
    """

    __slots__ = ()


class UnwrittenCell(ArrayCell):
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


def take_pending() -> list[Cell]:
    """Arrays written and not evaluated since, which were met so before; all others are met now.

    What a loop writes and asks about, step by step, is among them from its second step on.
    """
    waiting = [cell for ref in _pending.valuerefs() if (cell := ref()) is not None]
    met = []
    for cell in waiting:
        if cell.node.op is Op.INPUT:
            _pending.pop(id(cell), None)
        elif hasattr(cell, "is_met"):
            met.append(cell)
        else:
            cell.is_met = True
    return met
