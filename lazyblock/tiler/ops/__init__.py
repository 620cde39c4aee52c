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
    Rarely,
    Select,
    Unary,
)
from lazyblock.tiler.ops.atomic import AtomicCas, AtomicRmw
from lazyblock.tiler.ops.contract import Dot
from lazyblock.tiler.ops.control import Barrier, For, If, While, Yield
from lazyblock.tiler.ops.create import Arange, Constant, NumPrograms, ProgramId, Splat
from lazyblock.tiler.ops.debug import Assert, Print
from lazyblock.tiler.ops.index import Gather, Histogram
from lazyblock.tiler.ops.memory import Load, Store
from lazyblock.tiler.ops.reduce import Combining, Reduce, Scan
from lazyblock.tiler.ops.shape import (
    Broadcast,
    ExchangeBits,
    ExpandDims,
    Join,
    Reshape,
    Split,
    Transpose,
)

OPS: dict[str, type[Op]] = {
    kind.name: kind
    for kind in (
        *(ProgramId, NumPrograms, Arange, Constant, Splat),
        *(
            Unary,
            Binary,
            Compare,
            Select,
            Rarely,
            Fma,
            Math,
            Approximate,
            Cast,
            Bitcast,
            AddPointer,
        ),
        *(Broadcast, ExpandDims, Reshape, Transpose, Join, Split, ExchangeBits),
        *(Gather, Histogram, Print, Assert),
        *(Load, Store, AtomicRmw, AtomicCas, Barrier),
        *(Reduce, Scan, Dot, For, While, If, Yield),
    )
}

__all__ = [
    "OPS",
    "Combining",
    *("ProgramId", "NumPrograms", "Arange", "Constant", "Splat"),
    *("Unary", "Binary", "Compare", "Select", "Rarely", "Fma", "Math", "Approximate"),
    *("Cast", "Bitcast", "AddPointer"),
    *("Broadcast", "ExpandDims", "Reshape", "Transpose", "Join", "Split", "ExchangeBits"),
    *("Gather", "Histogram", "Print", "Assert"),
    *("Load", "Store", "AtomicRmw", "AtomicCas", "Barrier"),
    *("Reduce", "Scan", "Dot", "For", "While", "If", "Yield"),
]
