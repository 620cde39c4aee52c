"""What turns an array into host data, and so runs the recorded work."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.tracer.handle import Handle

NDArray = npt.NDArray[Any]


class Conversions(Handle):
    """To NumPy arrays, Python numbers and text. All evaluate."""

    __slots__ = ()

    def numpy(self) -> NDArray:
        """Evaluate, wait and give a NumPy array (read-only, without a copy, on the CPU)."""
        return self._values("numpy")

    def item(self, *index: Any) -> bool | int | float | complex:
        """Evaluate and give one element as a Python number."""
        if not index and self.size != 1:
            raise ValueRangeError("can only convert an array of size 1 to a Python scalar")
        values = self._values("item")
        result: bool | int | float | complex = values.item(*index)
        return result

    def tobytes(self, order: Any = "C") -> bytes:
        """Evaluate and give the bytes of the elements."""
        return self._values("tobytes").tobytes(order)

    def tofile(self, fid: Any, /, sep: str = "", format: str = "%s") -> None:
        """Evaluate and write the elements to a file."""
        self._values("tofile").tofile(fid, sep, format)

    def dumps(self) -> bytes:
        """Evaluate and give a pickle of the elements as a NumPy array."""
        return self._values("dumps").dumps()

    def dump(self, file: Any) -> None:
        """Evaluate and write a pickle of the elements, as a NumPy array, to a file or path."""
        self._values("dump").dump(file)

    def tolist(self) -> Any:
        """Evaluate and give nested lists of Python numbers."""
        return self._values("tolist").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        values = self._values("np.asarray")
        if copy is False and (self.device != "cpu" or dtype not in (None, self.dtype)):
            raise ValueRangeError("Unable to avoid copy while creating an array as requested.")
        return values if copy is False else np.array(values, dtype, copy=copy)

    def __bool__(self) -> bool:
        if self.size == 0:
            raise ValueRangeError(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
                "that an array is not empty."
            )
        if self.size > 1:
            raise ValueRangeError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() "
                "or a.all()"
            )
        return bool(self._values("bool").item())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __round__(self, ndigits: int | None = None) -> Any:
        """A number, rounded, as `round` gives it for one of NumPy's."""
        if self.ndim:
            raise DTypeError(f"type {type(self).__name__} doesn't define __round__ method")
        number: Any = self._values("round")[()]
        return round(number, ndigits)

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.ndim or not dtypes.is_integer(self.dtype):
            raise DTypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self._scalar("index"))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __repr__(self) -> str:
        values = np.array2string(self._values("repr"), separator=", ", prefix="Array(")
        return f"Array({values}, shape={self.shape}, dtype={self.dtype}, device='{self.device}')"

    def __str__(self) -> str:
        return str(self._values("print"))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self._scalar("format"), spec)
        if spec:
            raise DTypeError("unsupported format string passed to lazyblock.Array.__format__")
        return str(self)
