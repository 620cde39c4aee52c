"""Static settings of ops: one frozen class per op that has any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

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


@dataclass(frozen=True, slots=True)
class InputAttrs:
    """Elements in memory: strides and offset count elements. Equal only for the same storage."""

    storage: Storage = field(hash=False)
    shape: Shape
    dtype: DType
    strides: Strides
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InputAttrs)
            and self.storage is other.storage
            and self.layout == other.layout
        )

    def __hash__(self) -> int:
        return hash((id(self.storage), self.shape, self.offset))

    @property
    def layout(self) -> tuple[Shape, DType, Strides, int]:
        """All but the storage: what a plan depends on."""
        return self.shape, self.dtype, self.strides, self.offset


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


@dataclass(frozen=True, slots=True)
class ReshapeAttrs:
    """The new shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """The dtype to convert to."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class ReduceAttrs:
    """Axes are sorted; they disappear from the shape."""

    kind: ReduceKind
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScanAttrs:
    """reverse: every element combines with those behind it, the last one first."""

    kind: ReduceKind
    axis: int
    reverse: bool = False


Attrs = (
    NoAttrs
    | InputAttrs
    | ConstantAttrs
    | IotaAttrs
    | ViewAttrs
    | ReshapeAttrs
    | CastAttrs
    | ReduceAttrs
    | ScanAttrs
)

NO_ATTRS = NoAttrs()
