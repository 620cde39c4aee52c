"""Names of one call and the values they stand for at one point of its evaluation.

Values are tensors, constexprs, tuples and other composites of these, types, functions, modules.
A name that lost its value (branches disagreed, a loop ended) is `missing` and says why. The ways
out taken so far are kept beside: False, True, or a tensor that tells at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lazyblock.language.aggregate import Aggregate
from lazyblock.language.constexpr import constexpr
from lazyblock.language.tensor import composite, describe, tensor

RETURN, BREAK, CONTINUE = "return", "break", "continue"


class Maybe:
    """A way out that may have been taken, where nothing follows that would have to know."""


MAYBE = Maybe()
Flag = bool | tensor | Maybe


class Unset:
    """The returned value where nothing has been returned."""

    def __repr__(self) -> str:
        return "nothing"


UNSET = Unset()


@dataclass(frozen=True)
class Missing:
    """Why a name has no value: a sentence without its end, and what to do."""

    reason: str
    hint: str = ""


@dataclass
class Scope:
    """The names of a call at one point; returned: what `return` gave, if it was reached."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, Missing] = field(default_factory=dict)
    exits: dict[str, Flag] = field(
        default_factory=lambda: {RETURN: False, BREAK: False, CONTINUE: False}
    )
    returned: Any = UNSET

    def copy(self) -> Scope:
        return replace(
            self,
            values=dict(self.values),
            missing=dict(self.missing),
            exits=dict(self.exits),
        )

    def set(self, name: str, value: Any) -> None:
        self.values[name] = value
        self.missing.pop(name, None)

    def drop(self, name: str, missing: Missing) -> None:
        self.values.pop(name, None)
        self.missing[name] = missing

    def has_left(self) -> bool:
        """Whether control is known not to reach this point."""
        return any(flag is True for flag in self.exits.values())

    def exit_flags(self) -> list[tensor]:
        """Ways out that only run time knows of."""
        return [flag for flag in self.exits.values() if isinstance(flag, tensor)]


# --- what values are made of ---------------------------------------------------------------------


def parts_of(value: Any) -> Sequence[Any] | None:
    """The values a composite is made of; None for a value without parts."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Aggregate):
        return list(value.fields().values())
    return value.leaves() if isinstance(value, composite) else None


def with_parts(value: Any, parts: Sequence[Any]) -> Any:
    """The same kind of composite made of other parts."""
    if isinstance(value, Aggregate):
        return value.with_fields(dict(zip(value.fields(), parts, strict=True)))
    if isinstance(value, composite):
        return value.with_leaves(parts)
    make: Callable[[Any], Any] = getattr(type(value), "_make", type(value))
    return make(parts)


def leaves_of(value: Any) -> list[tensor]:
    """The tensors inside a value, in order."""
    if isinstance(value, tensor):
        return [value]
    parts = parts_of(value)
    return [] if parts is None else [leaf for part in parts for leaf in leaves_of(part)]


def with_leaves(value: Any, leaves: list[tensor]) -> Any:
    """`value` with the tensors inside taken from the front of `leaves`."""
    if isinstance(value, tensor):
        return leaves.pop(0)
    parts = parts_of(value)
    if parts is None:
        return value
    return with_parts(value, [with_leaves(part, leaves) for part in parts])


def is_number(value: Any) -> bool:
    """Whether a value is a number known at compile time."""
    value = value.value if isinstance(value, constexpr) else value
    return isinstance(value, (bool, int, float))


def have_same_form(left: Any, right: Any) -> bool:
    """Whether types agree: of tensors, of the parts of composites; others must be equal."""
    if isinstance(left, tensor) and isinstance(right, tensor):
        return bool(left.type == right.type)
    if left is right:
        return True
    if type(left) is not type(right) or isinstance(left, tensor):
        return False
    parts, others = parts_of(left), parts_of(right)
    if parts is not None and others is not None:
        return len(parts) == len(others) and all(map(have_same_form, parts, others))
    return _are_equal(left, right)


def _are_equal(left: Any, right: Any) -> bool:
    if isinstance(left, constexpr):
        left, right = left.value, right.value
    try:
        return type(left) is type(right) and bool(left == right)
    except Exception:  # values of the user's classes may compare in any way
        return False


def say(value: Any) -> str:
    """How messages name any value of a scope."""
    if isinstance(value, tuple):
        return f"a tuple of ({', '.join(say(item) for item in value)})"
    if value is None or isinstance(value, Unset):
        return str(value)
    if isinstance(value, Aggregate):
        return f"a {type(value).__name__}"
    return describe(value)
