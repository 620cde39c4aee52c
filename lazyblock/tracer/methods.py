"""NumPy's methods of arrays that record: casts, bytes, rounding, and those of the namespace.

`x.take(...)` is `np.take(x, ...)`, and so for all names of `_FORWARDED`; methods that sort change
the array in place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.graph.ops import Op
from lazyblock.lazy_imports import lazy_import
from lazyblock.shapes import as_shape, size_of, strided_view
from lazyblock.tracer.attributes import Attributes
from lazyblock.tracer.fold_methods import Folds
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.layout import check_order
from lazyblock.tracer.operands import check_cast, convert, is_out_of_range
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.views import whole

if TYPE_CHECKING:
    from typing_extensions import Self

numpy_calls = lazy_import("lazyblock.tracer.numpy_calls")
host_calls = lazy_import("lazyblock.tracer.host_calls")
host_functions = lazy_import("lazyblock.tracer.host_functions")

NDArray = npt.NDArray[Any]


def _forwarded(function: Callable[..., Any]) -> Any:
    """A method that NumPy has as a function of the array and the same arguments."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return numpy_calls.call(function, (self, *args), kwargs)

    return method


def _in_place(function: Callable[..., Any]) -> Any:
    """A method that changes the array to what a function of NumPy's gives."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        self[...] = numpy_calls.call(function, (self, *args), kwargs)

    return method


class Methods(Attributes, Folds):
    """Methods that record or give views."""

    __slots__ = ()

    argpartition = _forwarded(np.argpartition)
    argsort = _forwarded(np.argsort)
    diagonal = _forwarded(np.diagonal)
    dot = _forwarded(np.dot)
    nonzero = _forwarded(np.nonzero)
    put = _forwarded(np.put)
    repeat = _forwarded(np.repeat)
    searchsorted = _forwarded(np.searchsorted)
    take = _forwarded(np.take)
    trace = _forwarded(np.trace)
    partition = _in_place(np.partition)
    sort = _in_place(np.sort)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """The slices along `axis` where `condition` holds."""
        return numpy_calls.call(np.compress, (condition, self, axis, out), {})

    def choose(self, *choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Each element from the choice whose number it finds in this array; one after the other."""
        listed = choices[0] if len(choices) == 1 else choices
        return numpy_calls.call(np.choose, (self, listed, out, mode), {})

    # elements as they are

    def to_device(self, device: str, /, *, stream: Any = None) -> Self:
        """The same values on another device. stream: None, there is one of each device only."""
        if stream is not None:
            raise ValueRangeError("The stream argument to to_device() is not supported")
        moved: Self = namespace().asarray(self, device=device)
        return moved

    def copy(self, order: str | None = "C") -> Self:
        """The same values, not seen by later writes."""
        check_order(order)
        return self._alike(self.node)

    def astype(
        self,
        dtype: Any,
        order: str | None = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Self:
        """Convert the elements, as NumPy casts them."""
        target = dtypes.as_dtype(dtype)
        if casting != "unsafe" and not np.can_cast(self.dtype, target, casting):
            raise DTypeError(
                f"Cannot cast array data from {self.dtype!r} to {target!r} according to the rule "
                f"'{casting}'"
            )
        if not copy and target == self.dtype:
            return self
        return self._alike(convert(self.node, target))

    def view(self, dtype: Any = None, type: Any = None) -> Self:
        """Another handle on the elements, or on their bits as another dtype of the same size.

        Bits as a dtype of another size, or of complex numbers, are a copy that is read-only. There
        is one class of arrays: asked for by `type` (or in its place), or NumPy's, it is that.
        """
        if dtype is None or dtype is self.__class__ or dtype is np.ndarray or dtype == self.dtype:
            return self.__class__(self._cell, self._view)
        target = dtypes.as_dtype(dtype)
        if target.itemsize == self.itemsize and {target.kind, self.dtype.kind}.isdisjoint("bc"):
            view = self._view or whole(self.shape)
            return self._show(view.of_bits(target))
        steps = tuple(stride // self.itemsize for stride in self.strides)
        model = strided_view(np.empty(1, self.dtype), self.shape, steps).view(target)
        spec = [(model.shape, target)]
        (bits,) = host_calls.host_call(_view_on_host, [self], spec, dtype=target)
        bits.setflags(write=False)
        return bits._as_array()  # type: ignore[no-any-return]

    def getfield(self, dtype: Any, offset: int = 0) -> Self:
        """The bits of a part of each element as another dtype: a copy that is read-only."""
        target = dtypes.as_dtype(dtype)
        np.empty(0, self.dtype).getfield(target, offset)  # which refuses what does not fit
        spec = [(self.shape, target)]
        (bits,) = host_calls.host_call(_field_on_host, [self], spec, dtype=target, offset=offset)
        bits.setflags(write=False)
        return bits._as_array()  # type: ignore[no-any-return]

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Evaluate, and write the bits of values into a part of each element."""
        array: Any = self
        values = np.array(self._values("setfield"))
        values.setfield(host_functions.to_host(val, "setfield"), dtypes.as_dtype(dtype), offset)
        array[...] = values

    def byteswap(self, inplace: bool = False) -> Self:
        """The elements with their bytes in opposite order."""
        spec = [(self.shape, self.dtype)]
        array: Any = self
        (swapped,) = host_calls.host_call(_byteswap_on_host, [self], spec)
        if inplace:
            array[...] = swapped
            return self
        return swapped._as_array()  # type: ignore[no-any-return]

    def fill(self, value: Any) -> None:
        """Give every element one value."""
        array: Any = self
        array[...] = value

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change the shape in place, with zeros where there were no elements."""
        if self._view is not None:
            raise ValueRangeError("cannot resize this array: it does not own its data")
        asked = new_shape[0] if len(new_shape) == 1 else new_shape
        shape = as_shape(asked, "resize")
        size = size_of(shape)
        flat = build.reshape(self.node, (self.size,))
        kept = min(size, self.size)
        node = build.view(flat, index_map.slices([0], [1]), (kept,))
        node = build.pad(node, 0, 0, size - kept, 0)
        self._rebase(build.reshape(node, shape))

    # rounding

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **settings: Any) -> Self:
        """Move elements into min..max; None leaves a side open.

        Python ints beyond an integer dtype leave a side open too, as in NumPy.
        settings: those of ufuncs.
        """
        low = None if is_out_of_range(min, self.dtype) and min < 0 else min
        high = None if is_out_of_range(max, self.dtype) and max > 0 else max
        settings = {name: value for name, value in settings.items() if value is not None}
        if out is not None or settings:
            return self._clip_by_ufuncs(low, high, out, **settings)  # type: ignore[no-any-return]
        if low is None and high is None:
            return self.copy()._as_number()
        if low is None or high is None:
            name, bound = ("minimum", high) if low is None else ("maximum", low)
            return self._record(FUNCTIONS[name], self, bound)
        return self._record(FUNCTIONS["clip"], self, low, high)

    def _clip_by_ufuncs(self, low: Any, high: Any, out: Any, **settings: Any) -> Any:
        raised: Any = self
        if low is None and high is None:
            return np.positive(raised, out=out, **settings)
        if high is None:
            return np.maximum(raised, low, out=out, **settings)
        if low is not None:
            of_values = {name: settings[name] for name in ("dtype", "casting") if name in settings}
            raised = np.maximum(raised, low, **of_values)
        return np.minimum(raised, high, out=out, **settings)

    def round(self, decimals: int = 0, out: Any = None) -> Self:
        """Nearest value with so many decimals, halves to even."""
        result = self._rounded(decimals)
        return self._store(result, out, "round")

    def _rounded(self, decimals: int) -> Self:
        if dtypes.is_integer(self.dtype) and decimals >= 0:
            return self.copy()._as_number()
        if decimals and dtypes.is_complex(self.dtype):
            parts = [part._rounded(decimals).node for part in (self.real, self.imag)]  # type: ignore[attr-defined]
            return self._with(build.elementwise(Op.COMPLEX, *parts))
        if decimals and dtypes.is_bool(self.dtype):
            check_cast(dtypes.float64, self.dtype, "multiply")  # which it refuses
        if decimals == 0:
            return self._record(FUNCTIONS["rint"], self)
        first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
        scaled = self._record(FUNCTIONS[first], self, 10.0 ** abs(decimals))
        whole = self._record(FUNCTIONS["rint"], scaled)
        return (
            self._record(FUNCTIONS[second], whole, 10.0 ** abs(decimals))
            .astype(self.dtype)
            ._as_number()
        )


def _view_on_host(x: NDArray, *, dtype: Any) -> NDArray:
    return x.view(dtype)


def _field_on_host(x: NDArray, *, dtype: Any, offset: int) -> NDArray:
    return x.getfield(dtype, offset)


def _byteswap_on_host(x: NDArray) -> NDArray:
    return x.byteswap()
