"""Prints and assertions of a GPU's threads, element by element.

Of several threads that hold an element, the first prints it. A failed assertion is written down
once per launch, for the host to find; all threads of the CTA end together, since those that are
left would wait for the others. (In a cluster they go on, for that reason.)
"""

from __future__ import annotations

from lazyblock.backend.llvm.emit import Typed
from lazyblock.backend.llvm.layout import LinearLayout, flatten_coordinates
from lazyblock.backend.llvm.nvptx_blocks import BlockCode
from lazyblock.backend.llvm.reports import shown_value
from lazyblock.backend.llvm.site import Site
from lazyblock.tiler import ops

_AXES = "xyz"


def emit_print(code: BlockCode, op: ops.Print) -> None:
    """Print the elements of every value, one value after the other."""
    emitter = code.emitter
    if not op.values:
        with emitter.when(emitter.is_first_replica(31, -1)):
            emitter.print_line(op.lines[0], _place(code))
    for value, line in zip(op.values, op.lines, strict=False):
        layout = code.plan.home(value)
        registers = code.demand(value, layout)
        site = Site(emitter, code.target, value.type.element, 1)
        register_mask, *thread_masks = layout.replica_masks()
        with emitter.when(emitter.is_first_replica(*thread_masks)):
            for number, register in enumerate(registers):
                if not number & register_mask:
                    shown = shown_value(site, register, op.hex)
                    lane = _lane(code, layout, number)
                    emitter.print_line(line, [*_place(code), *lane, shown])


def emit_assert(code: BlockCode, op: ops.Assert) -> None:
    """Tell the first element that fails, and end."""
    emitter, layout = code.emitter, code.plan.home(op.condition)
    holds = code.demand(op.condition, layout)
    masks = code.demand(op.mask, layout) if op.mask is not None else ["true"] * len(holds)
    fails = []
    for number, (condition, mask) in enumerate(zip(holds, masks, strict=True)):
        fails.append(emitter.value(f"xor i1 {condition}, true"))
        if mask != "true":
            fails[-1] = emitter.value(f"and i1 {fails[-1]}, {mask}")
        with emitter.when(fails[-1]):
            weights = [layout.flatten(basis) for basis in layout.lane + layout.warp]
            step = flatten_coordinates(layout.shape, layout.coordinates(number))
            element = emitter.sum_thread_bits(weights)
            if step:
                element = emitter.combine_bits(element, str(step), False)
            emitter.fail(op.text(code.name), [text for _, text in _place(code)], element)
    any_fails = fails[0]
    for other in fails[1:]:
        any_fails = emitter.value(f"or i1 {any_fails}, {other}")
    emitter.end_if(any_fails)


def _place(code: BlockCode) -> list[Typed]:
    return [("i32", code.emitter.program_id(axis)) for axis in _AXES]


def _lane(code: BlockCode, layout: LinearLayout, register: int) -> list[Typed]:
    """Coordinates of the element in a register."""
    emitter, coordinates = code.emitter, layout.coordinates(register)
    lane = []
    for axis, step in enumerate(coordinates):
        base = emitter.sum_thread_bits([basis[axis] for basis in layout.lane + layout.warp])
        lane.append(("i32", emitter.combine_bits(base, str(step), False) if step else base))
    return lane
