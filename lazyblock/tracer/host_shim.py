"""Stands in for `host_calls` until that is merged."""

from __future__ import annotations

from typing import Any

from lazyblock.tracer.array import Array, Cell, from_host


def host_call(function: Any, arrays: Any, results: Any, **settings: Any) -> list[Array]:
    """Call now."""
    found = function(*(x.numpy() for x in arrays), **settings)
    listed = found if isinstance(found, tuple) else (found,)
    device = arrays[0]._cell.device
    return [Array(Cell(from_host(v, device), device)) for v in listed]
