"""A fusion group while the planner fills it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from lazyblock.fusion.plan import IterationSpace, Reason
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

BARRIERS = {Op.CONTRACT: Reason.CONTRACT, Op.CALL: Reason.CALL, Op.HOST: Reason.HOST}


@dataclass(eq=False)
class OpenGroup:
    """A group while it grows.

    number: its place in launch order. sources: the groups that compute what it reads. first_reader:
    number of the first group that reads what it computes. home: the group that has taken it in.
    """

    number: int
    space: IterationSpace
    members: dict[Node, IndexMap] = field(default_factory=dict)
    reads: set[Node] = field(default_factory=set)
    sources: set[OpenGroup] = field(default_factory=set)
    code_size: int = 0
    first_reader: float = inf
    home: OpenGroup | None = None

    @property
    def final(self) -> OpenGroup:
        """The group that computes what this one did."""
        group = self
        while group.home is not None:
            group = group.home
        return group

    @property
    def barrier(self) -> Reason | None:
        """Why nothing joins it, if it computes what stands alone."""
        return next((BARRIERS[n.op] for n in self.members if n.op in BARRIERS), None)

    def is_related(self, sources: Sources) -> bool:
        """Whether it reads the same as another, or what was computed in the same kernel."""
        computed = {source.final for source in sources.values() if source}
        return bool(self.reads & sources.keys()) or any(s.final in computed for s in self.sources)

    def add_source(self, source: OpenGroup) -> None:
        """Note that it reads what `source` computes."""
        self.sources.add(source)
        source.first_reader = min(source.first_reader, self.number)

    def may_absorb(self, other: OpenGroup) -> bool:
        """Whether `other` walks and reads alike, and nothing has to run between the two.

        A younger group may come earlier if it needs nothing from here on; an older one may wait if
        nobody up to here needs it.
        """
        if other.number > self.number:
            is_free = all(source.final.number < self.number for source in other.sources)
        else:
            is_free = other.first_reader > self.number
        return (
            is_free
            and other.space == self.space
            and bool(self.reads & other.reads)
            and not any(self.is_cut_otherwise(node) or self.turns(node) for node in other.members)
        )

    def absorb(self, other: OpenGroup) -> None:
        """Compute its members, so that nothing is left of it."""
        self.members |= other.members
        self.reads |= other.reads
        self.sources |= other.sources
        self.code_size += other.code_size
        self.first_reader = min(self.first_reader, other.first_reader)
        other.members, other.reads, other.home = {}, set(), self

    def is_cut_otherwise(self, node: Node) -> bool:
        """Whether a scan of cut rows would meet another scan or reduction in the group."""
        walking = [
            m for m in (node, *self.members) if isinstance(m.attrs, (ReduceAttrs, ScanAttrs))
        ]
        cut = [m for m in walking if isinstance(m.attrs, ScanAttrs) and m.attrs.is_cut]
        return bool(cut) and node in walking and len(walking) > 1

    def turns(self, node: Node) -> bool:
        """Whether `node` is a scan that walks against one of the group."""
        scans = (m.attrs for m in (node, *self.members) if isinstance(m.attrs, ScanAttrs))
        return isinstance(node.attrs, ScanAttrs) and len({scan.reverse for scan in scans}) > 1


Sources = Mapping[Node, OpenGroup | None]  # of what a kernel reads, the group that computes it
