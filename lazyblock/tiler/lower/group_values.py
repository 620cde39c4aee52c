"""Values of a fusion group over one tile: what is read, computed on the way, and stored.

Values are pulled: a node is computed at an index map when a root needs it, once per map.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import replace

from lazyblock.fusion.plan import FusionGroup, IterationSpace
from lazyblock.fusion.reads import is_per_row, operand_maps, walk_gathers, walk_reads
from lazyblock.fusion.storage import Strided, find_storage
from lazyblock.graph import index_map
from lazyblock.graph.attrs import GatherAttrs, ReduceAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import CATEGORY, Category, Op
from lazyblock.shapes import Shape, Strides, contiguous_strides
from lazyblock.tiler.ir import Value
from lazyblock.tiler.lower.elementwise import lower_elementwise
from lazyblock.tiler.lower.reduction import fill_identity
from lazyblock.tiler.lower.scan import fill_before
from lazyblock.tiler.lower.tile import Tile
from lazyblock.tiler.lower.walk import Access
from lazyblock.tiler.types import from_numpy, int64

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
            place = self.group.maps[root]
            reads: Iterable[Read] = [(root, place)]
            if root.op is not Op.IOTA:
                reads = walk_reads(root, place, self.space, self._is_boundary)
            for node, at in reads:
                if node.op is Op.IOTA or (node not in self.own and node.op is not Op.CONSTANT):
                    accesses[node, at] = self._access(node, at)
            for node, at in walk_gathers(root, place, self.space, self._is_boundary):
                accesses[node, at] = self._gather_access(node, at)
        return accesses

    def _gather_access(self, node: Node, at: IndexMap) -> Access:
        """What is the same of all positions computed."""
        assert isinstance(node.attrs, GatherAttrs)
        operand, axes = node.inputs[0], node.attrs.axes
        storage = find_storage(operand, self.stored)
        assert storage is not None, f"{operand!r} is not in memory"
        gathered = tuple((storage.strides[axis], operand.shape[axis]) for axis in axes)
        fixed = tuple(0 if a in axes else s for a, s in enumerate(storage.strides))
        access = self._strided(node.attrs.map.compose(at), operand.shape, storage, fixed)
        return replace(access, gathered=gathered)

    def _access(self, node: Node, at: IndexMap) -> Access:
        if node.op is Op.IOTA:
            return Access(node, *at.strides((1,)))
        storage = find_storage(node, self.stored)
        assert storage is not None, f"{node!r} is not in memory"
        return self._strided(at, node.shape, storage, storage.strides)

    def _strided(self, at: IndexMap, shape: Shape, storage: Strided, strides: Strides) -> Access:
        """Elements of `shape` at a map, which may lead outside."""
        start, steps = at.strides(strides)
        if not at.leaves(self.space.shape, shape):
            return Access(storage.base, storage.offset + start, steps)
        ends = [s * (n - 1) for s, n in zip(strides, shape, strict=True)]
        inside = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
        return Access(storage.base, storage.offset, steps, start=start, inside=inside)

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

    def _load_gathered(self, access: Access, positions: Sequence[Value]) -> Value:
        """Elements at computed positions; 0 where one is outside its axis."""
        b = self.b
        pointer, mask = self._address(access, False)
        name = pointer.hint.removesuffix("_ptr")
        for number, (position, (stride, extent)) in enumerate(
            zip(positions, access.gathered, strict=True)
        ):
            key = access.base, access.gathered, number
            size = b.cast(self._size(("axis", key), f"{name}_axis{number}", extent), int64)
            limit = b.splat(size, position.shape)
            is_inside = b.and_(b.compare("ge", position, 0), b.compare("lt", position, limit))
            mask = self._and(mask, self._and(is_inside, self._tile_mask(position.shape)))
            step = b.cast(position, self.index_type)
            if stride != 1:
                size = self._size(("gathered", key), f"{name}_step{number}", stride)
                step = b.mul(step, b.splat(size, step.shape))
            pointer = self._both(b.add_pointer, pointer, step)
        assert mask is not None
        return b.load(pointer, b.broadcast_to(mask, pointer.shape))

    def _tile_mask(self, shape: tuple[int, ...]) -> Value | None:
        """Where a block of values of a tile is inside the space."""
        mask: Value | None = None
        for axis, position in enumerate(self.schedule.order):
            if shape and shape[axis] > 1:
                mask = self._and(mask, self.positions[position].mask)
        return mask

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
        is_loaded = read in self.accesses and not self.accesses[read].gathered
        if is_loaded or node.op is Op.CONSTANT:
            return []
        return operand_maps(node, at, self.space.shape)

    def _emit(self, read: Read) -> Value:
        node, _ = read
        if read in self.accesses:
            if not self.accesses[read].gathered:
                return self._load(read)
            self.b.line = node.line
            positions = [self.memo[operand] for operand in self._needs(read)]
            return self._load_gathered(self.accesses[read], positions)
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
        return root.inputs[0], index_map.over_all(self.space.shape)

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
