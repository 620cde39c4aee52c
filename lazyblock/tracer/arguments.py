"""Arguments that many of NumPy's functions share: operands of one device, `out=`, questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.tracer.array import Array, common_device
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.operands import Kind
from lazyblock.tracer.ufuncs import write_out


def as_arrays(*values: Any) -> list[Array]:
    """Values as arrays on the device of those that are. Raises: DeviceError, DTypeError."""
    device = common_device(*values)
    return [x if isinstance(x, Array) else _placed(x, device) for x in values]


def _placed(value: Any, device: str | None) -> Array:
    return to_array(value) if device is None else asarray(value, device=device)


def as_operand(value: Any) -> Any:
    """A Python number as it is, which is weak; anything else as an array."""
    return value if type(value) in dtypes.WEAK_TYPES else to_array(value)


def kind_of(value: Any, array: Array) -> Kind:
    """What a value, made into `array`, counts as in promotion: Python numbers are weak."""
    return type(value) if type(value) in dtypes.WEAK_TYPES else array.dtype


def deliver(result: Array, out: Any, name: str) -> Any:
    """The result, or `out` after writing it there. Raises: DTypeError unless 'same_kind'."""
    return result if out is None else write_out(result, out, name)


def floating_dtype(*given: DType | type) -> DType:
    """The dtype in which NumPy divides operands of these dtypes: float64 for ints."""
    found = dtypes.result_type(*given)
    return found if found.kind in "fc" or dtypes.is_floating(found) else dtypes.float64


def is_sequence(value: Any) -> bool:
    """Whether a value is a list or tuple, of arrays say, and no array itself."""
    return isinstance(value, Iterable) and not isinstance(value, (Array, np.ndarray, np.generic))
