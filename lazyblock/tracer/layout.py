"""How elements would lie in memory were the array NumPy's: strides, flags, memory order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lazyblock.errors import ValueRangeError
from lazyblock.shapes import Shape
from lazyblock.tracer.cells import Cell

_NAMES = {
    "C_CONTIGUOUS": "c_contiguous",
    "F_CONTIGUOUS": "f_contiguous",
    "OWNDATA": "owndata",
    "WRITEABLE": "writeable",
    "ALIGNED": "aligned",
    "WRITEBACKIFCOPY": "writebackifcopy",
}
_SHORT = dict(zip("CFOWAX", _NAMES, strict=True))


@dataclass(frozen=True)
class _Facts:
    """What cannot be set.

    cell: of the base, which knows whether it may be written. repeats: elements are shown more than
    once, so that they cannot be written here.
    """

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool
    cell: Cell
    repeats: bool = False
    aligned: bool = True
    writebackifcopy: bool = False


class Flags(_Facts):
    """What `x.flags` of a NumPy array tells, by attribute or by NumPy's names as keys."""

    @property
    def writeable(self) -> bool:
        """Whether the base may be written; can be set."""
        return self.cell.is_writeable and not self.repeats

    @writeable.setter
    def writeable(self, value: Any) -> None:
        self.cell.is_writeable = bool(value)

    @property
    def contiguous(self) -> bool:
        return self.c_contiguous

    @property
    def fortran(self) -> bool:
        return self.fnc

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def behaved(self) -> bool:
        return self.aligned and self.writeable

    @property
    def carray(self) -> bool:
        return self.behaved and self.c_contiguous

    @property
    def farray(self) -> bool:
        return self.behaved and self.fnc

    def __getitem__(self, key: str) -> bool:
        value: bool = getattr(self, _attribute(key))
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _attribute(key), value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and all(self[name] == other[name] for name in _NAMES)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"  {key} : {self[key]}\n" for key in _NAMES)


def _attribute(key: str) -> str:
    name = _NAMES.get(_SHORT.get(key, key))
    if name is None:
        raise KeyError("Unknown flag")
    return name


def is_contiguous(shape: Shape, strides: tuple[int, ...], itemsize: int, order: str) -> bool:
    """Whether elements fill memory in C or F order; strides count bytes."""
    if 0 in shape:
        return True
    expected = itemsize
    axes = range(len(shape)) if order == "F" else reversed(range(len(shape)))
    for axis in axes:
        if shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= shape[axis]
    return True


def check_order(order: str | None) -> str:
    """A memory order in NumPy's letters. Raises: ValueRangeError."""
    if order is None:
        return "C"
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueRangeError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order.upper()


def axes_by_stride(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Axes from the longest step to the shortest, as memory order goes."""
    return tuple(sorted(range(len(strides)), key=lambda axis: -abs(strides[axis])))
