"""Types of the block language under its own names, and the block IR's type of each.

`tl.float32`, `tl.int8`... are `dtype` objects, pointers and blocks of them `pointer_type` and
`block_type`. Predicates and names are those of Triton's types, because kernels test them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.tiler.types import SCALARS, BlockType, Element, PointerType, ScalarType


@dataclass(frozen=True)
class _Facts:
    """One row of the table of number types."""

    name: str  # as `str(dtype)` gives it
    short: str  # as signatures write it
    ir: str  # name of the block IR's type
    kind: str  # "b" bool, "i" signed, "u" unsigned, "f" floating, "8" floating of 8 bits
    bits: int
    mantissa_bits: int = 0
    exponent_bias: int = 0


_TABLE = {
    "int1": _Facts("int1", "i1", "i1", "b", 1),
    **{f"int{n}": _Facts(f"int{n}", f"i{n}", f"i{n}", "i", n) for n in (8, 16, 32, 64)},
    **{f"uint{n}": _Facts(f"uint{n}", f"u{n}", f"u{n}", "u", n) for n in (8, 16, 32, 64)},
    "float8e5": _Facts("fp8e5", "fp8e5", "f8e5m2", "8", 8, 2, 15),
    "float8e5b16": _Facts("fp8e5b16", "fp8e5b16", "f8e5b16", "8", 8, 2, 16),
    "float8e4nv": _Facts("fp8e4nv", "fp8e4nv", "f8e4m3", "8", 8, 3, 7),
    "float8e4b8": _Facts("fp8e4b8", "fp8e4b8", "f8e4b8", "8", 8, 3, 8),
    "float8e4b15": _Facts("fp8e4b15", "fp8e4b15", "f8e4b15", "8", 8, 3, 15),
    "float16": _Facts("fp16", "fp16", "f16", "f", 16, 10, 15),
    "bfloat16": _Facts("bf16", "bf16", "bf16", "f", 16, 7, 127),
    "float32": _Facts("fp32", "fp32", "f32", "f", 32, 23, 127),
    "float64": _Facts("fp64", "fp64", "f64", "f", 64, 52, 1023),
    "void": _Facts("void", "void", "", "v", 0),
}
_BY_NAME = {
    name: facts for long, facts in _TABLE.items() for name in (long, facts.name, facts.short)
}
_LONG = {facts.name: long for long, facts in _TABLE.items()}


_made: dict[str, dtype] = {}  # number types by name


class dtype:
    """A number type. `dtype("fp32")`, `dtype("f32")`... give one object for equal names."""

    SINT_TYPES: list[str]
    UINT_TYPES: list[str]
    FP_TYPES: list[str]
    STANDARD_FP_TYPES: list[str]
    OTHER_TYPES: list[str]

    class SIGNEDNESS(enum.Enum):
        """Whether an integer type has a sign; int1 has none."""

        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        """The order in which a literal's kind counts against a tensor's."""

        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __new__(cls, name: Any = None, *others: Any, **named: Any) -> dtype:
        """Kernels compare types with `is`."""
        facts = _BY_NAME.get(getattr(name, "value", name)) if cls is dtype else None
        if facts is None:
            return super().__new__(cls)
        return _made.setdefault(facts.name, super().__new__(cls))

    def __init__(self, name: Any) -> None:
        name = getattr(name, "value", name)
        if name not in _BY_NAME:
            raise SemanticError(
                f"There is no type '{name}'.", hint=f"use one of {', '.join(_TABLE)}."
            )
        self._facts = _BY_NAME[name]
        self.name = self._facts.name
        self.primitive_bitwidth = self._facts.bits
        self.itemsize = max(self._facts.bits // 8, 1)
        self.fp_mantissa_width = self._facts.mantissa_bits
        self.exponent_bias = self._facts.exponent_bias
        self.short_name = self._facts.short

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"lazyblock.language.{_LONG[self.name]}"

    def __eq__(self, other: object) -> bool:
        other = getattr(other, "value", other)
        return isinstance(other, dtype) and type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def ir(self) -> ScalarType:
        """The block IR's type."""
        if self._facts.ir not in SCALARS:
            raise SemanticError(f"Values of type '{self}' do not exist.")
        return SCALARS[self._facts.ir]

    @property
    def scalar(self) -> Any:
        return self

    @property
    def value(self) -> Any:
        """Itself: kernels ask for it as of a constexpr."""
        return self

    @property
    def int_bitwidth(self) -> int:
        return self.primitive_bitwidth

    @property
    def int_signedness(self) -> SIGNEDNESS:
        return self.SIGNEDNESS.SIGNED if self.is_int_signed() else self.SIGNEDNESS.UNSIGNED

    @property
    def cache_key_part(self) -> str:
        return self.name

    def kind(self) -> KIND:
        if self.is_bool():
            return self.KIND.BOOLEAN
        return self.KIND.INTEGRAL if self.is_int() else self.KIND.FLOATING

    def get_int_max_value(self) -> int:
        return int(2 ** (self.primitive_bitwidth - self.is_int_signed()) - 1)

    def get_int_min_value(self) -> int:
        return -int(2 ** (self.primitive_bitwidth - 1)) if self.is_int_signed() else 0

    def is_floating(self) -> bool:
        return self._facts.kind in "f8"

    def is_standard_floating(self) -> bool:
        return self._facts.kind == "f"

    def is_fp8(self) -> bool:
        return self._facts.kind == "8"

    def is_int(self) -> bool:
        return self._facts.kind in "biu"

    def is_int_signed(self) -> bool:
        return self._facts.kind == "i"

    def is_int_unsigned(self) -> bool:
        return self._facts.kind in "bu"

    def is_bool(self) -> bool:
        return self._facts.kind == "b"

    def is_void(self) -> bool:
        return self._facts.kind == "v"

    def is_block(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    @staticmethod
    def is_dtype(name: str) -> bool:
        return name in _BY_NAME

    def mangle(self) -> str:
        """The name signatures use: 'i32', 'u8', 'fp32', '*bf16'."""
        return self.short_name


def _tests_for(name: str) -> Any:
    return lambda self: self.name == name


def _names_of(kinds: str) -> list[str]:
    return [facts.name for facts in _TABLE.values() if facts.kind in kinds]


dtype.SINT_TYPES, dtype.UINT_TYPES = _names_of("i"), _names_of("bu")
dtype.FP_TYPES, dtype.STANDARD_FP_TYPES = _names_of("8f"), _names_of("f")
dtype.OTHER_TYPES = _names_of("v")
for _facts in _TABLE.values():  # is_fp32(), is_bf16(), is_int32(), is_uint8()...
    if _facts.bits:
        setattr(dtype, f"is_{_facts.name}", _tests_for(_facts.name))


class pointer_type(dtype):
    """Address of `element_ty` elements in memory; const ones are not stored to."""

    def __init__(self, element_ty: Any, address_space: int = 1, const: bool = False) -> None:
        element_ty = getattr(element_ty, "value", element_ty)
        if not isinstance(element_ty, dtype):
            raise SemanticError(f"A pointer needs an element type, got {element_ty!r}.")
        super().__init__("void")
        self.element_ty = element_ty
        self.address_space = getattr(address_space, "value", address_space)
        self.const = bool(getattr(const, "value", const))
        self.primitive_bitwidth, self.itemsize = 64, 8
        self.name = f"pointer<{'const ' if self.const else ''}{element_ty}>"
        self.short_name = f"*{'k' if self.const else ''}{element_ty.short_name}"

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        other = getattr(other, "value", other)
        return isinstance(other, pointer_type) and (
            self.element_ty,
            self.address_space,
            self.const,
        ) == (other.element_ty, other.address_space, other.const)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def ir(self) -> Any:
        return PointerType(self.element_ty.ir)

    def is_ptr(self) -> bool:
        return True

    def is_void(self) -> bool:
        return False

    def is_const(self) -> bool:
        return self.const


class block_type(dtype):
    """A block of `shape` elements of a number or pointer type."""

    def __init__(self, element_ty: dtype, shape: Sequence[Any]) -> None:
        super().__init__("void")
        self.element_ty = element_ty
        self.shape = tuple(int(extent) for extent in shape)
        self.numel = math.prod(self.shape)
        self.primitive_bitwidth, self.itemsize = element_ty.primitive_bitwidth, element_ty.itemsize
        self.name = f"<{list(self.shape)}, {element_ty}>"

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, block_type)
            and self.element_ty == other.element_ty
            and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def scalar(self) -> Any:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        return self.numel * self.element_ty.itemsize

    def is_block(self) -> bool:
        return True

    def is_void(self) -> bool:
        return False

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    def with_element_ty(self, element_ty: dtype) -> block_type:
        return block_type(element_ty, self.shape)


void = dtype("void")
int1 = dtype("int1")
int8, int16, int32, int64 = (dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (dtype(f"uint{n}") for n in (8, 16, 32, 64))
float8e5, float8e5b16 = dtype("fp8e5"), dtype("fp8e5b16")
float8e4nv, float8e4b8, float8e4b15 = (dtype(f"fp8e4{n}") for n in ("nv", "b8", "b15"))
float16, bfloat16, float32, float64 = (dtype(n) for n in ("fp16", "bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)

NUMBERS = (
    *(int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(float8e5, float8e5b16, float8e4nv, float8e4b8, float8e4b15),
    *(float16, bfloat16, float32, float64),
)
_FROM_IR = {facts.ir: dtype(facts.name) for facts in _TABLE.values() if facts.ir}


def from_ir(element: Element) -> dtype:
    """The language's type of a number or pointer of the block IR."""
    if isinstance(element, PointerType):
        return pointer_type(from_ir(element.pointee))
    return _FROM_IR[element.name]


def type_of(type: BlockType) -> dtype:
    """The language's type of a value of the block IR."""
    element = from_ir(type.element)
    return block_type(element, type.shape) if type.shape else element


def parse_name(text: str) -> dtype:
    """Read a name as signatures write it: 'i32', '*fp16', '*kbf16' (k: const)."""
    if not text.startswith("*"):
        return dtype(text)
    is_const = text.startswith("*k")
    return pointer_type(parse_name(text.removeprefix("*k" if is_const else "*")), const=is_const)
