"""The primitive ops of the graph, on one page.

Everything users call is written in these. Elementwise ops take operands of one dtype, whose shapes
are the result's or `()`; dtype conversions are CAST nodes, broadcasting beyond scalars is a VIEW.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType


class Category(enum.Enum):
    """How an op treats its operands' elements."""

    LEAF = "leaf"
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    SCAN = "scan"
    VIEW = "view"
    CONTRACTION = "contraction"
    GATHER = "gather"
    UPDATE = "update"
    CALL = "call"


class Op(enum.Enum):
    """Kinds of computation. Members compare by identity."""

    __hash__ = object.__hash__  # members are singletons; the default hashes the name each time

    # leaves
    INPUT = "input"  # an array in memory
    CONSTANT = "constant"  # one number, shape ()
    IOTA = "iota"  # 0, 1, 2, ... along the only axis
    # views
    VIEW = "view"  # result[i] = operand[map(i)], an affine map
    RESHAPE = "reshape"  # the same elements in C order
    UPDATE = "update"  # the first operand with the second in the elements at an affine map
    GATHER = "gather"  # result[i] = operand[map(i) + computed positions along some axes]
    # other structure
    CAST = "cast"
    BITCAST = "bitcast"  # the same bits as another real dtype of that size
    COPY = "copy"  # the same elements, for memory of their own in C order
    WHERE = "where"
    COMPLEX = "complex"  # of a real and an imaginary part
    REAL = "real"
    IMAG = "imag"
    REDUCE = "reduce"
    SCAN = "scan"  # result[i] combines an optional start and elements 0 ... i along an axis
    CONTRACT = "contract"  # stacks of matrices, multiplied
    CALL = "call"  # a result of a user's block kernel
    HOST = "host"  # a result of a NumPy function that runs on the host
    # elementwise arithmetic
    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    FLOOR_DIVIDE = "floor_divide"
    REMAINDER = "remainder"
    FMOD = "fmod"
    POWER = "power"
    NEGATIVE = "negative"
    ABSOLUTE = "absolute"
    SIGN = "sign"
    SQRT = "sqrt"
    RECIPROCAL = "reciprocal"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    FMAX = "fmax"
    FMIN = "fmin"
    COPYSIGN = "copysign"
    NEXTAFTER = "nextafter"
    # comparisons and tests
    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater_equal"
    ISNAN = "isnan"
    ISINF = "isinf"
    ISFINITE = "isfinite"
    SIGNBIT = "signbit"
    # bits; logical ops are these on bool
    BITWISE_AND = "bitwise_and"
    BITWISE_OR = "bitwise_or"
    BITWISE_XOR = "bitwise_xor"
    INVERT = "invert"
    LEFT_SHIFT = "left_shift"
    RIGHT_SHIFT = "right_shift"
    # rounding
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    RINT = "rint"
    # functions
    EXP = "exp"
    EXP2 = "exp2"
    EXPM1 = "expm1"
    LOG = "log"
    LOG1P = "log1p"
    LOG2 = "log2"
    LOG10 = "log10"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ARCSIN = "arcsin"
    ARCCOS = "arccos"
    ARCTAN = "arctan"
    ARCTAN2 = "arctan2"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ARCSINH = "arcsinh"
    ARCCOSH = "arccosh"
    ARCTANH = "arctanh"
    CBRT = "cbrt"
    HYPOT = "hypot"
    RSQRT = "rsqrt"
    ERF = "erf"
    ERFC = "erfc"
    LGAMMA = "lgamma"
    TGAMMA = "tgamma"


for _op in Op:  # `Op.ADD` is a plain attribute then; Python 3.11 calls a property each time
    type.__setattr__(Op, _op.name, _op)


@dataclass(frozen=True)
class OpInfo:
    """Facts about an elementwise op.

    arity: number of operands. domain: dtype kinds it is defined on ("b", "i", "u", "f", "c").
    to_bool: the result is bool, else see `result_dtype`. flops: rough cost of an element.
    """

    arity: int
    domain: str
    to_bool: bool = False
    flops: int = 1


def _infos(names: str, arity: int, domain: str, to_bool: bool = False, flops: int = 1) -> Any:
    return {Op(name): OpInfo(arity, domain, to_bool, flops) for name in names.split()}


ELEMENTWISE: dict[Op, OpInfo] = {
    **_infos("add multiply maximum minimum", 2, "biufc"),
    **_infos("subtract", 2, "iufc"),
    **_infos("divide", 2, "fc", flops=8),
    **_infos("floor_divide remainder", 2, "iuf", flops=12),
    **_infos("fmod", 2, "iuf", flops=12),
    **_infos("power", 2, "iuf", flops=60),
    **_infos("fmax fmin", 2, "fc"),
    **_infos("copysign", 2, "f"),
    **_infos("nextafter", 2, "f", flops=8),
    **_infos("negative", 1, "iufc"),
    **_infos("absolute", 1, "biufc"),
    **_infos("sign", 1, "iufc", flops=3),
    **_infos("sqrt reciprocal", 1, "fc", flops=8),
    **_infos("equal not_equal less less_equal greater greater_equal", 2, "biufc", to_bool=True),
    **_infos("isnan isinf isfinite", 1, "fc", to_bool=True),
    **_infos("signbit", 1, "f", to_bool=True),
    **_infos("bitwise_and bitwise_or bitwise_xor", 2, "biu"),
    **_infos("invert", 1, "biu"),
    **_infos("left_shift right_shift", 2, "iu", flops=3),
    **_infos("floor ceil trunc", 1, "f"),
    **_infos("rint", 1, "fc"),
    **_infos("exp exp2 expm1 log log1p log2 log10", 1, "fc", flops=20),
    **_infos("sin cos tan sinh cosh tanh", 1, "fc", flops=30),
    **_infos("arcsin arccos arctan", 1, "f", flops=30),
    **_infos("arcsinh arccosh arctanh cbrt erf erfc", 1, "f", flops=30),
    **_infos("lgamma tgamma", 1, "f", flops=60),
    **_infos("rsqrt", 1, "f", flops=10),
    **_infos("arctan2 hypot", 2, "f", flops=30),
    **_infos("complex", 2, "f"),
    **_infos("real imag", 1, "c"),
    Op.CAST: OpInfo(1, "biufc"),
    Op.BITCAST: OpInfo(1, "iuf"),
    Op.COPY: OpInfo(1, "biufc"),
    Op.WHERE: OpInfo(3, "biufc"),
}

CATEGORY: dict[Op, Category] = {
    **dict.fromkeys((Op.INPUT, Op.CONSTANT, Op.IOTA), Category.LEAF),
    **dict.fromkeys((Op.VIEW, Op.RESHAPE), Category.VIEW),
    Op.GATHER: Category.GATHER,
    Op.UPDATE: Category.UPDATE,
    Op.REDUCE: Category.REDUCTION,
    Op.SCAN: Category.SCAN,
    Op.CONTRACT: Category.CONTRACTION,
    **dict.fromkeys((Op.CALL, Op.HOST), Category.CALL),
    **dict.fromkeys(ELEMENTWISE, Category.ELEMENTWISE),
}


class ReduceKind(enum.Enum):
    """Combines of REDUCE and SCAN; all associative, max and min propagate NaN."""

    __hash__ = object.__hash__

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    ANY = "any"  # bool only
    ALL = "all"


def result_dtype(op: Op, dtype: DType) -> DType:
    """The dtype of an elementwise op on operands of `dtype`."""
    if ELEMENTWISE[op].to_bool:
        return dtypes.bool_
    if op in (Op.REAL, Op.IMAG, Op.ABSOLUTE):
        return dtypes.part_dtype(dtype)
    return dtypes.complex_dtype(dtype) if op is Op.COMPLEX else dtype


def kind_of(dtype: DType) -> str:
    """dtype kind as used by OpInfo.domain: "b", "i", "u", "f" (bfloat16 included) or "c"."""
    return "f" if dtypes.is_floating(dtype) else dtype.kind


def scan_identity(kind: ReduceKind, dtype: DType) -> Any:
    """The element that leaves every other one as it is when combined with it, -0.0 included."""
    is_float_sum = kind is ReduceKind.SUM and dtypes.is_floating(dtype)
    return -0.0 if is_float_sum else reduce_identity(kind, dtype)


def reduce_identity(kind: ReduceKind, dtype: DType) -> Any:
    """The element that leaves the combine unchanged (the lowest or highest value for max, min)."""
    if kind in (ReduceKind.SUM, ReduceKind.ANY):
        return False if dtypes.is_bool(dtype) else 0
    if kind in (ReduceKind.PROD, ReduceKind.ALL):
        return True if dtypes.is_bool(dtype) else 1
    lowest = kind is ReduceKind.MAX
    if dtypes.is_bool(dtype):
        return not lowest
    if dtypes.is_floating(dtype):
        return float("-inf") if lowest else float("inf")
    if dtypes.is_complex(dtype):
        return complex("-inf-infj") if lowest else complex("inf+infj")
    info = np.iinfo(dtype)
    return int(info.min if lowest else info.max)
