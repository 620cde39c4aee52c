"""`x.real`, `x.imag`: views of the parts of complex arrays, for reading and writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError
from lazyblock.graph import build
from lazyblock.graph.ops import Op
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.views import whole

if TYPE_CHECKING:
    from typing_extensions import Self


class ComplexParts(Handle):
    """Parts and conjugates; a real array is its own real part."""

    __slots__ = ()

    @property
    def real(self) -> Self:
        """The real parts, a view."""
        return self._part(Op.REAL) if dtypes.is_complex(self.dtype) else self

    @real.setter
    def real(self, value: Any) -> None:
        given = value if isinstance(value, Handle) else np.asarray(value)  # cast as an array is
        self.real[...] = given  # type: ignore[index]

    @property
    def imag(self) -> Self:
        """The imaginary parts, a view; of a real array zeros that cannot be written."""
        if dtypes.is_complex(self.dtype):
            return self._part(Op.IMAG)
        zeros = self._alike(build.broadcast_to(build.constant(0, self.dtype), self.shape))
        zeros._cell.is_writeable = False
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if not dtypes.is_complex(self.dtype):
            raise DTypeError("array does not have imaginary part to set")
        self.imag[...] = value  # type: ignore[index]

    def _part(self, part: Op) -> Self:
        view = self._view or whole(self._cell.node.shape)
        return self._show(view.of_part(part))

    def conjugate(self, out: Any = None) -> Self:
        """The complex conjugates; a real array is its own."""
        if out is not None:
            stored: Self = np.conjugate(self, out=out)  # type: ignore[call-overload]
            return stored
        return self._record(FUNCTIONS["conjugate"], self) if dtypes.is_complex(self.dtype) else self

    conj = conjugate
