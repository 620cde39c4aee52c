"""Loads, stores and atomics: their functions and options."""

from __future__ import annotations

from typing import Any

from lazyblock.language.unparse.text import Text, call
from lazyblock.language.unparse.writer import Writer
from lazyblock.tiler import ops


def memory_options(w: Writer, op: ops.Load | ops.Store) -> list[str]:
    """Keyword arguments of a load or store."""
    parts = [] if op.mask is None else [f"mask={w.loose(op.mask).source}"]
    if isinstance(op, ops.Load) and op.other is not None and not op.sem:
        parts.append(f"other={w.loose(op.other).source}")
    settings = {"cache_modifier": op.cache, "eviction_policy": op.eviction}
    hints = [f'{name}="{setting}"' for name, setting in settings.items() if setting]
    return parts + hints + _order(op) * bool(op.sem)


def _order(op: Any) -> list[str]:
    return [f'sem="{op.sem}"', f'scope="{op.scope}"']


def atomic_rmw(w: Writer, op: ops.AtomicRmw) -> Text:
    """Read, combine and write as one step."""
    mask = [] if op.mask is None else [f"mask={w.loose(op.mask).source}"]
    operands = w.text(op.pointer), w.loose(op.value)
    return call(f"tl.atomic_{op.kind}", *operands, *mask, *_order(op))


def atomic_cas(w: Writer, op: ops.AtomicCas) -> Text:
    """Write where memory holds what is expected, as one step."""
    operands = w.text(op.pointer), w.text(op.compare), w.text(op.value)
    return call("tl.atomic_cas", *operands, *_order(op))


def load(w: Writer, op: ops.Load) -> Text:
    """A plain or an atomic load; `other` of an atomic one is selected afterwards."""
    options = memory_options(w, op)
    if not op.sem:
        return call("tl.load", w.text(op.pointer), *options)
    text = call("tl.atomic_load", w.text(op.pointer), *options)
    if op.mask is None or op.other is None:
        return text
    return call("tl.where", w.text(op.mask), text, w.text(op.other))
