"""A plan made runnable: kernels loaded on a device, launched in order with prepared arguments.

Knows memory and slots, not graphs: arrays are numbered. Numbers 0..n-1 are the leaves the caller
passes in; the rest are allocated here, freed after their last use unless they are results.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Buffer, Device, Grid, Launch, LoadedKernel
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


class _Bound(NamedTuple):
    """A step with all done that can be done before it runs. Slots are numbered here."""

    allocates: tuple[tuple[int, int], ...]
    launch: Launch | None  # None: there is nothing to do
    pack: Callable[..., bytes]
    template: list[int]
    arrays: tuple[tuple[int, int, int], ...]  # slot, array, offset in bytes
    scalars: tuple[tuple[int, int], ...]  # slot, leaf
    frees: tuple[int, ...]


def _bind(step: Step, device: Device) -> _Bound:
    numbers = struct.Struct(f"<{len(step.template) // 8}Q")
    return _Bound(
        step.allocates,
        device.bind(step.loaded, step.grid, step.work) if step.work else None,
        numbers.pack,
        list(numbers.unpack(step.template)),
        tuple((s.position // 8, s.array, s.offset_bytes) for s in step.arrays),
        tuple((s.position // 8, s.leaf) for s in step.scalars),
        step.frees,
    )


@dataclass(frozen=True)
class Executable:
    """Steps on one device. results: array numbers the caller gets, in order."""

    device: Device
    steps: tuple[Step, ...]
    num_arrays: int
    results: tuple[int, ...]

    @cached_property
    def _bound(self) -> tuple[_Bound, ...]:
        return tuple(_bind(step, self.device) for step in self.steps)

    def run(self, leaves: Sequence[Buffer | int]) -> list[Buffer]:
        """Launch everything; leaves are buffers, or scalars as the number in their slot.

        Asynchronous.
        """
        arrays: list[Any] = [*leaves, *[None] * (self.num_arrays - len(leaves))]
        allocate = self.device.allocate
        for allocates, launch, pack, template, addresses, scalars, frees in self._bound:
            for number, nbytes in allocates:
                arrays[number] = allocate(nbytes)
            if launch is not None:
                slots = template.copy()
                for slot, number, offset in addresses:
                    slots[slot] = arrays[number].pointer + offset
                for slot, number in scalars:
                    slots[slot] = arrays[number]
                launch(pack(*slots))
            for number in frees:
                arrays[number] = None
        if is_observed():
            self._tell()
        return [arrays[number] for number in self.results]

    def _tell(self) -> None:
        for step in self.steps:
            if step.work:
                emit(KernelLaunch(step.kernel.name, step.grid, str(self.device)))
