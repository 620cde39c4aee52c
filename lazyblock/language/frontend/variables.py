"""Assignment: numbers become tensors, names and attributes of aggregates get their values."""

from __future__ import annotations

import ast
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.aggregate import Aggregate
from lazyblock.language.constexpr import constexpr
from lazyblock.language.frontend.frame import Frame
from lazyblock.language.frontend.iteration import static_items
from lazyblock.language.frontend.scope import is_number, say
from lazyblock.language.semantics import to_tensor
from lazyblock.language.tensor import tensor


def as_variable(value: Any) -> Any:
    """What a name holds after an assignment: numbers become scalar tensors, also in tuples."""
    if isinstance(value, tuple):
        items = [as_variable(item) for item in value]
        return getattr(type(value), "_make", type(value))(items)
    if is_number(value):
        return to_tensor(value)
    is_wrapped = isinstance(value, constexpr) and not isinstance(value.value, str)
    return value.value if is_wrapped else value


def assign(frame: Frame, target: ast.expr, value: Any) -> None:
    """`target = value`, the value as it is."""
    if isinstance(target, ast.Name):
        _assign_name(frame, target, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _assign_items(frame, target, value)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(frame, target, value)
    elif isinstance(target, ast.Subscript):
        raise frame.error(
            target,
            "Items of a value cannot be assigned to in a kernel.",
            note="blocks are values; only memory changes.",
            hint="choose elements with tl.where(mask, new, old), or write memory with tl.store.",
        )
    else:
        raise frame.refuse(target)


def _assign_name(frame: Frame, target: ast.Name, value: Any) -> None:
    if isinstance(value, tensor) and value.handle.owner is not None and not value.handle.hint:
        value.handle.hint = target.id
    frame.scope.set(target.id, value)


def _assign_items(frame: Frame, target: ast.Tuple | ast.List, value: Any) -> None:
    items = static_items(value)
    targets = target.elts
    starred = [n for n, inner in enumerate(targets) if isinstance(inner, ast.Starred)]
    if starred:
        (first,) = starred
        last = len(items) - (len(targets) - first - 1)
        items = [*items[:first], tuple(items[first:last]), *items[last:]]
    if len(items) != len(targets):
        raise frame.error(target, f"{len(targets)} names cannot take {len(items)} values.", hint="")
    for inner, item in zip(targets, items, strict=True):
        assign(frame, inner.value if isinstance(inner, ast.Starred) else inner, item)


def _assign_attribute(frame: Frame, target: ast.Attribute, value: Any) -> None:
    """Objects are values: the name gets a changed copy."""
    holder = frame.evaluate(target.value)
    if not isinstance(holder, Aggregate):
        raise CompileError(
            f"Attributes of {say(holder)} cannot be assigned to in a kernel.",
            hint="only objects of classes made by @lb.aggregate have fields that change.",
        )
    assign(frame, target.value, holder.with_fields({target.attr: value}))
