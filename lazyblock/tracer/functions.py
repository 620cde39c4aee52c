"""Every elementwise function, on nodes: how its dtypes resolve and which ops it is written in.

`FUNCTIONS` is the one table behind the operators, the namespace's functions and NumPy's ufuncs. Ops
get operands of one dtype; what NumPy does on bools and ints by other loops is decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ValueRangeError
from lazyblock.graph import build, ops
from lazyblock.graph.attrs import NO_ATTRS
from lazyblock.graph.host_call import make_host_call
from lazyblock.graph.node import Node, make_inferred
from lazyblock.graph.ops import Op
from lazyblock.shapes import broadcast_shapes
from lazyblock.tracer.complex_powers import complex_power
from lazyblock.tracer.operands import (
    Kind,
    Operand,
    Resolver,
    Scalar,
    as_node,
    is_out_of_range,
    resolve_like,
    resolve_together,
)

Lowering = Callable[..., Node]
Rule = Op | Lowering  # an op that takes the operands as they are, or what makes several
Rules = dict[str, Rule]  # by dtype kinds, such as {"b": Op.BITWISE_OR, "iuf": Op.ADD}
Shortcut = Callable[[tuple[Any, ...], tuple[DType, ...]], Node | None]
_ScalarKey = tuple[DType, type, Scalar | str, bool]

_MOST_SCALARS = 256  # that a function remembers


class _Loop(NamedTuple):
    """What operands of some kinds are computed in.

    result: of `rule`, where that is an op that takes operands of `dtypes`.
    """

    dtypes: tuple[DType, ...]
    rule: Rule
    result: DType | None


class _Known(NamedTuple):
    """A function of an array and one scalar, as an op: its operands besides the array."""

    op: Op
    result: DType
    before: tuple[Node, ...]
    repeats: int  # of the array
    after: tuple[Node, ...]


class Function:
    """An elementwise function on operands.

    resolve: dtypes it computes in. rules: what it is written in, by the kind of the first of these.
    shortcut: looks at the unconverted operands first, may give the result (scalar exponents...).
    """

    __slots__ = (
        "_loops",
        "_of_scalars",
        "_plain",
        "_rules",
        "name",
        "num_operands",
        "resolve",
        "shortcut",
    )

    def __init__(
        self,
        name: str,
        resolve: Resolver,
        rules: Rule | Rules,
        num_operands: int,
        shortcut: Shortcut | None = None,
    ) -> None:
        self.name = name
        self.resolve = resolve
        self.num_operands = num_operands
        self.shortcut = shortcut
        by_kinds = rules if isinstance(rules, dict) else {"biufc": rules}
        self._rules = {kind: rule for kinds, rule in by_kinds.items() for kind in kinds}
        self._loops: dict[tuple[Kind, ...], _Loop] = {}
        # the op and its result's dtype for operands of one dtype that need no conversion
        self._plain: dict[DType, tuple[Op, DType]] = {}
        self._of_scalars: dict[_ScalarKey, _Known] = {}

    def __call__(self, *operands: Operand) -> Node:
        kinds = tuple([x.dtype if type(x) is Node else type(x) for x in operands])
        loop, rule, result = self._loops.get(kinds) or self._find_loop(kinds)
        if self.shortcut:
            found = self.shortcut(operands, loop)
            if found is not None:
                return found
        nodes = [
            x if type(x) is Node and x.dtype is dtype else as_node(x, dtype)
            for x, dtype in zip(operands, loop, strict=False)
        ]
        if result is None:
            return build.elementwise(rule, *nodes) if isinstance(rule, Op) else rule(*nodes)
        shapes = {x.shape for x in nodes if x.shape}
        if len(shapes) > 1:
            return build.elementwise(rule, *nodes)  # type: ignore[arg-type]
        shape = shapes.pop() if shapes else ()
        return make_inferred(rule, tuple(nodes), shape, result)  # type: ignore[arg-type]

    def of_one(self, x: Node) -> Node:
        """As a call, faster for a node whose dtype an op takes as it is."""
        found = self._plain.get(x.dtype)
        return make_inferred(found[0], (x,), x.shape, found[1]) if found else self(x)

    def of_two(self, left: Node, right: Node) -> Node:
        """As a call, faster for two nodes of one shape whose dtypes an op takes as they are."""
        dtype = left.dtype
        found = self._plain.get(dtype) if dtype is right.dtype else None
        if found is None or left.shape != right.shape:
            return self(left, right)
        return make_inferred(found[0], (left, right), left.shape, found[1])

    def with_scalar(self, x: Node, scalar: Scalar, is_first: bool = False) -> Node:
        """As a call with the scalar behind `x` or before it, faster for scalars seen before."""
        key = x.dtype, type(scalar), scalar or repr(scalar), is_first  # 0.0 equals -0.0
        found = self._of_scalars.get(key)
        if found is None:
            return self._learn(key, x, scalar, is_first)
        op, result, before, repeats, after = found
        return make_inferred(op, before + (x,) * repeats + after, x.shape, result)

    def _learn(self, key: _ScalarKey, x: Node, scalar: Scalar, is_first: bool) -> Node:
        """Call it; what an array of this dtype and this scalar give is known from then on."""
        node = self(scalar, x) if is_first else self(x, scalar)
        known = _as_known(node, x)
        if known:
            if len(self._of_scalars) >= _MOST_SCALARS:
                self._of_scalars.clear()
            self._of_scalars[key] = known
        return node

    def _find_loop(self, kinds: tuple[Kind, ...]) -> _Loop:
        loop = self.resolve(*kinds)
        first = loop[0]
        rule = self._rules[ops.kind_of(first)]
        info = ops.ELEMENTWISE.get(rule) if isinstance(rule, Op) else None
        is_uniform = all(dtype == first for dtype in loop[: len(kinds)])
        result: DType | None = None
        if isinstance(rule, Op) and info and is_uniform and ops.kind_of(first) in info.domain:
            result = ops.result_dtype(rule, first)
            if all(kind == first for kind in kinds):
                self._plain[first] = rule, result
        found = self._loops[kinds] = _Loop(loop, rule, result)
        return found


def _as_known(node: Node, x: Node) -> _Known | None:
    """A node as an op on `x` and numbers, if it is one.

    Nothing is learned from arrays without elements: some numbers are refused for any element.
    """
    if (
        not x.size
        or node.op not in ops.ELEMENTWISE
        or node.attrs is not NO_ATTRS
        or node.shape != x.shape
    ):
        return None
    repeats = node.inputs.count(x)
    others = [operand for operand in node.inputs if operand is not x]
    if not repeats or any(n.op is not Op.CONSTANT for n in others) or _is_filled(x):
        return None
    start = node.inputs.index(x)
    before, after = node.inputs[:start], node.inputs[start + repeats :]
    return _Known(node.op, node.dtype, before, repeats, after)


def _is_filled(x: Node) -> bool:
    """Whether one number fills it; then it may be the very node that a scalar becomes."""
    while x.op in (Op.VIEW, Op.RESHAPE, Op.CAST, Op.COMPLEX):
        x = x.inputs[0]
    return x.op is Op.CONSTANT


def filled_like(value: Any, dtype: DType, *like: Node) -> Node:
    """`value` in the shape that `like` broadcasts to."""
    shape = broadcast_shapes(*(node.shape for node in like))
    return build.broadcast_to(as_node(value, dtype), shape)


def _scalar(value: complex, like: Node) -> Node:
    return as_node(value, like.dtype)


def _in_float32(lower: Lowering) -> Lowering:
    """NumPy computes these on half types in float32, and rounds once."""

    def wide(*nodes: Node) -> Node:
        dtype = nodes[0].dtype
        if not dtypes.is_half(dtype):
            return lower(*nodes)
        return build.cast(lower(*(build.cast(node, dtypes.float32) for node in nodes)), dtype)

    return wide


def _identity(x: Node) -> Node:
    return x


def _always(value: bool) -> Lowering:
    return lambda x: filled_like(value, dtypes.bool_, x)


# Comparisons


def _compare_apart(op: Op) -> Shortcut:
    """Compare by value where the operands share no dtype.

    A Python int may lie outside the other side's dtype; int64 and uint64 have no common dtype.
    """

    def shortcut(operands: tuple[Any, ...], loop: tuple[DType, ...]) -> Node | None:
        left, right = operands
        if isinstance(left, Node) and is_out_of_range(right, loop[1]):
            return filled_like(_holds(op, right > 0), dtypes.bool_, left)
        if isinstance(right, Node) and is_out_of_range(left, loop[0]):
            return filled_like(_holds(op, left < 0), dtypes.bool_, right)
        if loop[0] != loop[1]:
            return _compare_signs(op, as_node(left, loop[0]), as_node(right, loop[1]))
        return None

    return shortcut


def _holds(op: Op, left_is_less: bool) -> bool:
    """What `op` gives for different numbers."""
    true_ops = (Op.LESS, Op.LESS_EQUAL) if left_is_less else (Op.GREATER, Op.GREATER_EQUAL)
    return op in true_ops or op is Op.NOT_EQUAL


def _compare_signs(op: Op, left: Node, right: Node) -> Node:
    """One operand is int64, the other uint64: below zero the answer is known."""
    signed = left if dtypes.is_signed(left.dtype) else right
    negative = build.elementwise(Op.LESS, signed, _scalar(0, signed))
    same = build.elementwise(op, build.cast(left, dtypes.uint64), build.cast(right, dtypes.uint64))
    if _holds(op, left_is_less=signed is left):
        return build.elementwise(Op.BITWISE_OR, negative, same)
    return build.elementwise(Op.BITWISE_AND, build.elementwise(Op.INVERT, negative), same)


# Quotients and powers


def _divide_shortcut(operands: tuple[Any, ...], loop: tuple[DType, ...]) -> Node | None:
    """1 / x, which needs no argument for the 1."""
    one, x = operands
    is_one = isinstance(one, (int, float)) and one == 1 and dtypes.is_floating(loop[1])
    return build.elementwise(Op.RECIPROCAL, as_node(x, loop[1])) if is_one else None


def _power_shortcut(operands: tuple[Any, ...], loop: tuple[DType, ...]) -> Node | None:
    """NumPy's fast paths for scalar exponents."""
    base, exponent = operands
    is_weak = not isinstance(exponent, Node)
    if isinstance(exponent, Node) and exponent.op is Op.CONSTANT:
        exponent = build.constant_value(exponent).item()
    if not isinstance(base, Node) or isinstance(exponent, Node):
        return None
    if dtypes.is_signed(loop[0]) and exponent < 0 and base.size:
        raise ValueRangeError("Integers to negative integer powers are not allowed.")
    x = build.cast(base, loop[0])
    if dtypes.is_complex(loop[0]):
        return complex_power(x, exponent, is_weak)
    is_float = dtypes.is_floating(loop[0])
    fast = _FLOAT_POWERS.get(exponent) if is_float else _INTEGER_POWERS.get(exponent)
    return fast(x) if fast else None


def _power_operator_shortcut(operands: tuple[Any, ...], loop: tuple[DType, ...]) -> Node | None:
    """`**`, which squares bools to int8, unlike `np.power`."""
    base, exponent = operands
    if type(exponent) is int and exponent == 2 and dtypes.is_bool(base.dtype):
        return FUNCTIONS["square"](base)
    return _power_shortcut(operands, loop)


def _square(x: Node) -> Node:
    return build.elementwise(Op.MULTIPLY, x, x)


def _integer_inverse(x: Node) -> Node:
    """1, -1 keep their value, all others give 0."""
    one = _scalar(1, x)
    is_one = build.elementwise(Op.EQUAL, build.elementwise(Op.ABSOLUTE, x), one)
    return build.where(is_one, x, _scalar(0, x))


_INTEGER_POWERS: dict[float, Lowering] = {
    0: lambda x: filled_like(1, x.dtype, x),
    1: _identity,
    2: _square,
}
_FLOAT_POWERS: dict[float, Lowering] = {
    **_INTEGER_POWERS,
    -1: lambda x: build.elementwise(Op.RECIPROCAL, x),
    0.5: lambda x: build.elementwise(Op.SQRT, x),
}


# Compositions


def _scaled(factor: Callable[[DType], np.generic]) -> Lowering:
    return _in_float32(
        lambda x: build.elementwise(Op.MULTIPLY, x, build.constant(factor(x.dtype), x.dtype))
    )


def _degrees_per_radian(dtype: DType) -> Any:
    return dtype.type(180) / dtype.type(np.pi)


def _radians_per_degree(dtype: DType) -> Any:
    return dtype.type(np.pi) / dtype.type(180)


def _heaviside(x: Node, at_zero: Node) -> Node:
    zero, one = _scalar(0, x), _scalar(1, x)
    above = build.where(build.elementwise(Op.GREATER, x, zero), one, at_zero)
    below = build.where(build.elementwise(Op.LESS, x, zero), zero, above)
    return build.where(build.elementwise(Op.ISNAN, x), x, below)


def _log_sum(exponential: Op, scale: float) -> Lowering:
    """The larger one plus log1p of the exponential of minus their distance."""

    def lower(x: Node, y: Node) -> Node:
        larger = build.elementwise(Op.MAXIMUM, x, y)
        distance = build.elementwise(Op.ABSOLUTE, build.elementwise(Op.SUBTRACT, x, y))
        power = build.elementwise(exponential, build.elementwise(Op.NEGATIVE, distance))
        rest = build.elementwise(Op.LOG1P, power)
        if scale != 1:
            rest = build.elementwise(Op.MULTIPLY, rest, _scalar(scale, rest))
        twice = build.elementwise(Op.ADD, larger, _scalar(np.log(2.0).item() * scale, x))
        apart = build.elementwise(Op.ADD, larger, rest)
        return build.where(build.elementwise(Op.EQUAL, x, y), twice, apart)  # equal infinities too

    return _in_float32(lower)


def _on_host(ufunc: np.ufunc) -> Lowering:
    """Of complex numbers, for what has no form that is exact enough in all of the plane."""

    def lower(*operands: Node) -> Node:
        shape = broadcast_shapes(*(node.shape for node in operands))
        call = make_host_call(ufunc, {})
        return build.host_call(call, operands, [(shape, operands[0].dtype)])[0]

    return lower


def _conjugate(x: Node) -> Node:
    real, imag = build.elementwise(Op.REAL, x), build.elementwise(Op.IMAG, x)
    return build.elementwise(Op.COMPLEX, real, build.elementwise(Op.NEGATIVE, imag))


def _where(condition: Node, on_true: Node, on_false: Node) -> Node:
    return build.where(condition, on_true, on_false)


def _where_wrapped(operands: tuple[Any, ...], loop: tuple[DType, ...]) -> Node | None:
    """Python ints beyond the result's dtype wrap around here, as NumPy casts them."""
    condition, *choices = operands
    if not any(is_out_of_range(x, loop[1]) for x in choices):
        return None
    nodes = [
        build.constant(np.asarray(x).astype(loop[1]), loop[1]) if type(x) is int else x
        for x in choices
    ]
    return _where(as_node(condition, loop[0]), *(as_node(x, loop[1]) for x in nodes))


def _clip(x: Node, low: Node, high: Node) -> Node:
    return FUNCTIONS["minimum"](FUNCTIONS["maximum"](x, low), high)


def _logical(op: Op) -> Lowering:
    return lambda *nodes: build.elementwise(op, *(build.cast(x, dtypes.bool_) for x in nodes))


# Rows: name -> rules. The dtype rule is that of NumPy's ufunc of the name.

_PLAIN = """
    subtract divide floor_divide remainder fmod negative sign sqrt copysign nextafter signbit
    bitwise_and bitwise_or bitwise_xor invert left_shift right_shift rint
    exp exp2 expm1 log log1p log2 log10 sin cos tan arctan2 sinh cosh tanh cbrt hypot
"""
_ON_HOST_IF_COMPLEX = "arcsin arccos arctan arcsinh arccosh arctanh power float_power"
_COMPARISONS = (Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL)

_ROWS: dict[str, Rule | Rules] = {
    **{name: Op(name) for name in _PLAIN.split()},
    **{op.value: op for op in _COMPARISONS},
    **{
        name: {"iuf": Op("power" if "power" in name else name), "c": _on_host(getattr(np, name))}
        for name in _ON_HOST_IF_COMPLEX.split()
    },
    "add": {"b": Op.BITWISE_OR, "iufc": Op.ADD},
    "multiply": {"b": Op.BITWISE_AND, "iufc": Op.MULTIPLY},
    "maximum": {"b": Op.BITWISE_OR, "iufc": Op.MAXIMUM},
    "minimum": {"b": Op.BITWISE_AND, "iufc": Op.MINIMUM},
    "fmax": {"b": Op.BITWISE_OR, "iu": Op.MAXIMUM, "fc": Op.FMAX},
    "fmin": {"b": Op.BITWISE_AND, "iu": Op.MINIMUM, "fc": Op.FMIN},
    "conjugate": {"iuf": _identity, "c": _conjugate},
    "absolute": {"bu": _identity, "ifc": Op.ABSOLUTE},
    "fabs": Op.ABSOLUTE,
    "positive": _identity,
    "isnan": {"biu": _always(False), "fc": Op.ISNAN},
    "isinf": {"biu": _always(False), "fc": Op.ISINF},
    "isfinite": {"biu": _always(True), "fc": Op.ISFINITE},
    "floor": {"biu": _identity, "f": Op.FLOOR},
    "ceil": {"biu": _identity, "f": Op.CEIL},
    "trunc": {"biu": _identity, "f": Op.TRUNC},
    "square": _square,
    "reciprocal": {"iu": _integer_inverse, "fc": Op.RECIPROCAL},
    "logical_and": _logical(Op.BITWISE_AND),
    "logical_or": _logical(Op.BITWISE_OR),
    "logical_xor": _logical(Op.BITWISE_XOR),
    "logical_not": _logical(Op.INVERT),
    "degrees": _scaled(_degrees_per_radian),
    "rad2deg": _scaled(_degrees_per_radian),
    "radians": _scaled(_radians_per_degree),
    "deg2rad": _scaled(_radians_per_degree),
    "heaviside": _heaviside,
    "logaddexp": _log_sum(Op.EXP, 1.0),
    "logaddexp2": _log_sum(Op.EXP2, (1 / np.log(2.0)).item()),
}


_SHORTCUTS: dict[str, Shortcut] = {
    **{op.value: _compare_apart(op) for op in _COMPARISONS},
    "divide": _divide_shortcut,
    "power": _power_shortcut,
}


def _numpy_function(name: str) -> Function:
    ufunc: np.ufunc = getattr(np, name)
    return Function(name, resolve_like(ufunc), _ROWS[name], ufunc.nin, _SHORTCUTS.get(name))


FUNCTIONS: dict[str, Function] = {
    **{name: _numpy_function(name) for name in _ROWS},
    **{
        name: Function(name, resolve_like(np.exp), Op(name), 1)
        for name in ("rsqrt", "erf", "erfc", "lgamma", "tgamma")
    },
    "**": Function("**", resolve_like(np.power), _ROWS["power"], 2, _power_operator_shortcut),
    "where": Function("where", resolve_together(1), _where, 3, _where_wrapped),
    "clip": Function("clip", resolve_together(0), _clip, 3),
}
