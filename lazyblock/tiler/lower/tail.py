"""Kernels of one program, run in the launch of the kernel whose results they finish.

A reduction of many elements to few is cut in two (graph/passes/split_reductions): many programs
reduce a part each, one program reduces what they give. Here that one becomes the *tail* of the
others' kernel: every program draws a ticket when it is done, and the one that draws the last goes
on. Partial results are combined in the order of the programs, so results are the same in every run.
Tickets are counted on for good: nothing is cleared between launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazyblock.fusion.plan import FusionGroup
from lazyblock.graph.node import Node
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Parameter, Program, Value, clone_op, walk
from lazyblock.tiler.lowered import (
    Argument,
    ArrayArgument,
    LoweredHostCall,
    LoweredKernel,
    WorkspaceArgument,
)
from lazyblock.tiler.types import PointerType, int32, int64

_MOST_WORK = 32  # elements of a tail per thread of the kernel whose warps it runs on
_TICKET_BYTES = 8

Kernel = tuple[FusionGroup, LoweredKernel]
Step = tuple[FusionGroup, LoweredKernel | LoweredHostCall]


def join_tails(steps: Iterable[Step], warp_size: int) -> list[Step]:
    """The steps, in order, with tails joined to the kernels before them."""
    joined: list[Step] = []
    chain: list[Kernel] = []
    for group, low in steps:
        if isinstance(low, LoweredHostCall):
            joined += [*_join_chain(chain), (group, low)]
            chain = []
        elif chain and _is_tail([kernel for _, kernel in chain], low, warp_size):
            chain.append((group, low))
        else:
            joined += _join_chain(chain)
            chain = [(group, low)]
    return [*joined, *_join_chain(chain)]


def _is_tail(chain: Sequence[LoweredKernel], last: LoweredKernel, warp_size: int) -> bool:
    """Whether one program, `last`, needs results of the kernels before it, where they are."""
    first = chain[0]
    if last.grid != (1, 1, 1) or first.grid[0] <= 1 or first.grid[1:] != (1, 1):
        return False
    threads = warp_size * first.program.num_warps
    if last.work > _MOST_WORK * threads or any(map(_is_bound, (first, last))):
        return False
    if not all(k.program.noalias and k.program.writes_once for k in (first, last)):
        return False
    written = {(a.base, a.offset) for k in chain for a in _arrays(k) if a.is_written}
    bases = {base for base, _ in written}
    shared = [a for a in _arrays(last) if a.base in bases]
    return bool(shared) and all((a.base, a.offset) in written for a in shared)


def _is_bound(kernel: LoweredKernel) -> bool:
    """Whether a kernel has memory of its own, is a cluster, or names itself inside regions."""
    has_workspace = any(isinstance(a, WorkspaceArgument) for a in kernel.arguments)
    body = kernel.program.body
    placed = (op for op in walk(body) if isinstance(op, (ops.ProgramId, ops.NumPrograms)))
    return has_workspace or kernel.program.num_ctas > 1 or any(op not in body.ops for op in placed)


def _arrays(kernel: LoweredKernel) -> list[ArrayArgument]:
    return [a for a in kernel.arguments if isinstance(a, ArrayArgument)]


def _join_chain(chain: Sequence[Kernel]) -> Sequence[Kernel]:
    """The one kernel that does what a chain does."""
    if len(chain) < 2:
        return chain
    groups, kernels = zip(*chain, strict=True)
    roots = tuple(root for group in groups for root in group.roots)
    stored = tuple(node for group in groups for node in group.stored)
    maps = {node: map for group in groups for node, map in group.maps.items()}
    return [(FusionGroup(groups[0].space, roots, stored, maps), _join(kernels))]


def _join(kernels: Sequence[LoweredKernel]) -> LoweredKernel:
    first, *tails = kernels
    program = first.program
    names = [program.name, *(k.program.name.removeprefix("fused_") for k in tails)]
    b = Builder("_".join(names), program.num_warps, program.num_stages)
    b.program.noalias = b.program.writes_once = True
    b.program.max_registers = program.max_registers
    arguments: list[Argument] = []
    places: dict[tuple[Node, int], Value] = {}
    mapping: dict[Value, Value] = {}
    _add_parameters(b, first, arguments, places, mapping)
    tickets = b.parameter("tickets_ptr", PointerType(int64), 16)
    arguments.append(WorkspaceArgument(_TICKET_BYTES))
    for tail in tails:
        _add_parameters(b, tail, arguments, places, mapping)
    for op in program.body.ops:
        b.insert(clone_op(op, mapping))
    drawn = b.add(b.atomic("add", tickets, 1), 1)
    is_last = b.compare("eq", b.rem(drawn, b.cast(b.num_programs(0), int64)), 0)

    def finish() -> list[Value]:
        for tail in tails:
            _insert_single(b, tail.program, mapping)
        return []

    b.if_(is_last, finish, list)
    return LoweredKernel(
        b.finish(),
        tuple(arguments),
        first.grid,
        sum(kernel.work for kernel in kernels),
        sum(kernel.nbytes for kernel in kernels),
        sum(kernel.flops for kernel in kernels),
    )


def _add_parameters(
    b: Builder,
    kernel: LoweredKernel,
    arguments: list[Argument],
    places: dict[tuple[Node, int], Value],
    mapping: dict[Value, Value],
) -> None:
    """Add what a kernel takes; arrays that are there already are the same parameter."""
    for parameter, argument in zip(kernel.program.parameters, kernel.arguments, strict=True):
        place = (argument.base, argument.offset) if isinstance(argument, ArrayArgument) else None
        if place is None or place not in places:
            name = _free_name(parameter.name, b.program.parameters)
            value = b.parameter(name, parameter.value.type.element, parameter.divisibility)
            mapping[parameter.value] = value
            arguments.append(argument)
            if place is not None:
                places[place] = value
        else:
            mapping[parameter.value] = places[place]


def _free_name(name: str, taken: Sequence[Parameter]) -> str:
    names = {parameter.name for parameter in taken}
    tries = (name, *(f"{name}_{number}" for number in range(2, len(names) + 3)))
    return next(candidate for candidate in tries if candidate not in names)


def _insert_single(b: Builder, program: Program, mapping: dict[Value, Value]) -> None:
    """Insert the body of a program that runs once."""
    for op in program.body.ops:
        if isinstance(op, (ops.ProgramId, ops.NumPrograms)):
            number = 0 if isinstance(op, ops.ProgramId) else 1
            mapping[op.result] = b.constant(number, int32)
        else:
            b.insert(clone_op(op, mapping))
