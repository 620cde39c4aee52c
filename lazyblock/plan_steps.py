"""From lowered groups to the steps of a plan: arrays numbered, slots filled, last uses found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from lazyblock import dtypes
from lazyblock.backend import devices
from lazyblock.backend.executable import ArraySlot, Executable, ScalarSlot, Step
from lazyblock.backend.host_step import HostOperand, HostStep
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Buffer, Device, pack_pointer, pack_scalar
from lazyblock.fusion.plan import FusionPlan
from lazyblock.fusion.storage import Strided, find_storage
from lazyblock.graph import build
from lazyblock.graph.attrs import CallAttrs, Layout
from lazyblock.graph.host_call import HostCall
from lazyblock.graph.node import Node
from lazyblock.graph.passes.split_complex import (
    join_layout,
)
from lazyblock.graph.region_write import RegionWrite
from lazyblock.shapes import contiguous_strides
from lazyblock.source import SourceLine
from lazyblock.tiler import types as block_types
from lazyblock.tiler.lowered import (
    ArrayArgument,
    ConstantArgument,
    LaunchNumberArgument,
    Lowered,
    LoweredHostCall,
    LoweredKernel,
    SizeArgument,
    WorkspaceArgument,
)


class Result(NamedTuple):
    """An output: which of `Executable.results` holds it, and how."""

    number: int
    layout: Layout
    line: SourceLine


def assemble(
    outputs: Sequence[Node],
    fusion: FusionPlan,
    lowered: Sequence[Lowered],
    compiled: Sequence[CompiledKernel],
    leaves: Sequence[Node],
    device: Device,
) -> tuple[Executable, tuple[Result, ...]]:
    """Number arrays, fill slot templates, find where every array is used last."""
    leaf_number = {leaf: i for i, leaf in enumerate(leaves)}
    stored = dict.fromkeys(node for group in fusion.groups for node in group.stored)
    # a constant that is a result has two numbers: the scalar passed in and the array it fills
    number = leaf_number | {node: len(leaves) + i for i, node in enumerate(stored)}
    storages = [find_storage(node, stored) for node in fusion.outputs]
    kept = {base: n for n, base in enumerate(dict.fromkeys(number[s.base] for s in storages if s))}
    last_uses = _last_uses(lowered, number)
    kernels = iter(compiled)
    steps: list[Step | HostStep] = []
    for group, low, last_used in zip(fusion.groups, lowered, last_uses, strict=True):
        frees = tuple(n for n in last_used if n >= len(leaves) and n not in kept)
        if isinstance(low, LoweredHostCall):
            steps.append(_host_step(low, number, frees))
            continue
        kernel = next(kernels)
        workspace = _make_workspace(low, device)
        template, arrays, scalars, counters = _fill_slots(low, number, leaf_number, workspace)
        steps.append(
            Step(
                kernel,
                devices.load(kernel, device),
                low.grid,
                _launch_work(low),
                template,
                arrays,
                scalars,
                tuple((number[node], node.nbytes) for node in group.stored),
                frees,
                counters,
                workspace,
            )
        )
    results = tuple(
        Result(
            kept[number[s.base]],
            _layout_as(output, Layout(node.shape, node.dtype, s.strides, s.offset)),
            node.line,
        )
        for output, node, s in zip(outputs, fusion.outputs, storages, strict=True)
        if s
    )
    return Executable(device, tuple(steps), len(leaves) + len(stored), tuple(kept)), results


def _layout_as(output: Node, layout: Layout) -> Layout:
    """The layout of what was asked for, given that of the array planned for it."""
    is_complex = dtypes.is_complex(output.dtype)
    return join_layout(layout, output.dtype) if is_complex else layout


def _host_step(low: LoweredHostCall, number: dict[Node, int], frees: tuple[int, ...]) -> HostStep:
    first = low.results[0]
    attrs = first.attrs
    assert isinstance(attrs, CallAttrs)
    call: HostCall = attrs.call
    operands = tuple(
        HostOperand(number[s.base], s.offset, node.dtype, node.shape, s.strides)
        for s, node in zip(low.operands, first.inputs, strict=True)
    )
    run = partial(call.run, results=attrs.results)
    results = tuple(number[node] for node in low.results)
    write = None
    if isinstance(call, RegionWrite) and operands[0].array in frees:
        write = call.write if _is_all(low.operands[0], first) else None
    return HostStep(call.name, run, operands, results, frees, str(first.line), write)


def _is_all(storage: Strided, node: Node) -> bool:
    """Whether a node lies in C order in all the memory of its base."""
    is_in_order = not storage.offset and storage.strides == contiguous_strides(node.shape)
    return is_in_order and node.nbytes == storage.base.nbytes


def _launch_work(low: LoweredKernel) -> int:
    """Elements touched; 0 exactly if there is nothing to launch."""
    return max(low.work, 1) if low.grid[0] else 0


def _last_uses(lowered: Sequence[Lowered], number: dict[Node, int]) -> list[list[int]]:
    """For every kernel and call, the arrays that none after it uses."""
    last = {number[base]: position for position, low in enumerate(lowered) for base in low.bases}
    found: list[list[int]] = [[] for _ in lowered]
    for array, position in last.items():
        found[position].append(array)
    return found


def _make_workspace(low: LoweredKernel, device: Device) -> Buffer | None:
    """Zeros, for the kernel to keep; None if it needs no memory of its own."""
    sizes = [a.nbytes for a in low.arguments if isinstance(a, WorkspaceArgument)]
    return device.from_host(np.zeros(sum(sizes), np.uint8)) if sizes else None


def _fill_slots(
    low: LoweredKernel,
    number: dict[Node, int],
    leaf_number: dict[Node, int],
    workspace: Buffer | None,
) -> tuple[bytes, tuple[ArraySlot, ...], tuple[ScalarSlot, ...], tuple[int, ...]]:
    slots = bytearray()
    arrays, scalars, counters = [], [], []
    for argument in low.arguments:
        position = len(slots)
        slots += bytes(8)
        if isinstance(argument, ArrayArgument):
            offset = argument.offset * argument.base.dtype.itemsize
            arrays.append(ArraySlot(position, number[argument.base], offset))
        elif isinstance(argument, ConstantArgument):
            if argument.node in leaf_number:
                scalars.append(ScalarSlot(position, leaf_number[argument.node]))
            else:
                slots[position:] = pack_scalar(
                    build.constant_value(argument.node), argument.node.dtype
                )
        elif isinstance(argument, WorkspaceArgument):
            assert workspace is not None
            slots[position:] = pack_pointer(workspace.pointer)
        elif isinstance(argument, LaunchNumberArgument):
            counters.append(position)
        else:
            assert isinstance(argument, SizeArgument)
            slots[position:] = pack_scalar(argument.value, block_types.to_numpy(argument.type))
    for extent in low.grid:
        slots += extent.to_bytes(8, "little")
    return bytes(slots), tuple(arrays), tuple(scalars), tuple(counters)
