"""A tensor descriptor made on the host: an array, and the shape of the blocks kernels access.

Kernels get it as `tl.make_tensor_descriptor` would make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lazyblock.errors import ValueRangeError
from lazyblock.language.constexpr import unwrap
from lazyblock.language.semantics.block_pointer import make_tensor_descriptor, tensor_descriptor


@dataclass(frozen=True)
class _Maker:
    """Makes the kernel's descriptor of the kernel's base, extents and strides."""

    block_shape: tuple[int, ...]
    padding: str

    def __call__(self, *parts: Any) -> tensor_descriptor:
        base, *rest = parts
        rank = len(self.block_shape)
        strides = (*rest[rank:], 1)
        found: tensor_descriptor = make_tensor_descriptor(
            base, tuple(rest[:rank]), strides, self.block_shape, self.padding
        )
        return found


@dataclass
class TensorDescriptor:
    """An array of which kernels read and write blocks; outside lies padding.

    base: the array; shape and strides in elements, the last stride 1; padding "zero" or "nan".
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[Any]
    padding: str = "zero"

    def __post_init__(self) -> None:
        ranks = {len(self.shape), len(self.strides), len(self.block_shape)}
        if len(ranks) != 1:
            raise ValueRangeError(
                f"A descriptor has as many extents, strides and block extents, got {self.shape},"
                f" {self.strides} and {self.block_shape}."
            )
        if not 1 <= len(self.shape) <= 5:
            raise ValueRangeError(f"Descriptors have 1 to 5 axes, got {len(self.shape)}.")
        if self.strides[-1] != 1:
            raise ValueRangeError(
                f"The last stride of a descriptor is 1, got {self.strides[-1]}.",
                hint="describe the transposed array and transpose its blocks.",
            )
        if self.padding not in ("zero", "nan"):
            raise ValueRangeError(f"padding is {self.padding!r}, expected 'zero' or 'nan'.")

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: Sequence[Any], padding: str = "zero"
    ) -> TensorDescriptor:
        """Describe a whole array of NumPy, lazyblock or torch."""
        return TensorDescriptor(
            tensor, list(tensor.shape), _strides(tensor), list(block_shape), padding
        )

    def __lazyblock_parts__(self) -> tuple[Any, tuple[Any, ...]]:
        """What makes the kernel's value, and the arguments of which."""
        maker = _Maker(tuple(int(unwrap(extent)) for extent in self.block_shape), self.padding)
        return maker, (self.base, *map(int, self.shape), *map(int, self.strides[:-1]))


def _strides(tensor: Any) -> list[int]:
    """In elements: NumPy's count bytes, torch's `stride()` elements, others lie row by row."""
    if callable(getattr(tensor, "stride", None)):
        return list(tensor.stride())
    if hasattr(tensor, "strides"):
        return [step // tensor.itemsize for step in tensor.strides]
    strides = [1]
    for extent in reversed(tensor.shape[1:]):
        strides.insert(0, strides[0] * extent)
    return strides
