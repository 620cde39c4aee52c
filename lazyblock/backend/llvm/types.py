"""LLVM types and constants of block elements, as text.

Half types and float8s travel as their bits in i16 and i8: programs reach emission after
`legalise_half`, so they are loaded, stored, selected, moved and cast, and halves on a GPU added and
multiplied. A bool is i1 in registers and i8 (0 or 1) in memory.
"""

from __future__ import annotations

import struct

from lazyblock.tiler.types import Element, PointerType, ScalarType, encode

Number = bool | int | float


def llvm_scalar(element: Element) -> str:
    """Type of one element in a register."""
    if isinstance(element, PointerType):
        return "ptr"
    if element.is_floating and element.bits >= 32:
        return "float" if element.bits == 32 else "double"
    return f"i{element.bits}"


def vector_of(scalar: str, width: int) -> str:
    """`scalar` itself for width 1, else `<width x scalar>`."""
    return scalar if width == 1 else f"<{width} x {scalar}>"


def llvm_type(element: Element, width: int = 1) -> str:
    """Type of `width` elements in a register: "float", "<8 x i1>", "ptr"."""
    return vector_of(llvm_scalar(element), width)


def memory_type(element: Element, width: int = 1) -> str:
    """Type of `width` elements in memory: as in a register, but a bool takes a byte."""
    scalar = llvm_scalar(element)
    return vector_of("i8" if scalar == "i1" else scalar, width)


def element_nbytes(element: Element) -> int:
    """Bytes of one element in memory."""
    return 8 if isinstance(element, PointerType) else element.nbytes


def mangled(scalar: str, width: int = 1) -> str:
    """Suffix of an overloaded intrinsic's name: "f32", "v8i64"."""
    short = {"float": "f32", "double": "f64", "ptr": "p0"}.get(scalar, scalar)
    return short if width == 1 else f"v{width}{short}"


def splat_text(scalar: str, text: str, width: int) -> str:
    """A constant in every lane."""
    return text if width == 1 else f"splat ({scalar} {text})"


def constant_text(value: Number, element: ScalarType, width: int = 1) -> str:
    """The exact text of a constant of `element`, in every lane."""
    return splat_text(llvm_scalar(element), _scalar_text(value, element), width)


def _scalar_text(value: Number, element: ScalarType) -> str:
    if element.bits == 1:
        return "true" if value else "false"
    if element.is_floating and element.bits < 32:
        return str(int(encode(value, element).view(f"u{element.nbytes}")))
    if element.is_floating:
        return _float_text(float(value), element.bits)
    wrapped = int(value) & ((1 << element.bits) - 1)
    return str(wrapped - (wrapped >> (element.bits - 1) << element.bits))


def _float_text(value: float, bits: int) -> str:
    """LLVM writes both widths as the hexadecimal bits of a double."""
    pattern = int.from_bytes(struct.pack(">d", value), "big")
    if bits == 32 and value != value:
        pattern = pattern >> 29 << 29 | 1 << 51  # a payload that a float can hold
    return f"0x{pattern:016X}"
