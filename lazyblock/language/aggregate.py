"""Classes whose objects kernels pass around: a few named values in one.

    @lb.aggregate
    class Range:
        start: tl.tensor
        length: tl.constexpr

        @lb.jit
        def __init__(self, start, length): ...

Inside kernels they have value semantics: setting an attribute gives the name a new object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lazyblock.errors import CompileError


class Aggregate:
    """Base of all classes made by `aggregate`."""

    field_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        """Where a class has none of its own: the fields in order, or by name."""
        if len(values) > len(self.field_names):
            raise CompileError(
                f"'{type(self).__name__}' has {len(self.field_names)} fields, got {len(values)}"
                " values."
            )
        vars(self).update(zip(self.field_names, values, strict=False))
        vars(self).update(named)

    def fields(self) -> dict[str, Any]:
        """Values of the fields that are set, by name."""
        values = vars(self)
        return {name: values[name] for name in self.field_names if name in values}

    def with_fields(self, values: Mapping[str, Any]) -> Any:
        """A copy with some fields changed."""
        for name in values:
            if name not in self.field_names:
                raise CompileError(
                    f"'{type(self).__name__}' has no field '{name}'.",
                    hint=f"declare it in the class body: `{name}: tl.tensor`.",
                )
        copy = object.__new__(type(self))
        vars(copy).update(vars(self) | dict(values))
        return copy


def aggregate(cls: type) -> Any:
    """Make a class whose annotated names are the fields of values in kernels."""
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        names.update(dict.fromkeys(vars(base).get("__annotations__", ())))
    names.pop("field_names", None)
    bases = tuple(base for base in cls.__bases__ if base is not object)
    members = {n: v for n, v in vars(cls).items() if n not in ("__dict__", "__weakref__")}
    bases = bases if any(issubclass(base, Aggregate) for base in bases) else (Aggregate, *bases)
    return type(cls.__name__, bases, {**members, "field_names": tuple(names)})
