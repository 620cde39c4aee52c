"""What lowering gives: a block program and how to call it. Frozen data.

The program's text depends on dtypes, ranks and classes of extents and strides, never on exact
sizes; those are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lazyblock.fusion.storage import Strided
from lazyblock.graph.node import Node
from lazyblock.tiler.ir import Program
from lazyblock.tiler.types import ScalarType


@dataclass(frozen=True)
class ArrayArgument:
    """Address of element `offset` of the memory behind `base` (an input or a stored node)."""

    base: Node
    offset: int
    is_written: bool

    def given(self, nodes: Mapping[Node, tuple[Node, int]]) -> ArrayArgument:
        """The same of another node, so many elements further on."""
        base, distance = nodes[self.base]
        return replace(self, base=base, offset=self.offset + distance)


@dataclass(frozen=True)
class ConstantArgument:
    """The number in a CONSTANT node."""

    node: Node

    def given(self, nodes: Mapping[Node, tuple[Node, int]]) -> ConstantArgument:
        """The same of another node."""
        return replace(self, node=nodes[self.node][0])


@dataclass(frozen=True)
class SizeArgument:
    """An extent or stride."""

    value: int
    type: ScalarType


@dataclass(frozen=True)
class WorkspaceArgument:
    """Address of memory that belongs to the kernel from launch to launch; zeros at first."""

    nbytes: int


@dataclass(frozen=True)
class LaunchNumberArgument:
    """How many times the kernel has been launched on its workspace, this time included; uint32."""


Argument = (
    ArrayArgument | ConstantArgument | SizeArgument | WorkspaceArgument | LaunchNumberArgument
)


@dataclass(frozen=True)
class LoweredKernel:
    """A program with one argument per parameter and its grid.

    work: elements the whole launch touches. nbytes, flops: per launch, for rooflines.
    """

    program: Program
    arguments: tuple[Argument, ...]
    grid: tuple[int, int, int]
    work: int
    nbytes: int
    flops: int

    def given(self, nodes: Mapping[Node, tuple[Node, int]]) -> LoweredKernel:
        """The same kernel on other arrays and numbers, or other places in the arrays."""
        given = tuple(
            a.given(nodes) if isinstance(a, (ArrayArgument, ConstantArgument)) else a
            for a in self.arguments
        )
        return replace(self, arguments=given)

    @property
    def is_inside(self) -> bool:
        """Whether no address that it is given lies before its array."""
        return all(a.offset >= 0 for a in self.arguments if isinstance(a, ArrayArgument))

    @property
    def bases(self) -> Iterable[Node]:
        """The arrays in memory that it reads or writes."""
        return (a.base for a in self.arguments if isinstance(a, ArrayArgument))


@dataclass(frozen=True)
class LoweredHostCall:
    """A call that gives `results` between launches. operands: how each input of them lies."""

    operands: tuple[Strided, ...]
    results: tuple[Node, ...]

    @property
    def bases(self) -> Iterable[Node]:
        """The arrays in memory that it reads or writes."""
        return (*(operand.base for operand in self.operands), *self.results)


Lowered = LoweredKernel | LoweredHostCall
