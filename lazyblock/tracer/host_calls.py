"""NumPy functions recorded as operations: what has no form in kernels runs on the host."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.host_call import make_host_call
from lazyblock.shapes import Shape
from lazyblock.tracer.array import Array, Cell, common_device


def host_call(
    function: Callable[..., Any],
    arrays: Sequence[Array],
    results: Sequence[tuple[Shape, Any]],
    **settings: Hashable,
) -> list[Array]:
    """Record `function(*arrays, **settings)`, which gets NumPy arrays and gives one or a tuple.

    It runs in NumPy on the host when a result is evaluated, wherever the arrays are: they are
    computed and, from a GPU, copied first. It sees them read-only, must not keep them, and has to
    give the same for the same operands.

    Parameters: function, of a module; results, the shapes and dtypes of what it gives.
    """
    call = make_host_call(function, settings)
    specs = [(tuple(shape), dtypes.as_dtype(dtype)) for shape, dtype in results]
    nodes = build.host_call(call, [array.node for array in arrays], specs)
    device = common_device(*arrays)
    return [Array(Cell(node, device)) for node in nodes]
