"""A plan made runnable: kernels loaded on a device, launched in order with prepared arguments.

Knows memory and slots, not graphs: arrays are numbered. Numbers 0..n-1 are the leaves the caller
passes in; the rest are allocated here, freed after their last use unless they are results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Buffer, Device, Grid, LoadedKernel, pack_pointer
from lazyblock.events import KernelLaunch, emit, is_observed


@dataclass(frozen=True)
class ArraySlot:
    """Slot `position` takes the address of array `array` plus `offset_bytes`."""

    position: int
    array: int
    offset_bytes: int


@dataclass(frozen=True)
class ScalarSlot:
    """Slot `position` takes the bytes of scalar leaf `leaf`."""

    position: int
    leaf: int


@dataclass(frozen=True)
class Step:
    """One launch. template: all slots with the sizes filled in."""

    kernel: CompiledKernel
    loaded: LoadedKernel
    grid: Grid
    work: int
    template: bytes
    arrays: tuple[ArraySlot, ...]
    scalars: tuple[ScalarSlot, ...]
    allocates: tuple[tuple[int, int], ...]  # (array, nbytes) before the launch
    frees: tuple[int, ...]  # arrays not needed after it


@dataclass(frozen=True)
class Executable:
    """Steps on one device. results: array numbers the caller gets, in order."""

    device: Device
    steps: tuple[Step, ...]
    num_arrays: int
    results: tuple[int, ...]

    def run(self, leaves: Sequence[Buffer | bytes]) -> list[Buffer]:
        """Launch everything; leaves are buffers or the 8 slot bytes of a scalar. Asynchronous."""
        arrays: list[Buffer | bytes | None] = [*leaves, *[None] * (self.num_arrays - len(leaves))]
        device = self.device
        for step in self.steps:
            for number, nbytes in step.allocates:
                arrays[number] = device.allocate(nbytes)
            if step.work:
                self._launch(step, arrays)
            for number in step.frees:
                arrays[number] = None
        return [arrays[number] for number in self.results]  # type: ignore[misc]

    def _launch(self, step: Step, arrays: Sequence[Buffer | bytes | None]) -> None:
        slots = bytearray(step.template)
        for slot in step.arrays:
            address = arrays[slot.array].pointer + slot.offset_bytes  # type: ignore[union-attr]
            slots[slot.position : slot.position + 8] = pack_pointer(address)
        for scalar in step.scalars:
            slots[scalar.position : scalar.position + 8] = arrays[scalar.leaf]  # type: ignore[assignment]
        self.device.launch(step.loaded, step.grid, slots, step.work)
        if is_observed():
            emit(KernelLaunch(step.kernel.name, step.grid, str(self.device)))
