"""What kernels that print or assert hand over: values in a buffer, as printf takes them."""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.backend.llvm.conversions import emit_cast
from lazyblock.backend.llvm.emit import Emitter, Typed
from lazyblock.backend.llvm.site import Site
from lazyblock.tiler.types import PointerType, float64, int32, uint32

PRINT = "lazyblock_print"  # symbols that code for the host calls with a text and a buffer
FAIL = "lazyblock_fail"
FAILURE = "lazyblock_failure"  # symbols of a GPU's module: what failed, and the texts of all
ASSERTIONS = "lazyblock_assertions"
FAILURE_FIELDS = 5  # i32: number of the text + 1, the instance's coordinates, the element


def shown_value(site: Site, value: str, hex: bool) -> Typed:
    """An element as it is printed: floats as double, integers in 32 bits or 64."""
    element = site.element
    if isinstance(element, PointerType):
        type = "ptr" if not site.target.is_gpu else "ptr addrspace(1)"
        return "i64", site.emitter.value(f"ptrtoint {type} {value} to i64")
    if element.is_floating:
        return "double", value if element == float64 else emit_cast(site, value, float64)
    if element.bits < 32:
        wide = int32 if element.is_signed and not hex else uint32
        extend = "sext" if element.is_signed and not hex else "zext"
        return "i32", site.convert(extend, value, wide)
    return f"i{element.bits}", value


def store_arguments(emitter: Emitter, values: Sequence[Typed]) -> str:
    """A buffer that holds values one behind the other, each aligned to its size."""
    kind = f"{{{', '.join(type for type, _ in values)}}}"
    buffer = emitter.alloca(kind, align=8)
    for number, (type, value) in enumerate(values):
        place = emitter.value(f"getelementptr {kind}, ptr {buffer}, i32 0, i32 {number}")
        emitter.line(f"store {type} {value}, ptr {place}")
    return buffer
