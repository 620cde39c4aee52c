"""Loads, stores and atomic accesses, checked against the ends of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyblock.errors import LaunchError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret.instance import Datum, Instance, Rule, Touch
from lazyblock.tiler.interpret.memory import (
    NOWHERE,
    Addresses,
    Array,
    Memory,
    require_somewhere,
    swap,
    update,
)
from lazyblock.tiler.ir import Op, Value
from lazyblock.tiler.types import (
    PointerType,
    ScalarType,
    to_numpy,
)


def _load(instance: Instance, op: ops.Load) -> Sequence[Datum]:
    dtype = to_numpy(op.result.type.scalar)
    fill = np.zeros((), dtype) if op.other is None else instance.array(op.other)
    result = np.array(np.broadcast_to(fill, op.result.shape))
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, op.mask):
        result[lanes] = memory.elements[offsets]
    return [result]


def _store(instance: Instance, op: ops.Store) -> Sequence[Datum]:
    value = np.broadcast_to(instance.array(op.value), op.pointer.shape)
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, op.mask):
        memory.elements[offsets] = value[lanes]
    return []


def _atomic_rmw(instance: Instance, op: ops.AtomicRmw) -> Sequence[Datum]:
    value = np.broadcast_to(instance.array(op.value), op.pointer.shape)
    result = np.zeros_like(value)
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, op.mask):
        result[lanes] = update(op.kind, memory.elements, offsets, value[lanes])
    return [result]


def _atomic_cas(instance: Instance, op: ops.AtomicCas) -> Sequence[Datum]:
    compared, value = (
        np.broadcast_to(instance.array(v), op.pointer.shape) for v in (op.compare, op.value)
    )
    result = np.zeros_like(value)
    for memory, lanes, offsets in _accesses(instance, op, op.pointer, None):
        result[lanes] = swap(memory.elements, offsets, compared[lanes], value[lanes])
    return [result]


def _accesses(
    instance: Instance, op: Op, pointer: Value, mask: Value | None
) -> list[tuple[Memory, Array, Array]]:
    """Per argument touched: its memory, which lanes touch it, their offsets; checked."""
    addresses = instance.addresses(pointer)
    active = np.ones((), bool) if mask is None else instance.array(mask)
    active = np.broadcast_to(active, pointer.shape)
    which = np.broadcast_to(addresses.memory, pointer.shape)
    offset = np.broadcast_to(addresses.offset, pointer.shape)
    element = pointer.type.element
    assert isinstance(element, PointerType)
    found = []
    for number in np.unique(which[active]):
        lanes = active & (which == number)
        memory = _memory_touched(instance, int(number), element.pointee)
        if instance.watch is not None and instance.integers is not None:
            wrapped, touched = instance.integers.find(addresses), offset[lanes]
            touch = (op, instance.place, int(number), memory.elements, lanes, touched, wrapped)
            instance.watch(Touch(*touch))
        what = f"'{op.name}' at {op.line}"
        require_somewhere(what, Addresses(which, offset), active, element.pointee.nbytes)
        _check_bounds(instance, op, memory, lanes, offset)
        if not isinstance(op, ops.Load) and not memory.elements.flags.writeable:
            raise LaunchError(
                f"{what} writes into '{memory.name}', which is a read-only array.",
                hint="pass a copy, or 'x.setflags(write=True)' if the memory is yours.",
            )
        found.append((memory, lanes, offset[lanes]))
    return found


def _memory_touched(instance: Instance, number: int, pointee: ScalarType) -> Memory:
    if number == NOWHERE:
        return Memory("", np.empty(0, to_numpy(pointee)), 0)
    return instance.memories[number]


def _check_bounds(instance: Instance, op: Op, memory: Memory, lanes: Array, offset: Array) -> None:
    size = len(memory.elements)
    outside = lanes & ((offset < 0) | (offset >= size))
    if outside.any():
        lane = tuple(int(index) for index in np.argwhere(outside)[0])
        element = int(offset[lane]) - memory.start
        raise LaunchError(
            f"'{op.name}' at {op.line} touches element {element} of '{memory.name}', which has"
            f" {size}; program instance {instance.place}, lane {lane}.",
            hint="mask the lanes outside the array.",
        )


MEMORY_RULES: dict[type[Op], Rule] = {
    ops.Load: _load,
    ops.Store: _store,
    ops.AtomicRmw: _atomic_rmw,
    ops.AtomicCas: _atomic_cas,
}
