"""Views: which elements of a base array a handle shows.

A view reads the base, reshaped to `base_shape`, through an affine index map. That covers basic
slices, transposes, broadcasts and every reshape that NumPy gives as a view of a C-ordered base. It
may show one part of complex elements, and real elements as the bits of another dtype.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import InputAttrs
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.graph.regions import parts_axes, write_region
from lazyblock.shapes import Shape, contiguous_strides, reshape_strides, size_of


@dataclass(frozen=True, slots=True)
class View:
    """Element i of the view is element map(i) of the base in `base_shape`.

    part: REAL or IMAG of a complex base; None for whole elements. bits: the dtype that the bits of
    real elements are read as; None for their own. repeats: an element is shown more than once, or
    was in a view that this one is taken from; such views cannot be written.
    """

    base_shape: Shape
    map: IndexMap
    shape: Shape
    part: Op | None = None
    repeats: bool = False
    bits: DType | None = None

    def then(self, map: IndexMap, shape: Shape) -> View:
        """The view of this view."""
        repeats = self.repeats or _repeats(map, shape)
        return replace(self, map=self.map.compose(map), shape=shape, repeats=repeats)

    def of_part(self, part: Op) -> View:
        """The view of one part of complex elements."""
        return replace(self, part=part)

    def of_bits(self, dtype: DType) -> View:
        """The view of the elements' bits as another dtype of their size."""
        return replace(self, bits=dtype)

    def dtype_of(self, base: DType) -> DType:
        """What the view of a base of this dtype has."""
        return self.bits or (base if self.part is None else dtypes.part_dtype(base))

    def read(self, base: Node) -> Node:
        """The elements shown, of the base's current value."""
        shown = build.view(build.reshape(base, self.base_shape), self.map, self.shape)
        if self.part is not None:
            shown = build.elementwise(self.part, shown)
        return shown if self.bits is None else build.bitcast(shown, self.bits)

    @property
    def is_whole(self) -> bool:
        """Whether all of the base is shown, in order."""
        shows_elements = self.part is None and self.bits is None
        return shows_elements and self.shape == self.base_shape and self.map.is_identity

    def reshaped(self, shape: Shape) -> View | None:
        """The view under a shape of the same size; None where NumPy has to copy."""
        if self.is_whole:
            return whole(shape)
        kept = _unit_axes_map(self.shape, shape)
        if kept is not None:
            return self.then(kept, shape)
        offset, strides = self.map.strides(contiguous_strides(self.base_shape))
        new_strides = reshape_strides(self.shape, strides, shape)
        if new_strides is None:
            return None
        flat = IndexMap((offset,), (new_strides,), len(shape))
        return replace(self, base_shape=(size_of(self.base_shape),), map=flat, shape=shape)

    def write(self, base: Node, value: Node) -> Node:
        """The base after writing `value`, which broadcasts to the view.

        Raises: ValueRangeError for a view of elements that repeat.
        """
        if self.repeats:
            raise ValueRangeError("assignment destination is read-only")
        if self.bits is not None:
            elements = replace(self, bits=None)
            bits = build.bitcast(value, elements.dtype_of(base.dtype))
            return elements.write(base, bits)
        if self.part is not None:
            return self._write_part(self.part, base, value)
        inverse, is_update = _ways_to_write(self)
        if inverse is None:
            write = build.update if is_update else write_region
            written = write(build.reshape(base, self.base_shape), self.map, self.shape, value)
        else:
            full = build.broadcast_to(value, self.shape)
            written = build.view(full, inverse, self.base_shape)
        return build.reshape(written, base.shape)

    def _write_part(self, part: Op, base: Node, value: Node) -> Node:
        parts = {op: build.elementwise(op, base) for op in (Op.REAL, Op.IMAG)}
        written = replace(self, part=None).write(parts[part], value)
        return build.elementwise(Op.COMPLEX, *(parts | {part: written}).values())

    def _inverse(self) -> IndexMap | None:
        """The map from base to view indices, if the view only permutes and flips axes."""
        if size_of(self.shape) != size_of(self.base_shape):
            return None
        rows: list[tuple[int, ...]] = [(0,) * len(self.base_shape)] * len(self.shape)
        offsets = [0] * len(self.shape)
        taken: set[int] = set()
        for axis, extent in enumerate(self.base_shape):
            row = self.map.coefficients[axis]
            followed = [e for e, c in enumerate(row) if c and self.shape[e] > 1]
            if extent == 1 and not followed:
                continue
            if len(followed) != 1 or followed[0] in taken or abs(row[followed[0]]) != 1:
                return None
            (target,) = followed
            if self.shape[target] != extent:
                return None
            taken.add(target)
            sign = row[target]
            rows[target] = tuple(sign if a == axis else 0 for a in range(len(self.base_shape)))
            offsets[target] = 0 if sign > 0 else extent - 1
        return IndexMap(tuple(offsets), tuple(rows), len(self.base_shape))

    def of_input(self, base: Node) -> Node | None:
        """The view of an INPUT as an INPUT with strides; None if its layout does not allow that."""
        attrs = base.attrs
        if not isinstance(attrs, InputAttrs):
            return None
        strides = reshape_strides(attrs.shape, attrs.strides, self.base_shape)
        if strides is None:
            return None
        offset, new_strides = self.map.strides(strides)
        offset = attrs.offset + (offset if size_of(self.shape) else 0)
        if self.part is not None:
            offset = 2 * offset + (self.part is Op.IMAG)
            new_strides = tuple(2 * stride for stride in new_strides)
        dtype = self.dtype_of(attrs.dtype)
        return build.input_array(attrs.storage, self.shape, dtype, new_strides, offset)


@lru_cache(maxsize=4096)
def _ways_to_write(view: View) -> tuple[IndexMap | None, bool]:
    """The map back from base indices, if there is one; whether an UPDATE says what is written."""
    return view._inverse(), parts_axes(view.map)


def whole(shape: Shape) -> View:
    """All elements of a base of this size."""
    return View(shape, index_map.identity(len(shape)), shape)


def _repeats(map: IndexMap, shape: Shape) -> bool:
    """Whether an axis of more than one element stays at one place."""
    wide = [axis for axis, n in enumerate(shape) if n > 1]
    return not all(any(row[axis] for row in map.coefficients) for axis in wide)


def _unit_axes_map(shape: Shape, new_shape: Shape) -> IndexMap | None:
    """The map of a reshape that only adds or drops axes of extent 1."""
    before = [axis for axis, n in enumerate(shape) if n != 1]
    after = [axis for axis, n in enumerate(new_shape) if n != 1]
    if [shape[a] for a in before] != [new_shape[a] for a in after]:
        return None
    axes: list[int | None] = [None] * len(shape)
    for source, target in zip(before, after, strict=True):
        axes[source] = target
    return index_map.from_axes(axes, len(new_shape))
