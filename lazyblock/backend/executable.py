"""A plan made runnable: kernels loaded on a device, launched in order with prepared arguments.

Knows memory and slots, not graphs: arrays are numbered. Numbers 0..n-1 are the leaves the caller
passes in; the rest are allocated here, freed after their last use unless they are results. What the
host does is written as Python text: interpreting steps would take longer than launching them.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lazyblock.backend.host_step import HostStep
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Buffer, Device, Grid, LoadedKernel
from lazyblock.events import HostCall, KernelLaunch, emit, listeners

_FILE = os.path.join(os.path.dirname(__file__), "<plan>")  # ours, to who looks for the user's line


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
    counters: tuple[int, ...] = ()  # positions of slots that take the number of the launch
    workspace: Buffer | None = None  # memory the kernel keeps, which the template points to
    launches: Iterator[int] = field(default_factory=partial(itertools.count, 1))  # on the workspace


@dataclass(frozen=True)
class Executable:
    """Steps on one device. results: array numbers the caller gets, in order."""

    device: Device
    steps: tuple[Step | HostStep, ...]
    num_arrays: int
    results: tuple[int, ...]

    def make_function(
        self,
        parameter: str,
        leaves: Sequence[str],
        make_results: Callable[[list[str]], Sequence[str]],
        names: dict[str, Any],
    ) -> Callable[[Any], list[Any]]:
        """A function that launches everything; asynchronous.

        Parameters: the name of its one parameter; texts of the leaves, each a buffer or, for a
        scalar, the number in its slot; make_results, from texts of the result buffers to texts of
        what is returned; what the names in these texts mean.
        """
        names = {**names, **self._names(), "tell": self._tell, "listeners": listeners}
        lines = [f"def run({parameter}):"]
        lines += [f"a{number} = {text}" for number, text in enumerate(leaves)]
        for number, step in enumerate(self.steps):
            lines += _call(step, number) if isinstance(step, HostStep) else _launch(step, number)
            lines += [f"a{array} = None" for array in step.frees]
        lines.append("if listeners: tell()")
        results = make_results([f"a{number}" for number in self.results])
        lines.append(f"return [{', '.join(results)}]")
        exec(compile("\n    ".join(lines), _FILE, "exec"), names)
        function: Callable[[Any], list[Any]] = names["run"]
        return function

    def _names(self) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for number, step in enumerate(self.steps):
            if isinstance(step, HostStep):
                names[f"call{number}"] = step.bind(self.device)
                continue
            for array, nbytes in step.allocates:
                names[f"allocate{array}"] = self.device.allocator(nbytes)
            if step.counters:
                names[f"numbers{number}"] = step.launches
            if step.work:
                names[f"launch{number}"] = self.device.bind(step.loaded, step.grid, step.work)
                names[f"pack{number}"] = struct.Struct(f"<{len(step.template) // 8}Q").pack
        return names

    def _tell(self) -> None:
        for step in self.steps:
            if isinstance(step, HostStep):
                emit(HostCall(step.name, str(self.device)))
            elif step.work:
                emit(KernelLaunch(step.kernel.name, step.grid, str(self.device)))


def _launch(step: Step, number: int) -> list[str]:
    """Lines that allocate for a kernel and launch it."""
    lines = [f"a{array} = allocate{array}()" for array, _ in step.allocates]
    if step.work:
        lines += [f"n{number} = next(numbers{number})"] if step.counters else []
        slots = ", ".join(_slots(step, f"n{number}"))
        lines.append(f"launch{number}(pack{number}({slots}))")
    return lines


def _call(step: HostStep, number: int) -> list[str]:
    """The line that calls a host function."""
    results = ", ".join(f"a{array}" for array in step.results)
    operands = ", ".join(f"a{operand.array}" for operand in step.operands)
    return [f"[{results}] = call{number}({operands})"]


def _slots(step: Step, launch_number: str) -> list[str]:
    """What stands in the slots of a launch, each an unsigned number of 64 bits."""
    texts = [str(value) for (value,) in struct.iter_unpack("<Q", step.template)]
    for slot in step.arrays:
        offset = f" + {slot.offset_bytes}" if slot.offset_bytes else ""
        texts[slot.position // 8] = f"a{slot.array}.pointer{offset}"
    for position in step.counters:
        texts[position // 8] = launch_number
    for scalar in step.scalars:
        texts[scalar.position // 8] = f"a{scalar.leaf}"
    return texts
