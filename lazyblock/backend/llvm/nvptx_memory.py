"""Loads and stores of blocks in global memory: vectors where addresses run, branches under masks.

Elements that lie next to each other form one access of up to 16 bytes. Its mask is one bit where
the analysis shows that it cannot change inside; else all bits together decide at run time between
the vector and single elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_blocks import BlockCode, Registers
from lazyblock.backend.llvm.nvptx_functions import GLOBAL_POINTER
from lazyblock.backend.llvm.nvptx_layouts import VECTOR_BYTES
from lazyblock.backend.llvm.nvptx_thread import is_always, stored_type, value_type
from lazyblock.backend.llvm.types import constant_text, element_nbytes
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import Element, PointerType, ScalarType


@dataclass(frozen=True)
class _Vector:
    """Registers that one access moves; one mask where the bits are known to be equal."""

    registers: tuple[int, ...]
    pointers: tuple[str, ...]  # of every element; only the first is known when masks has one name
    masks: tuple[str, ...]


@dataclass(frozen=True)
class _Access:
    """A load or store in its layout, cut into vectors."""

    element: Element
    vectors: tuple[_Vector, ...]

    @property
    def nbytes(self) -> int:
        return element_nbytes(self.element)


def _plan_access(
    code: BlockCode, pointer: Value, mask: Value | None, layout: LinearLayout
) -> _Access:
    """Choose vectors and emit their addresses and masks."""
    kind = pointer.type.element
    assert isinstance(kind, PointerType)
    axis, bits = _vector_bits(code, pointer, layout, VECTOR_BYTES // element_nbytes(kind.pointee))
    width = 1 << len(bits)
    leaders = layout.without_registers(bits)
    is_uniform = mask is None or not layout.shape or code.infos[mask].constancy[axis] >= width
    pointers = _addresses(code, pointer, leaders if is_uniform else layout)
    masks = [] if mask is None else code.demand(mask, leaders if is_uniform else layout)
    vectors = []
    for number, members in enumerate(layout.vectors(bits)):
        chosen = (number,) if is_uniform else members
        vectors.append(
            _Vector(
                members,
                tuple(pointers[index] for index in chosen),
                tuple(masks[index] for index in chosen) if masks else (),
            )
        )
    return _Access(kind.pointee, tuple(vectors))


def _addresses(code: BlockCode, pointer: Value, layout: LinearLayout) -> Registers:
    """The pointers in a layout's registers; within a run of memory as steps from its start."""
    element = pointer.type.element
    assert isinstance(element, PointerType)
    steps = _steps_in_runs(layout, code.infos[pointer].contiguity)
    starts = code.demand(pointer, layout.without_registers(steps))
    pointers = [""] * layout.num_registers
    for start, members in zip(starts, layout.vectors(list(steps)), strict=True):
        for register in members:
            distance = sum(step for bit, step in steps.items() if register >> bit & 1)
            place = f"{GLOBAL_POINTER} {start}, i32 {distance}"
            text = f"getelementptr {stored_type(element.pointee)}, {place}"
            pointers[register] = code.emitter.value(text) if distance else start
    return pointers


def _steps_in_runs(layout: LinearLayout, runs: Sequence[int]) -> dict[int, int]:
    """Register bits that only step along a run of neighbouring elements, and by how many."""
    steps = {}
    for bit, basis in enumerate(layout.register):
        moving = [axis for axis, step in enumerate(basis) if step]
        if len(moving) == 1 and layout.has_disjoint_bits(moving[0]):
            step = basis[moving[0]]
            if 2 * step <= runs[moving[0]]:
                steps[bit] = step
    return steps


def _vector_bits(
    code: BlockCode, pointer: Value, layout: LinearLayout, most: int
) -> tuple[int, tuple[int, ...]]:
    """The axis along which accesses are widest, and the register bits of one access."""
    best: tuple[int, tuple[int, ...]] = (0, ())
    for axis in range(len(layout.shape)):
        width = min(code.infos[pointer].aligned_run(axis), most)
        bits = layout.vector_positions(axis)[: width.bit_length() - 1]
        if len(bits) > len(best[1]):
            best = axis, bits
    return best


# --- loads ---------------------------------------------------------------------------------------


def emit_load(code: BlockCode, op: ops.Load) -> None:
    """Load a block where its layout wants it; all vectors one after the other."""
    layout = code.plan.home(op.result)
    access = _plan_access(code, op.pointer, op.mask, layout)
    if op.other is not None:
        others = code.demand(op.other, layout)
    else:
        others = [_zero(access.element)] * layout.num_registers
    code.barriers.before_access(op, layout)
    registers = [""] * layout.num_registers
    for vector in access.vectors:
        rest = [others[index] for index in vector.registers]
        for index, name in zip(
            vector.registers, _load_vector(code, access, vector, rest), strict=True
        ):
            registers[index] = name
    code.hold(op.result, layout, registers)


def _zero(element: Element) -> str:
    return constant_text(0, element) if isinstance(element, ScalarType) else "null"


def _load_vector(code: BlockCode, access: _Access, vector: _Vector, others: Registers) -> Registers:
    width = len(vector.registers)
    if not vector.masks:
        return _read(code, access, vector.pointers[0], width)
    if len(vector.masks) == 1:
        return _read_if(code, access, vector.masks[0], vector.pointers[0], others)
    emitter, type = code.emitter, value_type(access.element)
    whole, single, after = (emitter.fresh_label(hint) for hint in ("whole", "single", "after"))
    emitter.branch_if(emitter.both(*vector.masks), whole, single)
    emitter.begin(whole)
    together = _read(code, access, vector.pointers[0], width)
    first = emitter.label
    emitter.branch(after)
    emitter.begin(single)
    apart = [
        _read_if(code, access, mask, pointer, [other])[0]
        for mask, pointer, other in zip(vector.masks, vector.pointers, others, strict=True)
    ]
    last = emitter.label
    emitter.branch(after)
    emitter.begin(after)
    pairs = zip(together, apart, strict=True)
    return [emitter.phi(type, (left, first), (right, last)) for left, right in pairs]


def _read(code: BlockCode, access: _Access, pointer: str, width: int) -> Registers:
    place = f"{GLOBAL_POINTER} {pointer}"
    return code.emitter.load_vector(access.element, width, place, access.nbytes * width)


def _read_if(
    code: BlockCode, access: _Access, mask: str, pointer: str, others: Registers
) -> Registers:
    emitter, type = code.emitter, value_type(access.element)
    if is_always(mask):
        return _read(code, access, pointer, len(others))
    before = emitter.label
    with emitter.when(mask):
        names = _read(code, access, pointer, len(others))
        inside = emitter.label
    pairs = zip(names, others, strict=True)
    return [emitter.phi(type, (name, inside), (other, before)) for name, other in pairs]


# --- stores --------------------------------------------------------------------------------------


def emit_store(code: BlockCode, op: ops.Store) -> None:
    """Store a block; of several threads that hold an element, the first writes it."""
    layout = code.plan.stores[op]
    values = code.demand(op.value, layout)
    access = _plan_access(code, op.pointer, op.mask, layout)
    code.barriers.before_access(op, layout)
    register_mask, *thread_masks = layout.replica_masks()
    with code.emitter.when(code.emitter.is_first_replica(*thread_masks)):
        for vector in access.vectors:
            if not vector.registers[0] & register_mask:
                written = [values[index] for index in vector.registers]
                _store_vector(code, access, vector, written)


def _store_vector(code: BlockCode, access: _Access, vector: _Vector, values: Registers) -> None:
    emitter = code.emitter
    if len(vector.masks) <= 1:
        with emitter.when(emitter.both(*vector.masks)):
            _write(code, access, vector.pointers[0], values)
        return
    whole, single, after = (emitter.fresh_label(hint) for hint in ("whole", "single", "after"))
    emitter.branch_if(emitter.both(*vector.masks), whole, single)
    emitter.begin(whole)
    _write(code, access, vector.pointers[0], values)
    emitter.branch(after)
    emitter.begin(single)
    for mask, pointer, value in zip(vector.masks, vector.pointers, values, strict=True):
        with emitter.when(mask):
            _write(code, access, pointer, [value])
    emitter.branch(after)
    emitter.begin(after)


def _write(code: BlockCode, access: _Access, pointer: str, values: Registers) -> None:
    place = f"{GLOBAL_POINTER} {pointer}"
    code.emitter.store_vector(access.element, values, place, access.nbytes * len(values))
