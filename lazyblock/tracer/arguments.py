"""Arguments that many of NumPy's functions share: operands of one device, `out=`, questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ShapeError
from lazyblock.shapes import Shape
from lazyblock.tracer.array import Array, common_device
from lazyblock.tracer.creation import asarray, to_array
from lazyblock.tracer.data_types import can_cast
from lazyblock.tracer.operands import Kind
from lazyblock.tracer.ufuncs import check_shape_of_out, write_out


def as_arrays(*values: Any) -> list[Array]:
    """Values as arrays on the device of those that are. Raises: DeviceError, DTypeError."""
    device = common_device(*values)
    return [x if isinstance(x, Array) else _placed(x, device) for x in values]


def _placed(value: Any, device: str | None) -> Array:
    return to_array(value) if device is None else asarray(value, device=device)


def in_dtype_of(values: Any, array: Array) -> Array:
    """Values in an array's dtype. Raises: OverflowError for Python numbers out of its range."""
    if isinstance(values, Array):
        return values.astype(array.dtype)
    return _placed(np.asarray(values, array.dtype), array._cell.device)


def as_operand(value: Any) -> Any:
    """A Python number as it is, which is weak; anything else as an array."""
    return value if type(value) in dtypes.WEAK_TYPES else to_array(value)


def kind_of(value: Any, array: Array) -> Kind:
    """What a value, made into `array`, counts as in promotion: Python numbers are weak."""
    return type(value) if type(value) in dtypes.WEAK_TYPES else array.dtype


def deliver(result: Array, out: Any, name: str) -> Any:
    """The result, or `out` after writing it there.

    Raises: DTypeError unless 'same_kind', ShapeError if `out` has another shape.
    """
    check_shape_of_out(result, out, name)
    return result._as_number() if out is None else write_out(result, out, name)


def check_taken(out: Any, shape: Shape, dtype: DType, name: str = "ndarray.take") -> None:
    """Raises: ShapeError, DTypeError for an `out=` that does not hold just such a result."""
    if out is None:
        return
    if out.shape != shape:
        raise ShapeError(f"output array does not match result of {name}.")
    if not can_cast(out.dtype, dtype):
        raise DTypeError(
            f"Cannot cast array data from {out.dtype!r} to {dtype!r} according to the rule 'safe'"
        )


def floating_dtype(*given: DType | type) -> DType:
    """The dtype in which NumPy divides operands of these dtypes: float64 for ints."""
    found = dtypes.result_type(*given)
    return found if found.kind in "fc" or dtypes.is_floating(found) else dtypes.float64


def is_sequence(value: Any) -> bool:
    """Whether a value is a list or tuple, of arrays say, and no array itself."""
    return isinstance(value, Iterable) and not isinstance(value, (Array, np.ndarray, np.generic))
