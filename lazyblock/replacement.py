"""Putting an edited kernel in the place of one of a plan, once both compute the same."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import testing
from lazyblock.backend.block_kernel import BlockKernel
from lazyblock.backend.executable import Step
from lazyblock.backend.runtime.device import Device, Grid, pack_pointer, pack_scalar
from lazyblock.dtypes import as_dtype
from lazyblock.errors import ReplacementError
from lazyblock.kernels import sample_of
from lazyblock.language.kernel_file import ArraySample, make_arrays
from lazyblock.tiler import types as block_types
from lazyblock.tiler.lowered import (
    ConstantArgument,
    LaunchNumberArgument,
    LoweredKernel,
    SizeArgument,
    WorkspaceArgument,
)

NDArray = npt.NDArray[Any]

_GRID = struct.Struct("<3q")  # the last slots of a launch


def replace_kernel(
    low: LoweredKernel, old: Step, block: BlockKernel, grid: Grid
) -> tuple[LoweredKernel, Step]:
    """What stands for a kernel in a plan, with `block` on `grid` in its place.

    Raises: ReplacementError when they write different values for example arguments.
    """
    template = old.template[: -_GRID.size] + _GRID.pack(*grid)
    new = dataclasses.replace(
        old, kernel=block.kernel, loaded=block.loaded, grid=grid, template=template
    )
    _check_equal(low, old, new, block)
    return dataclasses.replace(low, program=block.program, grid=grid), new


def _check_equal(low: LoweredKernel, old: Step, new: Step, block: BlockKernel) -> None:
    """Whether two kernels give the same for example arguments. Raises: ReplacementError."""
    expected, found = (_run_on_samples(low, step, block.device) for step in (old, new))
    for name, before, after in zip(low.program.parameters, expected, found, strict=True):
        try:
            if before is not None:
                testing.assert_near(after, before)
        except AssertionError as error:
            raise ReplacementError(
                f"'{block.kernel.name}' writes other values into '{name.name}' than the kernel it "
                "would replace.",
                note=" ".join(str(error).split())[:300],
            ) from None


def _run_on_samples(low: LoweredKernel, step: Step, device: Device) -> list[NDArray | None]:
    """The memory behind the array arguments after a launch on examples."""
    samples = [sample_of(argument) for argument in low.arguments]
    arrays = make_arrays(samples)
    buffers = [None if array is None else device.from_host(array) for array in arrays]
    slots = b""
    for argument, sample, buffer in zip(low.arguments, samples, buffers, strict=True):
        if isinstance(sample, ArraySample):
            assert buffer is not None
            offset = sample.offset * as_dtype(sample.dtype).itemsize
            slots += pack_pointer(buffer.pointer + offset)
        elif isinstance(argument, SizeArgument):
            slots += pack_scalar(sample, block_types.to_numpy(argument.type))
        elif isinstance(argument, LaunchNumberArgument):
            slots += pack_scalar(sample, as_dtype("uint32"))
        else:
            assert isinstance(argument, ConstantArgument)
            slots += pack_scalar(sample, argument.node.dtype)
    device.bind(step.loaded, step.grid, max(step.work, 1))(slots + _GRID.pack(*step.grid))
    return [
        None
        if array is None or buffer is None or isinstance(argument, WorkspaceArgument)
        else np.array(device.to_host(buffer, 0, array.dtype, array.shape, (1,)))
        for argument, array, buffer in zip(low.arguments, arrays, buffers, strict=True)
    ]
