"""A step of a plan that is no launch: NumPy works on the host, between kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.backend.runtime.device import Buffer, Device
from lazyblock.dtypes import DType
from lazyblock.shapes import Shape, Strides

NDArray = npt.NDArray[Any]


@dataclass(frozen=True)
class HostOperand:
    """Elements of array `array`; offset and strides count elements."""

    array: int
    offset: int
    dtype: DType
    shape: Shape
    strides: Strides


@dataclass(frozen=True)
class HostStep:
    """`run(operands)` gives the arrays numbered `results`. place: the user's line, for errors.

    write: what changes the memory of the first operand instead, which nobody needs after it.
    """

    name: str
    run: Callable[[Sequence[NDArray]], Sequence[NDArray]]
    operands: tuple[HostOperand, ...]
    results: tuple[int, ...]
    frees: tuple[int, ...]  # arrays not needed after it
    place: str
    write: Callable[[NDArray, NDArray], None] | None = None  # into the first operand, the result

    def bind(self, device: Device) -> Callable[..., list[Buffer]]:
        """A function from buffers of the operands to buffers of the results; it waits."""
        write = self.write

        def write_in_place(target: Buffer, value: Buffer) -> list[Buffer]:
            into, given = self.operands
            array = device.edit(target, into.dtype, into.shape)
            assert write and array is not None
            write(array, _see(device, value, given))
            return [target]

        def call(*buffers: Buffer) -> list[Buffer]:
            operands = [_see(device, *pair) for pair in zip(buffers, self.operands, strict=True)]
            try:
                results = self.run(operands)
            except Exception as error:
                error.add_note(f"Note: raised by '{self.name}' on the host, for {self.place}.")
                raise
            return [device.from_host(np.ascontiguousarray(result)) for result in results]

        return write_in_place if write else call


def _see(device: Device, buffer: Buffer, o: HostOperand) -> NDArray:
    return device.to_host(buffer, o.offset, o.dtype, o.shape, o.strides)
