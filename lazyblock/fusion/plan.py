"""The planner's result: fusion groups, each one kernel or host call, in order. Frozen data.

A group walks an *iteration space*: a shape some of whose axes are reduced. Its *roots* are the
nodes it computes for their own sake; every other elementwise node below them is computed on the
way, and views fold into index maps. A root is stored if another group or the user needs it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape


class Form(enum.Enum):
    """How a group's kernel walks its space."""

    MAP = "map"  # every element by itself; any number of outputs
    ROWS = "rows"  # chains of reductions and scans along the same axes, elementwise work around


class Reason(enum.Enum):
    """Why a node could not join a group."""

    FUSED = "fused"
    SHAPE = "iterates over another shape"
    AXES = "reduces other axes"
    DIRECTION = "scans in the other direction"
    POSITION = "reads a reduction at other positions than its own row"
    RESHAPE = "needs its operand in memory, in C order"
    GATHER = "needs its operand in memory, to read it at computed positions"
    ORDER = "the group runs before an operand is ready"
    SIZE = "the kernel would grow too large"
    CONTRACT = "is a product of matrices, which has a kernel of its own"
    CALL = "is the result of a kernel called as it is"
    HOST = "NumPy computes it on the host"
    UNRELATED = "shares no operand with the group"
    DISABLED = "fusion is switched off"


@dataclass(frozen=True)
class Verdict:
    """Whether `node` may read `operand` inside one kernel, and why not."""

    operand: Node
    node: Node
    reason: Reason

    @property
    def is_fused(self) -> bool:
        return self.reason is Reason.FUSED


@dataclass(frozen=True)
class IterationSpace:
    """A shape to walk and the axes (sorted) that reductions and scans run over."""

    shape: Shape
    reduced: tuple[int, ...] = ()

    @property
    def form(self) -> Form:
        return Form.ROWS if self.reduced else Form.MAP

    @property
    def kept(self) -> tuple[int, ...]:
        """Axes that are not reduced."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.reduced)


@dataclass(frozen=True)
class FusionGroup:
    """One kernel, or host call. maps: where each root lives, from space index to root index."""

    space: IterationSpace
    roots: tuple[Node, ...]
    stored: tuple[Node, ...]
    maps: dict[Node, IndexMap] = field(hash=False)

    @property
    def is_on_host(self) -> bool:
        """Whether it is no kernel: a NumPy function that runs on the host."""
        return self.roots[0].op is Op.HOST


@dataclass(frozen=True)
class FusionPlan:
    """Groups in launch order. Every output is a leaf, a stored root, or a view of one of those."""

    outputs: tuple[Node, ...]
    groups: tuple[FusionGroup, ...]
    verdicts: tuple[Verdict, ...]
