"""The one list of stages: from recorded nodes to results.

| stage            | in                       | out                                  |
|------------------|--------------------------|--------------------------------------|
| fingerprint      | output nodes             | key of the plan cache, leaves        |
| graph passes     | output nodes             | equal, simpler nodes                 |
| plan_fusion      | nodes                    | FusionPlan: groups in launch order   |
| lower_group      | a group                  | block program, arguments, grid       |
| block passes     | block program            | simpler, legal block program         |
| compile_program  | block program, target    | CompiledKernel (through the cache)   |
| _Plan.run        | leaf nodes               | INPUT nodes of the results           |

A plan is kept per fingerprint and device; kernels are kept by their text, so that a new size makes
a new plan but no new kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lazyblock import config, dtypes, events
from lazyblock.backend import cache, devices
from lazyblock.backend.block_kernel import BlockKernel
from lazyblock.backend.compile import compile_program, toolchain_version
from lazyblock.backend.executable import ArraySlot, Executable, ScalarSlot, Step
from lazyblock.backend.host_step import HostOperand, HostStep
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Buffer, Device, pack_pointer, pack_scalar
from lazyblock.dtypes import DType
from lazyblock.errors import DeviceError, ReplacementError
from lazyblock.fusion.plan import FusionGroup, FusionPlan
from lazyblock.fusion.planner import plan_fusion
from lazyblock.fusion.printer import explain_plan, print_plan
from lazyblock.fusion.storage import find_storage
from lazyblock.graph import build
from lazyblock.graph.attrs import CallAttrs, InputAttrs, Layout, Placeholder
from lazyblock.graph.checks import PositionCheck, find_position_checks
from lazyblock.graph.fingerprint import fingerprint
from lazyblock.graph.host_call import HostCall
from lazyblock.graph.node import Node, make_input
from lazyblock.graph.ops import Op
from lazyblock.graph.passes import GRAPH_PASSES
from lazyblock.graph.passes.drop_copies import drop_copies
from lazyblock.graph.passes.place_contractions import place_contractions
from lazyblock.graph.passes.split_complex import (
    complex_of,
    join_layout,
    split_complex,
    split_input,
)
from lazyblock.graph.passes.split_reductions import split_reductions
from lazyblock.graph.passes.split_scans import split_scans
from lazyblock.graph.printer import print_graph
from lazyblock.graph.rewrite import replace_nodes
from lazyblock.graph.verify import verify_graph
from lazyblock.kernels import Kernel, describe_kernel
from lazyblock.language.kernel_file import KernelFile
from lazyblock.position_checks import report_waiting, with_checks
from lazyblock.recently_used import RecentlyUsed
from lazyblock.replacement import replace_kernel
from lazyblock.shapes import Shape, Strides
from lazyblock.source import SourceLine, user_line
from lazyblock.target import Target
from lazyblock.tiler import types as block_types
from lazyblock.tiler.call import ArrayNumber
from lazyblock.tiler.ir import Program, walk
from lazyblock.tiler.lower.call import is_call, lower_call, lower_host_call
from lazyblock.tiler.lower.contraction import (
    MATRIX_DTYPES,
    is_contraction,
    lower_contraction,
)
from lazyblock.tiler.lower.group import lower_group
from lazyblock.tiler.lower.tail import join_tails
from lazyblock.tiler.lowered import (
    ArrayArgument,
    ConstantArgument,
    LaunchNumberArgument,
    LoweredHostCall,
    LoweredKernel,
    SizeArgument,
    WorkspaceArgument,
)
from lazyblock.tiler.math import EXACT_FORMS, FAST_EXPANSIONS, FAST_EXPANSIONS_ON_CPU
from lazyblock.tiler.passes.contract import contract
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.expand_math import expand_math
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.passes.keep_precision import keep_precision
from lazyblock.tiler.passes.legalise_half import NATIVE_ON_GPU, legalise_half
from lazyblock.tiler.passes.pad_blocks import pad_blocks
from lazyblock.tiler.passes.relax_arithmetic import relax_arithmetic
from lazyblock.tiler.passes.version_masks import version_masks
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.verify import verify_program

NDArray = npt.NDArray[Any]
GraphPass = Callable[[Sequence[Node]], list[Node]]
BlockPass = Callable[[Program], Program]
Lowered = LoweredKernel | LoweredHostCall

# Before the cache key is taken: what is printed, keyed and shown.
TIDY_PASSES: tuple[BlockPass, ...] = (fold_constants, eliminate_common, eliminate_dead)

# After it, only when LLVM has to run. Halves first: expand_math knows f32 and f64 only.
CPU_PASSES: tuple[BlockPass, ...] = (legalise_half, expand_math, *TIDY_PASSES)
# A GPU needs whole tiles without masks for wide accesses; the CPU tests masks chunk by chunk.
EMULATOR_PASSES: tuple[BlockPass, ...] = (*CPU_PASSES, version_masks, eliminate_dead)
# It also has arithmetic on halves.
GPU_PASSES: tuple[BlockPass, ...] = (
    partial(legalise_half, native=NATIVE_ON_GPU),
    *EMULATOR_PASSES[1:],
)

# With numerics="fast". Contraction comes before functions are written out, whose exact forms rely
# on how each of their steps rounds.
_RELAX_PASSES: tuple[BlockPass, ...] = (legalise_half, keep_precision, relax_arithmetic, contract)
FAST_CPU_PASSES: tuple[BlockPass, ...] = (
    *_RELAX_PASSES,
    partial(expand_math, functions=FAST_EXPANSIONS_ON_CPU),
    partial(expand_math, exact_forms=EXACT_FORMS),
    *TIDY_PASSES,
)
FAST_GPU_PASSES: tuple[BlockPass, ...] = (
    *_RELAX_PASSES,
    partial(expand_math, functions=FAST_EXPANSIONS),
    *TIDY_PASSES,
    *(version_masks, eliminate_dead),
)

_PROGRAMS_PER_UNIT = {"cpu": 4, "cuda": 8}  # that split reductions aim at
_MOST_PLANS = 4096

_plans: RecentlyUsed[Hashable, _Plan] = RecentlyUsed(_MOST_PLANS)


class _Result(NamedTuple):
    """An output: which of `Executable.results` holds it, and how."""

    number: int
    layout: Layout
    line: SourceLine


@dataclass(frozen=True)
class _Plan:
    """All that is known about an expression on one device."""

    fusion: FusionPlan
    lowered: tuple[Lowered, ...]
    executable: Executable
    results: tuple[_Result, ...]
    leaves: tuple[Op, ...]  # INPUT or CONSTANT
    checks: tuple[PositionCheck, ...] = ()  # of the last results, which nobody asked for

    @cached_property
    def run(self) -> Callable[[Sequence[Node]], list[Node]]:
        """Run on leaves like those that were planned for; gives evaluated nodes."""
        texts = [
            f"nodes[{n}].attrs.storage"
            if op is Op.INPUT
            else f"int.from_bytes(nodes[{n}].attrs.data, 'little')"
            for n, op in enumerate(self.leaves)
        ]
        return self.make_function(texts, {})

    def make_function(
        self, leaves: Sequence[str], names: dict[str, Any]
    ) -> Callable[[Sequence[Node]], list[Node]]:
        """As `run`, with texts of the leaves in terms of `nodes`, its parameter, and `names`."""
        layouts = {f"layout{n}": result.layout for n, result in enumerate(self.results)}
        lines = {f"line{n}": result.line for n, result in enumerate(self.results)}
        tools = {"make_input": make_input, "InputAttrs": InputAttrs, "plan": self}

        def make_results(buffers: Sequence[str]) -> list[str]:
            return [
                f"make_input(InputAttrs({buffers[result.number]}, layout{n}, plan), line{n})"
                for n, result in enumerate(self.results)
            ]

        names = names | layouts | lines | tools
        run = self.executable.make_function("nodes", leaves, make_results, names)
        return with_checks(run, self.checks, self.executable.device)

    def with_kernel(self, number: int, kernel: KernelFile) -> _Plan:
        """The plan with one kernel replaced. Raises: ReplacementError, CompileError."""
        places = self.launches
        if not 0 <= number < len(places):
            raise ReplacementError(f"There is no kernel {number} among {len(places)}.")
        place, old, step = places[number]
        built = kernel.build(old.program.parameters, old.program.noalias)
        block = load_block_program(built, self.executable.device)
        steps, lowered = list(self.executable.steps), list(self.lowered)
        lowered[place], steps[place] = replace_kernel(old, step, block, kernel.grid)
        executable = replace(self.executable, steps=tuple(steps))
        return replace(self, lowered=tuple(lowered), executable=executable)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(describe_kernel(low, step) for _, low, step in self.launches)

    @property
    def launches(self) -> list[tuple[int, LoweredKernel, Step]]:
        """The steps that are launches, each with its place."""
        pairs = enumerate(zip(self.lowered, self.executable.steps, strict=True))
        return [
            (place, low, step)
            for place, (low, step) in pairs
            if isinstance(low, LoweredKernel) and isinstance(step, Step)
        ]


# --- host data ---


def default_device() -> str:
    """Name of the device new arrays go to."""
    return devices.default_device().name


def device_names() -> tuple[str, ...]:
    """Names of the devices of this machine."""
    return devices.names()


def device_of(node: Node) -> str:
    """Name of the device an INPUT's data is on; of the default device for other nodes."""
    return _device_of([node]).name


def from_numpy(array: NDArray, device: str | None = None) -> Node:
    """Copy host data to a device (None = the default one); the node lies in C order.

    Raises: DeviceError when the device is missing.
    """
    place = devices.get_device(device)
    dtype = dtypes.as_dtype(array.dtype)
    native = np.ascontiguousarray(array, dtype).reshape(array.shape)
    return build.input_array(place.from_host(native), array.shape, dtype)


def alias_numpy(array: NDArray) -> Node:
    """An array over the same host memory, strides included; CPU only."""
    dtype = dtypes.as_dtype(array.dtype)
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    buffer = devices.alias_host(array)
    offset = (array.ctypes.data - buffer.pointer) // dtype.itemsize
    return build.input_array(buffer, array.shape, dtype, strides, offset)


def alias_device(
    name: str, address: int, shape: Shape, dtype: DType, strides: Strides, owner: Any
) -> Node:
    """An array over memory of a GPU that `owner` keeps; `address` is that of the first element."""
    buffer, offset = devices.alias_device(name, address, dtype.itemsize, owner)
    return build.input_array(buffer, shape, dtype, strides, offset)


def stream_of(buffer: Any) -> int | None:
    """The number of the stream that computes a buffer; None for devices without streams."""
    return buffer.device.stream_number()  # type: ignore[no-any-return]


def stream_number(name: str) -> int | None:
    """The number of a device's stream. Raises: DeviceError."""
    return devices.get_device(name).stream_number()


def to_numpy(node: Node) -> NDArray:
    """The elements of an INPUT node; read-only on the CPU. Waits for the device."""
    attrs = node.attrs
    assert isinstance(attrs, InputAttrs), "evaluate first"
    buffer: Any = attrs.storage
    device: Device = buffer.device
    values = device.to_host(buffer, attrs.offset, attrs.dtype, attrs.shape, attrs.strides)
    report_waiting(device)
    return values


def get_device(name: str | None) -> Device:
    """The device called `name`; None for the default. Raises: DeviceError."""
    return devices.get_device(name)


def expose_host(array: NDArray) -> Buffer:
    """Make the CPU device know a NumPy array's memory for as long as the result lives."""
    return devices.alias_host(array)


def read_record(key: str) -> dict[str, Any] | None:
    """Facts kept on disk by `write_record`; None when there are none."""
    return cache.read_record(key)


def write_record(key: str, record: dict[str, Any]) -> None:
    """Keep facts (plain JSON) in the disk cache."""
    cache.write_record(key, record)


def number_array(number: int, dtype: DType) -> ArrayNumber:
    """What stands for an array among the arguments of a recorded kernel."""
    return ArrayNumber(number, dtype)


def owns_memory(node: Node) -> bool:
    """Whether an INPUT's memory is lazyblock's own, for it to overwrite."""
    attrs = node.attrs
    return isinstance(attrs, InputAttrs) and not getattr(attrs.storage, "is_foreign", False)


# --- evaluation ---


def evaluate(outputs: Sequence[Node], reason: str) -> list[Node]:
    """Evaluate nodes in one plan; gives INPUT nodes in the same order."""
    pending = [node for node in dict.fromkeys(outputs) if node.op is not Op.INPUT]
    if not pending:
        return list(outputs)
    key, leaves = fingerprint(pending)
    device = _device_of(leaves)
    plan = _find_plan(key, pending, leaves, device)
    results = plan.run(leaves)
    if events.is_observed():
        count = len(plan.launches)
        events.emit(events.Evaluation(reason, str(user_line()), count))
    if len(pending) == len(outputs):
        return results
    done = dict(zip(pending, results, strict=True))
    return [done.get(node, node) for node in outputs]


def _leaf_value(leaf: Node) -> Any:
    attrs = leaf.attrs
    if isinstance(attrs, InputAttrs):
        return attrs.storage
    return int.from_bytes(attrs.data, "little")  # type: ignore[union-attr]


def kernels(outputs: Sequence[Node]) -> tuple[Kernel, ...]:
    """The kernels that would compute `outputs` (compiled, not run)."""
    plan = _plan_of(outputs)
    return plan.kernels if plan else ()


def explain(outputs: Sequence[Node]) -> str:
    """What is fused into which kernel and why, bytes, flops."""
    plan = _plan_of(outputs)
    return _explain(plan) if plan else "nothing to compute\n"


def _explain(plan: _Plan) -> str:
    return explain_plan(plan.fusion, [(k.name, k.stats) for k in plan.kernels])


def _plan_of(outputs: Sequence[Node]) -> _Plan | None:
    """The plan that computes `outputs`, or that has computed them already."""
    pending = [node for node in dict.fromkeys(outputs) if node.op is not Op.INPUT]
    if not pending:
        makers = (node.attrs.maker for node in outputs if isinstance(node.attrs, InputAttrs))
        return next((maker for maker in makers if maker), None)
    key, leaves = fingerprint(pending)
    return _find_plan(key, pending, leaves, _device_of(leaves))


class Frozen:
    """An expression planned once, called with new data of the same shapes and dtypes.

    inputs: INPUT nodes, in calling order. Other arrays in memory are captured as they are. `run`
    takes INPUT nodes laid out as these are and gives evaluated nodes, on `devices`.
    """

    def __init__(self, outputs: Sequence[Node], inputs: Sequence[Node]) -> None:
        position = {node: number for number, node in enumerate(inputs)}
        computed = [node for node in dict.fromkeys(outputs) if node.op is not Op.INPUT]
        key, leaves = fingerprint(computed)
        self._plan = _find_plan(key, computed, leaves, _device_of(leaves))
        texts, captured = [], {}
        for n, leaf in enumerate(leaves):
            if leaf in position:
                texts.append(f"nodes[{position[leaf]}].attrs.storage")
            else:
                texts.append(f"leaf{n}")
                captured[f"leaf{n}"] = _leaf_value(leaf)
        self._leaves = texts, captured
        # what a call may give: results of the plan, its inputs, captured arrays
        self._captured = [n for n in outputs if n.op is Op.INPUT and n not in position]
        number = {node: n for n, node in enumerate([*computed, *inputs, *self._captured])}
        self._outputs = [number[node] for node in outputs]
        self._gives_results = self._outputs == list(range(len(computed)))
        self._compile_calls()
        place = self._plan.executable.device.name
        self.devices = [device_of(n) if n.op is Op.INPUT else place for n in outputs]

    def _compile_calls(self) -> None:
        self._compute = self._plan.make_function(*self._leaves)
        self.run = self._compute if self._gives_results else self._run_and_pick

    def _run_and_pick(self, inputs: Sequence[Node]) -> list[Node]:
        known = [*self._compute(inputs), *inputs, *self._captured]
        return [known[n] for n in self._outputs]

    def replace(self, number: int, kernel: KernelFile) -> None:
        """Launch `kernel` instead of kernel `number` from now on.

        Raises: ReplacementError when it computes something else, CompileError.
        """
        self._plan = self._plan.with_kernel(number, kernel)
        self._compile_calls()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self._plan.kernels

    def explain(self) -> str:
        """What is fused into which kernel and why, bytes, flops."""
        return _explain(self._plan)


freeze = Frozen


# --- making plans ---


def _device_of(leaves: Sequence[Node]) -> Device:
    found: dict[str, Device] = {}
    for leaf in leaves:
        if isinstance(leaf.attrs, InputAttrs):
            device = leaf.attrs.storage.device
            found[device.name] = device
    if len(found) > 1:
        raise DeviceError(
            f"Arrays are on different devices: {', '.join(sorted(found))}.",
            hint="move one with lb.asarray(x, device=...).",
        )
    return next(iter(found.values())) if found else devices.default_device()


def _find_plan(
    key: Hashable, outputs: Sequence[Node], leaves: Sequence[Node], device: Device
) -> _Plan:
    full_key = (device, config.code_values(), key)
    plan = _plans.get(full_key)
    if plan is None:
        plan = _make_plan(outputs, leaves, device)
        _plans.put(full_key, plan)
    return plan


def _make_plan(outputs: Sequence[Node], leaves: Sequence[Node], device: Device) -> _Plan:
    placeholders = [_without_data(leaf) for leaf in leaves]  # a plan keeps no arrays alive
    outputs = replace_nodes(
        outputs, dict(zip(leaves, map(_as_leaf, leaves, placeholders), strict=True))
    )
    found, checks = find_position_checks(outputs)
    outputs = [*outputs, *found]
    fusion, lowered, compiled = compile_for(outputs, device.target)
    _report(outputs, fusion, compiled)
    executable, results = _assemble(outputs, fusion, lowered, compiled, placeholders, device)
    ops = tuple(leaf.op for leaf in leaves)
    return _Plan(fusion, lowered, executable, results, ops, checks)


def compile_for(
    outputs: Sequence[Node], target: Target
) -> tuple[FusionPlan, tuple[Lowered, ...], tuple[CompiledKernel, ...]]:
    """Plan, lower and compile for a target that need not be on this machine.

    Gives what stands for every group, and the kernels among them, compiled.
    """
    fusion = plan_fusion(_simplify(outputs, target))
    stored = frozenset(node for group in fusion.groups for node in group.stored)
    steps = [(group, _lower(group, stored, target)) for group in fusion.groups]
    if target.is_gpu:
        steps = join_tails(steps, target.warp_size)
    fusion = replace(fusion, groups=tuple(group for group, _ in steps))
    lowered = tuple(_tidy(low) if isinstance(low, LoweredKernel) else low for _, low in steps)
    kernels = (low for low in lowered if isinstance(low, LoweredKernel))
    return fusion, lowered, tuple(_compile(low.program, target) for low in kernels)


def _lower(group: FusionGroup, stored: frozenset[Node], target: Target) -> Lowered:
    if group.is_on_host:
        return lower_host_call(group, stored)
    if is_contraction(group):
        return lower_contraction(group, stored)
    return lower_call(group) if is_call(group) else lower_group(group, stored, target)


def _without_data(leaf: Node) -> Node:
    if not isinstance(leaf.attrs, InputAttrs):
        return leaf
    placeholder = make_input(InputAttrs(Placeholder(), leaf.attrs.layout), leaf.line)
    return split_input(placeholder) if dtypes.is_complex(leaf.dtype) else placeholder


def _as_leaf(leaf: Node, placeholder: Node) -> Node:
    return complex_of(placeholder) if dtypes.is_complex(leaf.dtype) else placeholder


def _simplify(outputs: Sequence[Node], target: Target) -> list[Node]:
    nodes = list(outputs)
    programs = target.num_units * _PROGRAMS_PER_UNIT[target.kind]
    place = partial(place_contractions, in_kernels=MATRIX_DTYPES, on_host=not target.is_gpu)
    splits = (
        partial(split_scans, num_programs=programs, may_wait=target.is_gpu),
        partial(split_reductions, num_programs=programs),
    )
    # complex numbers first: no other pass knows them; fold_views again: cut axes are views; copies
    # last: what they keep in memory stays as it is
    passes: tuple[GraphPass, ...] = (
        split_complex,
        place,
        *GRAPH_PASSES,
        *splits,
        *GRAPH_PASSES,
        drop_copies,
    )
    for run in passes:
        nodes = run(nodes)
        if config.current.verify:
            verify_graph(nodes, getattr(run, "__name__", "splitting"))
    return nodes


def _tidy(lowered: LoweredKernel) -> LoweredKernel:
    program = _run_passes(lowered.program, TIDY_PASSES)
    return replace(lowered, program=program)


def _run_passes(program: Program, passes: Sequence[BlockPass]) -> Program:
    for run in passes:
        program = run(program)
        if config.current.verify:
            verify_program(program)
    return program


def compile_block_program(program: Program, target: Target) -> CompiledKernel:
    """Compile any block program, through the cache."""
    return _compile(pad_blocks(program), target)


def load_block_program(program: Program, device: Device) -> BlockKernel:
    """Simplify a block program, compile it through the cache and load it on a device.

    Raises: CompileError, OutOfResourcesError.
    """
    program = _run_passes(program, (pad_blocks, *TIDY_PASSES))
    kernel = _compile(program, device.target)
    _report_stages(kernel)
    return BlockKernel(program, kernel, devices.load(kernel, device), device)


def _passes_for(target: Target) -> Sequence[BlockPass]:
    if target.is_checked:
        return ()  # the interpreter takes what is printed
    if config.current.numerics == "fast":
        return FAST_GPU_PASSES if target.is_gpu else FAST_CPU_PASSES
    if target.is_emulated:
        return EMULATOR_PASSES
    return GPU_PASSES if target.is_gpu else CPU_PASSES


def _compile(program: Program, target: Target) -> CompiledKernel:
    text = print_program(program)
    lines = ""
    if target.is_checked or target.is_emulated:  # their errors name the user's lines
        lines = "\n".join(str(op.line) for op in walk(program.body))
    key = cache.make_key(text + lines, target, toolchain_version())

    def make() -> CompiledKernel:
        return compile_program(_run_passes(program, _passes_for(target)), target, key, text)

    return cache.find_or_compile(key, make)


def _report(
    outputs: Sequence[Node], fusion: FusionPlan, compiled: Sequence[CompiledKernel]
) -> None:
    if not events.is_observed():
        return
    name = "+".join(kernel.name for kernel in compiled) or "no_kernel"
    events.emit(events.StageDone(name, "graph", print_graph(outputs)))
    events.emit(events.StageDone(name, "plan", print_plan(fusion)))
    for kernel in compiled:
        _report_stages(kernel)


def _report_stages(kernel: CompiledKernel) -> None:
    if events.is_observed():
        for stage, text in kernel.stages.items():
            events.emit(events.StageDone(kernel.name, stage, text))


def _assemble(
    outputs: Sequence[Node],
    fusion: FusionPlan,
    lowered: Sequence[Lowered],
    compiled: Sequence[CompiledKernel],
    leaves: Sequence[Node],
    device: Device,
) -> tuple[Executable, tuple[_Result, ...]]:
    """Number arrays, fill slot templates, find where every array is used last."""
    leaf_number = {leaf: i for i, leaf in enumerate(leaves)}
    stored = dict.fromkeys(node for group in fusion.groups for node in group.stored)
    # a constant that is a result has two numbers: the scalar passed in and the array it fills
    number = leaf_number | {node: len(leaves) + i for i, node in enumerate(stored)}
    storages = [find_storage(node, stored) for node in fusion.outputs]
    bases = [number[s.base] for s in storages if s]
    kept = list(dict.fromkeys(bases))
    last_use = _last_uses(lowered, number)
    kernels = iter(compiled)
    steps: list[Step | HostStep] = []
    for position, (group, low) in enumerate(zip(fusion.groups, lowered, strict=True)):
        done = [n for n, last in last_use.items() if last == position and n >= len(leaves)]
        frees = tuple(n for n in done if n not in kept)
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
        _Result(
            kept.index(number[s.base]),
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
    return HostStep(call.name, run, operands, results, frees, str(first.line))


def _launch_work(low: LoweredKernel) -> int:
    """Elements touched; 0 exactly if there is nothing to launch."""
    return max(low.work, 1) if low.grid[0] else 0


def _last_uses(lowered: Sequence[Lowered], number: dict[Node, int]) -> dict[int, int]:
    return {number[base]: position for position, low in enumerate(lowered) for base in low.bases}


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
