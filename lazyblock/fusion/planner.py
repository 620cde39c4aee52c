"""The search for fusion groups: graph -> FusionPlan.

1. Choose roots: outputs, reductions, scans, operands of reshapes, and cuts where a kernel would
   grow too large. Everything else is computed where it is needed.
2. Give each root, operands first, to the latest group it can join, else to a new one. A group runs
   after every group made before it, so joining no group older than an operand's keeps the plan
   acyclic without searching.
3. A value that several groups, or one group many times, would compute at great cost becomes a root
   itself; then again.

Linear in the graph, save for shared work inside one kernel, which is bounded by cost.MOST_CODE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import chain

from lazyblock import config
from lazyblock.fusion import cost
from lazyblock.fusion.legality import check_placement, placements
from lazyblock.fusion.open_group import BARRIERS, OpenGroup, Sources
from lazyblock.fusion.plan import FusionGroup, FusionPlan, IterationSpace, Reason, Verdict
from lazyblock.fusion.reads import Read, operand_maps, walk
from lazyblock.fusion.storage import find_storage, needed_in_memory
from lazyblock.graph import build
from lazyblock.graph.attrs import CallAttrs, ReduceAttrs, ScanAttrs
from lazyblock.graph.index_map import IndexMap, identity, over_all
from lazyblock.graph.node import Node
from lazyblock.graph.ops import CATEGORY, Category, Op
from lazyblock.graph.traverse import topological
from lazyblock.shapes import Shape, size_of

_LEAST_REPEATS = 16  # of a value that a map spreads over its elements, to look at it
_MOST_ROUNDS = 4  # of finding values worth storing
_WALKING = (Category.REDUCTION, Category.SCAN)  # of ops that walk whole rows
_COMPUTING = (Category.ELEMENTWISE, Category.GATHER)  # of ops on one element at a time
_SIBLINGS_TRIED = 4  # groups over the same shape that an independent root is offered to


def plan_fusion(outputs: Sequence[Node]) -> FusionPlan:
    """Plan the kernels that compute `outputs`."""
    order = topological(outputs)
    roots = _choose_roots(outputs, order)
    for _ in range(_MOST_ROUNDS):
        search = _Search(order, roots)
        search.run()
        worth_storing = search.find_repeated_work()
        if not worth_storing:
            break
        roots |= worth_storing
    return search.finish(outputs)


def _choose_roots(outputs: Sequence[Node], order: Sequence[Node]) -> set[Node]:
    """Nodes that are computed for their own sake."""
    roots = {node for node in order if CATEGORY[node.op] in _WALKING}
    for node in order:
        if node.op in BARRIERS:
            roots.add(node)
        if node.op is Op.CALL:
            roots.update(operand for operand in node.inputs if operand.op is not Op.INPUT)
    if not config.current.fuse:
        roots.update(node for node in order if CATEGORY[node.op] in _COMPUTING)
    reshapes = [node for node in order if node.op is Op.RESHAPE]
    gathered = [node.inputs[0] for node in order if node.op is Op.GATHER]
    read = [operand for node in order if node.op in BARRIERS for operand in node.inputs]
    for node in (*reshapes, *gathered, *read, *outputs):
        while (needed := needed_in_memory(node, roots)) is not None:
            roots.add(needed)
    roots |= _cuts(order, roots)
    _store_repeated(order, roots)
    return roots


def _store_repeated(order: Sequence[Node], roots: set[Node]) -> None:
    """Add to `roots` what one kernel would compute at several places at great cost.

    A node read through several maps (the taps of a stencil) is computed once per map. Readers come
    first, so that a node is looked at when all its maps are known; what is stored ends the spread.
    """
    reads: dict[Node, dict[Node, set[IndexMap]]] = {}
    for node in reversed(order):
        maps = reads.pop(node, {})
        repeats = sum(len(at) - 1 for at in maps.values())
        if repeats and _is_costly(node, roots, repeats):
            roots.add(node)
        if node in roots:
            maps = {node: {over_all(own_space(node).shape)}}
        for root, places in maps.items():
            for operand, at in _reads_of(node, places, own_space(root).shape):
                reads.setdefault(operand, {}).setdefault(root, set()).add(at)


def _reads_of(node: Node, places: set[IndexMap], shape: Shape) -> set[Read]:
    """What computing `node` at `places` reads; a reduction reads all of its own space."""
    if node.op is Op.RESHAPE or node.op in BARRIERS:
        return set()
    if CATEGORY[node.op] is Category.REDUCTION:
        return {(node.inputs[0], over_all(shape))}
    return {read for at in places for read in operand_maps(node, at, shape)}


def _is_costly(node: Node, roots: set[Node], repeats: int, is_launched: bool = False) -> bool:
    if CATEGORY[node.op] is not Category.ELEMENTWISE or node in roots:
        return False
    inlined = chain([node], walk_inlined([node], roots))
    return cost.pays_to_store(node, inlined, (), repeats, is_launched)


def walk_inlined(nodes: Iterable[Node], roots: Collection[Node]) -> Iterator[Node]:
    """The nodes that are computed on the way to `nodes`, once each, themselves left out."""
    found: set[Node] = set()
    stack = [operand for node in nodes for operand in node.inputs]
    while stack:
        node = stack.pop()
        if node not in found and node not in roots and node.op is not Op.RESHAPE and node.inputs:
            found.add(node)
            yield node
            stack.extend(node.inputs)


def _cuts(order: Sequence[Node], roots: set[Node]) -> set[Node]:
    """Nodes to store so that no kernel has more code or arrays than it can take."""
    return _Cuts(order, roots).find()


class _Cuts:
    """Goes from operands to readers. What computing a node takes is known while it has readers."""

    def __init__(self, order: Sequence[Node], roots: set[Node]) -> None:
        self.order, self.roots = order, roots
        self.found: set[Node] = set()
        self.readers = Counter(n for node in order for n in dict.fromkeys(node.inputs))
        self.inlined: dict[Node, set[Node]] = {}
        self.size: dict[Node, int] = {}  # of the code of `inlined`
        self.arrays: dict[Node, frozenset[Node]] = {}

    def find(self) -> set[Node]:
        for node in self.order:
            operands = list(dict.fromkeys(node.inputs))
            if not operands or node.op is Op.RESHAPE or node.op in BARRIERS:
                self._store(node)
            else:
                self._join(node, operands)
            if node in self.roots:
                self._store(node)
            for operand in operands:
                self._forget_reader(operand)
        return self.found

    def _store(self, node: Node) -> None:
        self.inlined[node], self.size[node] = set(), 0
        self.arrays[node] = frozenset() if node.op is Op.CONSTANT else frozenset((node,))

    def _join(self, node: Node, operands: Sequence[Node]) -> None:
        """Inline operands into a node, the largest of them being stored until they fit."""
        while True:
            largest = max(operands, key=lambda n: self.size[n] + len(self.arrays[n]))
            others = (self.inlined[n] for n in operands if n is not largest)
            more = {node}.union(*others) - self.inlined[largest]
            arrays = frozenset[Node]().union(*(self.arrays[n] for n in operands))
            size = self.size[largest] + cost.code_size(more)
            if size <= cost.MOST_CODE and len(arrays) <= cost.MOST_ARRAYS:
                break
            self.found.add(largest)
            self._store(largest)
        inlined = self.inlined[largest]
        if self.readers[largest] > 1:
            inlined = inlined.copy()
        inlined |= more
        self.inlined[node], self.size[node], self.arrays[node] = inlined, size, arrays

    def _forget_reader(self, operand: Node) -> None:
        self.readers[operand] -= 1
        if not self.readers[operand]:
            del self.inlined[operand], self.size[operand], self.arrays[operand]


class _Search:
    """Steps 2 and 3 of the module's description for one choice of roots."""

    def __init__(self, order: Sequence[Node], roots: set[Node]) -> None:
        self.order = order
        self.roots = roots
        self.groups: list[OpenGroup] = []
        self.group_of: dict[Node, OpenGroup] = {}
        self.by_shape: dict[tuple[int, ...], list[OpenGroup]] = {}
        self.calls: set[tuple[object, tuple[Node, ...]]] = set()
        self.verdicts: list[Verdict] = []

    def is_root(self, node: Node) -> bool:
        return node in self.roots or node.op is Op.RESHAPE

    def run(self) -> None:
        for node in self.order:
            if isinstance(node.attrs, CallAttrs):
                self._place_call(node, node.attrs.call)
            elif node.op in BARRIERS:
                self._place_alone([node])
            elif node in self.roots:
                self._place(node)

    def _place_call(self, node: Node, call: object) -> None:
        """All results of a call, asked for or not, are one group, which nothing else joins."""
        key = call, node.inputs
        if key in self.calls:
            return
        self.calls.add(key)
        self._place_alone(build.results_of_call(node))

    def _place_alone(self, results: Sequence[Node]) -> None:
        """Results of one thing that nothing joins."""
        node = results[0]
        group = OpenGroup(len(self.groups), own_space(node), reads=set(node.inputs))
        self.groups.append(group)
        for result in results:
            group.members[result] = identity(result.ndim)
            self.group_of[result] = group
        for operand in node.inputs:
            source = self._source_group(operand)
            if source:
                group.add_source(source)
                self.verdicts.append(Verdict(operand, node, BARRIERS[node.op]))

    def _place(self, node: Node) -> None:
        space = own_space(node)
        read, gathered = self._find_reads(node, space)
        sources = {operand: self._source_group(operand) for operand in (*read, *gathered)}
        code = cost.code_size(self._inlined([node]))
        in_memory = {group.number for n in gathered if (group := sources[n])}
        newest = max((group.number for group in sources.values() if group), default=-1)
        why_not = {group.number: Reason.ORDER for group in sources.values() if group}
        why_not |= dict.fromkeys(in_memory, Reason.GATHER)
        for group in self._candidates(space, newest):
            if group.number in in_memory:
                continue
            reason = self._try_join(node, space, group, sources, code)
            if reason is Reason.FUSED:
                break
            why_not[group.number] = reason
        else:
            self._start(node, space, sources, code)
        self.verdicts += [
            Verdict(read, node, why_not[source.number])
            for read, source in sources.items()
            if source and source is not self.group_of[node]
        ]

    def _find_reads(self, node: Node, space: IterationSpace) -> tuple[list[Node], list[Node]]:
        """Arrays that the kernel of `node` reads: inputs, other roots, reshapes of those.

        First those read at maps of the space, then those read at computed positions.
        """
        at = next(placements(node, space))
        walked = dict.fromkeys(read for read, _ in walk(node, at, space, self.is_root))
        mapped = (n for n in walked if self.is_root(n) or not n.inputs)
        inlined = (node, *(n for n in walked if not self.is_root(n)))
        gathers = (n for n in inlined if n.op is Op.GATHER)
        return (
            [n for n in mapped if n.op not in (Op.CONSTANT, Op.IOTA)],
            list(dict.fromkeys(gather.inputs[0] for gather in gathers)),
        )

    def _source_group(self, read: Node) -> OpenGroup | None:
        """The group that computes the memory behind `read`; None for inputs."""
        storage = find_storage(read, self.roots)
        assert storage is not None, f"{read!r} is not in memory"
        return self.group_of.get(storage.base)

    def _candidates(self, space: IterationSpace, newest: int) -> list[OpenGroup]:
        """Groups that may run after every operand's: the newest operand's, then siblings."""
        if not config.current.fuse:
            return []
        operand_group = [self.groups[newest]] if newest >= 0 else []
        siblings = self.by_shape.get(space.shape, [])[-_SIBLINGS_TRIED:]
        later = [g for g in reversed(siblings) if g.number >= newest and g not in operand_group]
        return operand_group + later

    def _try_join(
        self, node: Node, own: IterationSpace, group: OpenGroup, sources: Sources, code: int
    ) -> Reason:
        space = group.space
        if group.barrier:
            return group.barrier
        if group.is_cut_otherwise(node):
            return Reason.AXES
        if own.reduced:
            if own.shape != space.shape:
                return Reason.SHAPE
            if space.reduced not in ((), own.reduced):
                return Reason.AXES
            if group.turns(node):
                return Reason.DIRECTION
            space = own  # a map group becomes a rows group
        if self._would_be_too_large(group, sources.keys(), code):
            return Reason.SIZE
        if any(read.op is Op.RESHAPE and source is group for read, source in sources.items()):
            return Reason.RESHAPE
        walks_all = bool(own.reduced) or node.shape == space.shape
        reason = Reason.SHAPE
        for at in placements(node, space):
            reason, touched = check_placement(node, at, space, group.members, self.is_root)
            if reason is not Reason.FUSED:
                continue
            if touched or (walks_all and group.is_related(sources)):
                self._add(node, at, space, group, sources, code)
                self._absorb(group)
                self.verdicts += [Verdict(member, node, Reason.FUSED) for member in touched]
                return Reason.FUSED
            reason = Reason.UNRELATED
        return reason

    def _would_be_too_large(
        self, group: OpenGroup, reads: Set[Node], code: int, roots: int = 1
    ) -> bool:
        return (
            len(group.reads | reads) > cost.MOST_ARRAYS
            or len(group.members) + roots > cost.MOST_ROOTS
            or group.code_size + code > cost.MOST_CODE
        )

    def _absorb(self, group: OpenGroup) -> None:
        """Take in the groups that would have joined, had `group` read before what it reads now."""
        siblings = self.by_shape[group.space.shape]
        for other in siblings[-_SIBLINGS_TRIED:]:
            too_large = self._would_be_too_large(
                group, other.reads, other.code_size, len(other.members)
            )
            if other is not group and group.may_absorb(other) and not too_large:
                self.group_of |= dict.fromkeys(other.members, group)
                siblings.remove(other)
                group.absorb(other)

    def _start(self, node: Node, space: IterationSpace, sources: Sources, code: int) -> None:
        group = OpenGroup(len(self.groups), space)
        self.groups.append(group)
        self.by_shape.setdefault(space.shape, []).append(group)
        self._add(node, next(placements(node, space)), space, group, sources, code)

    def _add(
        self,
        node: Node,
        at: IndexMap,
        space: IterationSpace,
        group: OpenGroup,
        sources: Sources,
        code: int,
    ) -> None:
        group.space = space
        group.members[node] = at
        group.code_size += code
        group.reads |= sources.keys()
        for source in sources.values():
            if source and source is not group:
                group.add_source(source)
        self.group_of[node] = group

    # --- values that several groups compute ---

    def find_repeated_work(self) -> set[Node]:
        """Inlined nodes that are computed repeatedly and that are better stored."""
        computed_in: dict[Node, set[int]] = {}
        spread: set[Node] = set()
        for group in self.groups:
            inlined = set(self._inlined(group.members))
            for node in inlined:
                computed_in.setdefault(node, set()).add(group.number)
            if not group.space.reduced:
                spread |= self._spread_work(inlined, size_of(group.space.shape))
        shared = {n for n, numbers in computed_in.items() if len(numbers) > 1}
        # of a chain, the last shared node alone: storing it covers what lies below
        ends = shared - {
            o for n in shared for o in n.inputs if computed_in[n] == computed_in.get(o)
        }
        return {n for n in ends if self._pays_to_store(n)} | spread

    def _spread_work(self, inlined: Collection[Node], size: int) -> set[Node]:
        """Of what a map of `size` elements computes, what is the same for many of them."""
        few = {n for n in inlined if 0 < n.size * _LEAST_REPEATS <= size}
        ends = few - {operand for node in few for operand in node.inputs}
        return {n for n in ends if _is_costly(n, self.roots, size // n.size, is_launched=True)}

    def _pays_to_store(self, node: Node) -> bool:
        if CATEGORY[node.op] is not Category.ELEMENTWISE:
            return False
        if _is_costly(node, self.roots, 1):  # whatever it reads
            return True
        inlined = {node, *self._inlined([node])}
        leaves = {o for n in inlined for o in n.inputs if o not in inlined}
        return cost.pays_to_store(node, inlined, leaves)

    def _inlined(self, nodes: Iterable[Node]) -> Iterator[Node]:
        return walk_inlined(nodes, self.roots)

    # --- result ---

    def finish(self, outputs: Sequence[Node]) -> FusionPlan:
        read_from = {(read, group.number) for group in self.groups for read in group.reads}
        storages = [find_storage(node, self.roots) for node in outputs]
        needed = {storage.base for storage in storages if storage}
        for read, number in read_from:
            source = self._source_group(read)
            if source is not None and source.number != number:
                storage = find_storage(read, self.roots)
                assert storage is not None
                needed.add(storage.base)
        groups = tuple(
            FusionGroup(
                group.space,
                tuple(group.members),
                tuple(node for node in group.members if node in needed or group.barrier),
                group.members,
            )
            for group in self.groups
            if group.members  # else another took them in
        )
        return FusionPlan(tuple(outputs), groups, tuple(self.verdicts))


def own_space(node: Node) -> IterationSpace:
    """The space `node` iterates over when it starts a group."""
    if isinstance(node.attrs, ReduceAttrs):
        return IterationSpace(node.inputs[0].shape, node.attrs.axes)
    if isinstance(node.attrs, ScanAttrs):
        return IterationSpace(node.shape, node.attrs.walked)
    return IterationSpace(node.shape)
