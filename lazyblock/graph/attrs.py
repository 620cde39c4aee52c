"""Static settings of ops: one frozen class per op that has any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from lazyblock.dtypes import DType
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.ops import ReduceKind
from lazyblock.shapes import Shape, Strides


class Storage(Protocol):
    """Memory of a device, opaque to the graph."""

    @property
    def device(self) -> Any:
        """Where the memory is."""

    @property
    def nbytes(self) -> int:
        """Size of the memory."""


@dataclass(frozen=True, eq=False, slots=True)
class Placeholder:
    """Stands for memory that is known when a plan runs."""

    device: Any = None
    nbytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class NoAttrs:
    """Of ops without settings; there is one, `NO_ATTRS`."""


class Layout(NamedTuple):
    """How elements lie in memory, and what a plan depends on; strides and offset count elements."""

    shape: Shape
    dtype: DType
    strides: Strides
    offset: int


@dataclass(slots=True, eq=False)  # not frozen: that makes making one thrice as slow
class InputAttrs:
    """Elements in memory. maker: what computed them, for who looks at them (None: nothing did)."""

    storage: Storage
    layout: Layout
    maker: Any = None

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    @property
    def dtype(self) -> DType:
        return self.layout.dtype

    @property
    def strides(self) -> Strides:
        return self.layout.strides

    @property
    def offset(self) -> int:
        return self.layout.offset


@dataclass(frozen=True, slots=True)
class ConstantAttrs:
    """A number as the bytes of its dtype, so that -0.0 and NaNs stay themselves.

    is_fixed: it belongs to the expression, as a shape does; else it may differ from call to call.
    """

    data: bytes
    dtype: DType
    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class IotaAttrs:
    """0, 1, ..., size - 1."""

    size: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class ViewAttrs:
    """An affine index map and the shape it is read over.

    may_leave: the map may lead outside the operand; elements there have any value.
    """

    map: IndexMap
    shape: Shape
    may_leave: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.map, self.shape, self.may_leave)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class ReshapeAttrs:
    """The new shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class GatherAttrs:
    """Which elements of the first operand are taken; the other operands are positions in it.

    Element i is operand[map(i) + positions], where map stays at 0 along `axes` and the positions
    along these are element i of the other operands. A position outside its axis reads nothing: the
    element has any value, and if the gather is_checked, evaluation raises IndexError.
    """

    map: IndexMap
    axes: tuple[int, ...]
    shape: Shape
    is_checked: bool = False


@dataclass(frozen=True, slots=True)
class UpdateAttrs:
    """Which elements of the first operand the second, which broadcasts to `shape`, replaces.

    Element i of it goes to operand[map(i)]; every axis of the operand follows at most one of `map`.
    """

    map: IndexMap
    shape: Shape


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """The dtype to convert to, or to read the bits as."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class ReduceAttrs:
    """Axes are sorted; they disappear from the shape."""

    kind: ReduceKind
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScanAttrs:
    """reverse: every element combines with those behind it, the last one first.

    is_cut: rows are cut among programs, which pass on what comes before; they need not be walked.
    """

    kind: ReduceKind
    axis: int
    reverse: bool = False
    is_cut: bool = False

    @property
    def walked(self) -> tuple[int, ...]:
        """The axes that one program walks along."""
        return () if self.is_cut else (self.axis,)


@dataclass(frozen=True, slots=True)
class ContractAttrs:
    """The dtype of the result; sums are kept in that of `contraction.sum_dtype`."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class CallAttrs:
    """Result number `index` of a call (CALL, HOST). call: of what; opaque to the graph."""

    call: Any
    results: tuple[tuple[Shape, DType], ...]
    index: int

    @property
    def shape(self) -> Shape:
        return self.results[self.index][0]

    @property
    def dtype(self) -> DType:
        return self.results[self.index][1]


Attrs = (
    NoAttrs
    | InputAttrs
    | ConstantAttrs
    | IotaAttrs
    | ViewAttrs
    | ReshapeAttrs
    | GatherAttrs
    | UpdateAttrs
    | CastAttrs
    | ReduceAttrs
    | ScanAttrs
    | ContractAttrs
    | CallAttrs
)

NO_ATTRS = NoAttrs()
