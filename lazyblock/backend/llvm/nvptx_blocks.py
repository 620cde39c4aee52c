"""Blocks as the registers of one thread, asked for in a layout.

`BlockCode.demand(value, layout)` gives one SSA scalar per register of the layout. Values that need
a place in the program (loads, reductions, results and arguments of regions) are recorded with
`hold`; everything else is computed where it is first asked for: ranges, splats and what follows
from them in any layout, other elementwise ops in their home layout. What is held in another layout
is converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lazyblock.backend.llvm.layout import LinearLayout, flatten_coordinates, unflatten_index
from lazyblock.backend.llvm.nvptx_barriers import Barriers
from lazyblock.backend.llvm.nvptx_convert import Moved, convert_layout, start_conversion
from lazyblock.backend.llvm.nvptx_division import emit_divisions
from lazyblock.backend.llvm.nvptx_functions import GLOBAL_POINTER
from lazyblock.backend.llvm.nvptx_layouts import LayoutPlan, backward
from lazyblock.backend.llvm.nvptx_shared import SharedMemory
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter, stored_type, value_type
from lazyblock.backend.llvm.rules import emit_elementwise
from lazyblock.backend.llvm.types import constant_text
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_facts import Infos
from lazyblock.tiler.ir import Op, Trait, Value
from lazyblock.tiler.types import PointerType, float32

Registers = list[str]
_Place = tuple[Value, LinearLayout]
_AXES = "xyz"


class BlockCode:
    """Emitted code of one program, and which blocks its registers hold."""

    def __init__(
        self,
        emitter: ThreadEmitter,
        target: Target,
        plan: LayoutPlan,
        infos: Infos,
        barriers: Barriers,
        name: str = "",
    ) -> None:
        self.emitter = emitter
        self.name = name
        self.target = target
        self.plan = plan
        self.infos = infos
        self.barriers = barriers
        self.shared = SharedMemory(emitter, barriers, target.shared_bytes)
        self.totals: dict[Value, str] = {}  # of scans: their last elements, in every thread
        self._scopes: list[dict[Value, list[tuple[LinearLayout, Registers]]]] = [{}]

    # --- what is held ----------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what was computed inside: it does not reach the code that follows."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    def hold(self, value: Value, layout: LinearLayout, registers: Registers) -> None:
        assert len(registers) == layout.num_registers
        self._scopes[-1].setdefault(value, []).append((layout, registers))

    def _held(self, value: Value) -> Iterator[tuple[LinearLayout, Registers]]:
        for scope in reversed(self._scopes):
            yield from scope.get(value, ())

    def _find(self, value: Value, layout: LinearLayout) -> Registers | None:
        for held, registers in self._held(value):
            mapping = held.register_map(layout)
            if mapping is not None:
                return [registers[index] for index in mapping]
        return None

    # --- asking ----------------------------------------------------------------------------------

    def demand(self, value: Value, layout: LinearLayout) -> Registers:
        """The registers of `value` in `layout`. Iterative: chains may be long."""
        assert value.shape == layout.shape, f"{value} asked for in {layout}"
        pending: list[_Place] = [(value, layout)]
        while True:
            current, wanted = pending[-1]
            registers = self._find(current, wanted)
            if registers is None:
                missing = [
                    place for place in self._needs(current, wanted) if self._find(*place) is None
                ]
                if missing:
                    pending.extend(reversed(missing))
                    continue
                registers = self._make(current, wanted)
                self.hold(current, wanted, registers)
            pending.pop()
            if not pending:
                return registers

    def scalar(self, value: Value) -> str:
        """The register of a scalar."""
        (register,) = self.demand(value, self.plan.home(value))
        return register

    def move(self, wanted: Sequence[_Place]) -> list[Moved]:
        """Blocks on their way into layouts, to be published before their registers are read.

        All are computed first: their own exchanges would take the memory of one that is on its way.
        """
        places = [self._origin(*place) for place in wanted]
        for value, home, _ in places:
            self.demand(value, home)
        return [self._send(*place) for place in places]

    def _origin(
        self, value: Value, layout: LinearLayout
    ) -> tuple[Value, LinearLayout, LinearLayout]:
        """What to send into which layout for a block: the operand of a transpose, from its home."""
        if self._find(value, layout) is not None:
            return value, layout, layout
        if isinstance(value.owner, ops.Transpose):
            return self._origin(value.owner.value, backward(value.owner, layout))
        home = self.plan.home(value)
        stays = value in self.plan.computable or home.register_map(layout) is not None
        return value, layout if stays else home, layout

    def _send(self, value: Value, home: LinearLayout, layout: LinearLayout) -> Moved:
        registers = self.demand(value, home)
        if home is layout:
            return Moved(registers)
        return start_conversion(self.shared, value.type.element, registers, home, layout)

    def _is_converted(self, value: Value, layout: LinearLayout) -> bool:
        """Whether `value` comes into `layout` from the layout it lives in."""
        op = value.owner
        if op is None or not _is_lazy(op):
            return True
        if value in self.plan.computable or not (op.has(Trait.ELEMENTWISE) or _has_halves(op)):
            return False
        return self.plan.home(value).register_map(layout) is None

    def _needs(self, value: Value, layout: LinearLayout) -> list[_Place]:
        """What must be held before `value` can be made in `layout`."""
        op = value.owner
        if self._is_converted(value, layout):
            is_placed = op is None or not _is_lazy(op)
            return [] if is_placed else [(value, self.plan.home(value))]
        match op:
            case ops.Splat():
                return [(op.value, self.plan.home(op.value))]
            case ops.ExpandDims() | ops.Broadcast() | ops.Transpose() | ops.Reshape():
                return [(op.value, backward(op, layout))]
            case ops.Join() | ops.Split():
                return [(operand, backward(op, layout)) for operand in op.operands_flat]
        assert op is not None
        return [(operand, layout) for operand in op.operands_flat]

    def _make(self, value: Value, layout: LinearLayout) -> Registers:
        if self._is_converted(value, layout):
            held, registers = next(self._held(value))
            return convert_layout(self.shared, value.type.element, registers, held, layout)
        op: Any = value.owner
        match op:
            case ops.ProgramId():
                return [self.emitter.program_id(_AXES[op.axis])]
            case ops.NumPrograms():
                return [self.emitter.num_programs(_AXES[op.axis])]
            case ops.Constant():
                return [constant_text(op.value, op.type.scalar)] * layout.num_registers
            case ops.Splat():
                return [self.scalar(op.value)] * layout.num_registers
            case ops.Arange():
                return self._arange(op, layout)
            case ops.ExpandDims() | ops.Broadcast() | ops.Transpose() | ops.Reshape():
                return self._rearranged(op, layout)
            case ops.Split():
                return self._half(op, op.results.index(value), layout)
            case ops.Join():
                return self._joined(op, layout)
        return self._elementwise(op, layout)

    # --- making ----------------------------------------------------------------------------------

    def _arange(self, op: ops.Arange, layout: LinearLayout) -> Registers:
        emitter, is_plain = self.emitter, layout.has_disjoint_bits(0)
        weights = [basis[0] for basis in layout.lane + layout.warp]
        base = emitter.sum_thread_bits(weights)
        registers = []
        for register in range(layout.num_registers):
            (step,) = layout.coordinates(register)
            index = emitter.combine_bits(base, str(step), is_plain) if step else base
            registers.append(emitter.value(f"add i32 {index}, {op.start}") if op.start else index)
        return registers

    def _rearranged(self, op: Any, layout: LinearLayout) -> Registers:
        """A shape op: the operand's registers, found by the coordinates they hold."""
        needed = backward(op, layout)
        operand = self._find(op.value, needed)
        assert operand is not None
        held = {needed.coordinates(i): name for i, name in enumerate(operand)}
        places = (layout.coordinates(register) for register in range(layout.num_registers))
        return [held[_operand_place(op, place)] for place in places]

    def _half(self, op: ops.Split, half: int, layout: LinearLayout) -> Registers:
        """One half of the last axis, which the operand's registers hold."""
        needed = backward(op, layout)
        operand = self._find(op.value, needed)
        assert operand is not None
        held = {needed.coordinates(i): name for i, name in enumerate(operand)}
        places = (layout.coordinates(register) for register in range(layout.num_registers))
        return [held[(*place, half)] for place in places]

    def _joined(self, op: ops.Join, layout: LinearLayout) -> Registers:
        """Registers of both operands; the last axis lies in registers alone."""
        needed = backward(op, layout)
        held: dict[tuple[int, ...], str] = {}
        for half, value in enumerate((op.lhs, op.rhs)):
            operand = self._find(value, needed)
            assert operand is not None
            held.update(((*needed.coordinates(i), half), name) for i, name in enumerate(operand))
        return [held[layout.coordinates(register)] for register in range(layout.num_registers)]

    def _elementwise(self, op: Op, layout: LinearLayout) -> Registers:
        operands = [self._find(value, layout) for value in op.operands_flat]
        rows = list(zip(*(names for names in operands if names is not None), strict=True))
        distinct = list(dict.fromkeys(rows))
        made = dict(zip(distinct, self._emit_rows(op, distinct), strict=True))
        return [made[row] for row in rows]

    def _emit_rows(self, op: Op, rows: list[tuple[str, ...]]) -> Registers:
        """One element of an elementwise op for every row of operands."""
        is_division = isinstance(op, ops.Binary) and op.kind == "div"
        if is_division and op.results[0].type.element == float32 and len(rows) > 1:
            return emit_divisions(self.emitter, self.target, *zip(*rows, strict=True))
        return [self.emit_scalar(op, row) for row in rows]

    def emit_scalar(self, op: Op, operands: Sequence[str]) -> str:
        """One element of an elementwise op."""
        emitter, element = self.emitter, op.results[0].type.element
        if isinstance(op, ops.AddPointer):
            assert isinstance(element, PointerType)
            base, offset = operands
            steps = f"{value_type(op.offset.type.element)} {offset}"
            place = f"{GLOBAL_POINTER} {base}, {steps}"
            return emitter.value(f"getelementptr {stored_type(element.pointee)}, {place}")
        if isinstance(op, ops.Select) and isinstance(element, PointerType):
            condition, left, right = operands
            choices = f"{GLOBAL_POINTER} {left}, {GLOBAL_POINTER} {right}"
            return emitter.value(f"select i1 {condition}, {choices}")
        if isinstance(op, ops.Bitcast):
            return self._bitcast(op, *operands)
        if isinstance(op, ops.Compare) and op.lhs.type.is_pointer:
            order = op.kind if op.kind in ("eq", "ne") else f"u{op.kind}"
            return emitter.value(f"icmp {order} {GLOBAL_POINTER} {', '.join(operands)}")
        return emit_elementwise(emitter, op, operands, 1, self.target)

    def _bitcast(self, op: ops.Bitcast, value: str) -> str:
        before, after = op.value.type.element, op.result.type.element
        are_pointers = isinstance(before, PointerType), isinstance(after, PointerType)
        if not any(are_pointers):
            return emit_elementwise(self.emitter, op, [value], 1, self.target)
        if all(are_pointers):
            return value
        opcode = "ptrtoint" if are_pointers[0] else "inttoptr"
        types = f"{value_type(before)} {value} to {value_type(after)}"
        return self.emitter.value(f"{opcode} {types}")


def _is_lazy(op: Op) -> bool:
    """Whether `op` may be emitted wherever its result is asked for."""
    return not isinstance(op, _PLACED)


_PLACED = (
    *(ops.Load, ops.AtomicRmw, ops.AtomicCas, ops.Combining, ops.Dot),
    *(ops.ExchangeBits, ops.Gather, ops.Histogram),
    *(ops.For, ops.While, ops.If),
)


def _has_halves(op: Op) -> bool:
    return isinstance(op, (ops.Join, ops.Split))


def _operand_place(op: Any, place: tuple[int, ...]) -> tuple[int, ...]:
    """Coordinates in a shape op's operand of the element at `place` of its result."""
    match op:
        case ops.ExpandDims():
            return place[: op.axis] + place[op.axis + 1 :]
        case ops.Transpose():
            inverse = sorted(range(len(place)), key=lambda i: op.permutation[i])
            return tuple(place[axis] for axis in inverse)
        case ops.Broadcast():
            extents = zip(place, op.value.shape, strict=True)
            return tuple(0 if extent == 1 else index for index, extent in extents)
    return unflatten_index(op.value.shape, flatten_coordinates(op.shape, place))
