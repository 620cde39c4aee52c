"""A write into part of a base, in terms of other ops: every element of the base looks itself up.

Along each base axis an index is a sum of steps of view indices. The view index is found by
division, the largest step first; an element belongs to the view where no remainder is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from lazyblock import dtypes
from lazyblock.errors import ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape


def parts_axes(map: IndexMap) -> bool:
    """Whether every axis of a map's operand follows one of its own: no element is shown twice."""
    followed = [e for row in map.coefficients for e, step in enumerate(row) if step]
    along = [sum(step != 0 for step in row) for row in map.coefficients]
    return max(along, default=0) <= 1 and len(set(followed)) == len(followed)


def write_region(base: Node, map: IndexMap, shape: Shape, value: Node) -> Node:
    """`base` with `value`, which broadcasts to `shape`, in the elements that `map` shows.

    Raises: ValueRangeError for a map that shows an element more than once.
    """
    found = _Lookup(base.shape, map, shape)
    conditions = [node for node in found.conditions if node is not None]
    moved = found.read(value)
    if not conditions:
        return moved
    return build.where(reduce(_both, conditions), moved, base)


class _Lookup:
    """Where every element of a base is shown in a view.

    places: by view axis, the index there, as an affine row over the base's axes with an offset if
    it is one, and as a node.
    """

    def __init__(self, shape: Shape, map: IndexMap, view_shape: Shape) -> None:
        self.shape = shape
        self.view_shape = view_shape
        self.conditions: list[Node] = []
        self.affine: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.nodes: dict[int, Node] = {}
        for axis, (offset, row) in enumerate(zip(map.offsets, map.coefficients, strict=True)):
            self._look_along(axis, offset, row)
        missing = [e for e, n in enumerate(view_shape) if n > 1 and e not in self.nodes]
        if missing:
            raise ValueRangeError("assignment destination is read-only")

    def _look_along(self, axis: int, offset: int, row: Sequence[int]) -> None:
        steps = [(abs(c), c < 0, e) for e, c in enumerate(row) if c and self.view_shape[e] > 1]
        unknown = sorted((s for s in steps if s[2] not in self.nodes), reverse=True)
        rest = build.positions(self.shape, axis)
        if not unknown and not steps:
            if self.shape[axis] > 1:
                self.conditions.append(_compare(Op.EQUAL, rest, offset))
            return
        for step, is_negative, e in steps:
            if e in self.nodes:
                rest = _add(rest, self.nodes[e], step if is_negative else -step)
        if len(unknown) == 1 and len(steps) == 1 and unknown[0][0] == 1:
            self._look_at_unit(axis, offset, *unknown[0][1:])
            return
        rest = _plus(rest, -offset)
        rest = _plus(rest, sum(s * (self.view_shape[e] - 1) for s, flips, e in unknown if flips))
        for number, (step, is_negative, e) in enumerate(unknown):
            last = self.view_shape[e] - 1
            behind = sum(s * (self.view_shape[f] - 1) for s, _, f in unknown[number + 1 :])
            if behind >= step:
                raise ValueRangeError("assignment destination is read-only")
            index = rest if step == 1 else _with(Op.FLOOR_DIVIDE, rest, step)
            rest = _add(rest, index, -step)
            self.conditions += [
                _compare(Op.GREATER_EQUAL, index, 0),
                _compare(Op.LESS_EQUAL, index, last),
            ]
            self.nodes[e] = _plus(_with(Op.MULTIPLY, index, -1), last) if is_negative else index
        self.conditions.append(_compare(Op.EQUAL, rest, 0))

    def _look_at_unit(self, axis: int, offset: int, is_negative: bool, e: int) -> None:
        """An axis that the view follows step by step, perhaps backwards."""
        sign, extent = -1 if is_negative else 1, self.view_shape[e]
        place = build.positions(self.shape, axis)
        low, high = sorted((offset, offset + sign * (extent - 1)))
        if low > 0:
            self.conditions.append(_compare(Op.GREATER_EQUAL, place, low))
        if high < self.shape[axis] - 1:
            self.conditions.append(_compare(Op.LESS_EQUAL, place, high))
        row = tuple(sign if a == axis else 0 for a in range(len(self.shape)))
        self.affine[e] = -sign * offset, row
        self.nodes[e] = _plus(place if sign > 0 else _with(Op.MULTIPLY, place, -1), -sign * offset)

    def read(self, value: Node) -> Node:
        """Elements of a value that broadcasts to the view, over the base; any outside the view."""
        lead = len(self.view_shape) - value.ndim
        offsets, rows, positions = [], [], {}
        for axis, extent in enumerate(value.shape):
            e = lead + axis
            offset, row = self.affine.get(e, (0, (0,) * len(self.shape)))
            if extent == 1:
                offset, row = 0, (0,) * len(self.shape)
            elif e not in self.affine:
                positions[axis] = self.nodes[e]
            offsets.append(offset)
            rows.append(row)
        map = IndexMap(tuple(offsets), tuple(rows), len(self.shape))
        if not positions:
            return build.view(value, map, self.shape, may_leave=map.leaves(self.shape, value.shape))
        if map.leaves(self.shape, value.shape):
            positions |= {a: self.nodes[lead + a] for a, n in enumerate(value.shape) if n > 1}
            map = IndexMap(
                (0,) * value.ndim, ((0,) * len(self.shape),) * value.ndim, len(self.shape)
            )
        return build.gather(value, map, positions, self.shape)


def _both(left: Node, right: Node) -> Node:
    return build.elementwise(Op.BITWISE_AND, left, right)


def _with(op: Op, node: Node, number: int) -> Node:
    return build.elementwise(op, node, build.fixed(number, dtypes.int64))


def _compare(op: Op, node: Node, number: int) -> Node:
    return _with(op, node, number)


def _plus(node: Node, number: int) -> Node:
    return _with(Op.ADD, node, number) if number else node


def _add(node: Node, other: Node, factor: int) -> Node:
    return build.elementwise(Op.ADD, node, _with(Op.MULTIPLY, other, factor))
