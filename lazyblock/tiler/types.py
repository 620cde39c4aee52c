"""Types of block values.

A scalar type, or a pointer to one, times a static shape; `()` is a scalar. What compilers see has
powers of two as extents: `passes.pad_blocks` sees to it.
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

    @property
    def is_float8(self) -> bool:
        """A float of one byte: stored, moved and cast, nothing else."""
        return self.kind == "f" and self.bits == 8


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
float8_e5m2 = ScalarType("f8e5m2", "f", 8)
float8_e4m3 = ScalarType("f8e4m3", "f", 8)
float8_e4b8 = ScalarType("f8e4b8", "f", 8)
float8_e5b16 = ScalarType("f8e5b16", "f", 8)
float8_e4b15 = ScalarType("f8e4b15", "f", 8)

FLOAT8S = (float8_e5m2, float8_e4m3, float8_e4b8, float8_e5b16, float8_e4b15)
SCALARS = {
    t.name: t
    for t in (
        *(int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
        *(float16, bfloat16, float32, float64),
        *FLOAT8S,
    )
}
_TO_NUMPY = {
    int1: dtypes.bool_,
    **{t: np.dtype(f"int{t.bits}") for t in (int8, int16, int32, int64)},
    **{t: np.dtype(f"uint{t.bits}") for t in (uint8, uint16, uint32, uint64)},
    **{float16: dtypes.float16, bfloat16: dtypes.bfloat16},
    **{float32: dtypes.float32, float64: dtypes.float64},
    **{float8_e5m2: dtypes.float8_e5m2, float8_e4m3: dtypes.float8_e4m3fn},
    **{float8_e4b8: dtypes.float8_e4m3fnuz, float8_e5b16: dtypes.float8_e5m2fnuz},
}
_FROM_NUMPY = {dtype: scalar for scalar, dtype in _TO_NUMPY.items()}
_TO_NUMPY[float8_e4b15] = dtypes.uint8  # NumPy has none: its bits


@dataclass(frozen=True, slots=True)
class Float8Format:
    """How the bits of a float8 are read: sign, exponent, `mantissa_bits`, as IEEE 754 does.

    largest: the code (without sign) of the largest number. overflow: the code that what lies beyond
    rounds to. nan: the code of NaN (`largest` again where there is none). has_negative_zero: else
    the code of -0 is the only NaN.
    """

    mantissa_bits: int
    bias: int
    largest: int
    overflow: int
    nan: int
    has_negative_zero: bool = True


FLOAT8_FORMATS = {
    float8_e5m2: Float8Format(2, 15, 0x7B, 0x7C, 0x7E),
    float8_e4m3: Float8Format(3, 7, 0x7E, 0x7F, 0x7F),
    float8_e4b8: Float8Format(3, 8, 0x7F, 0x80, 0x80, False),
    float8_e5b16: Float8Format(2, 16, 0x7F, 0x80, 0x80, False),
    # every code is a number, those of float16 below 2: whatever is larger, and NaN, becomes 1.875
    float8_e4b15: Float8Format(3, 15, 0x7F, 0x7F, 0x7F),
}

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


def encode(numbers: Any, scalar: ScalarType) -> Any:
    """Numbers rounded to `scalar`, as an array of what `to_numpy` says."""
    dtype = to_numpy(scalar)
    if scalar != float8_e4b15:
        return np.asarray(numbers).astype(dtype)
    singles = np.asarray(numbers).astype(np.float32).astype(np.float64)
    size = np.where(np.isnan(singles), np.inf, np.abs(singles))
    _, exponents = np.frexp(np.minimum(size, 1.875))
    quantum = 2.0 ** (np.maximum(exponents - 1, -14) - 3)
    rounded = np.minimum(np.rint(np.minimum(size, 1.875) / quantum) * quantum, 1.875)
    codes = rounded.astype(np.float16).view(np.uint16) >> 7
    is_negative = np.signbit(singles) & ~np.isnan(singles)
    return (codes | is_negative * np.uint16(0x80)).astype(dtype)


def decode(array: Any, scalar: ScalarType) -> Any:
    """The numbers that an array holds, in a type that NumPy computes with."""
    if scalar == float8_e4b15:
        codes = np.asarray(array).astype(np.uint16)
        return ((codes & 0x7F) << 7 | (codes & 0x80) << 8).view(np.float16).astype(np.float32)
    return np.asarray(array).astype(np.float32) if scalar.is_float8 else np.asarray(array)


def parse_type(text: str) -> BlockType:
    """Read what `str(BlockType)` writes."""
    shape: tuple[int, ...] = ()
    if text.startswith("<"):
        extents, text = re.fullmatch(r"<((?:\d+x)*)(.*)>", text).groups()  # type: ignore[union-attr]
        shape = tuple(int(n) for n in extents.split("x") if n)
    return BlockType(parse_element(text), shape)
