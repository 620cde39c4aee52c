"""Truth and comparison as kernels mean them, for the evaluator and for eager mode alike."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.constexpr import constexpr, unwrap, wrap
from lazyblock.language.dtypes import int1
from lazyblock.language.frontend.scope import say
from lazyblock.language.semantics.arithmetic import logical_and, logical_not, logical_or
from lazyblock.language.semantics.convert import cast
from lazyblock.language.semantics.shapes import item
from lazyblock.language.tensor import tensor


def negate(value: Any) -> Any:
    """`not value`."""
    return logical_not(as_condition(value)) if isinstance(value, tensor) else wrap(not value)


def decides(is_and: bool, value: Any) -> bool:
    """Whether a known operand of `and` or `or` is the result."""
    return bool(value) is not is_and


def logical(is_and: bool, operands: Iterable[Any]) -> Any:
    """`and` or `or`: known operands decide early, as in Python; tensors are all computed."""
    kept: list[Any] = []
    known: Any = None
    for value in operands:
        if isinstance(value, tensor):
            kept.append(value)
        elif decides(is_and, value):
            return value
        else:
            known = value
    return combine(is_and, kept) if kept else known


def chain(kinds: Sequence[type[ast.cmpop]], operands: Iterable[Any]) -> Any:
    """`a < b < c`: neighbours are compared, every operand is evaluated once."""
    values = iter(operands)
    left = next(values)
    kept: list[Any] = []
    result: Any = None
    for kind, right in zip(kinds, values, strict=False):
        result = compare(kind, left, right)
        left = right
        if isinstance(result, tensor):
            kept.append(result)
        elif not result:
            return result
    return combine(True, kept) if kept else result


def combine(is_and: bool, values: Sequence[tensor]) -> Any:
    """`a and b and ...` of tensors that are all computed; from the right, as Triton does."""
    *others, result = values
    for value in reversed(others):
        result = logical_and(value, result) if is_and else logical_or(value, result)
    return result


def as_condition(value: tensor) -> tensor:
    """Whether elements differ from zero."""
    if value.dtype.is_ptr():
        raise CompileError(
            "A pointer is neither true nor false.", hint="compare addresses as tl.int64."
        )
    return value if value.dtype == int1 else cast(value, int1)


def scalar_condition(value: tensor, what: str) -> tensor:
    """The condition of a branch or loop; a block of one element counts as that element."""
    if value.handle.shape and value.handle.type.size == 1:
        value = item(value)
    if value.handle.shape:
        raise CompileError(
            f"The condition of {what} must be a scalar, got {say(value)}.",
            hint="choose elements with tl.where(condition, x, y), or reduce the condition first.",
        )
    return as_condition(value)


_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}


def compare(op: type[ast.cmpop], left: Any, right: Any) -> Any:
    """`left op right` for any comparison."""
    if op in _COMPARISONS:
        sign, compute = _COMPARISONS[op]
        if not isinstance(left, tensor) and not isinstance(right, tensor):
            left, right = unwrap(left), unwrap(right)
        try:
            result = compute(left, right)
        except TypeError:
            raise CompileError(
                f"'{sign}' has no meaning for {say(left)} and {say(right)}."
            ) from None
        return wrap(result) if isinstance(result, bool) else result
    if op in (ast.Is, ast.IsNot):
        return constexpr((unwrap(left) is unwrap(right)) is (op is ast.Is))
    return constexpr(_contains(left, right) is (op is ast.In))


def _contains(item: Any, container: Any) -> bool:
    """`item in container`, both known."""
    if isinstance(container, tensor) or isinstance(item, tensor):
        raise CompileError(
            f"'in' needs operands known at compile time, got {say(item)} and {say(container)}.",
            hint="compare with each item and combine by `or`.",
        )
    return unwrap(item) in unwrap(container)
