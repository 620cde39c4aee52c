"""Rules for expressions: Python's operators on tensors, constexprs, tuples and types.

Literals are constexprs. Names, attributes, items and operators do what Python does; `and`, `or`,
`not` and chains of comparisons combine tensors, `x if c else y` branches where `c` is a tensor.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.constexpr import constexpr, type_of, unwrap, wrap
from lazyblock.language.frontend import logic
from lazyblock.language.frontend.branches import branch_values
from lazyblock.language.frontend.frame import ExpressionRule, Frame, check_global
from lazyblock.language.frontend.iteration import static_items
from lazyblock.language.frontend.scope import is_number, say
from lazyblock.language.frontend.variables import as_variable, assign
from lazyblock.language.tensor import tensor

Expression = Any  # the node class a rule is registered for


def plain_to_constexpr(value: Any) -> Any:
    """Numbers and strings that Python code gave become constexprs."""
    return wrap(value) if isinstance(value, (bool, int, float, str)) else value


def _constant(frame: Frame, node: ast.Constant) -> Any:
    if node.value is Ellipsis or isinstance(node.value, (bytes, complex)):
        raise CompileError(f"{node.value!r} has no meaning in a kernel.")
    return constexpr(node.value)


def _name(frame: Frame, node: ast.Name) -> Any:
    return frame.lookup(node.id)


def _attribute(frame: Frame, node: ast.Attribute) -> Any:
    return attribute_of(frame.evaluate(node.value), node.attr)


def attribute_of(value: Any, name: str) -> Any:
    """`value.name`."""
    if isinstance(value, constexpr) and name == "value":
        return plain_to_constexpr(value.value)
    holder = unwrap(value) if isinstance(value, constexpr) else value
    try:
        found = type_of(holder) if name == "type" else getattr(holder, name)
    except AttributeError:
        what = f"module '{holder.__name__}'" if isinstance(holder, ModuleType) else say(value)
        raise CompileError(f"{what[0].upper()}{what[1:]} has no attribute '{name}'.") from None
    return (
        check_global(name, found) if isinstance(holder, ModuleType) else plain_to_constexpr(found)
    )


# --- operators -----------------------------------------------------------------------------------

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}
_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
    ast.Not: ("not", logic.negate),
}


def _binary(frame: Frame, node: ast.BinOp) -> Any:
    return apply_binary(node.op, frame.evaluate(node.left), frame.evaluate(node.right))


def apply_binary(op: ast.operator, left: Any, right: Any) -> Any:
    """`left op right`."""
    sign, compute = _BINARY[type(op)]
    try:
        return plain_to_constexpr(compute(left, right))
    except TypeError as error:
        raise _no_meaning(sign, error, left, right) from None


def _unary(frame: Frame, node: ast.UnaryOp) -> Any:
    sign, compute = _UNARY[type(node.op)]
    value = frame.evaluate(node.operand)
    try:
        return plain_to_constexpr(compute(value))
    except TypeError as error:
        raise _no_meaning(sign, error, value) from None


def _no_meaning(sign: str, error: TypeError, *values: Any) -> CompileError:
    """Python's own message where all operands are known, else one about their types."""
    if all(is_number(value) for value in values):
        return CompileError(f"{error}.")
    return CompileError(f"'{sign}' has no meaning for {' and '.join(map(say, values))}.")


def _logical(frame: Frame, node: ast.BoolOp) -> Any:
    return logic.logical(isinstance(node.op, ast.And), map(frame.evaluate, node.values))


def _compare(frame: Frame, node: ast.Compare) -> Any:
    operands = map(frame.evaluate, [node.left, *node.comparators])
    return logic.chain([type(op) for op in node.ops], operands)


def _conditional(frame: Frame, node: ast.IfExp) -> Any:
    condition = frame.evaluate(node.test)
    if not isinstance(condition, tensor):
        return frame.evaluate(node.body if condition else node.orelse)
    return branch_values(
        frame,
        condition,
        lambda: frame.evaluate(node.body),
        lambda: frame.evaluate(node.orelse),
    )


def _walrus(frame: Frame, node: ast.NamedExpr) -> Any:
    value = as_variable(frame.evaluate(node.value))
    assign(frame, node.target, value)
    return value


# --- tuples --------------------------------------------------------------------------------------


def evaluate_items(frame: Frame, nodes: Sequence[ast.expr]) -> list[Any]:
    """Values of items, starred ones spread out."""
    values: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            values.extend(static_items(frame.evaluate(node.value)))
        else:
            values.append(frame.evaluate(node))
    return values


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> Any:
    return tuple(evaluate_items(frame, node.elts))


def _comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> Any:
    """A tuple; the names of the targets live inside only."""
    outer = frame.scope
    frame.scope = outer.copy()
    try:
        return tuple(_generate(frame, node.elt, node.generators))
    finally:
        frame.scope = outer


def _generate(frame: Frame, element: ast.expr, generators: list[ast.comprehension]) -> list[Any]:
    if not generators:
        return [frame.evaluate(element)]
    first, *others = generators
    values: list[Any] = []
    for item in static_items(frame.evaluate(first.iter)):
        bind_target(frame, first.target, item)
        conditions = (frame.evaluate(test) for test in first.ifs)
        if all(_known(condition) for condition in conditions):
            values.extend(_generate(frame, element, others))
    return values


def _known(condition: Any) -> bool:
    if isinstance(condition, tensor):
        raise CompileError(
            "A filter of a comprehension must be known at compile time.",
            hint="choose elements with tl.where.",
        )
    return bool(condition)


def bind_target(frame: Frame, target: ast.expr, value: Any) -> None:
    """Give names of a (nested) target their values as they are."""
    if isinstance(target, ast.Name):
        frame.scope.set(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = static_items(value)
        if len(items) != len(target.elts):
            raise CompileError(f"{len(target.elts)} names cannot take {len(items)} values.")
        for inner, item in zip(target.elts, items, strict=True):
            bind_target(frame, inner, item)
    else:
        raise frame.error(target, "Only names can be the targets of a loop.")


# --- items ---------------------------------------------------------------------------------------


def _subscript(frame: Frame, node: ast.Subscript) -> Any:
    value = frame.evaluate(node.value)
    index = frame.evaluate(node.slice)
    if isinstance(value, tensor):
        return value[unwrap(index)]  # type: ignore[index]
    holder = unwrap(value) if isinstance(value, constexpr) else value
    if isinstance(index, tensor):
        raise CompileError(
            f"{say(value)} can only be indexed by a constant, got {say(index)}.",
            hint="make the index a tl.constexpr.",
        )
    if hasattr(holder, "inline"):
        raise CompileError(
            "A kernel cannot launch another.", hint="call it as a function: f(x), not f[grid](x)."
        )
    return plain_to_constexpr(holder[unwrap(index)])


def _slice(frame: Frame, node: ast.Slice) -> Any:
    bounds = (node.lower, node.upper, node.step)
    return slice(*(None if bound is None else unwrap(frame.evaluate(bound)) for bound in bounds))


# --- strings -------------------------------------------------------------------------------------


def _joined(frame: Frame, node: ast.JoinedStr) -> Any:
    return constexpr("".join(str(unwrap(frame.evaluate(part))) for part in node.values))


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {-1: unwrap, 115: str, 114: repr, 97: ascii}


def _formatted(frame: Frame, node: ast.FormattedValue) -> Any:
    value = frame.evaluate(node.value)
    if isinstance(value, tensor):
        raise CompileError(
            f"An f-string cannot hold {say(value)}.",
            note="strings are made when the kernel is compiled.",
            hint="print values with tl.device_print(text, value).",
        )
    form = "" if node.format_spec is None else str(unwrap(frame.evaluate(node.format_spec)))
    return constexpr(format(_CONVERSIONS[node.conversion](unwrap(value)), form))


EXPRESSIONS: dict[type[ast.expr], ExpressionRule] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _logical,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.NamedExpr: _walrus,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
}
