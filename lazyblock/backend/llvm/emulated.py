"""The code of one GPU thread, written for the host: what the emulated devices run.

Comes in: the program and target that `emit_nvptx` takes. Goes out: the same code, made by the same
rules, in which every thread is a coroutine (LLVM's, split by its own passes): it suspends where
threads meet, at barriers, shuffles and votes, and every memory access asks first whether it may.
The module's one entry starts a thread; the shared support (emulated_support) runs it from meeting
to meeting, and the device decides who goes on.

To emulate another function of the hardware: one that only this thread takes part in gets a function
of its name in the support (KERNEL_FUNCTIONS); one in which threads exchange something publishes it,
meets, and then asks a support function for what the others published (`exchange`, `ballot`); one
that touches memory calls `_check` first and then does on the host what the hardware does
(`atomic`). An intrinsic that common code calls by its LLVM name is a row of _REPLACEMENTS.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lazyblock.backend.llvm.atomics import Atomic, emit_atomic
from lazyblock.backend.llvm.emit import Typed, constant_bytes
from lazyblock.backend.llvm.emulated_support import SITE_BITS, Access
from lazyblock.backend.llvm.nvptx import NvptxKernel, emit_nvptx, parameter_type
from lazyblock.backend.llvm.nvptx_functions import CLUSTER_POINTER, GLOBAL_POINTER, SHARED_POINTER
from lazyblock.backend.llvm.nvptx_mma import Mma
from lazyblock.backend.llvm.nvptx_thread import ThreadEmitter
from lazyblock.backend.llvm.reports import PRINT, store_arguments
from lazyblock.backend.llvm.rules import APPROXIMATE_INTRINSICS
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.errors import UnsupportedError
from lazyblock.source import UNKNOWN
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op, Program, walk
from lazyblock.tiler.printer import Names, name_values, print_op
from lazyblock.tiler.types import Element, ScalarType

EMULATED_LEVEL = 0  # of LLVM's optimiser: compiling takes longer than running
SITES = "lazyblock.sites"  # the symbol of the places that checks and meetings name, one a line
REACHES_ALL = "lazyblock.reaches_all"  # the symbol of a byte: whether integers become addresses
SHARED = "smem"  # the symbol of shared memory: of all CTAs of a cluster, one behind the other
SHARED_GAP = 256  # bytes behind the shared memory of a CTA that nobody may touch


def emit_emulated(program: Program, target: Target) -> NvptxKernel:
    """Emit `program` as `emit_nvptx` does, for the host. Raises: what `emit_nvptx` raises."""
    emitter = EmulatedEmitter(program)
    kernel = emit_nvptx(program, target, emitter)
    parts = [kernel.llvm, emitter.sites(), _entry(program, kernel)]
    return dataclasses.replace(kernel, llvm="\n".join(parts))


class EmulatedEmitter(ThreadEmitter):
    """Writes the code of one thread as a coroutine that asks before it touches memory."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._names = name_values(program)
        self._sites: dict[str, int] = {}
        self._meetings = 0

    def sites(self) -> str:
        """The definition of SITES, for site number 1 and so on."""
        table = "\n".join(self._sites)
        return f"@{SITES} = constant {constant_bytes(table)}\n"

    # --- the frame -------------------------------------------------------------------------------

    def start(self, num_threads: int, num_ctas: int) -> None:
        for text in _PROLOGUE:
            self.line(text)
        super().start(num_threads, num_ctas)

    def shared_base(self) -> str:
        return self.call(SHARED_POINTER, self._use("shared_base"))

    def finish(self) -> None:
        self.branch("finished")

    def kernel(
        self, name: str, parameters: Sequence[str], num_threads: int, max_registers: int = 0
    ) -> str:
        for label, lines in _EPILOGUE.items():
            self.begin(label)
            for text in lines:
                self.line(text)
        for signature in _COROUTINE_DECLARATIONS:
            self.declare(signature)
        signature = f"internal ptr @{_thread_name(name)}({', '.join(parameters)})"
        return self.function(signature, "presplitcoroutine nounwind ")

    def shared_array(self, nbytes: int, align: int) -> str:
        size = self.num_ctas * (nbytes + SHARED_GAP)
        return f"@{SHARED} = addrspace(3) global [{size} x i8] zeroinitializer, align {align}\n"

    def _use(self, name: str) -> str:
        return f"lazyblock.{name}"  # the support has it

    def call(self, result: str, function: str, *arguments: Typed, attributes: str = "") -> str:
        if function in _REPLACEMENTS:
            function = self._use(_REPLACEMENTS[function])
        return super().call(result, function, *arguments, attributes=attributes)

    # --- debugging -------------------------------------------------------------------------------

    def print_line(self, line: str, values: Sequence[Typed]) -> None:
        buffer = store_arguments(self, values)
        self.call("void", PRINT, ("ptr", self.text(line)), ("ptr", buffer))

    def fail(self, text: str, place: Sequence[str], element: str) -> None:
        site = self._sites.setdefault(f"assert {text}", len(self._sites) + 1)
        wide = self._convert("zext", "i32", element, "i64")
        self.call("void", self._use("fail"), ("i64", wide), ("i64", str(site)))

    def end_if(self, condition: str) -> None:
        """The first failure ends the launch."""
        if self.num_ctas == 1:
            self._meet("barrier")
        goes_on = self.fresh_label("holds")
        self.branch_if(condition, "finished", goes_on)
        self.begin(goes_on)

    # --- meetings --------------------------------------------------------------------------------

    def barrier(self) -> None:
        self._meet("barrier")

    def cluster_barrier(self) -> None:
        self._meet("cluster barrier")

    def announce_start(self) -> None:
        pass

    def await_start(self) -> None:
        self._meet("cluster start")

    def init_mailboxes(self, counts: Sequence[str]) -> None:
        with self.when(self.is_first_of_cta()):
            for count in counts:
                self.line(f"store i64 0, {SHARED_POINTER} {count}")

    def expect_mail(self, count: str, nbytes: int) -> None:
        with self.when(self.is_first_of_cta()):
            self._count_mail(f"{SHARED_POINTER} {count}", -nbytes)

    def send_mail(self, element: ScalarType, value: str, place: str, count: str) -> None:
        nbytes = element_nbytes(element)
        self.store_vector(element, [value], f"{CLUSTER_POINTER} {place}", nbytes)
        self._count_mail(f"{CLUSTER_POINTER} {count}", nbytes)

    def _count_mail(self, place: str, nbytes: int) -> None:
        before = self.value(f"load i64, {place}")
        self.line(f"store i64 {self.value(f'add i64 {before}, {nbytes}')}, {place}")

    def await_mail(self, count: str) -> None:
        self._meet("cluster barrier")  # all have sent then
        site = self._site("mail for")
        arguments = (SHARED_POINTER, count), ("i64", site)
        self._end_unless(self.call("i1", self._use("check_mail"), *arguments))

    def exchange(self, kind: str, word: str, lane: int | str) -> str:
        self.call("void", self._use("publish"), ("i32", word))
        self._meet("shuffle")
        return self.call("i32", self._use(f"shuffle_{kind}"), ("i32", str(lane)))

    def ballot(self, condition: str) -> str:
        word = self._convert("zext", "i1", condition, "i32")
        self.call("void", self._use("publish"), ("i32", word))
        self._meet("vote")
        return self.ask("ballot")

    def mma(self, mma: Mma, a: Sequence[str], b: Sequence[str], sums: Sequence[str]) -> list[str]:
        for number, word in enumerate((*a, *b)):
            bits = f"i{8 * mma.word_bytes}"
            wide = self._convert(
                "zext", bits, self._convert("bitcast", mma.word, word, bits), "i64"
            )
            self.call("void", self._use("publish_word"), ("i64", str(number)), ("i64", wide))
        self._meet("matrices")
        return self._unpack(mma, self._use(f"mma_{mma.name}"), *((mma.acc, s) for s in sums))

    def _meet(self, kind: str) -> None:
        """Suspend the thread; everyone it waits for must come to this very place."""
        self._meetings += 1
        site = self._site(f"{kind} {self._meetings} in")
        self.call("void", self._use("arrive"), ("i64", site))
        state = self.value("call i8 @llvm.coro.suspend(token none, i1 false)")
        resumed = self.fresh_label("resumed")
        targets = f"[ i8 0, label %{resumed} i8 1, label %destroyed ]"
        self.line(f"switch i8 {state}, label %suspended {targets}")
        self.begin(resumed)

    # --- memory ----------------------------------------------------------------------------------

    def load_vector(self, element: Element, width: int, address: str, align: int) -> list[str]:
        self._check(Access.READ, element_nbytes(element) * width, address, align)
        return super().load_vector(element, width, address, align)

    def store_vector(
        self, element: Element, values: Sequence[str], address: str, align: int
    ) -> None:
        self._check(Access.WRITE, element_nbytes(element) * len(values), address, align)
        super().store_vector(element, values, address, align)

    def atomic(self, target: Target, access: Atomic, address: str, *values: str) -> str:
        type, _, pointer = address.rpartition(" ")
        if access.sem in ("acquire", "acq_rel") and type == GLOBAL_POINTER:
            self.call("void", self._use("acquire"), (type, pointer))
        kind = _ATOMIC_ACCESSES.get(access.kind, Access.ATOMIC)
        self._check(kind, access.nbytes, address, access.nbytes)
        return emit_atomic(self, target, access, address, values)

    def count_round(self) -> None:
        may_go_on = self.call("i1", self._use("count_round"), ("i64", self._site("round of")))
        going_on = self.fresh_label("round")
        self.branch_if(may_go_on, going_on, "finished")
        self.begin(going_on)

    def _check(self, access: Access, nbytes: int, address: str, align: int) -> None:
        """End the thread where the access is not allowed."""
        type, _, pointer = address.rpartition(" ")
        space = {SHARED_POINTER: "shared", CLUSTER_POINTER: "cluster"}.get(type, "global")
        numbers = (str(nbytes), str(align), str(int(access)), self._site(access.name.lower()))
        is_allowed = self.call(
            "i1",
            self._use(f"check_{space}"),
            (type, pointer),
            *(("i64", number) for number in numbers),
        )
        self._end_unless(is_allowed)

    def _end_unless(self, is_allowed: str) -> None:
        allowed = self.fresh_label("allowed")
        self.branch_if(is_allowed, allowed, "finished")
        self.begin(allowed)

    def _site(self, action: str) -> str:
        """The number of what happens where."""
        text = f"{action} {_describe(self.op, self._names)}" if self.op else action
        number = self._sites.setdefault(text, len(self._sites) + 1)
        if number >> SITE_BITS:
            raise UnsupportedError("a program with this many accesses is too long to emulate.")
        return str(number)


_ATOMIC_ACCESSES = {"load": Access.ATOMIC_READ, "store": Access.ATOMIC_WRITE}


def _describe(op: Op, names: Names) -> str:
    line = "" if op.line == UNKNOWN else f" ({op.line})"
    return f"'{print_op(op, names)}'{line}"


def _reach(program: Program) -> str:
    """The definition of REACHES_ALL."""
    made = (op for op in walk(program.body) if isinstance(op, ops.Bitcast))
    reaches = any(op.result.type.is_pointer and not op.value.type.is_pointer for op in made)
    return f"@{REACHES_ALL} = constant i8 {int(reaches)}\n"


# --- the entry -----------------------------------------------------------------------------------


def _thread_name(name: str) -> str:
    return f"{name}.thread"


def _entry(program: Program, kernel: NvptxKernel) -> str:
    """The function that starts a thread with the arguments in slots; gives its handle."""
    lines, arguments = [], []
    for number, parameter in enumerate(program.parameters):
        type = parameter_type(parameter.value.type.element)
        lines.append(f"  %place{number} = getelementptr i64, ptr %slots, i64 {number}")
        lines.append(f"  %p{number} = load {type}, ptr %place{number}")
        arguments.append(f"{type} %p{number}")
    lines.append(f"  %handle = call ptr @{_thread_name(kernel.name)}({', '.join(arguments)})")
    body = "\n".join(lines)
    function = f"define ptr @{kernel.name}(ptr %slots) {{\n{body}\n  ret ptr %handle\n}}\n"
    return _reach(program) + function


# --- the text around -----------------------------------------------------------------------------

_COROUTINE_DECLARATIONS = (
    "token @llvm.coro.id(i32, ptr, ptr, ptr)",
    "i64 @llvm.coro.size.i64()",
    "ptr @llvm.coro.begin(token, ptr)",
    "i8 @llvm.coro.suspend(token, i1)",
    "ptr @llvm.coro.free(token, ptr)",
    "void @llvm.coro.end(ptr, i1, token)",
    "ptr @malloc(i64)",
    "void @free(ptr)",
)
_PROLOGUE = (
    "%coroutine = call token @llvm.coro.id(i32 16, ptr null, ptr null, ptr null)",
    "%frame.size = call i64 @llvm.coro.size.i64()",
    "%memory = call ptr @malloc(i64 %frame.size)",
    "%frame = call ptr @llvm.coro.begin(token %coroutine, ptr %memory)",
)
_EPILOGUE = {
    "finished": (
        "%last = call i8 @llvm.coro.suspend(token none, i1 true)",
        "switch i8 %last, label %suspended [ i8 0, label %destroyed i8 1, label %destroyed ]",
    ),
    "destroyed": (
        "%freed = call ptr @llvm.coro.free(token %coroutine, ptr %frame)",
        "call void @free(ptr %freed)",
        "br label %suspended",
    ),
    "suspended": (
        "call void @llvm.coro.end(ptr %frame, i1 false, token none)",
        "ret ptr %frame",
    ),
}

# near enough for what corrects them
_REPLACEMENTS = {f"llvm.nvvm.{name}": f for f, name in APPROXIMATE_INTRINSICS.items()}
