"""A block program loaded on a device and launched with plain numbers: what `@lb.jit` runs.

Arguments come as Python numbers, one per parameter: addresses for pointers, numbers for scalars.
They are packed into slots by one prepared format; a grid is bound at its first use.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Device, Grid, Launch, LoadedKernel, pack_scalar
from lazyblock.errors import LaunchError
from lazyblock.events import KernelLaunch, emit, listeners
from lazyblock.shapes import check_grid
from lazyblock.tiler.ir import Parameter, Program, walk
from lazyblock.tiler.types import PointerType, ScalarType, to_numpy

_MOST_GRIDS = 256  # whose launches are kept bound
_MOST_PROGRAMS = (2**31 - 1, 65535, 65535)  # along each axis, on a GPU
_FORMATS = {
    **{"i1": "?7x", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q"},
    **{"u8": "B7x", "u16": "H6x", "u32": "I4x", "u64": "Q"},
    **{"f16": "e6x", "f32": "f4x", "f64": "d"},
}


class BlockKernel:
    """One kernel on one device. program: as it was compiled; loaded: what the device runs."""

    def __init__(
        self, program: Program, kernel: CompiledKernel, loaded: LoadedKernel, device: Device
    ) -> None:
        self.program = program
        self.kernel = kernel
        self.loaded = loaded
        self.device = device
        formats, self._converters = [], {}
        for position, parameter in enumerate(program.parameters):
            element = parameter.value.type.element
            if isinstance(element, ScalarType) and element.name not in _FORMATS:
                self._converters[position] = _bits_of(element)
            formats.append("Q" if isinstance(element, PointerType) else _format_of(element))
        self._pack = struct.Struct(f"<{''.join(formats)}3q").pack
        self._launches: dict[Grid, Launch] = {}
        results = (value for op in walk(program.body) for value in op.results)
        self._largest_block = max((math.prod(value.shape) for value in results), default=1)

    def launch(self, grid: Grid, values: Sequence[Any]) -> None:
        """Enqueue it on `grid`; nothing happens if an extent is 0. Raises: LaunchError."""
        launch = self._launches.get(grid)
        if launch is None:
            launch = self._bind(grid)
        launch(self.pack(values, grid))
        if listeners:
            emit(KernelLaunch(self.kernel.name, grid, self.device.name))

    def bound(self, grid: Grid, values: Sequence[Any], kept: Any) -> Callable[[], None]:
        """A launch with its arguments packed; `kept` lives as long as it does."""
        launch, slots = self._launches.get(grid) or self._bind(grid), self.pack(values, grid)
        name, device = self.kernel.name, self.device.name

        def launch_again(kept: Any = kept) -> None:
            launch(slots)
            if listeners:
                emit(KernelLaunch(name, grid, device))

        return launch_again

    def pack(self, values: Sequence[Any], grid: Grid) -> bytes:
        """The slots of a launch."""
        if self._converters:
            values = list(values)
            for position, convert in self._converters.items():
                values[position] = convert(values[position])
        try:
            return self._pack(*values, *grid)
        except (struct.error, OverflowError):
            return self._pack_rounded(values, grid)

    def _bind(self, grid: Grid) -> Launch:
        check_grid(self.kernel.name, grid)
        if self.device.target.is_gpu and any(map(int.__gt__, grid, _MOST_PROGRAMS)):
            raise LaunchError(
                f"The grid {grid} of '{self.kernel.name}' is larger than {_MOST_PROGRAMS}."
            )
        if len(self._launches) >= _MOST_GRIDS:
            self._launches.clear()
        work = math.prod(grid) * self._largest_block
        launch = self.device.bind(self.loaded, grid, work) if work else _launch_nothing
        self._launches[grid] = launch
        return launch

    def _pack_rounded(self, values: Sequence[Any], grid: Grid) -> bytes:
        """As `pack`, floats beyond their type being infinite. Raises: LaunchError."""
        rounded = [
            _round(value, parameter)
            for value, parameter in zip(values, self.program.parameters, strict=True)
        ]
        try:
            return self._pack(*rounded, *grid)
        except (struct.error, OverflowError):
            raise self._misfit(rounded) from None

    def _misfit(self, values: Sequence[Any]) -> LaunchError:
        """Which argument its parameter cannot hold."""
        for parameter, value in zip(self.program.parameters, values, strict=True):
            element = parameter.value.type.element
            code = "Q" if isinstance(element, PointerType) else _format_of(element)
            try:
                struct.pack(f"<{code}", value)
            except (struct.error, OverflowError):
                return _misfit(parameter, value)
        raise AssertionError("every argument fits by itself")


def _round(value: Any, parameter: Parameter) -> Any:
    element = parameter.value.type.element
    if isinstance(value, float) and isinstance(element, ScalarType) and element.is_floating:
        with np.errstate(over="ignore"):
            return float(to_numpy(element).type(value))
    return value


def _misfit(parameter: Parameter, value: Any) -> LaunchError:
    return LaunchError(
        f"Argument '{parameter.name}' is {value!r}, which {parameter.value.type} cannot hold."
    )


def _launch_nothing(slots: bytes) -> None:
    pass


def _format_of(element: ScalarType) -> str:
    return _FORMATS.get(element.name, "Q")


def _bits_of(element: ScalarType) -> Callable[[Any], int]:
    """A number as the unsigned integer in its slot."""
    dtype = to_numpy(element)
    return lambda value: int.from_bytes(pack_scalar(value, dtype), "little")
