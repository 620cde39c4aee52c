"""Where the threads of a program must wait for each other.

A program's blocks are read and written whole, one op after the other; its threads drift apart. So a
barrier goes before an access that another thread may conflict with: two that may touch one place,
one of them writing, unless each thread touches the very elements it touched before. Places are
elements of global memory, reached from parameters (different ones are taken to be apart within one
instance), and bytes of shared memory. Threads of one CTA wait for their CTA; what reaches other
CTAs of a cluster makes the cluster wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lazyblock.backend.llvm.atomics import Atomic
from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Value

Roots = frozenset[Value]


# --- accesses ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GlobalAccess:
    """A load, store or update: the values its pointers derive from, and who touches what.

    is_only_write: nothing else writes what this writes. acquires, releases: whether what comes
    after, or came before, is ordered by it. commutes: the kind of an update whose result nobody
    reads.
    """

    is_write: bool
    crosses_ctas: bool
    roots: Roots
    pointer: Value
    layout: LinearLayout | None
    is_only_write: bool = False
    acquires: bool = False
    releases: bool = False
    commutes: str = ""

    def conflicts(self, other: Access) -> bool:
        """Whether two threads may touch one element, one of them writing; or an order is asked."""
        if not isinstance(other, GlobalAccess):
            return False
        if self.acquires or other.releases:
            return True
        if not self.roots & other.roots or (self.commutes and self.commutes == other.commutes):
            return False
        if self.is_only_write and other.is_only_write:
            return False
        is_same = self.pointer is other.pointer and self.layout == other.layout
        is_apart = is_same and self.layout is not None and not any(self.layout.replica_masks())
        return (self.is_write or other.is_write) and not is_apart


@dataclass(frozen=True)
class SharedAccess:
    """All writes or all reads of an exchange; crosses_ctas: writes to the memory of other CTAs."""

    is_write: bool
    crosses_ctas: bool
    start: int
    stop: int

    def conflicts(self, other: Access) -> bool:
        if not isinstance(other, SharedAccess) or not (self.is_write or other.is_write):
            return False
        return self.start < other.stop and other.start < self.stop


Access = GlobalAccess | SharedAccess
_Pairs = Iterable[tuple[Access, Access]]


# --- what was touched ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Trace:
    """What was touched since the last barrier.

    exposed: what the loop body at hand touches before its first barrier; is_open: that is yet to
    come.
    """

    recent: frozenset[Access] = frozenset()
    exposed: frozenset[Access] = frozenset()
    is_open: bool = False

    def touched(self, access: Access) -> Trace:
        exposed = self.exposed | {access} if self.is_open else self.exposed
        return replace(self, recent=self.recent | {access}, exposed=exposed)

    def waited(self) -> Trace:
        return Trace(frozenset(), self.exposed)

    def joined(self, other: Trace) -> Trace:
        """What may have been touched on either of two ways."""
        exposed = self.exposed | other.exposed
        return Trace(self.recent | other.recent, exposed, self.is_open or other.is_open)

    def looped(self, after: Trace) -> Trace:
        """After a loop that this stood before; it may not have run."""
        exposed = self.exposed | after.exposed if self.is_open else self.exposed
        return Trace(self.recent | after.recent, exposed, self.is_open)


@dataclass(frozen=True)
class State:
    """Traces since the last barrier of the CTA, and since the last one of the cluster.

    is_started: the cluster's CTAs are known to run (or there is no cluster).
    """

    cta: Trace = Trace()
    cluster: Trace = Trace()
    is_started: bool = True

    def joined(self, other: State) -> State:
        cta, cluster = self.cta.joined(other.cta), self.cluster.joined(other.cluster)
        return State(cta, cluster, self.is_started and other.is_started)


class Barriers:
    """Emits barriers where `state` asks for them.

    CTAs of a cluster start at any time: each tells the others at the kernel's start, and waits for
    them before it writes to their memory (at the latest at a loop or at the end of a branch).
    """

    def __init__(
        self, emitter: ThreadEmitter, roots: RootFinder, writes_once: bool = False
    ) -> None:
        self._emitter = emitter
        self._roots = roots
        self._writes_once = writes_once
        self.state = State()
        self.is_in_loop = False
        self._exits: list[State] = []  # of the loop being emitted, besides its end

    # --- waiting ---------------------------------------------------------------------------------

    def start(self) -> None:
        if self._emitter.num_ctas > 1:
            self._emitter.announce_start()
            self.state = replace(self.state, is_started=False)

    def await_start(self) -> None:
        """From here on all CTAs of the cluster run."""
        if not self.state.is_started:
            self._emitter.await_start()
            self.state = replace(self.state, is_started=True)

    def wait(self) -> None:
        """Wait for the CTA."""
        self._emitter.barrier()
        cta, cluster = self.state.cta.waited(), self.state.cluster
        cluster = cluster if self._emitter.num_ctas > 1 else cta
        self.state = replace(self.state, cta=cta, cluster=cluster)

    def wait_cluster(self) -> None:
        self.await_start()
        self._emitter.cluster_barrier()
        self.state = State(self.state.cta.waited(), self.state.cluster.waited())

    def _separate(self, cta: _Pairs, cluster: _Pairs) -> None:
        """Wait if some of these pairs of an earlier and a later access conflict."""
        if any(a.conflicts(b) for a, b in cluster if a.crosses_ctas or b.crosses_ctas):
            self.wait_cluster()
        elif any(a.conflicts(b) for a, b in cta):
            self.wait()

    # --- touching --------------------------------------------------------------------------------

    def before_access(self, op: ops.Load | ops.Store, layout: LinearLayout) -> None:
        """Wait if the access conflicts with earlier ones; remember it."""
        roots, is_write = self._roots.find(op.pointer), isinstance(op, ops.Store)
        is_only = is_write and self._writes_once
        crosses = self._emitter.num_ctas > 1
        self.touch(GlobalAccess(is_write, crosses, roots, op.pointer, layout, is_only))

    def before_atomic(self, pointer: Value, layout: LinearLayout, access: Atomic) -> None:
        """The same for an atomic access, which orders others by its `sem`."""
        is_read = access.kind == "load"
        self.touch(
            GlobalAccess(
                not is_read,
                self._emitter.num_ctas > 1,
                self._roots.find(pointer),
                pointer,
                layout,
                acquires=access.is_used and access.sem in ("acquire", "acq_rel"),
                releases=access.sem in ("release", "acq_rel"),
                commutes="" if access.is_used else access.kind,
            )
        )

    def wait_all(self) -> None:
        """Wait for all threads of the instance."""
        if self._emitter.num_ctas > 1:
            self.wait_cluster()
        else:
            self.wait()

    def touch(self, access: Access) -> None:
        state = self.state
        self._separate(
            ((earlier, access) for earlier in state.cta.recent),
            ((earlier, access) for earlier in state.cluster.recent),
        )
        state = self.state
        cta, cluster = state.cta.touched(access), state.cluster.touched(access)
        self.state = replace(state, cta=cta, cluster=cluster)

    # --- control flow ----------------------------------------------------------------------------

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Emit a loop; the `with` block emits its body up to `end_iteration`."""
        self.await_start()
        before, was_in_loop = self.state, self.is_in_loop
        self.is_in_loop = True
        cta, cluster = (
            replace(trace, exposed=frozenset(), is_open=True)
            for trace in (before.cta, before.cluster)
        )
        self.state = State(cta, cluster)
        exits, self._exits = self._exits, []
        yield
        after, self.is_in_loop = self.state, was_in_loop
        for left in self._exits:
            after = after.joined(left)
        self._exits = exits
        self.state = State(before.cta.looped(after.cta), before.cluster.looped(after.cluster))

    def leave(self) -> None:
        """The loop may end here, between its test and its body."""
        self._exits.append(self.state)

    def end_iteration(self) -> None:
        """Wait if the body, run again, conflicts with what it has just done."""
        cta, cluster = self.state.cta, self.state.cluster
        self._separate(_next_pairs(cta), _next_pairs(cluster))


def _next_pairs(trace: Trace) -> _Pairs:
    """Pointers of the next iteration are others, even under the same name."""
    for later in trace.exposed:
        moved = replace(later, layout=None) if isinstance(later, GlobalAccess) else later
        yield from ((earlier, moved) for earlier in trace.recent)


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
        if op is None or isinstance(op, (ops.For, ops.While, ops.If)):
            return []
        return [operand for operand in op.operands_flat if operand.type.is_pointer]
