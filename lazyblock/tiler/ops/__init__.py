"""Block ops by family. `OPS` names every kind: printer and parser work from it."""

from lazyblock.tiler.ir import Op
from lazyblock.tiler.ops.arith import (
    AddPointer,
    Approximate,
    Binary,
    Bitcast,
    Cast,
    Compare,
    Fma,
    Math,
    Select,
    Unary,
)
from lazyblock.tiler.ops.atomic import AtomicCas, AtomicRmw
from lazyblock.tiler.ops.control import Barrier, For, If, While, Yield
from lazyblock.tiler.ops.create import Arange, Constant, NumPrograms, ProgramId, Splat
from lazyblock.tiler.ops.memory import Load, Store
from lazyblock.tiler.ops.reduce import Combining, Reduce, Scan
from lazyblock.tiler.ops.shape import Broadcast, ExpandDims, Reshape, Transpose

OPS: dict[str, type[Op]] = {
    kind.name: kind
    for kind in (
        *(ProgramId, NumPrograms, Arange, Constant, Splat),
        *(Unary, Binary, Compare, Select, Fma, Math, Approximate, Cast, Bitcast, AddPointer),
        *(Broadcast, ExpandDims, Reshape, Transpose),
        *(Load, Store, AtomicRmw, AtomicCas, Barrier),
        *(Reduce, Scan, For, While, If, Yield),
    )
}

__all__ = [
    "OPS",
    "Combining",
    *("ProgramId", "NumPrograms", "Arange", "Constant", "Splat"),
    *("Unary", "Binary", "Compare", "Select", "Fma", "Math", "Approximate"),
    *("Cast", "Bitcast", "AddPointer"),
    *("Broadcast", "ExpandDims", "Reshape", "Transpose"),
    *("Load", "Store", "AtomicRmw", "AtomicCas", "Barrier"),
    *("Reduce", "Scan", "For", "While", "If", "Yield"),
]
