"""What a kernel is specialised on: the kinds of its arguments.

A kind is a hashable value that says what a kernel is compiled for:

- `"i32"`, `"i32 16"` (a multiple of 16), `"fp32"`...: a number passed by value,
- `(dtype, is aligned, device's name)`: an address, aligned if it is a multiple of 16 bytes,
- `(CONSTANT, type, value)`: a value that the kernel is compiled for,
- `(TUPLE, type, kinds)`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lazyblock.errors import DTypeError
from lazyblock.language import dtypes
from lazyblock.language.constexpr import constexpr
from lazyblock.language.specs import ArgumentSpec, Constant, Pointer, Scalar, Tuple
from lazyblock.tiler.types import from_numpy

Kind = Hashable

CONSTANT, TUPLE = "constant", "tuple"
ALIGNMENT = 16
HOST = "cpu"
ANYWHERE = ""  # the device of arrays that stand for others


def plain_constant(value: Any) -> Any:
    """The value that a constant's kind was made from, without wrappers."""
    if isinstance(value, constexpr):
        return plain_constant(value.value)
    is_scalar_type = isinstance(value, type) and issubclass(value, np.generic)
    if is_scalar_type or isinstance(value, np.dtype):
        return _element_of(np.dtype(value))
    return value.item() if isinstance(value, np.generic) else value


def is_pointer(kind: Any) -> bool:
    """Whether it is the kind of an array."""
    return isinstance(kind, tuple) and isinstance(kind[0], (np.dtype, dtypes.dtype))


def spec_of(kind: Any, value: Any, is_const: bool = False) -> ArgumentSpec:
    """What the front end is told about an argument. Raises: DTypeError for odd array dtypes."""
    if isinstance(kind, str):
        name, _, multiple = kind.partition(" ")
        return Scalar(dtypes.dtype(name), int(multiple or 1))
    if is_pointer(kind):
        divisibility = ALIGNMENT if kind[1] else 1
        return Pointer(_element_of(kind[0]), divisibility, is_const)
    if kind[0] == TUPLE:
        parts = value if isinstance(value, (tuple, list)) else value.__lazyblock_parts__()[1]
        items = [spec_of(item, part) for item, part in zip(kind[2], parts, strict=True)]
        return Tuple(tuple(items), kind[1])
    return Constant(plain_constant(value))


def _element_of(dtype: Any) -> dtypes.dtype:
    if isinstance(dtype, dtypes.dtype):
        return dtype
    try:
        return dtypes.from_ir(from_numpy(dtype))
    except KeyError:
        raise DTypeError(f"Kernels cannot take arrays of {dtype}.") from None


def describe_kind(kind: Any) -> str:
    """A kind in words: "i32, a multiple of 16"."""
    if isinstance(kind, str):
        name, _, multiple = kind.partition(" ")
        return f"{name}, a multiple of {multiple}" if multiple else name
    if is_pointer(kind):
        dtype, is_aligned, device = kind
        place = f" on {device}" if device != ANYWHERE else ""
        return f"{'aligned' if is_aligned else 'unaligned'} {dtype} array{place}"
    if kind[0] == TUPLE:
        return f"({', '.join(map(describe_kind, kind[2]))})"
    return f"constant {kind[2]!r}"


def are_alike(kinds: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether kinds are equal, save that arrays of examples are anywhere."""
    return [_placeless(kind) for kind in kinds] == [_placeless(kind) for kind in others]


def _placeless(kind: Any) -> Any:
    return kind[:2] if is_pointer(kind) else kind


def devices_in(kinds: Sequence[Any]) -> list[str]:
    """Names of the devices that arrays are on, each once."""
    found: dict[str, None] = {}
    for kind in kinds:
        if is_pointer(kind):
            found.update({kind[2]: None} if kind[2] != ANYWHERE else {})
        elif isinstance(kind, tuple) and kind[0] == TUPLE:
            found.update(dict.fromkeys(devices_in(kind[2])))
    return list(found)
