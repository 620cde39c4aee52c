"""Functions of libdevice on integers: counts of bits, their order, averages without overflow.

Written in the language, as everybody's bit tricks are: H. S. Warren, Hacker's Delight, 2013.
"""

from __future__ import annotations

from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.dtypes import int32, uint32, uint64
from lazyblock.language.semantics import arithmetic, elementwise
from lazyblock.language.semantics.convert import bitcast, cast, to_tensor
from lazyblock.language.semantics.elementwise import where
from lazyblock.language.tensor import tensor

Block = Any  # a tensor, whose operators mypy does not see


def _unsigned(arg0: Any, name: str) -> Block:
    value = to_tensor(arg0)
    if not value.dtype.is_int() or value.dtype.primitive_bitwidth not in (32, 64):
        raise SemanticError(f"{name} is of 32 and 64-bit integers, got {value.dtype}.")
    return bitcast(value, uint32 if value.dtype.primitive_bitwidth == 32 else uint64)


def _pattern(byte: int, value: Block) -> int:
    """`byte` in every byte."""
    return int.from_bytes(bytes([byte] * value.dtype.itemsize), "little")


@builtin
def popc(arg0: Any) -> tensor:
    """How many bits are set, int32."""
    v = _unsigned(arg0, "popc")
    v = v - ((v >> 1) & _pattern(0x55, v))
    v = (v & _pattern(0x33, v)) + ((v >> 2) & _pattern(0x33, v))
    v = (v + (v >> 4)) & _pattern(0x0F, v)
    total = arithmetic.binary("mul", v, _pattern(0x01, v))
    return cast(arithmetic.shift_right(total, v.dtype.primitive_bitwidth - 8), int32)


@builtin
def clz(arg0: Any) -> tensor:
    """How many bits above the highest set one, int32."""
    v = _unsigned(arg0, "clz")
    bits, shift = v.dtype.primitive_bitwidth, 1
    while shift < bits:
        v = v | (v >> shift)
        shift *= 2
    return popc(~v)


@builtin
def ffs(arg0: Any) -> tensor:
    """Place of the lowest set bit, counted from 1; 0 if there is none; int32."""
    v = _unsigned(arg0, "ffs")
    below = popc(arithmetic.binary("and", ~v, arithmetic.binary("sub", v, 1)))
    return where(v == 0, 0, arithmetic.binary("add", below, 1))


@builtin
def brev(arg0: Any) -> tensor:
    """Bits in reverse order."""
    given = to_tensor(arg0)
    v = _unsigned(given, "brev")
    for shift, byte in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        v = ((v >> shift) & _pattern(byte, v)) | ((v & _pattern(byte, v)) << shift)
    bits, width = v.dtype.primitive_bitwidth, 8
    while width < bits:
        low = (1 << width) - 1
        mask = sum(low << start for start in range(0, bits, 2 * width))
        v = ((v >> width) & mask) | ((v & mask) << width)
        width *= 2
    return bitcast(v, given.dtype)


@builtin
def hadd(arg0: Any, arg1: Any) -> tensor:
    """Half of the sum, rounded down, without overflow."""
    a, b = arithmetic.meet("hadd", to_tensor(arg0), to_tensor(arg1))
    x: Block = a
    return arithmetic.add_plain(x & b, arithmetic.shift_right(x ^ b, 1))


@builtin
def rhadd(arg0: Any, arg1: Any) -> tensor:
    """Half of the sum, rounded up, without overflow."""
    a, b = arithmetic.meet("rhadd", to_tensor(arg0), to_tensor(arg1))
    x: Block = a
    return arithmetic.binary("sub", x | b, arithmetic.shift_right(x ^ b, 1))


@builtin
def mul24(arg0: Any, arg1: Any) -> tensor:
    """Product of the lower 24 bits of each, as their sign says."""
    a, b = arithmetic.meet("mul24", to_tensor(arg0), to_tensor(arg1))
    low = [arithmetic.shift_right(arithmetic.binary("lshift", v, 8), 8) for v in (a, b)]
    return arithmetic.binary("mul", *low)


@builtin
def sad(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """|arg0 - arg1| + arg2."""
    a, b = arithmetic.meet("sad", to_tensor(arg0), to_tensor(arg1))
    larger, smaller = elementwise.maximum(a, b), elementwise.minimum(a, b)
    return arithmetic.binary("add", arithmetic.binary("sub", larger, smaller), arg2)
