"""Atomic accesses as LLVM has them: what the CPU runs, also when it plays a GPU.

`Atomic` says what is done to one element, for both targets; its address and values are text. Sums
of halves, which processors lack, are compare-and-swap loops written with two smaller accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from lazyblock.backend.llvm.conversions import emit_cast
from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.site import Site
from lazyblock.backend.llvm.types import element_nbytes, llvm_scalar, memory_type
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import Element, PointerType, ScalarType, float32, int1

AtomicOp = ops.Load | ops.Store | ops.AtomicRmw | ops.AtomicCas

_ORDERINGS = {"relaxed": "monotonic"}
_INTEGER_KINDS = {"max": ("max", "umax"), "min": ("min", "umin")}  # by whether unsigned


@dataclass(frozen=True)
class Atomic:
    """One access: kind is "load", "store", "cas", or one of ops.atomic.RMW_KINDS.

    is_used: whether anybody reads what lay there before.
    """

    kind: str
    element: Element
    sem: str = "relaxed"
    scope: str = "gpu"
    is_used: bool = True

    @property
    def nbytes(self) -> int:
        return element_nbytes(self.element)

    @property
    def is_half_sum(self) -> bool:
        """Whether halves are added."""
        element = self.element
        return self.kind == "add" and isinstance(element, ScalarType) and element.is_half


def is_atomic(op: object) -> TypeGuard[AtomicOp]:
    """Whether an op is an atomic access."""
    if isinstance(op, (ops.Load, ops.Store)):
        return bool(op.sem)
    return isinstance(op, (ops.AtomicRmw, ops.AtomicCas))


def describe(op: AtomicOp, is_used: bool) -> Atomic:
    """What `op` does to each element."""
    element = op.pointer.type.element
    assert isinstance(element, PointerType)
    kinds = {ops.Load: "load", ops.Store: "store", ops.AtomicCas: "cas"}
    kind = op.kind if isinstance(op, ops.AtomicRmw) else kinds[type(op)]
    return Atomic(kind, element.pointee, op.sem, op.scope, is_used)


def values_of(op: AtomicOp) -> list[Value]:
    """What `op` combines with memory, in the order in which `emit_atomic` takes them."""
    match op:
        case ops.Load():
            return []
        case ops.AtomicCas():
            return [op.compare, op.value]
    return [op.value]


def emit_atomic(
    emitter: Emitter, target: Target, access: Atomic, address: str, values: Sequence[str]
) -> str:
    """One access at `address` (with its type); gives what lay there before, "" after a store."""
    ordering = _ORDERINGS.get(access.sem, access.sem)
    type, align = memory_type(access.element), f"align {access.nbytes}"
    if access.kind == "load":
        raw = emitter.value(f"load atomic {type}, {address} {ordering}, {align}")
        return emitter.value(f"icmp ne i8 {raw}, 0") if access.element == int1 else raw
    if access.kind == "store":
        (value,) = values
        if access.element == int1:
            value = emitter.value(f"zext i1 {value} to i8")
        emitter.line(f"store atomic {type} {value}, {address} {ordering}, {align}")
        return ""
    if access.kind == "cas":
        return _swap(emitter, access, address, values, ordering)
    if access.is_half_sum:
        return add_half(
            emitter,
            target,
            access,
            values[0],
            lambda part, *values: emit_atomic(emitter, target, part, address, values),
        )
    return _update(emitter, access, address, values[0], ordering)


def _update(emitter: Emitter, access: Atomic, address: str, value: str, ordering: str) -> str:
    scalar, kind = access.element, access.kind
    assert isinstance(scalar, ScalarType)
    if kind in _INTEGER_KINDS:
        if scalar.is_floating:
            return extremum_of_floats(
                emitter,
                access,
                value,
                lambda part, value: _update(emitter, part, address, value, ordering),
            )
        kind = _INTEGER_KINDS[kind][not scalar.is_signed]
    elif kind == "add" and scalar.is_floating:
        kind = "fadd"
    operands = f"{address}, {llvm_scalar(scalar)} {value}"
    return emitter.value(f"atomicrmw {kind} {operands} {ordering}, align {access.nbytes}")


def _swap(
    emitter: Emitter, access: Atomic, address: str, values: Sequence[str], ordering: str
) -> str:
    bits, scalar = f"i{8 * access.nbytes}", llvm_scalar(access.element)
    compared, value = (_convert(emitter, scalar, text, bits) for text in values)
    failing = {"release": "monotonic", "acq_rel": "acquire"}.get(ordering, ordering)
    pair = emitter.value(
        f"cmpxchg {address}, {bits} {compared}, {bits} {value} {ordering} {failing}, "
        f"align {access.nbytes}"
    )
    before = emitter.value(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
    return _convert(emitter, bits, before, scalar)


def _convert(emitter: Emitter, before: str, value: str, after: str) -> str:
    return value if before == after else emitter.value(f"bitcast {before} {value} to {after}")


# --- made from smaller accesses -------------------------------------------------------------------


def extremum_of_floats(
    emitter: Emitter, access: Atomic, value: str, update: Callable[[Atomic, str], str]
) -> str:
    """A float max or min by integer ones: bits of one sign are ordered, upside down below 0.

    max(a, v) is the signed max of the bits where v has no sign, else the unsigned min.
    """
    scalar = llvm_scalar(access.element)
    bits = 8 * access.nbytes
    word = _convert(emitter, scalar, value, f"i{bits}")
    is_negative = emitter.value(f"icmp slt i{bits} {word}, 0")
    labels = [emitter.fresh_label(hint) for hint in ("negative", "positive", "after")]
    emitter.branch_if(is_negative, *labels[:2])
    other = {"max": "min", "min": "max"}[access.kind]
    found = []
    for label, kind, sign in zip(labels, (other, access.kind), "ui", strict=False):
        emitter.begin(label)
        part = replace(access, kind=kind, element=ScalarType(f"{sign}{bits}", sign, bits))
        found.append((update(part, word), emitter.label))
        emitter.branch(labels[2])
    emitter.begin(labels[2])
    if not access.is_used:
        return ""
    return _convert(emitter, f"i{bits}", emitter.phi(f"i{bits}", *found), scalar)


def add_half(
    emitter: Emitter,
    target: Target,
    access: Atomic,
    value: str,
    emit: Callable[..., str],
) -> str:
    """A sum of halves: read, add in float32, and swap until nobody came between."""
    words = Site(emitter, target, access.element, 1)
    addend = emit_cast(words, value, float32)
    first = emit(replace(access, kind="load", sem="relaxed", is_used=True))
    before, again, done = emitter.label, emitter.fresh_label("again"), emitter.fresh_label("done")
    emitter.branch(again)
    emitter.begin(again)
    seen, following = emitter.name(), emitter.name()
    emitter.line(f"{seen} = phi i16 [ {first}, %{before} ], [ {following}, %{again} ]")
    total = emitter.value(f"fadd float {emit_cast(words, seen, float32)}, {addend}")
    assert isinstance(access.element, ScalarType)
    rounded = emit_cast(words.of(float32), total, access.element)
    assert emitter.label == again, "conversions do not branch"
    found = emit(replace(access, kind="cas", is_used=True), seen, rounded)
    emitter.line(f"{following} = add i16 {found}, 0")
    is_done = emitter.value(f"icmp eq i16 {following}, {seen}")
    emitter.branch_if(is_done, done, again)
    emitter.begin(done)
    return seen
