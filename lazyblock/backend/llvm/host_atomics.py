"""Atomic accesses on the CPU: one element, where a body of width 1 stands."""

from __future__ import annotations

from functools import partial

from lazyblock.backend.llvm.atomics import AtomicOp, describe, emit_atomic, values_of
from lazyblock.backend.llvm.host_body import Body
from lazyblock.backend.llvm.types import constant_text, llvm_type
from lazyblock.tiler import ops
from lazyblock.tiler.types import ScalarType


def emit_atomic_element(body: Body, op: AtomicOp) -> str:
    """The access of `op` to the element at the body's home; gives what lay there, "" of a store."""
    emitter, home = body.emitter, body.home
    pointer, *values = (body.pull_wide(value, home) for value in (op.pointer, *values_of(op)))
    access = describe(op, is_used=not isinstance(op, ops.Store))
    emit = partial(emit_atomic, emitter, body.scope.target, access, f"ptr {pointer}", values)
    mask = None if isinstance(op, ops.AtomicCas) else op.mask
    if mask is None:
        return emit()
    assert isinstance(access.element, ScalarType)
    other = constant_text(0, access.element)
    if isinstance(op, ops.Load) and op.other is not None:
        other = body.pull_wide(op.other, home)
    condition = body.pull_wide(mask, home)
    then, done, before = emitter.fresh_label("then"), emitter.fresh_label("done"), emitter.label
    emitter.branch_if(condition, then, done)
    emitter.begin(then)
    found, inside = emit(), emitter.label
    emitter.branch(done)
    emitter.begin(done)
    return found and emitter.phi(llvm_type(access.element), (found, inside), (other, before))
