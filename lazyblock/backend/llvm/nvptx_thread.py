"""What one thread can do besides arithmetic: know its place, shuffle, wait, branch.

Everything that depends on the hardware goes through the few functions of THREAD_FUNCTIONS, which
are inlined; whoever runs the same code elsewhere (the emulator) gives `emit_nvptx` an emitter that
writes these, the kernel's frame and memory accesses in its own way. Numbers that are sums over
GF(2) of a thread's bits (coordinates, shared addresses) are made by `sum_thread_bits` from one
weight per lane and warp bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from lazyblock.backend.llvm.atomics import Atomic
from lazyblock.backend.llvm.emit import Emitter, Typed, constant_bytes
from lazyblock.backend.llvm.layout import LANE_BITS, bit_count
from lazyblock.backend.llvm.nvptx_functions import (
    CLUSTER_POINTER,
    GLOBAL_POINTER,
    MAIL_BYTES,
    SHARED_POINTER,
    THREAD_FUNCTIONS,
)
from lazyblock.backend.llvm.nvptx_mma import Mma
from lazyblock.backend.llvm.ptx_atomics import emit_ptx_atomic
from lazyblock.backend.llvm.reports import (
    ASSERTIONS,
    FAILURE,
    FAILURE_FIELDS,
    store_arguments,
)
from lazyblock.backend.llvm.types import element_nbytes, llvm_scalar, llvm_type, memory_type
from lazyblock.target import Target
from lazyblock.tiler.ir import Op
from lazyblock.tiler.types import Element, PointerType, ScalarType, int1


def can_be_mailed(elements: Iterable[Element]) -> bool:
    """Whether mailboxes hold such elements."""
    return all(element_nbytes(element) in MAIL_BYTES for element in elements)


def value_type(element: Element) -> str:
    """LLVM type of an element in a register; pointers are to global memory."""
    return GLOBAL_POINTER if isinstance(element, PointerType) else llvm_type(element)


def stored_type(element: Element, width: int = 1) -> str:
    """LLVM type of neighbouring elements in memory."""
    if isinstance(element, PointerType):
        return GLOBAL_POINTER if width == 1 else f"<{width} x {GLOBAL_POINTER}>"
    return memory_type(element, width)


class ThreadEmitter(Emitter):
    """An emitter for the code of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._thread_index = ""
        self._num_warps = self.num_ctas = 1
        self.op: Op | None = None  # what is being emitted
        self._assertions: dict[str, int] = {}  # numbers of the texts of those that may fail

    def start(self, num_threads: int, num_ctas: int) -> None:
        """Begin the kernel of CTAs of `num_threads`, clusters of `num_ctas`.

        Reads the thread's index in the cluster, which everything may use.
        """
        self.num_ctas = num_ctas
        self._num_warps = num_threads >> LANE_BITS
        self._thread_index = self.ask("thread_index")
        if num_ctas > 1:
            first = self.value(f"mul i32 {self.ask('cta_rank')}, {num_threads}")
            self._thread_index = self.combine_bits(first, self._thread_index, True)

    @property
    def cta_bits(self) -> int:
        """How many of the warp bits, the highest, number the CTAs of a cluster."""
        return bit_count(self.num_ctas)

    def finish(self) -> None:
        """End the kernel's code."""
        self.line("ret void")

    def kernel(
        self, name: str, parameters: Sequence[str], num_threads: int, max_registers: int = 0
    ) -> str:
        """The kernel's text."""
        signature = f"ptx_kernel void @{name}({', '.join(parameters)})"
        attributes = f'nounwind "nvvm.reqntid"="{num_threads}" '
        if max_registers:
            attributes += f'"nvvm.maxnreg"="{max_registers}" '
        if self.num_ctas > 1:
            attributes += f'"nvvm.cluster_dim"="{self.num_ctas},1,1" '
        return self.function(signature, attributes)

    def shared_base(self) -> str:
        """Address of the CTA's shared memory."""
        return "@smem"

    def shared_array(self, nbytes: int, align: int) -> str:
        """The definition of @smem, the program's shared memory."""
        return f"@smem = external addrspace(3) global [0 x i8], align {align}\n"

    def _use(self, name: str) -> str:
        full_name = f"lazyblock.{name}"
        if not self.has_helper(full_name):
            self.add_helper(full_name, THREAD_FUNCTIONS[full_name])
        return full_name

    def ask(self, name: str) -> str:
        """The i32 that a function without arguments gives."""
        return self.call("i32", self._use(name))

    def barrier(self) -> None:
        """Wait for all threads of the CTA."""
        self.call("void", self._use("barrier"))

    def program_id(self, axis: str) -> str:
        return self.ask(f"{'cluster' if self.num_ctas > 1 else 'program'}_id.{axis}")

    def num_programs(self, axis: str) -> str:
        return self.ask(f"num_{'clusters' if self.num_ctas > 1 else 'programs'}.{axis}")

    # --- debugging -------------------------------------------------------------------------------

    def print_line(self, line: str, values: Sequence[Typed]) -> None:
        """Print a line: a format, and what it takes."""
        text = self.text(line, "addrspace(1) ")
        place = self.value(f"addrspacecast {GLOBAL_POINTER} {text} to ptr")
        self.call("i32", "vprintf", ("ptr", place), ("ptr", store_arguments(self, values)))

    def fail(self, text: str, place: Sequence[str], element: str) -> None:
        """Write down that an assertion failed in an instance, and at which element."""
        number = self._assertions.setdefault(text, len(self._assertions) + 1)
        values = (str(number), *place, element)
        self.call("void", self._use("fail"), *(("i32", value) for value in values))

    def end_if(self, condition: str) -> None:
        """End all threads of the CTA if `condition` holds in one (unless there is a cluster)."""
        if self.num_ctas > 1:
            return
        ended, goes_on = self.fresh_label("ended"), self.fresh_label("holds")
        self.branch_if(self.call("i1", self._use("any"), ("i1", condition)), ended, goes_on)
        self.begin(ended)
        self.line("ret void")
        self.begin(goes_on)

    def surroundings(self) -> str:
        """Also the failure of a launch, and the texts of all assertions."""
        parts = [super().surroundings()]
        if self._assertions:
            size = FAILURE_FIELDS
            table = "\n".join(self._assertions)
            parts.append(
                f"@{FAILURE} = addrspace(1) global [{size} x i32] zeroinitializer, align 4"
            )
            parts.append(f"@{ASSERTIONS} = addrspace(1) constant {constant_bytes(table)}\n")
        return "\n".join(parts)

    # --- clusters --------------------------------------------------------------------------------

    def cluster_barrier(self) -> None:
        """Wait for all threads of the cluster."""
        self.call("void", self._use("cluster_barrier"))

    def announce_start(self) -> None:
        """Tell the cluster that this thread runs."""
        self.call("void", self._use("announce_start"))

    def await_start(self) -> None:
        """Wait until all threads of the cluster have told that they run."""
        self.call("void", self._use("await_start"))

    def map_shared(self, address: str, rank: str) -> tuple[str, str]:
        """Type and name of the address of the same place in the memory of CTA `rank`."""
        arguments = (SHARED_POINTER, address), ("i32", rank)
        return CLUSTER_POINTER, self.call(CLUSTER_POINTER, self._use("map_shared"), *arguments)

    # --- mailboxes -------------------------------------------------------------------------------

    def init_mailboxes(self, counts: Sequence[str]) -> None:
        """Prepare the counts (addresses in shared memory) of this CTA; before `announce_start`."""
        if not counts:
            return
        with self.when(self.is_first_of_cta()):
            for count in counts:
                self.call("void", self._use("init_mailbox"), (SHARED_POINTER, count))
            self.call("void", self._use("show_mailboxes"))

    def expect_mail(self, count: str, nbytes: int) -> None:
        """Say how many bytes will come to this CTA."""
        with self.when(self.is_first_of_cta()):
            arguments = (SHARED_POINTER, count), ("i32", str(nbytes))
            self.call("void", self._use("expect_mail"), *arguments)

    def send_mail(self, element: ScalarType, value: str, place: str, count: str) -> None:
        """Write to another CTA and count it there; addresses are in the cluster's memory."""
        bits = f"i{element.bits}"
        word = self._convert("bitcast", llvm_scalar(element), value, bits)
        arguments = (CLUSTER_POINTER, place), (bits, word), (CLUSTER_POINTER, count)
        self.call("void", self._use(f"send_mail_{element.bits}"), *arguments)

    def await_mail(self, count: str) -> None:
        """Wait until all that this CTA expects has come."""
        self.call("void", self._use("await_mail"), (SHARED_POINTER, count))

    # --- memory ----------------------------------------------------------------------------------

    def load_vector(self, element: Element, width: int, address: str, align: int) -> list[str]:
        """`width` neighbouring elements at `address` (with its type), as registers hold them."""
        vector = stored_type(element, width)
        whole = self.value(f"load {vector}, {address}, align {align}")
        parts = [whole]
        if width > 1:
            parts = [self.value(f"extractelement {vector} {whole}, i32 {i}") for i in range(width)]
        if element != int1:
            return parts
        return [self.value(f"icmp ne i8 {part}, 0") for part in parts]  # any byte but 0 is true

    def store_vector(
        self, element: Element, values: Sequence[str], address: str, align: int
    ) -> None:
        """Write neighbouring elements at `address` (with its type)."""
        scalar, vector = stored_type(element), stored_type(element, len(values))
        if element == int1:
            values = [self.value(f"zext i1 {value} to i8") for value in values]
        whole = "poison" if len(values) > 1 else values[0]
        for number, value in enumerate(values if len(values) > 1 else ()):
            text = f"insertelement {vector} {whole}, {scalar} {value}, i32 {number}"
            whole = self.value(text)
        self.line(f"store {vector} {whole}, {address}, align {align}")

    def atomic(self, target: Target, access: Atomic, address: str, *values: str) -> str:
        """Make an access at `address` (with its type); gives what lay there if that is used."""
        return emit_ptx_atomic(self, target, access, address, values)

    def count_round(self) -> None:
        """Note that the body of a while loop begins."""

    # --- shuffles and votes ----------------------------------------------------------------------

    def shuffle(self, kind: str, element: ScalarType, value: str, lane: int | str) -> str:
        """`value` of another thread of the warp; all 32 must come here.

        kind: "xor", "up" and "down" (this thread's lane changed by `lane`, a number or an i32; its
        own value where there is no such lane), "idx" (the lane itself).
        """
        scalar = llvm_scalar(element)
        bits = f"i{element.bits}"
        whole = self._convert("bitcast", scalar, value, bits)
        if element.bits == 64:
            parts = [whole, self.value(f"lshr i64 {whole}, 32")]
            low, high = (
                self._convert("zext", "i32", self._shuffle_word(kind, part, "i64", lane), "i64")
                for part in parts
            )
            high = self.value(f"shl i64 {high}, 32")
            moved = self.value(f"or disjoint i64 {high}, {low}")
        else:
            word = self._shuffle_word(kind, whole, bits, lane)
            moved = self._convert("trunc", "i32", word, bits)
        return self._convert("bitcast", bits, moved, scalar)

    def _shuffle_word(self, kind: str, value: str, type: str, lane: int | str) -> str:
        word = self._convert("trunc" if type == "i64" else "zext", type, value, "i32")
        return self.exchange(kind, word, lane)

    def exchange(self, kind: str, word: str, lane: int | str) -> str:
        """`shuffle` of an i32."""
        return self.call("i32", self._use(f"shuffle_{kind}"), ("i32", word), ("i32", str(lane)))

    def ballot(self, condition: str) -> str:
        """The i1 of all threads of the warp, as the bits of an i32; all 32 must come here."""
        return self.call("i32", self._use("ballot"), ("i1", condition))

    # --- matrices --------------------------------------------------------------------------------

    def mma(self, mma: Mma, a: Sequence[str], b: Sequence[str], sums: Sequence[str]) -> list[str]:
        """The warp's product of fragments, added to the thread's `sums`; all 32 must come here."""
        words = [(mma.word, word) for word in (*a, *b)]
        return self._unpack(mma, self._use(f"mma_{mma.name}"), *words, *_typed(mma.acc, sums))

    def _unpack(self, mma: Mma, function: str, *arguments: Typed) -> list[str]:
        result = self.call(mma.result, function, *arguments)
        parts = range(mma.num_sums)
        return [self.value(f"extractvalue {mma.result} {result}, {part}") for part in parts]

    def round_tf32(self, value: str) -> str:
        """The bits of an f32 rounded to 11 significant ones, ties away from zero."""
        return self.call("i32", self._use("round_tf32"), ("float", value))

    def _convert(self, opcode: str, before: str, value: str, after: str) -> str:
        return value if before == after else self.value(f"{opcode} {before} {value} to {after}")

    # --- sums over the bits of the thread index --------------------------------------------------

    def sum_thread_bits(self, weights: Sequence[int]) -> str:
        """Exclusive or of the weights of the bits that are set in the thread's index, as i32.

        Weights come one per lane bit, then one per warp bit.
        """
        return self.sum_bits(self._thread_index, weights)

    def sum_bits(self, number: str, weights: Sequence[int]) -> str:
        """The same of the bits of an i32, which has no others."""
        pieces = [self._field(number, *run) for run in _split_runs(weights)]
        are_disjoint = sum(weights) == _union(weights)
        total = "0"
        for piece in pieces:
            total = piece if total == "0" else self.combine_bits(total, piece, are_disjoint)
        return total

    def combine_bits(self, left: str, right: str, are_disjoint: bool) -> str:
        """Exclusive or, written so that LLVM sees a sum where it is one."""
        return self.value(f"{'or disjoint' if are_disjoint else 'xor'} i32 {left}, {right}")

    def _field(self, field: str, first: int, count: int, weight: int, is_last: bool) -> str:
        """Bits first ... first + count - 1 of `field` as a number, times `weight`."""
        if first:
            field = self.value(f"lshr i32 {field}, {first}")
        if not is_last:
            field = self.value(f"and i32 {field}, {(1 << count) - 1}")
        if weight & (weight - 1):
            return self.value(f"mul i32 {field}, {weight}")
        return field if weight == 1 else self.value(f"shl i32 {field}, {weight.bit_length() - 1}")

    def is_first_replica(self, lane_mask: int, warp_mask: int) -> str:
        """Whether all these bits of the thread's index are 0, as i1; "" if there are none."""
        mask = lane_mask | warp_mask << LANE_BITS
        if not mask:
            return ""
        found = self.value(f"and i32 {self._thread_index}, {mask}")
        return self.value(f"icmp eq i32 {found}, 0")

    def is_first_of_cta(self) -> str:
        """Whether this is the first thread of its CTA."""
        return self.is_first_replica((1 << LANE_BITS) - 1, self._num_warps - 1)

    # --- branches --------------------------------------------------------------------------------

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Run the `with` block only where `condition` holds."""
        if is_always(condition):
            yield
            return
        inside, after = self.fresh_label("then"), self.fresh_label("after")
        self.branch_if(condition, inside, after)
        self.begin(inside)
        yield
        self.branch(after)
        self.begin(after)

    def both(self, *conditions: str) -> str:
        """Conjunction of i1 values; "" stands for true."""
        total = ""
        for condition in conditions:
            if condition:
                total = self.value(f"and i1 {total}, {condition}") if total else condition
        return total


def _typed(type: str, values: Sequence[str]) -> list[Typed]:
    return [(type, value) for value in values]


def is_always(condition: str) -> bool:
    """Whether an i1 value, or "" for none, is known to hold."""
    return condition in ("", "true")


def _union(weights: Sequence[int]) -> int:
    total = 0
    for weight in weights:
        total |= weight
    return total


def _split_runs(weights: Sequence[int]) -> Iterator[tuple[int, int, int, bool]]:
    """Runs of bits whose weights double: (first bit, count, weight of the first, up to the end)."""
    first = 0
    while first < len(weights):
        weight, count = weights[first], 1
        is_power = weight & (weight - 1) == 0
        while is_power and first + count < len(weights):
            if weight == 0 or weights[first + count] != weight << count:
                break
            count += 1
        if weight:
            yield first, count, weight, first + count == len(weights)
        first += count
