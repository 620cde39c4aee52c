"""Elementwise ops. All operands of one op have the same shape; nothing broadcasts implicitly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.tiler.ir import Op, Region, Trait, Value, attribute, operand, operands, region
from lazyblock.tiler.ops.checks import require, require_same_shape, require_same_type
from lazyblock.tiler.types import (
    SCALARS,
    BlockType,
    PointerType,
    ScalarType,
    float32,
    int1,
    parse_element,
)

_ELEMENTWISE = frozenset({Trait.ELEMENTWISE})

# kind -> where it is defined: "f" floats, "i" integers (i1 included unless noted), "fi" both
UNARY_KINDS = {
    "neg": "fi",  # integers wrap
    "abs": "fi",
    "not": "i",  # bitwise; logical for i1
    "sqrt": "f",  # correctly rounded
    "floor": "f",
    "ceil": "f",
    "trunc": "f",
    "rint": "f",  # ties to even
}
BINARY_KINDS = {
    "add": "fi",  # integers wrap
    "sub": "fi",
    "mul": "fi",
    "div": "fi",  # floats: correctly rounded; integers: truncates; x / 0 is 0, MIN / -1 is MIN
    "div_normal": "f",  # div, where operands, quotient and 1 / rhs are normal numbers or NaN
    "rem": "fi",  # sign of the dividend; integers: x % 0 is 0; floats: C's fmod
    "and": "i",
    "or": "i",
    "xor": "i",
    "shl": "i",  # count >= width gives 0
    "shr": "i",  # arithmetic if signed; count >= width gives 0 or all sign bits
    "max": "fi",  # NaN if either is NaN; +0 above -0
    "min": "fi",
    "maxnum": "f",  # the other operand if one is NaN
    "minnum": "f",
    "mulhi": "i",  # high half of the product of the bit patterns, taken as unsigned
}
COMMUTATIVE_KINDS = frozenset(
    {"add", "mul", "mulhi", "and", "or", "xor", "max", "min", "maxnum", "minnum"}
)
COMPARE_KINDS = ("eq", "ne", "lt", "le", "gt", "ge")  # ordered, save that NaN != anything

# Functions with their number of arguments; floating only. passes/expand_math.py writes them out in
# the ops above.
MATH_FUNCTIONS = {
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log1p", "log2", "log10"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("asinh", "acosh", "atanh", "rsqrt", "cbrt", "erf", "erfc"), 1),
    **dict.fromkeys(("lgamma", "tgamma"), 1),
    **dict.fromkeys(("pow", "atan2", "hypot"), 2),
}

# Functions a GPU computes in one instruction, of f32, relative error at most 2^-22 unless noted;
# subnormal arguments and results may count as zeros of their sign. A target without them computes
# them well instead.
APPROXIMATIONS = (
    "exp2",
    "log2",  # between 1/2 and 2: absolute error 2^-22
    "reciprocal",  # 0 beyond 2^126
    "rsqrt",
    "sqrt",
)


def _require_domain(kind: str, domain: str, scalar: ScalarType) -> None:
    is_defined = ("f" if scalar.is_floating else "i") in domain and not scalar.is_float8
    require(is_defined, f"'{kind}' is not defined on {scalar}")


@dataclass(eq=False)
class Unary(Op):
    """One-operand arithmetic; see UNARY_KINDS."""

    name = "unary"
    traits = _ELEMENTWISE
    kind: str = attribute()
    value: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require(self.kind in UNARY_KINDS, f"unknown unary kind '{self.kind}'")
        _require_domain(self.kind, UNARY_KINDS[self.kind], self.value.type.scalar)
        return [self.value.type]


@dataclass(eq=False)
class Binary(Op):
    """Two-operand arithmetic on one type; see BINARY_KINDS."""

    name = "binary"
    traits = _ELEMENTWISE
    kind: str = attribute()
    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require(self.kind in BINARY_KINDS, f"unknown binary kind '{self.kind}'")
        require_same_type(self.lhs, self.rhs)
        _require_domain(self.kind, BINARY_KINDS[self.kind], self.lhs.type.scalar)
        return [self.lhs.type]


@dataclass(eq=False)
class Compare(Op):
    """Comparison to i1; integers by the signedness of their type."""

    name = "compare"
    traits = _ELEMENTWISE
    kind: str = attribute()
    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require(self.kind in COMPARE_KINDS, f"unknown comparison '{self.kind}'")
        require_same_type(self.lhs, self.rhs)
        if not self.lhs.type.is_pointer:
            _require_domain(self.kind, "fi", self.lhs.type.scalar)
        return [self.lhs.type.with_element(int1)]


@dataclass(eq=False)
class Select(Op):
    """`condition ? on_true : on_false`, element by element (pointers too)."""

    name = "select"
    traits = _ELEMENTWISE
    condition: Value = operand()
    on_true: Value = operand()
    on_false: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require(self.condition.type.element == int1, "select needs an i1 condition")
        require_same_shape(self.condition, self.on_true)
        require_same_type(self.on_true, self.on_false)
        return [self.on_true.type]


@dataclass(eq=False)
class Rarely(Op):
    """`condition ? rare(*arguments) : value`, element by element; few elements are rare.

    The region is made of elementwise ops on scalars; where all of a run of elements take `value`,
    it is passed over.
    """

    name = "rarely"
    traits = _ELEMENTWISE | {Trait.ISOLATED}
    condition: Value = operand()
    value: Value = operand()
    rare: Region = region()
    arguments: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        require(self.condition.type.element == int1, "rarely needs an i1 condition")
        require_same_shape(self.condition, self.value, *self.arguments)
        given = [argument.type.element for argument in self.arguments]
        taken = [argument.type.element for argument in self.rare.arguments]
        require(given == taken, f"the region takes {taken}, is given {given}")
        return [self.value.type]


@dataclass(eq=False)
class Fma(Op):
    """a * b + c with one rounding."""

    name = "fma"
    traits = _ELEMENTWISE
    a: Value = operand()
    b: Value = operand()
    c: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require_same_type(self.a, self.b, self.c)
        _require_domain("fma", "f", self.a.type.scalar)
        return [self.a.type]


@dataclass(eq=False)
class Math(Op):
    """A function of MATH_FUNCTIONS."""

    name = "math"
    traits = _ELEMENTWISE
    function: str = attribute()
    arguments: tuple[Value, ...] = operands()

    def infer(self) -> Sequence[BlockType]:
        require(self.function in MATH_FUNCTIONS, f"unknown function '{self.function}'")
        arity = MATH_FUNCTIONS[self.function]
        require(len(self.arguments) == arity, f"'{self.function}' takes {arity} arguments")
        require_same_type(*self.arguments)
        _require_domain(self.function, "f", self.arguments[0].type.scalar)
        return [self.arguments[0].type]


@dataclass(eq=False)
class Approximate(Op):
    """A function of APPROXIMATIONS: of numerics="fast", and where a sum forgives the error."""

    name = "approximate"
    traits = _ELEMENTWISE
    function: str = attribute()
    value: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require(self.function in APPROXIMATIONS, f"no approximation of '{self.function}'")
        require(self.value.type.element == float32, "approximations are of f32")
        return [self.value.type]


@dataclass(eq=False)
class Cast(Op):
    """Convert numbers.

    To a narrower float: to nearest even (f64 to bf16 and float8 by way of f32, integers to float8
    too), or toward zero with rounding "rtz". Float to integer: toward zero, saturating, NaN to 0.
    Integer to integer: wraps. To i1: `x != 0`.
    """

    name = "cast"
    traits = _ELEMENTWISE
    value: Value = operand()
    element: str = attribute()
    rounding: str = attribute("")

    def infer(self) -> Sequence[BlockType]:
        from_, to = self.value.type.scalar, SCALARS[self.element]
        require(from_ != to, f"cast of {from_} to itself")
        require(self.rounding in ("", "rtz"), f"unknown rounding '{self.rounding}'")
        narrows = from_.is_floating and to.is_floating and to.bits < from_.bits
        require(narrows or not self.rounding, f"cast of {from_} to {to} does not round")
        return [self.value.type.with_element(to)]


@dataclass(eq=False)
class Bitcast(Op):
    """The same bits as another type of equal width; addresses are of 64 bits, element "*f32"."""

    name = "bitcast"
    traits = _ELEMENTWISE
    value: Value = operand()
    element: str = attribute()

    def infer(self) -> Sequence[BlockType]:
        to = parse_element(self.element)
        require(self.value.type.element.bits == to.bits, "bitcast needs equal widths")
        pointers = [e for e in (self.value.type.element, to) if isinstance(e, PointerType)]
        others = [e for e in (self.value.type.element, to) if isinstance(e, ScalarType)]
        require(not pointers or all(e.is_integer for e in others), "a float is no address")
        return [self.value.type.with_element(to)]


@dataclass(eq=False)
class AddPointer(Op):
    """pointer + offset, counted in elements; offset i32 or i64, sign-extended."""

    name = "add_pointer"
    traits = _ELEMENTWISE
    pointer: Value = operand()
    offset: Value = operand()

    def infer(self) -> Sequence[BlockType]:
        require(isinstance(self.pointer.type.element, PointerType), "add_pointer needs a pointer")
        require(self.offset.type.scalar.name in ("i32", "i64"), "offsets are i32 or i64")
        require_same_shape(self.pointer, self.offset)
        return [self.pointer.type]
