"""Interpreter mode: Python runs a kernel's body, one program instance after the other.

`print`, `breakpoint()` and pdb work in it. Blocks are NumPy arrays, computed by the rules of
compiled kernels; accesses out of bounds raise. Arrays that are not NumPy's are copied to the host
and, if the kernel has written into them, back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import config
from lazyblock.language.array_arguments import as_host_array
from lazyblock.language.constexpr import constexpr
from lazyblock.language.context import use_builder
from lazyblock.language.dtypes import pointer_type
from lazyblock.language.eager import EagerBuilder
from lazyblock.language.function import KernelFunction
from lazyblock.language.mapped_memory import find_mapped_memory
from lazyblock.language.specs import ArgumentSpec, Constant, Pointer, Tuple
from lazyblock.language.tensor import tensor
from lazyblock.shapes import check_grid
from lazyblock.tiler.interpret.memory import memory_of
from lazyblock.tiler.types import to_numpy

NDArray = npt.NDArray[Any]
Grid = tuple[int, int, int]


def run_eagerly(
    function: KernelFunction,
    specs: Mapping[str, ArgumentSpec],
    leaves: Sequence[Any],
    grid: Grid,
    debug: bool,
) -> None:
    """Run every program instance; leaves are the arguments without the constants, flat."""
    check_grid(function.name, grid)
    builder = EagerBuilder(function.name, grid)
    builder.debug = debug
    memory = _HostMemory()
    builder.steps.resolve = memory.resolve
    supply = iter(leaves)
    with use_builder(builder, debug=debug, strict=config.current.strict):
        arguments = {
            name: _make_argument(builder, name, spec, supply, memory)
            for name, spec in specs.items()
        }
        for place in _places(grid):
            builder.place = place
            function.eager(**arguments)
    memory.write_back()


def _places(grid: Grid) -> Iterator[Grid]:
    """All instances, axis 0 fastest; not `itertools.product`, which keeps whole ranges."""
    return ((x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0]))


def _make_argument(
    builder: EagerBuilder, name: str, spec: ArgumentSpec, supply: Any, memory: _HostMemory
) -> Any:
    """The kernel's value of an argument."""
    if isinstance(spec, Constant):
        return constexpr(spec.value)
    if isinstance(spec, Tuple):
        items = [_make_argument(builder, name, item, supply, memory) for item in spec.items]
        return spec.make(items)
    value = next(supply)
    if not isinstance(spec, Pointer):
        return tensor(builder.argument(name, spec.dtype.ir, value), spec.dtype)
    type = pointer_type(spec.dtype, const=spec.is_const)
    element = to_numpy(spec.dtype.ir)
    array, first = memory.find(value)
    place = array.view(element) if first is None else (array.view(element), first)
    return tensor(builder.argument(name, type.ir, place), type)


class _HostMemory:
    """The elements of arguments in NumPy arrays; one array for arguments that are one object."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Any, NDArray, NDArray]] = {}
        self._pointees: list[NDArray] = []  # that addresses in tables lead to

    def find(self, value: Any) -> tuple[NDArray, int | None]:
        """Memory of an array argument, and which element it points to (None: the first)."""
        if hasattr(value, "__lazyblock_pointees__"):
            addresses = [self._find_address(array) for array in value.__lazyblock_pointees__]
            return np.array(addresses, np.int64), None
        if not hasattr(value, "__lazyblock_base__"):
            return as_host_array(value), None
        base, first, key = value.__lazyblock_base__()
        if key not in self._copies:
            before = base.numpy()
            self._copies[key] = base, before, before.copy()
        return self._copies[key][2].reshape(-1), first

    def _find_address(self, value: Any) -> int:
        array, first = self.find(value)
        self._pointees.append(array)
        return array.ctypes.data + (first or 0) * array.itemsize

    def resolve(self, address: int) -> NDArray | None:
        """The memory that an absolute address lies in."""
        for array in self._pointees:
            memory = memory_of("", array)
            if memory.holds(address):
                return memory.elements.view(np.uint8)
        return find_mapped_memory(address)

    def write_back(self) -> None:
        """Give the arrays what was written into their copies."""
        for base, before, after in self._copies.values():
            if before.tobytes() != after.tobytes():
                base[...] = after
