"""A kernel of `@lb.jit` compiled for one kind of arguments on one device.

`kernel.asm["ptx"]`, `kernel.n_regs`, `kernel.metadata.shared` are Triton's names for looking
inside; `kernel[grid](...)` launches it again without asking which kernel the arguments want.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from lazyblock.errors import LaunchError, LazyBlockError
from lazyblock.language.array_arguments import Leaves, as_host_array
from lazyblock.language.effects import find_written
from lazyblock.language.kinds import HOST, Kind
from lazyblock.language.unparse import unparse

_STAGE_OF = {"ttir": "block", "llir": "llvm", "ptx": "ptx", "asm": "asm"}

Grid = tuple[int, int, int]


class CompiledKernel:
    """What launching or warming up a kernel gives.

    block: the loaded program; kinds: of the arguments; constants: of the parameters that have no
    slot; expose: makes the device know a NumPy array's memory, for devices that check accesses.
    """

    def __init__(
        self,
        function: Any,
        block: Any,
        kinds: Sequence[Kind],
        options: dict[str, Any],
        expose: Callable[[Any], Any],
    ) -> None:
        self.function = function
        self.block = block
        self.kinds = kinds
        self.options = options
        self.name: str = block.kernel.name
        self._written = find_written(block.program)
        self._expose = expose if block.device.target.is_checked else None

    @property
    def device(self) -> str:
        """Name of the device it was loaded on."""
        return str(self.block.device.name)

    # --- launching -------------------------------------------------------------------------------

    def launch(self, grid: Grid, leaves: Leaves) -> None:
        """Enqueue it. Raises: LaunchError for a read-only array that it writes into."""
        if self._written:
            self._prepare_written(leaves)
        if self._expose is not None:
            leaves.kept += (self._exposed(leaves),)
        stream = leaves.stream
        if stream is None:
            self.block.launch(grid, leaves.slots)
            return
        self.block.device.wait_for(stream)
        self.block.launch(grid, leaves.slots)
        self.block.device.release_to(stream)

    def bind(self, grid: Grid, leaves: Leaves) -> Callable[[], None]:
        """A launch with everything fixed."""
        if self._written:
            self._prepare_written(leaves)
        if self._expose is not None:
            leaves.kept += (self._exposed(leaves),)
        launch: Callable[[], None] = self.block.bound(grid, leaves.slots, leaves)
        return launch

    def _prepare_written(self, leaves: Leaves) -> None:
        has_moved = False
        for position in self._written:
            value = leaves.values[position]
            if value.__class__ is np.ndarray:
                if not value.flags.writeable:
                    raise self._read_only(position)
            elif position in leaves.lazy:
                _, address, _, _ = value.__lazyblock_memory__(True)
                has_moved = has_moved or address != leaves.slots[position]
        if has_moved:
            for position in leaves.lazy:
                _, address, _, temporary = leaves.values[position].__lazyblock_memory__(False)
                leaves.slots[position] = address
                leaves.kept += (temporary,)

    def _read_only(self, position: int) -> LaunchError:
        name = self.block.program.parameters[position].name
        return LaunchError(
            f"'{self.name}' writes into argument '{name}', which is a read-only array.",
            hint="pass a copy, or 'x.setflags(write=True)' if the memory is yours.",
        )

    def _exposed(self, leaves: Leaves) -> list[Any]:
        """What makes the device know the memory of arrays that are not lazyblock's."""
        assert self._expose is not None
        parameters = zip(self.block.program.parameters, leaves.values, strict=True)
        arrays = [value for parameter, value in parameters if parameter.value.type.is_pointer]
        for table in list(arrays):
            arrays += getattr(table, "__lazyblock_pointees__", ())
        return [
            self._expose(as_host_array(array))
            for array in arrays
            if not hasattr(array, "__lazyblock_memory__")
        ]

    def __getitem__(self, grid: Any) -> Callable[..., CompiledKernel]:
        return functools.partial(self.function.launch_compiled, self, grid)

    def _init_handles(self) -> None:
        """It is loaded already; kernels written for Triton call this."""

    @property
    def written(self) -> list[str]:
        """Names of the parameters of the program that it may write through."""
        return [self.block.program.parameters[position].name for position in self._written]

    # --- looking inside --------------------------------------------------------------------------

    @property
    def asm(self) -> dict[str, str]:
        """Texts of the stages: "source" (Python), "ttir" (block IR), "llir", and "ptx" or "asm"."""
        stages = self.block.kernel.stages
        found = {name: stages[stage] for name, stage in _STAGE_OF.items() if stage in stages}
        return {"source": self.function.source.text, **found}

    @property
    def source(self) -> str:
        """The compiled program in the block language's words."""
        return unparse(self.block.program)

    @property
    def n_regs(self) -> int:
        """Registers of a thread, 0 where the device does not tell; of a CPU all vector ones."""
        registers = self.block.loaded.resources.registers
        return registers or int(self.block.kernel.target.num_vector_registers)

    @property
    def n_spills(self) -> int:
        """Registers that a thread keeps in memory, of 4 bytes each."""
        return (self.block.loaded.resources.spill_bytes or 0) // 4

    @property
    def n_max_threads(self) -> int:
        """Threads of a CTA."""
        return int(self.block.kernel.num_threads)

    @property
    def metadata(self) -> SimpleNamespace:
        """num_warps, num_stages, num_ctas, shared (bytes; blocks on a CPU), name, hash, target."""
        kernel = self.block.kernel
        return SimpleNamespace(
            **self.options,
            name=kernel.name,
            shared=kernel.shared_bytes,
            hash=kernel.key,
            target=kernel.target,
        )

    @property
    def hash(self) -> str:
        return str(self.block.kernel.key)

    def __repr__(self) -> str:
        return f"CompiledKernel({self.name!r}, device={self.block.device.name!r})"


def not_on_one_device(name: str, devices: Sequence[str]) -> LazyBlockError:
    """The error for arrays that are in several places."""
    listed = " and ".join(f"'{device}'" for device in devices)
    note = "NumPy arrays are on 'cpu'." if HOST in devices else ""
    return LaunchError(
        f"The arrays of a launch of '{name}' are on different devices: {listed}.",
        note=note,
        hint="move them with lb.asarray(x, device=...).",
    )
