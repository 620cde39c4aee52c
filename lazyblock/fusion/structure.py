"""What lowering a group depends on, apart from the arrays and numbers that its kernel is given.

Where in its memory a group begins to read is such a number too: rows of an array are alike.

Long programs repeat their steps: groups of equal structure are lowered and compiled once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from lazyblock.fusion.plan import FusionGroup
from lazyblock.fusion.storage import find_storage
from lazyblock.graph.attrs import ViewAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

Given = tuple[Node, int]  # a node, and the element of its memory that others are counted from

_ALIGNED_BYTES = 16  # places that differ by a multiple are alike to kernels


def structure_of(
    group: FusionGroup, stored: Collection[Node], with_lines: bool = False
) -> tuple[Hashable, tuple[Given, ...]]:
    """A key, and what the arguments of the group's kernel are made of: nodes, and places in them.

    Groups of one key have the same kernel, given what each has in the order told here. stored:
    what some group keeps in memory. with_lines: where nodes were recorded counts too.
    """
    return _Structure(group, stored, with_lines).find()


class _Structure:
    def __init__(self, group: FusionGroup, stored: Collection[Node], with_lines: bool) -> None:
        self.group = group
        self.stored = stored
        self.with_lines = with_lines
        self.own = set(group.roots)
        self.given: dict[Node, int] = {}
        self.start: dict[Node, int] = {}  # of what is given
        self.position: dict[Node, int] = {}  # in `entries`, which come operands first
        self.entries: list[Hashable] = []

    def find(self) -> tuple[Hashable, tuple[Given, ...]]:
        group = self.group
        stack = list(group.roots[::-1])
        while stack:
            node = stack[-1]
            if node not in self.position:
                operands = self._computed(node)
                missing = [operand for operand in operands[::-1] if operand not in self.position]
                if missing:
                    stack += missing
                    continue
                self.entries.append(self._entry(node, operands))
                self.position[node] = len(self.position)
            stack.pop()
        roots = tuple((self.position[root], group.maps[root]) for root in group.roots)
        results = tuple(self._give(node) for node in group.stored)
        given = tuple((node, self.start.get(node, 0)) for node in self.given)
        return (group.space, tuple(self.entries), roots, results), given

    def _computed(self, node: Node) -> tuple[Node, ...]:
        """The operands that are computed, or looked at, on the way."""
        if self._is_read(node) or node.op is Op.CONTRACT:
            return ()
        return node.inputs[1:] if node.op is Op.GATHER else node.inputs

    def _is_read(self, node: Node) -> bool:
        if node in self.own or node.op in (Op.CONSTANT, Op.IOTA):
            return False
        if node in self.stored or node.op in (Op.INPUT, Op.RESHAPE):
            return True
        is_inside = isinstance(node.attrs, ViewAttrs) and not node.attrs.may_leave
        return is_inside and self._is_read(node.inputs[0])

    def _entry(self, node: Node, operands: tuple[Node, ...]) -> Hashable:
        if self._is_read(node):
            return self._memory(node)
        line = node.line if self.with_lines else None
        if node.op is Op.CONSTANT:
            return node.op, node.dtype, self._give(node), line
        in_memory = tuple(self._memory(n) for n in node.inputs[: len(node.inputs) - len(operands)])
        return node.op, node.attrs, *(self.position[n] for n in operands), in_memory, line

    def _memory(self, node: Node) -> Hashable:
        """How a node lies in the memory of a given one."""
        storage = find_storage(node, self.stored)
        assert storage is not None, f"{node!r} is not in memory"
        base, offset, strides = storage.base, storage.offset, storage.strides
        start = self.start.setdefault(base, offset)
        place = start * base.dtype.itemsize % _ALIGNED_BYTES, offset - start
        return node.shape, self._give(base), base.op, base.shape, base.dtype, place, strides

    def _give(self, node: Node) -> int:
        return self.given.setdefault(node, len(self.given))
