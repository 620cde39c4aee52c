"""Plans run through the block interpreter: every kernel, in order, on NumPy arrays."""

from functools import partial

import numpy as np

from lazyblock.fusion.planner import plan_fusion
from lazyblock.fusion.storage import find_storage
from lazyblock.graph.build import constant_value
from lazyblock.graph.ops import Op
from lazyblock.graph.passes import GRAPH_PASSES
from lazyblock.graph.passes.split_reductions import split_reductions
from lazyblock.graph.passes.split_scans import split_scans
from lazyblock.graph.traverse import topological
from lazyblock.pipeline import TIDY_PASSES
from lazyblock.shapes import contiguous_strides
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.lower.group import lower_group
from lazyblock.tiler.lowered import (
    ArrayArgument,
    ConstantArgument,
    LaunchNumberArgument,
    WorkspaceArgument,
)
from lazyblock.tiler.verify import verify_program

POISON = 77  # what memory holds before it is written


def run_blocks(outputs, inputs, target, num_programs=8, passes=TIDY_PASSES):
    """Plan, lower and interpret; inputs maps INPUT nodes to arrays. Returns the output arrays."""
    splits = [
        partial(split_scans, num_programs=num_programs, may_wait=target.is_gpu),
        partial(split_reductions, num_programs=num_programs),
    ]
    for run in (*GRAPH_PASSES, *splits, *GRAPH_PASSES):
        outputs = run(outputs)
    plan = plan_fusion(outputs)
    stored = frozenset(node for group in plan.groups for node in group.stored)
    memory = {node: inputs[node].ravel().copy() for node in inputs}
    memory |= {node: np.full(node.size, POISON).astype(node.dtype) for node in stored}
    for group in plan.groups:
        run_kernel(lower_group(group, stored, target), memory, passes)
    return [_read(node, stored, memory) for node in plan.outputs]


def run_kernel(lowered, memory, passes=TIDY_PASSES):
    """Interpret one kernel on `memory` (node -> flat array) after block passes."""
    program = lowered.program
    for run in passes:
        program = run(program)
        verify_program(program)
    interpret(program, [_argument(a, memory) for a in lowered.arguments], lowered.grid)


def _argument(argument, memory):
    if isinstance(argument, ArrayArgument):
        return memory[argument.base], argument.offset
    if isinstance(argument, ConstantArgument):
        return constant_value(argument.node)
    if isinstance(argument, WorkspaceArgument):
        return np.zeros(argument.nbytes // 8, np.int64)
    if isinstance(argument, LaunchNumberArgument):
        return 1
    return argument.value


def _read(node, stored, memory):
    storage = find_storage(node, stored)
    flat = memory[storage.base]
    if node.size == 0:
        return np.empty(node.shape, node.dtype)
    strides = [stride * flat.itemsize for stride in storage.strides]
    return np.lib.stride_tricks.as_strided(flat[storage.offset :], node.shape, strides)


def random_inputs(outputs, rng):
    """Return normally distributed data for every INPUT node below `outputs`."""
    nodes = [node for node in topological(outputs) if node.op is Op.INPUT]
    assert all(node.attrs.strides == contiguous_strides(node.shape) for node in nodes)
    return {node: rng.standard_normal(node.shape).astype(node.dtype) for node in nodes}
