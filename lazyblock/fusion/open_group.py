"""A fusion group while the planner fills it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lazyblock.fusion.plan import IterationSpace, Reason
from lazyblock.graph.attrs import ReduceAttrs, ScanAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

BARRIERS = {Op.CONTRACT: Reason.CONTRACT, Op.CALL: Reason.CALL, Op.HOST: Reason.HOST}


@dataclass
class OpenGroup:
    """A group while it grows.

    number: its place in launch order. sources: numbers of the groups that compute what it reads.
    """

    number: int
    space: IterationSpace
    members: dict[Node, IndexMap] = field(default_factory=dict)
    reads: set[Node] = field(default_factory=set)
    sources: set[int] = field(default_factory=set)
    code_size: int = 0

    @property
    def barrier(self) -> Reason | None:
        """Why nothing joins it, if it computes what stands alone."""
        return next((BARRIERS[n.op] for n in self.members if n.op in BARRIERS), None)

    def is_related(self, sources: Sources) -> bool:
        """Whether it reads the same as another, or what was computed in the same kernel."""
        computed = (source.number for source in sources.values() if source)
        return bool(self.reads & sources.keys()) or not self.sources.isdisjoint(computed)

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
