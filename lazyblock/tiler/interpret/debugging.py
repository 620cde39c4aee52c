"""What a program prints and asserts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from lazyblock.errors import LaunchError
from lazyblock.tiler import ops
from lazyblock.tiler.interpret.instance import Datum, Instance, Rule, as_integers
from lazyblock.tiler.interpret.memory import (
    Array,
)
from lazyblock.tiler.ir import Op
from lazyblock.tiler.ops.debug import describe_failure, format_line
from lazyblock.tiler.types import (
    BlockType,
    PointerType,
    decode,
)


def _print(instance: Instance, op: ops.Print) -> Sequence[Datum]:
    blocks = [_printable(as_integers(instance, value), value.type, op.hex) for value in op.values]
    lines = op.lines
    if not blocks:
        sys.stdout.write(format_line(lines[0], instance.place))
    for line, block in zip(lines, blocks, strict=False):
        for place in np.ndindex(block.shape):
            sys.stdout.write(format_line(line, [*instance.place, *place, block[place].item()]))
    return []


def _printable(array: Array, type: BlockType, hex: bool) -> Array:
    """Numbers to print."""
    if isinstance(type.element, PointerType):
        return array
    array = np.asarray(decode(array, type.element))
    return array.view(f"u{array.itemsize}") if hex and type.element.is_integer else array


def _assert(instance: Instance, op: ops.Assert) -> Sequence[Datum]:
    fails = ~instance.array(op.condition)
    if op.mask is not None:
        fails = fails & instance.array(op.mask)
    if fails.any():
        text, element = op.text(instance.name), int(np.argmax(fails))
        raise LaunchError(describe_failure(text, instance.place, element))
    return []


DEBUG_RULES: dict[type[Op], Rule] = {
    ops.Print: _print,
    ops.Assert: _assert,
}
