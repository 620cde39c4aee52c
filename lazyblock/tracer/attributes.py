"""NumPy's attributes of arrays beyond shape and dtype: layout, `flat`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazyblock.errors import IndexingError, ValueRangeError
from lazyblock.graph.attrs import InputAttrs
from lazyblock.shapes import contiguous_strides
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.layout import Flags, is_contiguous
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.views import whole

if TYPE_CHECKING:
    from typing_extensions import Self


class Attributes(Handle):
    """What the array is like as memory."""

    __slots__ = ()

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis, were the array NumPy's."""
        base, view = self._cell.node, self._view
        if isinstance(base.attrs, InputAttrs):
            node = base if view is None else view.of_input(base)
            if node is not None:
                return tuple(n * self.itemsize for n in node.attrs.strides)  # type: ignore[union-attr]
        view = view or whole(base.shape)
        _, strides = view.map.strides(contiguous_strides(view.base_shape))
        return tuple(n * base.dtype.itemsize for n in strides)

    @property
    def flags(self) -> Flags:
        """Contiguity, ownership, writeability."""
        layout = self.shape, self.strides, self.itemsize
        return Flags(
            c_contiguous=is_contiguous(*layout, "C"),
            f_contiguous=is_contiguous(*layout, "F"),
            owndata=self._view is None,
            cell=self._cell,
            repeats=self._view is not None and self._view.repeats,
        )

    def setflags(self, write: bool | None = None, align: Any = None, uic: Any = None) -> None:
        """Protect the base of this array from writing, or allow it again."""
        if write is not None:
            self._cell.is_writeable = bool(write)

    @property
    def base(self) -> Self | None:
        """The array whose elements this one shows; None if they are its own."""
        return None if self._view is None else type(self)(self._cell)

    @property
    def data(self) -> memoryview:
        """Evaluate and give the elements as read-only memory of the host."""
        return self._values("data").data

    @property
    def flat(self) -> Flat:
        """The elements in C order, to be read, iterated and written."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value


class Flat:
    """Elements of an array in C order: what `x.flat` gives."""

    def __init__(self, array: Any) -> None:
        self.base = array

    def __len__(self) -> int:
        size: int = self.base.size
        return size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.reshape(-1))

    def __getitem__(self, key: Any) -> Any:
        self._check(key)
        return self.base.reshape(-1)[_plain(key)].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        key = _plain(key)
        elements = self.base.flatten()
        if isinstance(key, int):
            try:
                elements[key] = value
            except (OverflowError, ValueError):
                raise ValueRangeError("Error setting single item of array.") from None
        elif np.size(value):
            given = value if isinstance(value, Handle) else np.asarray(value, self.base.dtype)
            elements[key] = _repeated(given, elements[key].size)
        self.base[...] = elements.reshape(self.base.shape)

    def _check(self, key: Any) -> None:
        if isinstance(key, tuple) and len(key) > 1:
            raise IndexingError("too many indices for flat iterator")
        if isinstance(key, int) and not -len(self) <= key < len(self):
            raise IndexingError(f"index {key} is out of bounds for size {len(self)}")

    def copy(self) -> Any:
        """The elements as an array of one axis."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.flatten().__array__(dtype, copy=copy)


def _plain(key: Any) -> Any:
    """A key, which may be the `flat` of an array."""
    return key.copy() if isinstance(key, Flat) else key


def _repeated(value: Any, count: int) -> Any:
    """Values over and over until there are `count`, as assignments to `flat` take them."""
    values = namespace().asarray(value).reshape(-1)
    if values.size == 1 or count == 0:
        return values[:count] if count == 0 else values
    return values[namespace().arange(count) % values.size]
