"""Reading and writing vectors of elements: in runs, strides, or anywhere; whole or masked.

Lanes whose mask is false touch no memory. Where the processor has no masked access for an element,
and for all masked accesses to scattered addresses, a helper function walks over the lanes.
"""

from __future__ import annotations

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.host_coordinates import splat
from lazyblock.backend.llvm.types import element_nbytes, llvm_type, mangled, memory_type
from lazyblock.target import Target
from lazyblock.tiler.types import Element, int1


def to_memory(emitter: Emitter, element: Element, value: str, width: int) -> str:
    """A value as it lies in memory: bools as bytes."""
    if element != int1:
        return value
    return emitter.value(f"zext {llvm_type(int1, width)} {value} to {memory_type(int1, width)}")


def from_memory(emitter: Emitter, element: Element, value: str, width: int) -> str:
    """A value as it lies in registers: bytes that are not 0 are true."""
    if element != int1:
        return value
    zero = "0" if width == 1 else "zeroinitializer"
    return emitter.value(f"icmp ne {memory_type(int1, width)} {value}, {zero}")


def offset_pointer(emitter: Emitter, element: Element, pointer: str, offset: str) -> str:
    """pointer + offset elements; offset is i64 text."""
    if offset == "0":
        return pointer
    return emitter.value(f"getelementptr {memory_type(element)}, ptr {pointer}, i64 {offset}")


class Access:
    """Loads and stores of `width` elements."""

    def __init__(self, emitter: Emitter, target: Target, element: Element, width: int) -> None:
        self.emitter = emitter
        self.element = element
        self.width = width
        self.scalar = memory_type(element)
        self.vector = memory_type(element, width)
        self.align = element_nbytes(element)
        self._has_masked = _has_masked_access(target, self.align)

    # --- runs of consecutive elements ------------------------------------------------------------

    def load(self, pointer: str) -> str:
        raw = self.emitter.value(f"load {self.vector}, ptr {pointer}, align {self.align}")
        return from_memory(self.emitter, self.element, raw, self.width)

    def store(self, pointer: str, value: str) -> None:
        raw = to_memory(self.emitter, self.element, value, self.width)
        self.emitter.line(f"store {self.vector} {raw}, ptr {pointer}, align {self.align}")

    def load_masked(self, pointer: str, mask: str, other: str) -> str:
        if self.width == 1:
            return self._load_if(pointer, mask, other)
        if not self._has_masked:
            return self.gather_masked(self._consecutive(pointer), mask, other)
        other = to_memory(self.emitter, self.element, other, self.width)
        name = f"llvm.masked.load.{mangled(self.scalar, self.width)}.p0"
        mask_type = llvm_type(int1, self.width)
        operands = [("ptr", pointer), ("i32", str(self.align)), (mask_type, mask)]
        raw = self.emitter.call(self.vector, name, *operands, (self.vector, other))
        return from_memory(self.emitter, self.element, raw, self.width)

    def store_masked(self, pointer: str, value: str, mask: str) -> None:
        if self.width == 1:
            return self._store_if(pointer, value, mask)
        if not self._has_masked:
            return self.scatter_masked(self._consecutive(pointer), value, mask)
        value = to_memory(self.emitter, self.element, value, self.width)
        name = f"llvm.masked.store.{mangled(self.scalar, self.width)}.p0"
        mask_type = llvm_type(int1, self.width)
        operands = [("ptr", pointer), ("i32", str(self.align)), (mask_type, mask)]
        self.emitter.call("void", name, (self.vector, value), *operands)

    def _consecutive(self, pointer: str) -> str:
        lanes = ", ".join(f"i64 {lane}" for lane in range(self.width))
        return self.emitter.value(
            f"getelementptr {self.scalar}, ptr {pointer}, <{self.width} x i64> <{lanes}>"
        )

    # --- one element -----------------------------------------------------------------------------

    def _load_if(self, pointer: str, mask: str, other: str) -> str:
        emitter = self.emitter
        then, done, before = emitter.fresh_label("then"), emitter.fresh_label("done"), emitter.label
        emitter.branch_if(mask, then, done)
        emitter.begin(then)
        value = self.load(pointer)
        emitter.branch(done)
        emitter.begin(done)
        return emitter.phi(llvm_type(self.element), (other, before), (value, then))

    def _store_if(self, pointer: str, value: str, mask: str) -> None:
        emitter = self.emitter
        then, done = emitter.fresh_label("then"), emitter.fresh_label("done")
        emitter.branch_if(mask, then, done)
        emitter.begin(then)
        self.store(pointer, value)
        emitter.branch(done)
        emitter.begin(done)

    # --- strides and scattered addresses ---------------------------------------------------------

    def load_strided(self, pointer: str, step: int) -> str:
        """Lanes `step` elements apart, lane 0 at `pointer`."""
        if step == -1:
            return self._reverse(self.load(self._last_lane(pointer)))
        pointers = [self._lane_pointer(pointer, lane * step) for lane in range(self.width)]
        return self._load_each(pointers)

    def store_strided(self, pointer: str, step: int, value: str) -> None:
        if step == -1:
            return self.store(self._last_lane(pointer), self._reverse(value))
        pointers = [self._lane_pointer(pointer, lane * step) for lane in range(self.width)]
        self._store_each(pointers, value)

    def gather(self, pointers: str) -> str:
        return self._load_each(self._extract_pointers(pointers))

    def scatter(self, pointers: str, value: str) -> None:
        self._store_each(self._extract_pointers(pointers), value)

    def gather_masked(self, pointers: str, mask: str, other: str) -> str:
        if self.width == 1:
            return self._load_if(pointers, mask, other)
        name = self._helper("gather", _GATHER)
        other = to_memory(self.emitter, self.element, other, self.width)
        operands = [self._pointers(pointers), self._mask(mask), (self.vector, other)]
        raw = self.emitter.call(self.vector, name, *operands)
        return from_memory(self.emitter, self.element, raw, self.width)

    def scatter_masked(self, pointers: str, value: str, mask: str) -> None:
        if self.width == 1:
            return self._store_if(pointers, value, mask)
        name = self._helper("scatter", _SCATTER)
        value = to_memory(self.emitter, self.element, value, self.width)
        operands = [self._pointers(pointers), self._mask(mask), (self.vector, value)]
        self.emitter.call("void", name, *operands)

    def spread(self, pointer: str, step: int) -> str:
        """The addresses of lanes `step` elements apart, as a vector."""
        lanes = ", ".join(f"i64 {lane * step}" for lane in range(self.width))
        pointers = splat(self.emitter, "ptr", pointer, self.width)
        return self.emitter.value(
            f"getelementptr {self.scalar}, <{self.width} x ptr> {pointers}, "
            f"<{self.width} x i64> <{lanes}>"
        )

    def _lane_pointer(self, pointer: str, offset: int) -> str:
        return offset_pointer(self.emitter, self.element, pointer, str(offset))

    def _last_lane(self, pointer: str) -> str:
        return self._lane_pointer(pointer, 1 - self.width)

    def _reverse(self, value: str) -> str:
        vector = llvm_type(self.element, self.width)
        order = ", ".join(f"i32 {lane}" for lane in reversed(range(self.width)))
        return self.emitter.value(
            f"shufflevector {vector} {value}, {vector} poison, <{self.width} x i32> <{order}>"
        )

    def _extract_pointers(self, pointers: str) -> list[str]:
        if self.width == 1:
            return [pointers]
        vector = f"<{self.width} x ptr>"
        return [
            self.emitter.value(f"extractelement {vector} {pointers}, i64 {lane}")
            for lane in range(self.width)
        ]

    def _load_each(self, pointers: list[str]) -> str:
        load = f"load {self.scalar}, ptr {{}}, align {self.align}"
        lanes = [self.emitter.value(load.format(pointer)) for pointer in pointers]
        if self.width == 1:
            return from_memory(self.emitter, self.element, lanes[0], 1)
        raw = "poison"
        for lane, value in enumerate(lanes):
            raw = self.emitter.value(
                f"insertelement {self.vector} {raw}, {self.scalar} {value}, i64 {lane}"
            )
        return from_memory(self.emitter, self.element, raw, self.width)

    def _store_each(self, pointers: list[str], value: str) -> None:
        raw = to_memory(self.emitter, self.element, value, self.width)
        for lane, pointer in enumerate(pointers):
            single = raw
            if self.width > 1:
                single = self.emitter.value(f"extractelement {self.vector} {raw}, i64 {lane}")
            self.emitter.line(f"store {self.scalar} {single}, ptr {pointer}, align {self.align}")

    def _pointers(self, pointers: str) -> tuple[str, str]:
        return f"<{self.width} x ptr>", pointers

    def _mask(self, mask: str) -> tuple[str, str]:
        return f"<{self.width} x i1>", mask

    def _helper(self, kind: str, text: str) -> str:
        name = f"lazyblock.{kind}.{mangled(self.scalar, self.width)}"
        if not self.emitter.has_helper(name):
            values = {"name": name, "width": self.width, "align": self.align}
            types = {"scalar": self.scalar, "vector": self.vector}
            self.emitter.add_helper(name, text.format(**values, **types))
        return name


def _has_masked_access(target: Target, nbytes: int) -> bool:
    features = target.features.split(",")
    if nbytes >= 4:
        return "+avx2" in features or "+sve" in features
    return "+avx512bw" in features and "+avx512vl" in features


_LANE_LOOP = """\
entry:
  %pointers = alloca [{width} x ptr], align 64
  %values = alloca {vector}, align 64
  store <{width} x ptr> %where, ptr %pointers, align 64
  store {vector} %value, ptr %values, align 64
  %bits = bitcast <{width} x i1> %mask to i{width}
  br label %head
head:
  %lane = phi i64 [ 0, %entry ], [ %next, %tail ]
  %rest = phi i{width} [ %bits, %entry ], [ %shifted, %tail ]
  %is_on = trunc i{width} %rest to i1
  br i1 %is_on, label %on, label %tail
on:
  %slot = getelementptr ptr, ptr %pointers, i64 %lane
  %pointer = load ptr, ptr %slot
  %place = getelementptr {scalar}, ptr %values, i64 %lane
  %single = load {scalar}, ptr %{{source}}, align {align}
  store {scalar} %single, ptr %{{destination}}, align {align}
  br label %tail
tail:
  %next = add i64 %lane, 1
  %shifted = lshr i{width} %rest, 1
  %is_done = icmp eq i64 %next, {width}
  br i1 %is_done, label %done, label %head
done:
"""
_PARAMETERS = "(<{width} x ptr> %where, <{width} x i1> %mask, {vector} %value)"
_GATHER = (
    "define internal {vector} @{name}"
    + _PARAMETERS
    + " nounwind noinline {{\n"
    + _LANE_LOOP.replace("{{source}}", "pointer").replace("{{destination}}", "place")
    + "  %result = load {vector}, ptr %values, align 64\n  ret {vector} %result\n}}\n"
)
_SCATTER = (
    "define internal void @{name}"
    + _PARAMETERS
    + " nounwind noinline {{\n"
    + _LANE_LOOP.replace("{{source}}", "place").replace("{{destination}}", "pointer")
    + "  ret void\n}}\n"
)
