"""Types of block values.

A scalar type, or a pointer to one, times a static shape of powers of two; `()` is a scalar.
Written `f32`, `*f32`, `<128x64xf32>`, `<128x*f32>`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number type. kind: "i" signed, "u" unsigned (i1 counts as unsigned), "f" floating."""

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @property
    def nbytes(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return max(self.bits // 8, 1)

    @property
    def is_floating(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Any integer type, i1 included."""
        return self.kind != "f"

    @property
    def is_signed(self) -> bool:
        return self.kind == "i"

    @property
    def is_half(self) -> bool:
        return self.kind == "f" and self.bits == 16


@dataclass(frozen=True, slots=True)
class PointerType:
    """Address of an element in global memory; arithmetic counts elements."""

    pointee: ScalarType

    def __str__(self) -> str:
        return f"*{self.pointee}"

    @property
    def bits(self) -> int:
        return 64


int1 = ScalarType("i1", "u", 1)
int8, int16, int32, int64 = (ScalarType(f"i{n}", "i", n) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (ScalarType(f"u{n}", "u", n) for n in (8, 16, 32, 64))
float16 = ScalarType("f16", "f", 16)
bfloat16 = ScalarType("bf16", "f", 16)
float32 = ScalarType("f32", "f", 32)
float64 = ScalarType("f64", "f", 64)

SCALARS = {
    t.name: t
    for t in (
        *(int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
        *(float16, bfloat16, float32, float64),
    )
}
_TO_NUMPY = {
    int1: dtypes.bool_,
    **{t: np.dtype(f"int{t.bits}") for t in (int8, int16, int32, int64)},
    **{t: np.dtype(f"uint{t.bits}") for t in (uint8, uint16, uint32, uint64)},
    **{float16: dtypes.float16, bfloat16: dtypes.bfloat16},
    **{float32: dtypes.float32, float64: dtypes.float64},
}
_FROM_NUMPY = {dtype: scalar for scalar, dtype in _TO_NUMPY.items()}

Element = ScalarType | PointerType


@dataclass(frozen=True, slots=True)
class BlockType:
    """Type of every block value: element times static shape."""

    element: Element
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.shape:
            return str(self.element)
        return f"<{'x'.join(map(str, self.shape))}x{self.element}>"

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def scalar(self) -> ScalarType:
        """Element as a number type; an error for pointers."""
        assert isinstance(self.element, ScalarType), f"{self} is no number"
        return self.element

    @property
    def is_pointer(self) -> bool:
        return isinstance(self.element, PointerType)

    def with_element(self, element: Element) -> BlockType:
        return BlockType(element, self.shape)

    def with_shape(self, shape: tuple[int, ...]) -> BlockType:
        return BlockType(self.element, shape)


def to_numpy(scalar: ScalarType) -> DType:
    """The NumPy dtype whose values `scalar` holds."""
    dtype: DType = _TO_NUMPY[scalar]
    return dtype


def from_numpy(dtype: DType) -> ScalarType:
    """The scalar type of arrays of `dtype`."""
    return _FROM_NUMPY[dtype]


def parse_element(text: str) -> Element:
    """The element written `text`: "f32", "*f32"."""
    scalar: Any = SCALARS[text.removeprefix("*")]
    return PointerType(scalar) if text.startswith("*") else scalar


def parse_type(text: str) -> BlockType:
    """Read what `str(BlockType)` writes."""
    shape: tuple[int, ...] = ()
    if text.startswith("<"):
        extents, text = re.fullmatch(r"<((?:\d+x)*)(.*)>", text).groups()  # type: ignore[union-attr]
        shape = tuple(int(n) for n in extents.split("x") if n)
    return BlockType(parse_element(text), shape)
