"""Atomic accesses of blocks: each element once, its old value to all threads that hold it.

Of several threads that hold an element, the first makes the access; what it finds goes to the
others through shared memory, so that all threads see one value and may branch on it. The barriers
before a release and after an acquire come from nvptx_barriers. A loop that only waits is run by one
thread, without a barrier in every round.
"""

from __future__ import annotations

from lazyblock.backend.llvm.atomics import Atomic, AtomicOp, describe, is_atomic, values_of
from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_blocks import BlockCode, Registers
from lazyblock.backend.llvm.nvptx_convert import broadcast_first
from lazyblock.backend.llvm.nvptx_functions import GLOBAL_POINTER
from lazyblock.backend.llvm.nvptx_thread import is_always, value_type
from lazyblock.backend.llvm.types import constant_text
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Effect
from lazyblock.tiler.types import ScalarType


def emit_atomics(code: BlockCode, op: AtomicOp) -> None:
    """Make the accesses of an atomic op of any shape."""
    is_used = not isinstance(op, ops.Store) and op.result in code.plan.used
    access = describe(op, is_used)
    is_store = isinstance(op, ops.Store)
    layout = code.plan.stores[op] if is_store else code.plan.home(op.result)
    pointers = code.demand(op.pointer, layout)
    rows = [code.demand(value, layout) for value in values_of(op)]
    mask = None if isinstance(op, ops.AtomicCas) else op.mask
    masks = code.demand(mask, layout) if mask is not None else [""] * layout.num_registers
    others = _others(code, op, access, layout)
    code.barriers.before_atomic(op.pointer, layout, access)
    register_mask, *thread_masks = layout.replica_masks()
    is_first = code.emitter.is_first_replica(*thread_masks)
    found = dict(enumerate(others))
    before = code.emitter.label
    with code.emitter.when(is_first):
        for register in range(layout.num_registers):
            if not register & register_mask:
                values = [row[register] for row in rows]
                place, lane_mask = pointers[register], masks[register]
                found[register] = _emit_one(
                    code, access, place, values, lane_mask, others[register]
                )
        inside = code.emitter.label
    if not is_used:
        return
    held = {layout.coordinates(n): name for n, name in found.items() if not n & register_mask}
    registers = [held[layout.coordinates(n)] for n in range(layout.num_registers)]
    if is_first:
        registers = _merge(code, access, registers, (inside, before))
        registers = broadcast_first(code.shared, access.element, registers, layout)
    code.hold(op.result, layout, registers)


# --- polls ---------------------------------------------------------------------------------------


def is_poll(op: ops.While) -> bool:
    """Whether a loop does nothing but ask memory for scalars until they suit."""
    is_empty = not op.initial and len(op.body.ops) == 1
    return is_empty and all(
        all(value.shape == () for value in (*inner.operands_flat, *inner.results))
        and (is_atomic(inner) or inner.effect is Effect.NONE)
        and not inner.regions
        for inner in op.condition.ops
    )


def emit_poll(code: BlockCode, op: ops.While) -> None:
    """Let the first thread of the instance ask; the others wait once."""
    emitter, inside = code.emitter, op.condition
    made = {result for inner in inside.ops for result in inner.results}
    for value in (value for inner in inside.ops for value in inner.operands_flat):
        if value not in made:
            code.scalar(value)
    asked = [inner for inner in inside.ops if is_atomic(inner)]
    accesses = {inner: describe(inner, is_used=True) for inner in asked}
    layout = code.plan.home(inside.terminator.operands_flat[0])
    for inner, access in accesses.items():
        code.barriers.before_atomic(inner.pointer, layout, access)
    _, *thread_masks = layout.replica_masks()
    with (
        emitter.when(emitter.is_first_replica(*thread_masks)),
        emitter.rounds([]) as loop,
        code.scope(),
    ):
        for inner, access in accesses.items():
            emitter.op = inner
            place, *values = map(code.scalar, (inner.pointer, *values_of(inner)))
            (other,) = _others(code, inner, access, layout)
            found = _emit_one(code, access, place, values, _scalar_mask(code, inner), other)
            for result in inner.results:
                code.hold(result, layout, [found])
        condition = code.scalar(*inside.terminator.operands_flat)
        emitter.op = op
        emitter.go_on_if(condition, loop)
        emitter.count_round()
    code.barriers.wait_all()


def _scalar_mask(code: BlockCode, op: AtomicOp) -> str:
    mask = None if isinstance(op, ops.AtomicCas) else op.mask
    return "" if mask is None else code.scalar(mask)


# --- elements ------------------------------------------------------------------------------------


def _others(code: BlockCode, op: AtomicOp, access: Atomic, layout: LinearLayout) -> Registers:
    """What the lanes give whose mask is false."""
    if isinstance(op, ops.Load) and op.other is not None:
        return code.demand(op.other, layout)
    assert isinstance(access.element, ScalarType)
    return [constant_text(0, access.element)] * layout.num_registers


def _emit_one(
    code: BlockCode, access: Atomic, pointer: str, values: Registers, mask: str, other: str
) -> str:
    emitter, address = code.emitter, f"{GLOBAL_POINTER} {pointer}"
    if is_always(mask):
        return emitter.atomic(code.target, access, address, *values)
    before = emitter.label
    with emitter.when(mask):
        name = emitter.atomic(code.target, access, address, *values)
        inside = emitter.label
    if not access.is_used or not name:
        return name
    return emitter.phi(value_type(access.element), (name, inside), (other, before))


def _merge(
    code: BlockCode, access: Atomic, registers: Registers, labels: tuple[str, str]
) -> Registers:
    """What the first thread found; nothing of meaning in the others."""
    type, (inside, before) = value_type(access.element), labels
    pairs = {
        name: code.emitter.phi(type, (name, inside), ("poison", before))
        for name in dict.fromkeys(registers)
    }
    return [pairs[name] for name in registers]
