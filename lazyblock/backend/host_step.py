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
    """`run(operands)` gives the arrays numbered `results`. place: the user's line, for errors."""

    name: str
    run: Callable[[Sequence[NDArray]], Sequence[NDArray]]
    operands: tuple[HostOperand, ...]
    results: tuple[int, ...]
    frees: tuple[int, ...]  # arrays not needed after it
    place: str

    def bind(self, device: Device) -> Callable[..., list[Buffer]]:
        """A function from buffers of the operands to buffers of the results; it waits."""

        def call(*buffers: Buffer) -> list[Buffer]:
            operands = [
                device.to_host(buffer, o.offset, o.dtype, o.shape, o.strides)
                for buffer, o in zip(buffers, self.operands, strict=True)
            ]
            try:
                results = self.run(operands)
            except Exception as error:
                error.add_note(f"Note: raised by '{self.name}' on the host, for {self.place}.")
                raise
            return [device.from_host(np.ascontiguousarray(result)) for result in results]

        return call
