"""Cells: the current value of a base array, shared by all handles of it."""

from __future__ import annotations

from lazyblock.graph.node import Node


class Cell:
    """The current value of a base array. device: None while it depends on no array in memory."""

    __slots__ = ("_is_protected", "device", "node")

    def __init__(self, node: Node, device: str | None) -> None:
        self.node = node
        self.device = device

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
