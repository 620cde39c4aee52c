"""Which layout every block value lives in: accesses anchor it, the rest follows.

Takes: a program, what is known of its addresses (axis_info), and the number of warps. Gives: a
`LayoutPlan`. Loads and stores of one shape share one coalesced layout, so that chains of
elementwise ops need no conversion; accesses that are contiguous along another axis get their own.
Going forward, results of reductions and scans fix the layouts of what is computed from them; going
backward, users ask their operands for layouts, and what comes from the larger block is heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lazyblock.backend.llvm.dot_layouts import DotLayouts
from lazyblock.backend.llvm.layout import LinearLayout, blocked_layout
from lazyblock.backend.llvm.nvptx_dot import plan_dot
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_facts import Infos
from lazyblock.tiler.ir import Op, Program, Region, Trait, Value, walk
from lazyblock.tiler.types import PointerType

VECTOR_BYTES = 16  # widest access of a thread
SECTOR_BYTES = 32  # what memory moves at least; a thread's piece of a vector is at most this
WARP_SIZE = 32
_LINE_BYTES = 128  # of the first cache

Shape = tuple[int, ...]
Access = ops.Load | ops.Store


class LayoutPlan:
    """The answers: where values live, where stores, reductions and scans want theirs."""

    def __init__(self, program: Program, infos: Infos, target: Target) -> None:
        self._target = target
        self._num_warps = program.num_warps * program.num_ctas
        self._anchors = _Anchors(program, infos)
        self._own: dict[Value, LinearLayout] = {}
        self._fixed: dict[Value, LinearLayout] = {}
        self._requests: dict[Value, _Request] = {}
        self.stores: dict[Op, LinearLayout] = {}
        self.combined: dict[Op, LinearLayout] = {}
        self.used = {value for op in walk(program.body) for value in op.operands_flat}
        self.dots: dict[Op, DotLayouts] = {}
        self._feeding = _find_feeding(program.body)
        self.computable: set[Value] = set()  # from ranges and scalars alone: in any layout, anew
        self._note_computable(program.body)
        self._fix(program.body)
        self._ask(program.body)

    def home(self, value: Value) -> LinearLayout:
        """The layout in which `value` is computed."""
        if value in self._own:
            return self._own[value]
        if value in self._fixed:
            return self._fixed[value]
        if value in self._requests:
            return self._requests[value].layout
        return self._anchors.of_shape(value.shape)

    # --- forward: what can be computed anywhere ---------------------------------------------------

    def _note_computable(self, region: Region) -> None:
        for op in region.ops:
            if isinstance(op, (ops.Arange, ops.Constant, ops.Splat)) or (
                (op.has(Trait.ELEMENTWISE) or isinstance(op, _SHAPE_OPS))
                and all(v.shape == () or v in self.computable for v in op.operands_flat)
            ):
                self.computable.update(op.results)
            for inside in op.regions:
                self._note_computable(inside)

    # --- forward: layouts that reductions and scans leave -----------------------------------------

    def _fix(self, region: Region) -> None:
        for op in region.ops:
            match op:
                case ops.Combining():
                    self._fix_combining(op)
                case ops.Dot():
                    self._fix_dot(op)
                case ops.For() | ops.While():
                    self._fix_loop(op)
                case ops.If():
                    self._fix_branches(op)
                case ops.Load():
                    self._fix_load(op)
                case ops.AtomicRmw() | ops.AtomicCas():
                    self._copy_fixed(op.operands_flat, op.results)
                case ops.Join():
                    source = self._source(op.lhs)
                    self._fixed[op.result] = source.join()
                case ops.Split():
                    source = self._source(op.value)
                    self._fixed.update(dict.fromkeys(op.results, source.split()))
                case ops.ExchangeBits():
                    self._copy_fixed([op.value], op.results)
                case ops.Gather():
                    self._copy_fixed([op.index], op.results)
                case _ if op.has(Trait.ELEMENTWISE):
                    self._copy_fixed(op.operands_flat, op.results)
                case ops.ExpandDims() | ops.Transpose() | ops.Reshape() if op.value in self._fixed:
                    self._fixed[op.result] = _forward(op, self._fixed[op.value])

    def _source(self, value: Value) -> LinearLayout:
        """The layout that `value` comes in, as far as is known."""
        if value in self._fixed:
            return self._fixed[value]
        op = value.owner
        if isinstance(op, (ops.ExpandDims, ops.Transpose, ops.Reshape)):
            return _forward(op, self._source(op.value))
        return self._anchors.of_shape(value.shape)

    def _copy_fixed(self, sources: Sequence[Value], results: Sequence[Value]) -> None:
        """Give each result the first layout that is fixed among `sources`."""
        found = [self._fixed[value] for value in sources if value in self._fixed]
        for result in results:
            if found and found[0].shape == result.shape:
                self._fixed[result] = found[0]

    def _fix_combining(self, op: ops.Combining) -> None:
        first = op.values[0]
        source = self._fixed.get(first)
        if source is None or not source.is_separable(op.axis):
            source = self._anchors.of_shape(first.shape)
        self.combined[op] = source
        for result in op.results:
            is_scan = isinstance(op, ops.Scan)
            self._fixed[result] = source if is_scan else source.squeeze(op.axis)

    def _fix_dot(self, op: ops.Dot) -> None:
        source, feeds = self._fixed.get(op.a), op in self._feeding
        self.dots[op] = plan_dot(op, self._target, self._num_warps, source, feeds)
        self._fixed[op.result] = self.dots[op].acc

    def _fix_loop(self, op: ops.For | ops.While) -> None:
        carried = _carried(op)
        for _ in range(2):  # a layout that the body fixes holds from the first iteration on
            for arguments, initial in zip(carried, op.initial, strict=True):
                self._copy_fixed([*arguments, initial], arguments)
            for region in op.regions:
                self._fix(region)
            for arguments, value in zip(carried, op.body.terminator.operands_flat, strict=True):
                self._copy_fixed([*arguments, value], arguments)
        for arguments, result in zip(carried, op.results, strict=True):
            self._copy_fixed(arguments, [result])

    def _fix_branches(self, op: ops.If) -> None:
        for region in op.regions:
            self._fix(region)
        branches = (region.terminator.operands_flat for region in op.regions)
        for result, *values in zip(op.results, *branches, strict=True):
            self._copy_fixed(values, [result])

    def _fix_load(self, op: ops.Load) -> None:
        own = self._anchors.own_layout(op)
        if own is not None:
            self._own[op.result] = own  # its users stay in the shape's layout
        else:
            self._copy_fixed([op.pointer], op.results)

    # --- backward: what users ask for -------------------------------------------------------------

    def _ask(self, region: Region) -> None:
        for op in reversed(region.ops):
            match op:
                case ops.Store():
                    layout = self._anchors.own_layout(op)
                    self.stores[op] = layout or self.home(op.value)
                    self._request(op.operands_flat, _Request(op.value.type.size, self.stores[op]))
                case ops.Combining():
                    request = _Request(op.values[0].type.size, self.combined[op])
                    self._request(op.values, request)
                case ops.Dot():  # operands stay as they were loaded, and are converted
                    self._request([op.acc], _Request(op.acc.type.size, self.dots[op].acc))
                case ops.For() | ops.While():
                    self._ask_loop(op)
                case ops.If():
                    self._ask_branches(op)
                case ops.Load() | ops.AtomicRmw() | ops.AtomicCas():
                    self._request(op.operands_flat, self._heard(op.result))
                case ops.Gather():
                    self._request([op.index, op.value], self._heard(op.result))
                case ops.Join() | ops.Split():
                    priority, layout = self._heard(op.results[0])
                    self._request(op.operands_flat, _Request(priority, backward(op, layout)))
                case _ if op.has(Trait.ELEMENTWISE) or isinstance(op, ops.ExchangeBits):
                    self._request(op.operands_flat, self._heard(op.result))
                case _ if isinstance(op, _SHAPE_OPS) and not _is_real_transpose(op):
                    priority, layout = self._heard(op.result)
                    self._request([op.value], _Request(priority, backward(op, layout)))

    def _heard(self, value: Value) -> _Request:
        """What was asked of `value`, which its operands are asked in turn."""
        default = _Request(value.type.size, self.home(value))
        request = self._requests.get(value, default)
        return _Request(request.priority, self.home(value))

    def _request(self, values: Sequence[Value], request: _Request) -> None:
        for value in values:
            before = self._requests.get(value)
            fits = value.shape != () and value.shape == request.layout.shape
            if fits and (before is None or before.priority < request.priority):
                self._requests[value] = request

    def _ask_loop(self, op: ops.For | ops.While) -> None:
        yielded = op.body.terminator.operands_flat
        for result, value in zip(op.results, yielded, strict=True):
            if result in self._requests or result in self._fixed:
                self._request([value], self._heard(result))
        for region in reversed(op.regions):
            self._ask(region)
        rows = zip(_carried(op), op.results, op.initial, strict=True)
        for arguments, result, initial in rows:
            asked = [v for v in (result, *reversed(arguments)) if v in self._requests]
            for value in (result, *arguments) if asked else ():
                self._requests[value] = self._requests[asked[0]]
            self._request([initial], self._heard(arguments[-1]))

    def _ask_branches(self, op: ops.If) -> None:
        for region in op.regions:
            for result, value in zip(op.results, region.terminator.operands_flat, strict=True):
                self._request([value], self._heard(result))
            self._ask(region)


def _carried(op: ops.For | ops.While) -> list[tuple[Value, ...]]:
    """For each value that a loop carries: the arguments of its regions that hold it."""
    count = len(op.initial)
    lists = [region.arguments[len(region.arguments) - count :] for region in op.regions]
    return list(zip(*lists, strict=True))


class _Request(NamedTuple):
    """A layout asked for; priority is the size of the block that the wish came from."""

    priority: int
    layout: LinearLayout


def _find_feeding(body: Region) -> set[Op]:
    """Dots whose results, changed element by element, are the A of other dots."""
    found: set[Op] = set()
    for op in walk(body):
        stack = [op.a] if isinstance(op, ops.Dot) else []
        seen: set[Value] = set()
        while stack:
            value = stack.pop()
            owner = value.owner
            if isinstance(owner, ops.Dot):
                found.add(owner)
            elif value not in seen and owner is not None and owner.has(Trait.ELEMENTWISE):
                seen.add(value)
                stack.extend(owner.operands_flat)
    return found


# --- shape ops -----------------------------------------------------------------------------------

_SHAPE_OPS = (ops.ExpandDims, ops.Broadcast, ops.Transpose, ops.Reshape)


def _forward(op: Any, layout: LinearLayout) -> LinearLayout:
    """Layout of a shape op's result whose operand is in `layout`."""
    match op:
        case ops.ExpandDims():
            return layout.expand(op.axis)
        case ops.Transpose():
            return layout.transpose(op.permutation)
    assert isinstance(op, ops.Reshape)
    return layout.reshape(op.shape)


def backward(op: Any, layout: LinearLayout) -> LinearLayout:
    """Layout in which a shape op needs its operand for a result in `layout`."""
    match op:
        case ops.ExpandDims():
            return layout.squeeze(op.axis)
        case ops.Transpose():
            inverse = sorted(range(len(op.permutation)), key=lambda i: op.permutation[i])
            return layout.transpose(inverse)
        case ops.Broadcast():
            for axis, extent in enumerate(op.value.shape):
                layout = layout.project(axis) if extent == 1 else layout
            return layout
        case ops.Join():
            return layout.squeeze(len(layout.shape) - 1)
        case ops.Split():
            return layout.join()
    assert isinstance(op, ops.Reshape)
    return layout.reshape(op.value.shape)


def _is_real_transpose(op: Op) -> bool:
    """Whether elements move: what is transposed stays coalesced, and is converted after."""
    return isinstance(op, ops.Transpose) and sum(extent > 1 for extent in op.value.shape) > 1


# --- anchors -------------------------------------------------------------------------------------


class _Anchors:
    """The coalesced layouts of loads and stores, one per shape and fastest axis."""

    def __init__(self, program: Program, infos: Infos) -> None:
        self._infos = infos
        self._num_warps = program.num_warps * program.num_ctas  # CTA bits above the warps of one
        self._accesses: dict[Shape, list[Access]] = {}
        self._reduced_axes: dict[Shape, set[int]] = {}
        self._layouts: dict[tuple[Shape, int], LinearLayout] = {}
        for op in walk(program.body):
            if isinstance(op, (ops.Load, ops.Store)):
                self._accesses.setdefault(op.pointer.shape, []).append(op)
            elif isinstance(op, ops.Combining):
                self._reduced_axes.setdefault(op.values[0].shape, set()).add(op.axis)

    def of_shape(self, shape: Shape) -> LinearLayout:
        """The layout of all blocks of `shape` that nothing else decides on."""
        return self._layout(shape, self._main_axis(shape))

    def own_layout(self, op: Access) -> LinearLayout | None:
        """A layout for this access alone, when the shape's would tear its runs apart."""
        shape, pointer = op.pointer.shape, self._infos[op.pointer]
        if len(shape) < 2:
            return None
        axis, main = self._fastest_axis(op), self._main_axis(shape)
        is_torn = pointer.contiguity[main] == 1 and pointer.constancy[main] == 1
        if axis == main or not is_torn or pointer.contiguity[axis] == 1 or shape[main] == 1:
            return None
        return self._layout(shape, axis)

    def _fastest_axis(self, op: Access) -> int:
        """The axis with the longest runs; the last of several."""
        runs, shape = self._infos[op.pointer].contiguity, op.pointer.shape
        return max(range(len(shape)), key=lambda axis: (min(runs[axis], shape[axis]), axis))

    def _main_axis(self, shape: Shape) -> int:
        """The fastest axis of the access that needs the widest vectors."""
        accesses = self._accesses.get(shape, [])
        if not shape or not accesses:
            return len(shape) - 1
        widths: dict[int, int] = {}
        for op in accesses:
            axis = self._fastest_axis(op)
            widths[axis] = max(widths.get(axis, 0), self._width(op, axis))
        return max(widths, key=lambda axis: (widths[axis], axis))

    def _width(self, op: Access, axis: int) -> int:
        """Elements that one access of a thread could take along `axis`."""
        run = self._infos[op.pointer].aligned_run(axis)
        return min(run, VECTOR_BYTES // _nbytes(op), op.pointer.shape[axis])

    def _layout(self, shape: Shape, axis: int) -> LinearLayout:
        key = shape, axis
        if key not in self._layouts:
            self._layouts[key] = self._make_layout(shape, axis)
        return self._layouts[key]

    def _make_layout(self, shape: Shape, axis: int) -> LinearLayout:
        if not shape:
            return blocked_layout((), self._num_warps)
        order = [axis, *(a for a in reversed(range(len(shape))) if a != axis)]
        reduced = tuple(self._reduced_axes.get(shape, ()))
        width = self._best_width(shape, axis)
        return blocked_layout(shape, self._num_warps, width, order, reduced)

    def _runs(self, accesses: Sequence[Access], axis: int) -> list[tuple[int, int]]:
        """Bytes of an element, and how many of them one access of a thread may take.

        Taps of a stencil, loads from one pointer, find most of their elements in the registers of
        the tap that is best aligned.
        """
        widths = {op: self._width(op, axis) for op in accesses}
        best: dict[Value, int] = {}
        for op in accesses:
            root = _root(op.pointer)
            best[root] = max(best.get(root, 1), widths[op])
        return [
            (_nbytes(op), best[_root(op.pointer)] if isinstance(op, ops.Load) else widths[op])
            for op in accesses
        ]

    def _best_width(self, shape: Shape, axis: int) -> int:
        """Neighbouring elements that each thread should hold; the largest of equals."""
        accesses = self._accesses.get(shape, [])
        widest = max((_nbytes(op) for op in accesses), default=VECTOR_BYTES)
        per_thread = blocked_layout(shape, self._num_warps).num_registers
        along = [op for op in accesses if self._fastest_axis(op) == axis]
        runs = self._runs(along, axis)
        longest = max((run for _, run in runs), default=1)
        most = min(longest, SECTOR_BYTES // widest, per_thread)
        widths = [1 << bit for bit in range(most.bit_length())]
        return min(reversed(widths), key=lambda w: sum(_cost(w, *run) for run in runs))


def _root(pointer: Value) -> Value:
    """What a block of pointers is derived from, by adding and repeating."""
    while isinstance(pointer.owner, (ops.AddPointer, ops.Splat, ops.Broadcast, ops.ExpandDims)):
        op = pointer.owner
        pointer = op.pointer if isinstance(op, ops.AddPointer) else op.value
    return pointer


def _cost(width: int, nbytes: int, run: int) -> float:
    """Work of the memory units per element that a warp moves, in accesses and 128-byte lines.

    Every thread holds `width` elements in a row, of which it may access `run` at once; where that
    is less, each access of the warp is spread over more lines.
    """
    together = min(run, width)
    is_spread = together < width and together * nbytes < VECTOR_BYTES
    lines = nbytes * WARP_SIZE / _LINE_BYTES
    return 1 / together + lines * (width / together if is_spread else 1)


def _nbytes(op: Access) -> int:
    element = op.pointer.type.element
    assert isinstance(element, PointerType)
    return element_nbytes(element.pointee)
