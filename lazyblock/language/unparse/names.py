"""Names for values: what the program says, or what the value is."""

from __future__ import annotations

import keyword
import re

from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import int1

TAKEN = frozenset({"lb", "tl", "range", "float", *keyword.kwlist})
_REDUCED = {"add": "total", "max": "largest", "min": "smallest"}
_SCANNED = {"add": "sums", "mul": "products"}
TRANSPARENT = (ops.Splat, ops.Broadcast, ops.ExpandDims)  # written along with what they take


def to_identifier(text: str) -> str:
    """A name as a Python identifier that hides nothing."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII) or "v"
    return f"v{name}" if name[0].isdigit() or name in TAKEN else name


def suggest_name(value: Value) -> str:
    """A telling name for a value without one."""
    owner = value.owner
    if isinstance(owner, ops.ProgramId):
        return f"pid_{owner.axis}" if owner.axis else "pid"
    if isinstance(owner, ops.NumPrograms):
        return f"num_programs_{owner.axis}"
    if isinstance(owner, ops.Load):
        return _name_of_load(owner)
    if isinstance(owner, ops.Reduce):
        return _REDUCED.get(owner.kind, "reduced")
    if isinstance(owner, ops.Scan):
        return _SCANNED.get(owner.kind, "scanned")
    if value.type.is_pointer:
        return "ptrs"
    if value.type.scalar == int1:
        return "mask" if value.shape else "flag"
    if value.type.scalar.name in ("i32", "i64"):
        return "offs" if value.shape else "start"
    return "value"


def _name_of_load(op: ops.Load) -> str:
    """After the parameter behind the pointer: `x_ptr` gives `x`."""
    pointer = op.pointer
    while pointer.owner is not None and pointer.owner.operands_flat:
        if not isinstance(pointer.owner, (ops.AddPointer, ops.Reshape, *TRANSPARENT)):
            return "value"
        pointer = pointer.owner.operands_flat[0]
    base = pointer.hint
    if not base:
        return "value"
    return base.removesuffix("_ptr") if base.endswith("_ptr") else f"{base}_values"
