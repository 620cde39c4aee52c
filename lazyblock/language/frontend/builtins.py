"""Python's builtins as kernels mean them: at compile time where all is known, else on tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language import iterators
from lazyblock.language.constexpr import constexpr, unwrap, wrap
from lazyblock.language.dtypes import float32, float64, int1, int32
from lazyblock.language.frontend.iteration import static_items
from lazyblock.language.frontend.logic import as_condition
from lazyblock.language.frontend.scope import say
from lazyblock.language.semantics.convert import cast
from lazyblock.language.semantics.debug import device_print
from lazyblock.language.semantics.elementwise import abs as absolute
from lazyblock.language.semantics.elementwise import maximum, minimum
from lazyblock.language.tensor import tensor

Function = Callable[..., Any]


def _range(*bounds: Any) -> Any:
    if not 1 <= len(bounds) <= 3:
        raise CompileError(f"range takes 1 to 3 bounds, got {len(bounds)}.")
    return iterators.range(*bounds)


def _len(value: Any) -> Any:
    return wrap(len(unwrap(value)))


def _tuple(value: Any = ()) -> Any:
    return tuple(static_items(value))


def _zip(*values: Any) -> Any:
    return tuple(zip(*map(static_items, values), strict=False))


def _enumerate(value: Any, start: Any = 0) -> Any:
    return tuple((wrap(n), item) for n, item in enumerate(static_items(value), unwrap(start)))


def _reversed(value: Any) -> Any:
    return tuple(reversed(static_items(value)))


def _extreme(known: Function, on_tensors: Function) -> Function:
    def compute(*values: Any, **named: Any) -> Any:
        items = static_items(values[0]) if len(values) == 1 else list(values)
        if not any(isinstance(item, tensor) for item in items):
            return wrap(known(map(unwrap, items)))
        result = items[0]
        for item in items[1:]:
            result = on_tensors(result, item, **named)
        return result

    return compute


def _abs(value: Any) -> Any:
    return absolute(value) if isinstance(value, tensor) else wrap(abs(unwrap(value)))


def _sum(value: Any, start: Any = 0) -> Any:
    result = start
    for item in static_items(value):
        result = result + item
    return result if isinstance(result, tensor) else wrap(unwrap(result))


def _int(value: Any = 0, *base: Any) -> Any:
    if not isinstance(value, tensor):
        return wrap(int(unwrap(value), *map(unwrap, base)))
    is_integer = value.dtype.is_int() and value.dtype != int1
    return value if is_integer else cast(value, int32)


def _float(value: Any = 0.0) -> Any:
    if not isinstance(value, tensor):
        return wrap(float(unwrap(value)))
    return value if value.dtype == float64 else cast(value, float32)


def _bool(value: Any = False) -> Any:
    return as_condition(value) if isinstance(value, tensor) else wrap(bool(unwrap(value)))


def _known(function: Function) -> Function:
    """A builtin that needs known arguments."""

    def call(*arguments: Any, **named: Any) -> Any:
        for value in (*arguments, *named.values()):
            if isinstance(value, tensor):
                raise CompileError(
                    f"'{function.__name__}' needs a value known at compile time, got {say(value)}."
                )
        plain = {name: unwrap(value) for name, value in named.items()}
        return wrap(function(*map(unwrap, arguments), **plain))

    return call


def _isinstance(value: Any, types: Any) -> Any:
    types = unwrap(types)
    return wrap(isinstance(value, types) or isinstance(unwrap(value), types))


def _getattr(value: Any, name: Any, *default: Any) -> Any:
    found = getattr(unwrap(value), unwrap(name), *default)
    return wrap(found) if isinstance(found, (bool, int, float, str)) else found


def _hasattr(value: Any, name: Any) -> Any:
    return wrap(hasattr(unwrap(value), unwrap(name)))


def _type(value: Any) -> Any:
    return type(unwrap(value))


def _print(*values: Any, sep: Any = " ", end: Any = "\n", **named: Any) -> None:
    """Texts and constants become the prefix of a device_print, tensors its values."""
    tensors = [value for value in values if isinstance(value, tensor)]
    texts = [str(unwrap(value)) for value in values if not isinstance(value, tensor)]
    device_print(str(unwrap(sep)).join(texts), *tensors, **named)


def _all(values: Any) -> Any:
    return wrap(all(unwrap(item) for item in static_items(values)))


def _any(values: Any) -> Any:
    return wrap(any(unwrap(item) for item in static_items(values)))


ON_TENSORS: dict[Any, Function] = {
    builtins.range: _range,
    builtins.len: _len,
    builtins.tuple: _tuple,
    builtins.list: _tuple,
    builtins.zip: _zip,
    builtins.enumerate: _enumerate,
    builtins.reversed: _reversed,
    builtins.min: _extreme(min, minimum),
    builtins.max: _extreme(max, maximum),
    builtins.abs: _abs,
    builtins.sum: _sum,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.isinstance: _isinstance,
    builtins.all: _all,
    builtins.any: _any,
}
BUILTINS: dict[Any, Function] = {
    **ON_TENSORS,
    builtins.getattr: _getattr,
    builtins.hasattr: _hasattr,
    builtins.type: _type,
    builtins.print: _print,
    **{function: _known(function) for function in (str, repr, round, divmod, pow, sorted, format)},
    builtins.callable: lambda value: constexpr(callable(unwrap(value))),
    builtins.slice: lambda *bounds: slice(*map(unwrap, bounds)),
}
