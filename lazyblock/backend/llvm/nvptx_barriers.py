"""Where the threads of a program must wait for each other.

A program's blocks are read and written whole, one op after the other; its threads drift apart. So a
barrier goes before an access that another thread may conflict with: memory reached from the same
parameter, one of the two writing, unless each thread touches the very elements it touched before.
Different parameters are taken to be apart within one instance. Slots of shared memory are tracked
likewise: a slot that is read must not be written before a barrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Region, Value, walk

Roots = frozenset[Value]


@dataclass(frozen=True)
class Access:
    """A load or store: the values its pointers derive from, and who touches what."""

    is_write: bool
    roots: Roots
    pointer: Value
    layout: LinearLayout | None

    def conflicts(self, other: Access) -> bool:
        """Whether two threads may touch one element, one of them writing."""
        if not (self.is_write or other.is_write) or not self.roots & other.roots:
            return False
        is_same = self.pointer is other.pointer and self.layout == other.layout
        return not is_same or self.layout is None or any(self.layout.replica_masks())


@dataclass(frozen=True)
class State:
    """What was touched since the last barrier: accesses, and slots that are read."""

    accesses: frozenset[Access] = frozenset()
    read_slots: frozenset[int] = frozenset()

    def joined(self, other: State) -> State:
        """What may have been touched on either of two ways."""
        return State(self.accesses | other.accesses, self.read_slots | other.read_slots)


class Barriers:
    """Emits barriers where `state` asks for them."""

    def __init__(self, emitter: ThreadEmitter, roots: RootFinder) -> None:
        self._emitter = emitter
        self._roots = roots
        self.state = State()

    def wait(self) -> None:
        self._emitter.barrier()
        self.state = State()

    def before_access(self, op: ops.Load | ops.Store, layout: LinearLayout) -> None:
        """Wait if the access conflicts with earlier ones; remember it."""
        access = self._access(op, layout)
        if any(access.conflicts(earlier) for earlier in self.state.accesses):
            self.wait()
        self.state = self.state.joined(State(frozenset({access})))

    def read_slot(self, slot: int) -> None:
        self.state = self.state.joined(State(read_slots=frozenset({slot})))

    def end_iteration(self, body: Region) -> None:
        """Wait if the body, run again, conflicts with what it has just done."""
        following = [
            self._access(op, None) for op in walk(body) if isinstance(op, (ops.Load, ops.Store))
        ]
        pairs = ((a, b) for a in self.state.accesses for b in following)
        if self.state.read_slots or any(a.conflicts(b) for a, b in pairs):
            self.wait()

    def _access(self, op: ops.Load | ops.Store, layout: LinearLayout | None) -> Access:
        return Access(isinstance(op, ops.Store), self._roots.find(op.pointer), op.pointer, layout)


class RootFinder:
    """Which parameters (and other sources) the pointers of a block may derive from."""

    def __init__(self, parameters: Iterable[Value]) -> None:
        self._parameters = frozenset(parameters)
        self._known: dict[Value, Roots] = {value: frozenset({value}) for value in self._parameters}

    def find(self, pointer: Value) -> Roots:
        """All parameters when the pointer was carried around a loop or out of a branch."""
        pending = [pointer]
        while pending:
            value = pending[-1]
            sources = self._sources(value)
            missing = [source for source in sources if source not in self._known]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            joined = frozenset().union(*(self._known[source] for source in sources))
            self._known.setdefault(value, joined if sources else self._parameters)
        return self._known[pointer]

    def _sources(self, value: Value) -> list[Value]:
        op = value.owner
        if op is None or isinstance(op, (ops.For, ops.If)):
            return []
        return [operand for operand in op.operands_flat if operand.type.is_pointer]
