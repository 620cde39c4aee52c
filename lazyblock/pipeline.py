"""The one list of stages: from recorded nodes to results.

| stage            | in                       | out                                  |
|------------------|--------------------------|--------------------------------------|
| fingerprint      | output nodes             | key of the plan cache, leaves        |
| graph passes     | output nodes             | equal, simpler nodes                 |
| plan_fusion      | nodes                    | FusionPlan: groups in launch order   |
| lower_group      | a group                  | block program, arguments, grid       |
| block passes     | block program            | simpler, legal block program         |
| compile_program  | block program, target    | CompiledKernel (through the cache)   |
| Plan.run         | leaf nodes               | INPUT nodes of the results           |

A plan is kept per fingerprint and device; kernels are kept by their text, so that a new size makes
a new plan but no new kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lazyblock import config, dtypes, events
from lazyblock.backend import cache, devices
from lazyblock.backend.block_kernel import BlockKernel
from lazyblock.backend.compile import compile_program, toolchain_version
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Device
from lazyblock.device_data import (
    alias_device,
    alias_numpy,
    common_device,
    default_device,
    device_names,
    device_of,
    expose_host,
    from_numpy,
    get_device,
    host_elements,
    number_array,
    owns_memory,
    read_record,
    stream_number,
    stream_of,
    to_numpy,
    write_record,
)
from lazyblock.fusion.plan import FusionGroup, FusionPlan
from lazyblock.fusion.planner import plan_fusion
from lazyblock.fusion.printer import print_plan
from lazyblock.fusion.structure import Given, structure_of
from lazyblock.graph.attrs import InputAttrs, Placeholder
from lazyblock.graph.checks import find_position_checks
from lazyblock.graph.fingerprint import fingerprint
from lazyblock.graph.node import Node, make_input
from lazyblock.graph.ops import Op
from lazyblock.graph.passes import GRAPH_PASSES
from lazyblock.graph.passes.drop_copies import drop_copies
from lazyblock.graph.passes.place_contractions import place_contractions
from lazyblock.graph.passes.place_updates import place_updates
from lazyblock.graph.passes.split_complex import (
    complex_of,
    split_complex,
    split_input,
)
from lazyblock.graph.passes.split_reductions import split_reductions
from lazyblock.graph.passes.split_scans import split_scans
from lazyblock.graph.printer import print_graph
from lazyblock.graph.rewrite import replace_nodes
from lazyblock.graph.verify import verify_graph
from lazyblock.kernels import Kernel
from lazyblock.language.kernel_file import KernelFile
from lazyblock.plan_steps import assemble
from lazyblock.plans import Plan
from lazyblock.recently_used import RecentlyUsed
from lazyblock.source import user_line
from lazyblock.target import Target
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
    Lowered,
    LoweredKernel,
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

__all__ = [
    "CPU_PASSES",
    "EMULATOR_PASSES",
    "FAST_CPU_PASSES",
    "FAST_GPU_PASSES",
    "GPU_PASSES",
    "TIDY_PASSES",
    "Frozen",
    "alias_device",
    "alias_numpy",
    "compile_block_program",
    "compile_for",
    "default_device",
    "device_names",
    "device_of",
    "evaluate",
    "explain",
    "expose_host",
    "freeze",
    "from_numpy",
    "get_device",
    "host_elements",
    "kernels",
    "load_block_program",
    "number_array",
    "owns_memory",
    "read_record",
    "stream_number",
    "stream_of",
    "to_numpy",
    "write_record",
]

GraphPass = Callable[[Sequence[Node]], list[Node]]
BlockPass = Callable[[Program], Program]

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

_plans: RecentlyUsed[Hashable, Plan] = RecentlyUsed(_MOST_PLANS)


# --- evaluation ---


def evaluate(outputs: Sequence[Node], reason: str) -> list[Node]:
    """Evaluate nodes in one plan; gives INPUT nodes in the same order."""
    pending = [node for node in outputs if node.op is not Op.INPUT]
    if len(pending) > 1:
        pending = list(dict.fromkeys(pending))
    if not pending:
        return list(outputs)
    key, leaves = fingerprint(pending)
    plan = _find_plan(key, pending, leaves, common_device(leaves))
    results = plan.run(leaves)
    if events.listeners:
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
    return plan.explain() if plan else "nothing to compute\n"


def _plan_of(outputs: Sequence[Node]) -> Plan | None:
    """The plan that computes `outputs`, or that has computed them already."""
    pending = [node for node in dict.fromkeys(outputs) if node.op is not Op.INPUT]
    if not pending:
        makers = (node.attrs.maker for node in outputs if isinstance(node.attrs, InputAttrs))
        return next((maker for maker in makers if maker), None)
    key, leaves = fingerprint(pending)
    return _find_plan(key, pending, leaves, common_device(leaves))


class Frozen:
    """An expression planned once, called with new data of the same shapes and dtypes.

    inputs: INPUT nodes, in calling order. Other arrays in memory are captured as they are. `run`
    takes INPUT nodes laid out as these are and gives evaluated nodes, on `devices`.
    """

    def __init__(self, outputs: Sequence[Node], inputs: Sequence[Node]) -> None:
        position = {node: number for number, node in enumerate(inputs)}
        computed = [node for node in dict.fromkeys(outputs) if node.op is not Op.INPUT]
        key, leaves = fingerprint(computed)
        self._plan = _find_plan(key, computed, leaves, common_device(leaves))
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
        self._plan = self._plan.with_kernel(number, kernel, load_block_program)
        self._compile_calls()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self._plan.kernels

    def explain(self) -> str:
        """What is fused into which kernel and why, bytes, flops."""
        return self._plan.explain()


freeze = Frozen


# --- making plans ---


def _find_plan(
    key: Hashable, outputs: Sequence[Node], leaves: Sequence[Node], device: Device
) -> Plan:
    full_key = (device, config.code_values(), key)
    plan = _plans.get(full_key)
    if plan is None:
        plan = _make_plan(outputs, leaves, device)
        _plans.put(full_key, plan)
    return plan


def _make_plan(outputs: Sequence[Node], leaves: Sequence[Node], device: Device) -> Plan:
    placeholders = [_without_data(leaf) for leaf in leaves]  # a plan keeps no arrays alive
    outputs = replace_nodes(
        outputs, dict(zip(leaves, map(_as_leaf, leaves, placeholders), strict=True))
    )
    found, checks = find_position_checks(outputs)
    outputs = [*outputs, *found]
    fusion, lowered, compiled = compile_for(outputs, device.target)
    _report(outputs, fusion, compiled)
    executable, results = assemble(outputs, fusion, lowered, compiled, placeholders, device)
    ops = tuple(leaf.op for leaf in leaves)
    return Plan(fusion, lowered, executable, results, ops, checks)


def compile_for(
    outputs: Sequence[Node], target: Target
) -> tuple[FusionPlan, tuple[Lowered, ...], tuple[CompiledKernel, ...]]:
    """Plan, lower and compile for a target that need not be on this machine.

    Gives what stands for every group, and the kernels among them, compiled.
    """
    fusion = plan_fusion(_simplify(outputs, target))
    steps = _lower_groups(fusion.groups, target)
    if target.is_gpu:
        steps = join_tails(steps, target.warp_size)
    fusion = replace(fusion, groups=tuple(group for group, _ in steps))
    kernels = [low for _, low in steps if isinstance(low, LoweredKernel)]
    # kernels of one structure share a program: it is simplified and compiled once
    tidy = {p: _run_passes(p, TIDY_PASSES) for p in dict.fromkeys(k.program for k in kernels)}
    compiled = {p: _compile(tidied, target) for p, tidied in tidy.items()}
    lowered = tuple(
        replace(low, program=tidy[low.program]) if isinstance(low, LoweredKernel) else low
        for _, low in steps
    )
    return fusion, lowered, tuple(compiled[kernel.program] for kernel in kernels)


def _lower_groups(
    groups: Sequence[FusionGroup], target: Target
) -> list[tuple[FusionGroup, Lowered]]:
    """Lower every group; those of one structure share a program."""
    stored = frozenset(node for group in groups for node in group.stored)
    known: dict[Hashable, tuple[LoweredKernel, tuple[Given, ...]]] = {}

    def lower(group: FusionGroup) -> Lowered:
        if group.is_on_host:
            return lower_host_call(group, stored)
        if is_call(group):
            return lower_call(group)
        key, given = structure_of(group, stored, _names_lines(target))
        if key not in known:
            known[key] = _lower(group, stored, target), given
        kernel, its_own = known[key]
        pairs = zip(its_own, given, strict=True)
        moved = kernel.given({n: (node, at - start) for (n, start), (node, at) in pairs})
        return moved if moved.is_inside else _lower(group, stored, target)

    return [(group, lower(group)) for group in groups]


def _lower(group: FusionGroup, stored: frozenset[Node], target: Target) -> LoweredKernel:
    if is_contraction(group):
        return lower_contraction(group, stored)
    return lower_group(group, stored, target)


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
    update = partial(place_updates, on_host=not target.is_gpu and not target.is_checked)
    splits = (
        partial(split_scans, num_programs=programs, may_wait=target.is_gpu),
        partial(split_reductions, num_programs=programs),
    )
    # updates and contractions first, which may be of complex numbers, then these: no other pass
    # knows them; fold_views again: cut axes are views; copies last: what they keep in memory stays
    # as it is
    passes: tuple[GraphPass, ...] = (
        update,
        place,
        split_complex,
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


def _names_lines(target: Target) -> bool:
    """Whether errors of running kernels name the user's lines."""
    return target.is_checked or target.is_emulated


def _compile(program: Program, target: Target) -> CompiledKernel:
    text = print_program(program)
    lines = ""
    if _names_lines(target):
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
