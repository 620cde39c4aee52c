"""`__array_function__`: a call of NumPy's function becomes one of ours of the same name.

`np.linalg.f` and `np.fft.f` are looked for in the module of that name of the namespace, all others
in the namespace itself. The call is bound to NumPy's signature: what it says in NumPy's keywords
reaches our parameter of that name or, for the operands in front, of that place. `out=` is an update
of the result where our function has no such parameter.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock.errors import UnsupportedError
from lazyblock.lazy_imports import lazy_import
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.ufuncs import write_out

spellings = lazy_import("lazyblock.tracer.numpy_spellings")

_SUBMODULES = {"numpy.linalg": "linalg", "numpy.fft": "fft"}
_ALIASES = {"amax": "max", "amin": "min", "around": "round"}
# Settings of NumPy's that change nothing here: arrays have one memory order and one class.
_WITHOUT_EFFECT = {"order", "subok", "like"}
# Functions that write files or print: they get NumPy arrays.
_ON_HOST = {np.save, np.savez, np.savez_compressed, np.savetxt}
_ON_HOST |= {np.array2string, np.array_repr, np.array_str}
# Functions that write into their first argument: NumPy's own arrays get values.
_WRITING = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Parameters = Mapping[str, inspect.Parameter]


class UnsupportedTypeError(UnsupportedError, TypeError):
    """A NumPy function that does not record; NumPy's own dispatch raises TypeError then."""

    def __init__(self, function: Callable[..., Any], setting: str = "") -> None:
        name = _show(function)
        what = f"'{setting}=' of '{name}'" if setting else f"'{name}'"
        super().__init__(
            f"{what} of lazy arrays is not offered.",
            hint=f"evaluate first, '{name}(x.numpy())'.",
        )


def _show(function: Callable[..., Any]) -> str:
    place = str(getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    return f"{place}.{getattr(function, '__name__', repr(function))}"


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record what `function(*args, **kwargs)` means. Raises: UnsupportedTypeError."""
    is_into_numpy = function in _WRITING and bool(args) and isinstance(args[0], np.ndarray)
    if function in _ON_HOST or is_into_numpy:
        reason = _show(function)
        return function(*to_host(args, reason), **to_host(kwargs, reason))
    ours, _, is_spelled = _find(function)
    if ours is None:
        raise UnsupportedTypeError(function)
    if is_spelled or (not kwargs and len(args) <= 1):
        return ours(*args, **kwargs)
    return _bind(function, len(args), tuple(kwargs)).call(function, ours, args, kwargs)


@functools.cache
def _find(
    function: Callable[..., Any],
) -> tuple[Callable[..., Any] | None, Parameters, bool]:
    """Our function, its parameters, and whether it has NumPy's signature."""
    name = getattr(function, "__name__", "")
    place = _SUBMODULES.get(getattr(function, "__module__", ""))
    if place is None:
        spelled = spellings.SPELLINGS.get(name)
        if spelled is not None:
            return spelled, {}, True
    home = getattr(namespace(), place, None) if place else namespace()
    ours = getattr(home, _ALIASES.get(name, name), None)
    if ours is None or not callable(ours):
        return None, {}, False
    ours = getattr(ours, "__wrapped__", ours)  # which took what fits NumPy's signature only
    parameters = inspect.signature(ours).parameters
    return ours, parameters, _takes_all(parameters, _signature(function))


def _takes_all(ours: Parameters, theirs: inspect.Signature | None) -> bool:
    """Whether each call of NumPy's function is one of ours: the same names in the same places."""
    if theirs is None or list(ours) != list(theirs.parameters):
        return False
    return all(
        p.kind is q.kind or p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        for p, q in zip(ours.values(), theirs.parameters.values(), strict=True)
    )


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without a text of its parameters
        return None


def fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether NumPy's function takes such a call, by its signature."""
    signature = _signature(function)
    if signature is None:
        return False
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


Source = int | str  # of an argument: its place in a call, or its keyword


@dataclass(frozen=True)
class _Binding:
    """Where the arguments of calls of one form go. ignored: what we have no parameter for."""

    positional: tuple[Source, ...]
    named: tuple[tuple[str, Source], ...]
    ignored: tuple[tuple[str, Source], ...]
    out: Source | None

    def call(
        self,
        function: Callable[..., Any],
        ours: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call ours. Raises: UnsupportedTypeError for ignored settings that are not at defaults."""
        given: dict[Source, Any] = {**dict(enumerate(args)), **kwargs}  # type: ignore[dict-item]
        for name, source in self.ignored:
            if not _is_default(function, name, given[source]):
                raise UnsupportedTypeError(function, name)
        positional = [given[source] for source in self.positional]
        result = ours(*positional, **{name: given[source] for name, source in self.named})
        out = None if self.out is None else given[self.out]
        return result if out is None else write_out(result, _single(out), function.__name__)


@functools.lru_cache(maxsize=1024)
def _bind(function: Callable[..., Any], count: int, keywords: tuple[str, ...]) -> _Binding:
    """Bind a call of `count` positional arguments and these keywords to NumPy's signature."""
    _, parameters, _ = _find(function)
    sources: list[Source] = list(range(count))
    signature = _signature(function)
    if signature is None:
        return _Binding(tuple(sources), tuple((k, k) for k in keywords), (), None)
    bound = signature.bind(*sources, **{keyword: keyword for keyword in keywords}).arguments
    places = [p.name for p in signature.parameters.values() if p.kind in _POSITIONAL]
    positional: list[Source] = []
    named: dict[str, Source] = {}
    ignored: dict[str, Source] = {}
    for name, source in bound.items():
        kind = signature.parameters[name].kind
        target = _target(name, places, parameters)
        if kind is inspect.Parameter.VAR_POSITIONAL:
            positional += source
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named.update(source)
        elif target is None:
            ignored[name] = source
        elif parameters[target].kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(source)
        else:
            named[target] = source
    out = ignored.pop("out", None)
    return _Binding(tuple(positional), tuple(named.items()), tuple(ignored.items()), out)


def _target(name: str, places: list[str], parameters: Parameters) -> str | None:
    """The name of our parameter for NumPy's `name`."""
    if name in parameters:
        return name
    ours = [p.name for p in parameters.values() if p.kind in _POSITIONAL]
    place = places.index(name) if name in places else len(ours)
    if place < len(ours) and ours[place] not in places:
        return ours[place]
    return None


def _is_default(function: Callable[..., Any], name: str, value: Any) -> bool:
    """Whether a setting is as if it were not given, or changes nothing here."""
    signature = _signature(function)
    default = signature.parameters[name].default if signature else None
    is_same = value is default or (isinstance(value, (bool, int, str)) and value == default)
    return is_same or name in _WITHOUT_EFFECT


def _single(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out
