"""Values known when a kernel is compiled.

`constexpr(value)` computes with Python's rules as long as both operands are known; with a tensor it
counts as the bare value, a literal. Functions of the language are `builtin`s: they take constexprs,
also within tuples and lists, as the values they hold.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def unwrap(value: Any) -> Any:
    """The plain value of a constexpr, of each item of a tuple or list; others as they are."""
    if isinstance(value, constexpr):
        return unwrap(value.value)
    if type(value) in (tuple, list):
        return type(value)(unwrap(item) for item in value)
    return value


class constexpr:
    """Holds `value`, and as a parameter's annotation says that the argument is one."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, specification: str) -> str:
        return format(self.value, specification)

    def __getitem__(self, index: Any) -> Any:
        return wrap(self.value[unwrap(index)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "value":
            raise AttributeError(name)
        return getattr(self.value, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.value(*arguments, **named)

    def logical_and(self, other: Any) -> constexpr:
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        return constexpr(self.value or unwrap(other))

    def __not__(self) -> constexpr:
        return constexpr(not self.value)


class constexpr_type:
    """What a known value shows as its `type`; equal where the values are."""

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self) -> int:
        return hash((constexpr_type, self.value))

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"


def type_of(value: Any) -> Any:
    """`value.type`: a tensor's own, a `constexpr_type` of numbers, strings, None and tuples."""
    value = unwrap(value)
    is_known = value is None or isinstance(value, (bool, int, float, str, tuple))
    return constexpr_type(value) if is_known and not hasattr(value, "type") else value.type


class const:
    """Annotation of a parameter: a pointer that is only read from."""


def wrap(value: Any) -> Any:
    """A constexpr of a plain value; tensors and constexprs as they are."""
    return constexpr(value) if _is_plain(value) else value


def _is_plain(value: Any) -> bool:
    return not hasattr(value, "handle") and not isinstance(value, constexpr)


def _binary(compute: Callable[[Any, Any], Any], is_reflected: bool = False) -> Any:
    def method(self: constexpr, other: Any) -> Any:
        if hasattr(other, "handle"):
            return NotImplemented
        other = unwrap(other)
        try:
            return constexpr(
                compute(other, self.value) if is_reflected else compute(self.value, other)
            )
        except TypeError:
            return NotImplemented

    return method


def _unary(compute: Callable[[Any], Any]) -> Any:
    return lambda self: constexpr(compute(self.value))


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv")},
    **{name: getattr(operator, name) for name in ("mod", "pow", "lshift", "rshift", "xor")},
    **{"and": operator.and_, "or": operator.or_},
}
for _name, _compute in _BINARY.items():
    setattr(constexpr, f"__{_name}__", _binary(_compute))
    setattr(constexpr, f"__r{_name}__", _binary(_compute, is_reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(constexpr, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(constexpr, f"__{_name}__", _unary(getattr(operator, _name)))


def builtin(function: Function) -> Function:
    """A function of the language: takes constexprs as the plain values they hold."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        plain = {name: unwrap(value) for name, value in named.items()}
        return function(*map(unwrap, arguments), **plain)

    call.is_builtin = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def constexpr_function(function: Function) -> Function:
    """A plain Python function that kernels call with known values, for a known value."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        plain = {name: unwrap(value) for name, value in named.items()}
        return wrap(function(*map(unwrap, arguments), **plain))

    call.is_builtin = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
