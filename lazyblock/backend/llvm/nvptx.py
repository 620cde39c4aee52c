"""Block programs as LLVM IR for NVIDIA GPUs: the code of one thread.

Comes in: a program whose maths and half arithmetic are legalised, and a target. Goes out: an
`NvptxKernel` with the module's text, one kernel parameter per program parameter (pointers to global
memory), the number of threads, and the bytes of dynamic shared memory. A block is a list of scalars
per thread, placed by a linear layout (nvptx_layouts, nvptx_blocks). Arithmetic is as the program
says: no fast-math flags, no contraction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from lazyblock.backend.llvm.atomics import is_atomic
from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_atomics import emit_atomics, emit_poll, is_poll
from lazyblock.backend.llvm.nvptx_barriers import Barriers, RootFinder, State
from lazyblock.backend.llvm.nvptx_blocks import BlockCode, Registers
from lazyblock.backend.llvm.nvptx_debug import emit_assert, emit_print
from lazyblock.backend.llvm.nvptx_dot_code import demand_steady_operands, emit_dot
from lazyblock.backend.llvm.nvptx_gather import emit_exchange, emit_gather, emit_histogram
from lazyblock.backend.llvm.nvptx_layouts import WARP_SIZE, LayoutPlan
from lazyblock.backend.llvm.nvptx_memory import emit_load, emit_store
from lazyblock.backend.llvm.nvptx_reduce import Row, emit_reduction
from lazyblock.backend.llvm.nvptx_scan import emit_scan
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter, value_type
from lazyblock.errors import OutOfResourcesError, UnsupportedError
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_info import analyse
from lazyblock.tiler.ir import Effect, Op, Parameter, Program, Region, Trait, Value, walk
from lazyblock.tiler.types import Element, PointerType, ScalarType, int1


@dataclass(frozen=True)
class NvptxKernel:
    """A kernel's LLVM module and how to launch it; threads and shared memory are those of a CTA."""

    llvm: str
    name: str
    num_threads: int
    shared_bytes: int
    num_ctas: int


def emit_nvptx(
    program: Program, target: Target, emitter: ThreadEmitter | None = None
) -> NvptxKernel:
    """Emit `program` for a GPU; `emitter` writes what touches the hardware.

    Raises: UnsupportedError for ops without a rule; OutOfResourcesError when the program needs more
    threads or shared memory than the target has.
    """
    num_threads = program.num_warps * WARP_SIZE
    if num_threads > target.max_threads:
        raise OutOfResourcesError(
            f"Program '{program.name}' wants {num_threads} threads, {target.arch} has "
            f"{target.max_threads}."
        )
    if program.num_ctas > target.max_ctas:
        raise OutOfResourcesError(
            f"Program '{program.name}' wants clusters of {program.num_ctas} CTAs, "
            f"{target.arch} runs at most {target.max_ctas}."
        )
    infos = analyse(program)
    emitter = emitter or ThreadEmitter()
    roots = RootFinder(parameter.value for parameter in program.parameters)
    barriers = Barriers(emitter, roots, program.writes_once)
    plan = LayoutPlan(program, infos, target)
    code = BlockCode(emitter, target, plan, infos, barriers, program.name)
    emitter.start(num_threads, program.num_ctas)
    if program.num_ctas > 1:
        code.shared.prepare_mailboxes(sum(isinstance(op, ops.Reduce) for op in walk(program.body)))
    barriers.start()
    _bind_parameters(code, program)
    _emit_region(code, program.body)
    barriers.await_start()
    emitter.finish()
    if code.shared.nbytes > target.shared_bytes:
        raise OutOfResourcesError(
            f"Program '{program.name}' wants {code.shared.nbytes:,} bytes of shared memory, "
            f"{target.arch} has {target.shared_bytes:,}."
        )
    name = re.sub(r"\W", "_", program.name, flags=re.ASCII)
    parameters = _parameters(program, roots)
    kernel = emitter.kernel(name, parameters, num_threads, program.max_registers)
    parts = [code.shared.definitions(), kernel, emitter.surroundings()]
    return NvptxKernel("\n".join(parts), name, num_threads, code.shared.nbytes, program.num_ctas)


# --- the kernel's frame --------------------------------------------------------------------------


def _parameters(program: Program, roots: RootFinder) -> list[str]:
    written = _written_parameters(program, roots)
    return [
        _parameter(number, parameter, program, written)
        for number, parameter in enumerate(program.parameters)
    ]


def parameter_type(element: Element) -> str:
    """LLVM type of a kernel parameter."""
    return "i8" if element == int1 else value_type(element)


def _parameter(
    number: int, parameter: Parameter, program: Program, written: frozenset[Value]
) -> str:
    element = parameter.value.type.element
    if not isinstance(element, PointerType):
        return f"{parameter_type(element)} %p{number}"
    facts = [f"align {max(parameter.divisibility, element.pointee.nbytes)}"]
    if program.noalias and parameter.value not in written:
        facts += ["noalias", "readonly"]
    elif program.noalias and not _has_changing_memory(program):
        facts.append("noalias")
    return f"{parameter_type(element)} {' '.join(facts)} %p{number}"


def _has_changing_memory(program: Program) -> bool:
    """Whether other instances may change what this one reads: LLVM may then take nothing apart."""
    kinds = (Effect.ATOMIC, Effect.BARRIER)
    return any(op.effect in kinds for op in walk(program.body))


def _written_parameters(program: Program, roots: RootFinder) -> frozenset[Value]:
    """Pointer parameters that some write may reach."""
    writes = (ops.Store, ops.AtomicRmw, ops.AtomicCas)
    found = (op.pointer for op in walk(program.body) if isinstance(op, writes))
    return frozenset().union(*map(roots.find, found))


def _bind_parameters(code: BlockCode, program: Program) -> None:
    for number, parameter in enumerate(program.parameters):
        name, value = f"%p{number}", parameter.value
        if value.type.element == int1:
            name = code.emitter.value(f"icmp ne i8 {name}, 0")
        elif parameter.divisibility > 1 and isinstance(value.type.element, ScalarType):
            # changes nothing, but lets LLVM join neighbouring loads
            type = parameter_type(value.type.element)
            name = code.emitter.value(f"and {type} {name}, {-parameter.divisibility}")
        code.hold(value, code.plan.home(value), [name])


# --- walking -------------------------------------------------------------------------------------


def _emit_region(code: BlockCode, region: Region) -> None:
    """Emit what has a place in the region; the rest is emitted where it is asked for."""
    around = code.emitter.op
    for op in region.ops:
        code.emitter.op = op
        match op:
            case ops.Load() | ops.Store() | ops.AtomicRmw() | ops.AtomicCas() if is_atomic(op):
                emit_atomics(code, op)
            case ops.Barrier():
                code.barriers.wait_all()
            case ops.Load():
                emit_load(code, op)
            case ops.Store():
                emit_store(code, op)
            case ops.Reduce():
                emit_reduction(code, op, partial(_combine, code, op))
            case ops.Scan():
                emit_scan(code, op, partial(_combine, code, op))
            case ops.Dot():
                emit_dot(code, op)
            case ops.ExchangeBits():
                emit_exchange(code, op)
            case ops.Gather():
                emit_gather(code, op)
            case ops.Histogram():
                emit_histogram(code, op)
            case ops.Print():
                emit_print(code, op)
            case ops.Assert():
                emit_assert(code, op)
            case ops.For():
                _emit_loop(code, op)
            case ops.While() if is_poll(op):
                emit_poll(code, op)
            case ops.While():
                _emit_while(code, op)
            case ops.If():
                _emit_branches(code, op)
            case _ if not _is_known(op):
                raise UnsupportedError(f"op '{op.name}' has no NVPTX rule.")
    code.emitter.op = around


def _is_known(op: Op) -> bool:
    created = (ops.ProgramId, ops.NumPrograms, ops.Arange, ops.Constant, ops.Splat)
    shaped = (ops.ExpandDims, ops.Broadcast, ops.Transpose, ops.Reshape, ops.Join, ops.Split)
    return op.has(Trait.ELEMENTWISE) or isinstance(op, (*created, *shaped, ops.Yield))


def _combine(code: BlockCode, op: ops.Combining, left: Row, right: Row) -> Row:
    """The combine region of a reduction or scan, once, on scalars."""
    with code.scope():
        for argument, name in zip(op.combine.arguments, left + right, strict=True):
            code.hold(argument, code.plan.home(argument), [name])
        _emit_region(code, op.combine)
        return tuple(map(code.scalar, op.combine.terminator.operands_flat))


# --- control flow --------------------------------------------------------------------------------


def _emit_loop(code: BlockCode, op: ops.For) -> None:
    emitter = code.emitter
    index, *carried = op.body.arguments
    layouts = [code.plan.home(value) for value in carried]
    demand_steady_operands(code, op)
    started = _flatten(code, op.initial, layouts)
    lower, upper, step = map(code.scalar, (op.lower, op.upper, op.step))
    kind = op.lower.type.scalar
    types = _register_types(carried, layouts)
    start = list(zip(types, started, strict=True))
    with (
        code.barriers.loop(),
        emitter.loop(value_type(kind), lower, upper, step, start) as loop,
        code.scope(),
    ):
        code.hold(index, code.plan.home(index), [loop.index])
        _hold_flat(code, carried, layouts, loop.carried)
        _emit_region(code, op.body)
        loop.following = _flatten(code, op.body.terminator.operands_flat, layouts)
        code.barriers.end_iteration()
    _hold_flat(code, op.results, layouts, loop.carried)


def _emit_while(code: BlockCode, op: ops.While) -> None:
    emitter = code.emitter
    layouts = [code.plan.home(value) for value in op.body.arguments]
    demand_steady_operands(code, op)
    types = _register_types(op.body.arguments, layouts)
    start = list(zip(types, _flatten(code, op.initial, layouts), strict=True))
    with code.barriers.loop(), emitter.rounds(start) as loop, code.scope():
        _hold_flat(code, op.condition.arguments, layouts, loop.carried)
        _emit_region(code, op.condition)
        condition = code.scalar(*op.condition.terminator.operands_flat)
        code.barriers.leave()
        emitter.go_on_if(condition, loop)
        emitter.count_round()
        _hold_flat(code, op.body.arguments, layouts, loop.carried)
        _emit_region(code, op.body)
        loop.following = _flatten(code, op.body.terminator.operands_flat, layouts)
        code.barriers.end_iteration()
    _hold_flat(code, op.results, layouts, loop.carried)


def _emit_branches(code: BlockCode, op: ops.If) -> None:
    emitter, condition = code.emitter, code.scalar(op.condition)
    layouts = [code.plan.home(value) for value in op.results]
    labels = [emitter.fresh_label(hint) for hint in ("then", "otherwise")]
    after = emitter.fresh_label("after")
    emitter.branch_if(condition, *labels)
    before, touched = code.barriers.state, State()
    ends: list[tuple[Registers, str]] = []
    for region, label in zip(op.regions, labels, strict=True):
        emitter.begin(label)
        code.barriers.state = before
        with code.scope():
            _emit_region(code, region)
            registers = _flatten(code, region.terminator.operands_flat, layouts)
            code.barriers.await_start()
            ends.append((registers, emitter.label))
        touched = touched.joined(code.barriers.state)
        emitter.branch(after)
    code.barriers.state = touched
    emitter.begin(after)
    (then, then_label), (otherwise, other_label) = ends
    types = _register_types(op.results, layouts)
    merged = [
        emitter.phi(type, (left, then_label), (right, other_label))
        for type, left, right in zip(types, then, otherwise, strict=True)
    ]
    _hold_flat(code, op.results, layouts, merged)


def _register_types(
    values: list[Value] | tuple[Value, ...], layouts: list[LinearLayout]
) -> list[str]:
    """LLVM types of all registers of several blocks, in order."""
    pairs = zip(values, layouts, strict=True)
    return [
        value_type(value.type.element)
        for value, layout in pairs
        for _ in range(layout.num_registers)
    ]


def _flatten(code: BlockCode, values: tuple[Value, ...], layouts: list[LinearLayout]) -> Registers:
    pairs = zip(values, layouts, strict=True)
    return [name for value, layout in pairs for name in code.demand(value, layout)]


def _hold_flat(
    code: BlockCode,
    values: list[Value] | tuple[Value, ...],
    layouts: list[LinearLayout],
    names: Registers,
) -> None:
    remaining = iter(names)
    for value, layout in zip(values, layouts, strict=True):
        code.hold(value, layout, [next(remaining) for _ in range(layout.num_registers)])
