"""Every switch, once: a typed field with default, environment name and one-line doc.

`LAZYBLOCK_<FIELD>` sets a field from the environment; `with config.scope(dump="out"):` changes it
for a while. Fields marked `affects_code` enter cache keys.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import Field, dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar

from lazyblock.errors import ValueRangeError


def _switch(
    default: Any, doc: str, affects_code: bool = False, choices: tuple[Any, ...] = ()
) -> Any:
    metadata = {"doc": doc, "affects_code": affects_code, "choices": choices}
    return field(default=default, metadata=metadata)


@dataclass
class Config(threading.local):
    """The switches. Read as `config.current.verify`; change through `scope` or the environment.

    Every thread has its own, made from the environment: a scope holds in its thread only.
    """

    _code_values: ClassVar[tuple[Any, ...] | None] = None  # see `code_values`; None: not known yet

    device: str = _switch("", "default device: 'cpu', 'cuda', 'cuda:1'; empty = cuda if present")
    dump: str = _switch("", "directory that gets every stage of every kernel")
    logs: str = _switch("", "comma list of graph, fusion, kernels, cache, eval")
    cache: bool = _switch(True, "use the disk cache")
    cache_dir: str = _switch("", "disk cache directory; empty = $XDG_CACHE_HOME/lazyblock")
    cache_bytes: int = _switch(1 << 30, "size bound of the disk cache, in bytes")
    verify: bool = _switch(False, "verify every IR after every pass")
    fuse: bool = _switch(True, "fuse operations; off = one kernel per operation", True)
    num_threads: int = _switch(0, "CPU threads; 0 = all this process may use")
    sanitize: bool = _switch(False, "check every memory access of CPU kernels; slow", True)
    debug: bool = _switch(False, "check asserts and integer overflow in kernels of @lb.jit", True)
    interpret: bool = _switch(False, "run the Python bodies of kernels of @lb.jit")
    strict: bool = _switch(
        False, "refuse what kernels of @lb.jit have beyond Triton's language", True
    )
    dot_precision: str = _switch(
        "ieee",
        "how kernels' dots may round float32 operands that do not say it",
        True,
        ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
    )
    numerics: str = _switch("strict", "'strict' or 'fast'", True, ("strict", "fast"))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self.__dict__.pop("_code_values", None)


def _parse(kind: type, text: str, name: str) -> Any:
    if kind is bool:
        if text.lower() in ("1", "true", "on", "yes"):
            return True
        if text.lower() in ("", "0", "false", "off", "no"):
            return False
        raise ValueRangeError(f"{name} is {text!r}, expected 0 or 1.")
    if kind is int:
        try:
            return int(text)
        except ValueError:
            raise ValueRangeError(f"{name} is {text!r}, expected an integer.") from None
    return text


def _check(entry: Field[Any], value: Any, name: str) -> None:
    choices = entry.metadata["choices"]
    if choices and value not in choices:
        expected = " or ".join(map(repr, choices))
        raise ValueRangeError(f"{name} is {value!r}, expected {expected}.")


def _from_environment() -> Config:
    found: dict[str, Any] = {}
    for entry in fields(Config):
        name = f"LAZYBLOCK_{entry.name.upper()}"
        if name in os.environ:
            found[entry.name] = _parse(type(entry.default), os.environ[name], name)
            _check(entry, found[entry.name], name)
    return Config(**found)  # threading.local calls it anew, with the same arguments, per thread


current = _from_environment()


CODE_FIELDS = [entry.name for entry in fields(Config) if entry.metadata["affects_code"]]
_get_code_values = attrgetter(*CODE_FIELDS)


def code_values() -> tuple[Any, ...]:
    """The settings that change generated code, for keys in memory."""
    values: tuple[Any, ...] | None = current._code_values
    if values is None:
        values = _get_code_values(current)
        current.__dict__["_code_values"] = values
    return values


def code_settings() -> str:
    """The same as text, for keys of the disk cache."""
    pairs = zip(CODE_FIELDS, code_values(), strict=True)
    return " ".join(f"{name}={value!r}" for name, value in pairs)


@contextmanager
def scope(**changes: Any) -> Iterator[Config]:
    """Change fields for the time of a `with` block, in this thread.

    Raises: ValueRangeError for unknown names and values that a setting cannot have.
    """
    known = {entry.name: entry for entry in fields(Config)}
    for name, value in changes.items():
        if name not in known:
            raise ValueRangeError(f"There is no setting '{name}'.", hint=f"one of {sorted(known)}.")
        _check(known[name], value, name)
    before = {name: getattr(current, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(current, name, value)
        yield current
    finally:
        for name, value in before.items():
            setattr(current, name, value)
