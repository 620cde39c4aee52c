"""`lb.call`: a block kernel recorded as an operation on lazy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph import build
from lazyblock.shapes import Shape, as_shape
from lazyblock.tracer.array import Array, Cell, common_device, from_host
from lazyblock.tracer.stages import pipeline

__all__ = [
    "call",
    "empty_spec",
]

_FOREIGN = ("data_ptr", "__cuda_array_interface__", "__array_interface__", "__dlpack__")


@dataclass(frozen=True)
class EmptySpec:
    """An array to be made: shape and dtype. Make one with `lb.empty_spec`."""

    shape: Shape
    dtype: DType


def empty_spec(shape: Any, dtype: Any = dtypes.float64) -> EmptySpec:
    """A result of `lb.call`, which the kernel has to fill."""
    return EmptySpec(as_shape(shape, "empty_spec"), dtypes.as_dtype(dtype))


def call(kernel: Any, grid: Any, *args: Any, out: Any, **meta: Any) -> Any:
    """Record a launch of `kernel` that fills new arrays; it runs when one of them is evaluated.

    Parameters: grid, as in `kernel[grid]`; args, the leading arguments, of which arrays are only
    read; out, an `empty_spec` or a list of them, for the parameters that follow, or a dict of them
    by parameter; meta, all other arguments and launch options by name.
    Gives an array for one spec, else as many arrays in a list (or dict).
    Raises: LaunchError for a kernel that writes into one of its operands.
    """
    specs = _list_specs(out)
    arrays: list[Array] = []
    given = [_numbered(value, arrays) for value in args]
    named = {name: _numbered(value, arrays) for name, value in meta.items()}
    numbers = [pipeline.number_array(len(arrays) + n, spec.dtype) for n, spec in enumerate(specs)]
    if isinstance(out, Mapping):
        named.update(zip(out, numbers, strict=True))
    else:
        given += numbers
    recorded = kernel.record(grid, len(arrays), given, named)
    operands = [array.node for array in arrays]
    nodes = build.call(recorded, operands, [(spec.shape, spec.dtype) for spec in specs])
    device = common_device(*arrays)
    results = [Array(Cell(node, device)) for node in nodes]
    if isinstance(out, Mapping):
        return dict(zip(out, results, strict=True))
    return results[0] if isinstance(out, EmptySpec) else results


def _list_specs(out: Any) -> list[EmptySpec]:
    if isinstance(out, Mapping):
        out = list(out.values())
    specs = list(out) if isinstance(out, (list, tuple)) else [out]
    if not specs:
        raise ValueRangeError("A recorded kernel has at least one result in 'out'.")
    for spec in specs:
        if not isinstance(spec, EmptySpec):
            raise DTypeError(
                f"'out' takes what lb.empty_spec(shape, dtype) gives, not a {type(spec).__name__}."
            )
    return specs


def _numbered(value: Any, arrays: list[Array]) -> Any:
    """An argument with arrays replaced by their numbers."""
    if isinstance(value, np.ndarray):
        node = from_host(value, common_device(*arrays))
        value = Array(Cell(node, pipeline.device_of(node)))
    if isinstance(value, Array):
        arrays.append(value)
        return pipeline.number_array(len(arrays) - 1, value.dtype)
    is_number = isinstance(value, np.generic)
    if not is_number and any(hasattr(value, name) for name in _FOREIGN):
        raise DTypeError(
            f"A recorded kernel cannot take a {type(value).__name__}, whose memory may change.",
            hint="make a lazy array of it: lb.asarray(x).",
        )
    if type(value) is tuple:
        return tuple(_numbered(item, arrays) for item in value)
    return value
