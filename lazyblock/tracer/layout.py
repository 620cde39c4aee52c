"""How elements would lie in memory were the array NumPy's: strides, flags, memory order."""

from __future__ import annotations

from dataclasses import dataclass

from lazyblock.errors import ValueRangeError
from lazyblock.shapes import Shape

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
class Flags:
    """What `x.flags` of a NumPy array tells, by attribute or by NumPy's names as keys."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool
    writeable: bool
    aligned: bool = True
    writebackifcopy: bool = False

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
        name = _NAMES.get(_SHORT.get(key, key))
        if name is None:
            raise KeyError("Unknown flag")
        value: bool = getattr(self, name)
        return value

    def __repr__(self) -> str:
        return "".join(f"  {key} : {self[key]}\n" for key in _NAMES)


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
