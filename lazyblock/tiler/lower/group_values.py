"""Values of a fusion group over one tile: what is read, computed on the way, and stored.

Values are pulled: a node is computed at an index map when a root needs it, once per map.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping

from lazyblock.fusion.plan import FusionGroup, IterationSpace
from lazyblock.fusion.reads import is_per_row, operand_maps, walk_reads
from lazyblock.fusion.storage import find_storage
from lazyblock.graph import index_map
from lazyblock.graph.attrs import ReduceAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import CATEGORY, Category, Op
from lazyblock.shapes import contiguous_strides
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.elementwise import lower_elementwise
from lazyblock.tiler.lower.reduction import fill_identity
from lazyblock.tiler.lower.scan import fill_before
from lazyblock.tiler.lower.tile import Tile
from lazyblock.tiler.lower.walk import Access
from lazyblock.tiler.types import from_numpy

Read = tuple[Node, IndexMap]
Memo = MutableMapping[Read, Value]


class GroupValues(Tile):
    """A tile of a group's iteration space. memo: the values at hand, by node and index map."""

    group: FusionGroup
    space: IterationSpace
    own: frozenset[Node]
    stored: frozenset[Node]
    accesses: dict[Read, Access]
    memo: Memo

    def _is_boundary(self, node: Node) -> bool:
        return node in self.own or node in self.stored or node.op is Op.RESHAPE

    def _find_accesses(self) -> dict[Read, Access]:
        accesses: dict[Read, Access] = {}
        for root in self.group.roots:
            map = self.group.maps[root]
            reads: Iterable[Read] = [(root, map)]
            if root.op is not Op.IOTA:
                reads = walk_reads(root, map, self.space, self._is_boundary)
            for node, at in reads:
                if node.op is Op.IOTA or (node not in self.own and node.op is not Op.CONSTANT):
                    accesses[node, at] = self._access(node, at)
        return accesses

    def _access(self, node: Node, at: IndexMap) -> Access:
        if node.op is Op.IOTA:
            base, offset = node, 0
            strides: tuple[int, ...] = (1,)
        else:
            storage = find_storage(node, self.stored)
            assert storage is not None, f"{node!r} is not in memory"
            base, offset, strides = storage.base, storage.offset, storage.strides
        start, steps = at.strides(strides)
        if node.op is Op.IOTA or not at.leaves(self.space.shape, node.shape):
            return Access(base, offset + start, steps)
        ends = [s * (n - 1) for s, n in zip(strides, node.shape, strict=True)]
        inside = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
        return Access(base, offset, steps, start=start, inside=inside)

    def _output_access(self, node: Node) -> Access:
        # the map goes from space to node, so an output is strided by the node's own layout
        start, steps = self.group.maps[node].strides(contiguous_strides(node.shape))
        return Access(node, start, steps)

    # --- memory ---

    def _load(self, read: Read) -> Value:
        node, _ = read
        access = self.accesses[read]
        if node.op is Op.IOTA:
            return self._iota(node, access)
        pointer, mask = self._address(access, False)
        return self.b.load(pointer, mask)

    def _iota(self, node: Node, access: Access) -> Value:
        scalar, blocks, _ = self._offsets(access, "iota")
        value = self._sum(blocks if scalar is None else [scalar, *blocks])
        if access.offset:
            value = self._both(self.b.add, value, self._size(access, "start", access.offset))
        return self.b.cast(value, from_numpy(node.dtype))

    def _store(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            access = self._output_access(node)
            pointer, mask = self._address(access, True)
            value = self.memo[node, self.group.maps[node]]
            if len(pointer.shape) < len(
                value.shape
            ):  # one row: the block is of extent 1 throughout
                value = self.b.reshape(value, pointer.shape)
            self.b.store(pointer, self.b.broadcast_to(value, pointer.shape), mask)

    # --- values ---

    def _value(self, node: Node, at: IndexMap) -> Value:
        """The value of a node at a map, computed with all it needs; no recursion."""
        stack: list[Read] = [(node, at)]
        while stack:
            read = stack[-1]
            if read in self.memo:
                stack.pop()
                continue
            missing = [r for r in self._needs(read) if r not in self.memo]
            if missing:
                stack.extend(reversed(missing))
                continue
            self.memo[read] = self._emit(read)
            stack.pop()
        return self.memo[node, at]

    def _needs(self, read: Read) -> list[Read]:
        """The reads whose values computing `read` takes."""
        node, at = read
        if read in self.accesses or node.op is Op.CONSTANT:
            return []
        return list(operand_maps(node, at, self.space.shape))

    def _emit(self, read: Read) -> Value:
        node, _ = read
        if read in self.accesses:
            return self._load(read)
        if node.op is Op.CONSTANT:
            return self._constant(node)
        operands = [self.memo[operand] for operand in self._needs(read)]
        if CATEGORY[node.op] is Category.VIEW:
            return operands[0]
        self.b.line = node.line
        return lower_elementwise(self.b, node, self._align(operands))

    def _tile_shape(self) -> tuple[int, ...]:
        return tuple(self.schedule.blocks[position] for position in self.schedule.order)

    def _is_per_row(self, node: Node) -> bool:
        return is_per_row(self.group.maps[node], self.space)

    # --- operands of reductions and scans ---

    def _operand_read(self, root: Node) -> Read:
        at = index_map.identity(len(self.space.shape))
        return root.inputs[0], at.normalized(self.space.shape, root.inputs[0].shape)

    def _masked_operand(self, root: Node) -> Value:
        """The operand over the tile, with identities past the end of the row."""
        full, mask = self._whole_operand(root)
        if isinstance(root.attrs, ReduceAttrs):
            return fill_identity(self.b, root.attrs.kind, root.dtype, full, mask)
        return fill_before(self.b, root, full, mask)

    def _whole_operand(self, root: Node) -> tuple[Value, Value | None]:
        """The operand over the tile, and where it is inside the row."""
        return self._over_tile(self._operand_read(root))

    def _over_tile(self, read: Read) -> tuple[Value, Value | None]:
        """A value over the tile, and where it is inside the row."""
        value = self._value(*read)
        mask: Value | None = None
        full = value
        for position, dimension in enumerate(self.dimensions):
            here = self.positions[position]
            if (dimension.is_reduced or dimension.is_cut) and here.index.shape:
                full = self._align([full, here.index])[0]
                mask = self._and(mask, here.mask)
        return full, None if mask is None else self.b.broadcast_to(mask, full.shape)
