"""The code of one GPU thread, written for the host: what the emulated devices run.

Comes in: the program and target that `emit_nvptx` takes. Goes out: the same code, made by the same
rules, in which every thread is a coroutine (LLVM's, split by its own passes): it suspends where
threads meet, at barriers and shuffles, and every memory access asks first whether it may. The
module's one entry runs a list of threads up to their next meeting; the device decides who goes on.
Device and code share a *context*: an array of 8-byte fields, numbered by CONTEXT.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from string import Template

from lazyblock.backend.llvm.emit import Typed
from lazyblock.backend.llvm.nvptx import NvptxKernel, emit_nvptx, parameter_type
from lazyblock.backend.llvm.nvptx_thread import SHARED_POINTER, ThreadEmitter
from lazyblock.backend.llvm.types import element_nbytes
from lazyblock.source import UNKNOWN
from lazyblock.target import Target
from lazyblock.tiler.ir import Op, Program
from lazyblock.tiler.printer import Names, name_values, print_op
from lazyblock.tiler.types import Element

EMULATED_LEVEL = 0  # of LLVM's optimiser: compiling takes longer than running
MOST_THREADS = 2048  # moments in shared memory are numbered: epoch * MOST_THREADS + thread

CONTEXT = (
    *("handles", "waiting", "published", "received"),  # arrays with one entry per thread
    *("program_x", "program_y", "program_z", "num_x", "num_y", "num_z"),
    *("ranges", "num_ranges"),  # pairs of addresses: the global memory that may be accessed
    *("shadow", "shared_bytes"),  # per shared byte: moment and site of a write and of two reads
    *("program_start", "epoch_start"),  # moments: start of the program instance, last barrier
    *("fault", "thread", "address", "nbytes", "site", "other", "other_site"),  # what went wrong
)
SHADOW_FIELDS = 6


class Fault(enum.IntEnum):
    """What an access can do wrong; the values stand in the module's text."""

    MISALIGNED = 1
    GLOBAL_BOUNDS = 2
    SHARED_BOUNDS = 3
    UNWRITTEN = 4
    RACE = 5


def emit_emulated(program: Program, target: Target) -> NvptxKernel:
    """Emit `program` as `emit_nvptx` does, for the host. Raises: what `emit_nvptx` raises."""
    emitter = EmulatedEmitter(program)
    kernel = emit_nvptx(program, target, emitter)
    parts = [_GLOBALS, _TO_BFLOAT, kernel.llvm, _entry(program, kernel)]
    return dataclasses.replace(kernel, llvm="\n".join(parts))


class EmulatedEmitter(ThreadEmitter):
    """Writes the code of one thread as a coroutine that asks before it touches memory."""

    def __init__(self, program: Program) -> None:
        super().__init__(_FUNCTIONS)
        self._names = name_values(program)
        self._sites: dict[str, str] = {}
        self._meetings = 0

    # --- the frame -------------------------------------------------------------------------------

    def start(self) -> None:
        for text in _PROLOGUE:
            self.line(text)
        super().start()

    def finish(self) -> None:
        self.branch("finished")

    def kernel(self, name: str, parameters: Sequence[str], num_threads: int) -> str:
        for label, lines in _EPILOGUE.items():
            self.begin(label)
            for text in lines:
                self.line(text)
        for signature in _COROUTINE_DECLARATIONS:
            self.declare(signature)
        signature = f"internal ptr @{_thread_name(name)}({', '.join(parameters)})"
        return self.function(signature, "presplitcoroutine nounwind ")

    def shared_array(self, nbytes: int, align: int) -> str:
        return f"@smem = addrspace(3) global [{nbytes} x i8] zeroinitializer, align {align}\n"

    def call(self, result: str, function: str, *arguments: Typed, attributes: str = "") -> str:
        if function in _REPLACEMENTS:
            function = self._use(_REPLACEMENTS[function])
        return super().call(result, function, *arguments, attributes=attributes)

    # --- meetings --------------------------------------------------------------------------------

    def barrier(self) -> None:
        self._meet("barrier")

    def exchange(self, word: str, mask: int) -> str:
        self.call("void", self._use("publish"), ("i32", word))
        self._meet("shuffle")
        return self.call("i32", self._use("receive"), ("i32", str(mask)))

    def _meet(self, kind: str) -> None:
        """Suspend the thread; everyone it waits for must come to this very place."""
        self._meetings += 1
        site = self._site(f"{kind} {self._meetings} in")
        self.call("void", self._use("arrive"), ("ptr", site))
        state = self.value("call i8 @llvm.coro.suspend(token none, i1 false)")
        resumed = self.fresh_label("resumed")
        targets = f"[ i8 0, label %{resumed} i8 1, label %destroyed ]"
        self.line(f"switch i8 {state}, label %suspended {targets}")
        self.begin(resumed)

    # --- memory ----------------------------------------------------------------------------------

    def load_vector(self, element: Element, width: int, address: str, align: int) -> list[str]:
        self._check("read", element, width, address, align)
        return super().load_vector(element, width, address, align)

    def store_vector(
        self, element: Element, values: Sequence[str], address: str, align: int
    ) -> None:
        self._check("write", element, len(values), address, align)
        super().store_vector(element, values, address, align)

    def _check(self, verb: str, element: Element, width: int, address: str, align: int) -> None:
        """End the thread where the access is not allowed."""
        type, _, pointer = address.rpartition(" ")
        space = "shared" if type == SHARED_POINTER else "global"
        is_allowed = self.call(
            "i1",
            self._use(f"check_{space}"),
            (type, pointer),
            ("i64", str(element_nbytes(element) * width)),
            ("i64", str(align)),
            ("i1", str(verb == "write").lower()),
            ("ptr", self._site(verb)),
        )
        allowed = self.fresh_label("allowed")
        self.branch_if(is_allowed, allowed, "finished")
        self.begin(allowed)

    def _site(self, action: str) -> str:
        """A string constant that says what happens where."""
        text = f"{action} {_describe(self.op, self._names)}" if self.op else action
        if text not in self._sites:
            name = self._sites[text] = f"@lazyblock.site.{len(self._sites)}"
            data = text.encode() + b"\0"
            escaped = "".join(f"\\{byte:02X}" for byte in data)
            self.add_helper(name, f'{name} = private constant [{len(data)} x i8] c"{escaped}"')
        return self._sites[text]


def _describe(op: Op, names: Names) -> str:
    line = "" if op.line == UNKNOWN else f" ({op.line})"
    return f"'{print_op(op, names)}'{line}"


# --- the entry -----------------------------------------------------------------------------------


def _thread_name(name: str) -> str:
    return f"{name}.thread"


def _entry(program: Program, kernel: NvptxKernel) -> str:
    """The function `(slots, context, threads, count)` that runs or, without slots, ends threads."""
    loads, arguments = [], []
    for number, parameter in enumerate(program.parameters):
        type = parameter_type(parameter.value.type.element)
        loads.append(f"  %place{number} = getelementptr i64, ptr %slots, i64 {number}")
        loads.append(f"  %p{number} = load {type}, ptr %place{number}")
        arguments.append(f"{type} %p{number}")
    call = f"@{_thread_name(kernel.name)}({', '.join(arguments)})"
    return _ENTRY.substitute(_NUMBERS, name=kernel.name, loads="\n".join(loads), call=call)


# --- the text around -----------------------------------------------------------------------------

_NUMBERS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(CONTEXT)},
    **{fault.name.lower(): fault.value for fault in Fault},
}
_COROUTINE_DECLARATIONS = (
    "token @llvm.coro.id(i32, ptr, ptr, ptr)",
    "i64 @llvm.coro.size.i64()",
    "ptr @llvm.coro.begin(token, ptr)",
    "i8 @llvm.coro.suspend(token, i1)",
    "ptr @llvm.coro.free(token, ptr)",
    "void @llvm.coro.end(ptr, i1, token)",
    "void @llvm.coro.resume(ptr)",
    "void @llvm.coro.destroy(ptr)",
    "i1 @llvm.coro.done(ptr)",
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

_GLOBALS = """\
@lazyblock.context = global ptr null
@lazyblock.thread = global i64 0
define internal i64 @lazyblock.get(i64 %field) alwaysinline {
  %context = load ptr, ptr @lazyblock.context
  %place = getelementptr i64, ptr %context, i64 %field
  %value = load i64, ptr %place
  ret i64 %value
}
define internal void @lazyblock.set(i64 %field, i64 %value) alwaysinline {
  %context = load ptr, ptr @lazyblock.context
  %place = getelementptr i64, ptr %context, i64 %field
  store i64 %value, ptr %place
  ret void
}
define internal ptr @lazyblock.entry(i64 %field, i64 %number) alwaysinline {
  %address = call i64 @lazyblock.get(i64 %field)
  %array = inttoptr i64 %address to ptr
  %place = getelementptr i64, ptr %array, i64 %number
  ret ptr %place
}
"""

# LLVM calls this to round to bfloat16 where the host has no instruction for it
_TO_BFLOAT = """\
define bfloat @__truncsfbf2(float %value) {
  %bits = bitcast float %value to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %bias = add i32 %odd, 32767
  %biased = add i32 %bits, %bias
  %rounded = lshr i32 %biased, 16
  %quiet = or i32 %high, 64
  %is.nan = fcmp uno float %value, 0.0
  %chosen = select i1 %is.nan, i32 %quiet, i32 %rounded
  %narrow = trunc i32 %chosen to i16
  %result = bitcast i16 %narrow to bfloat
  ret bfloat %result
}
"""

_ENTRY = Template("""\
define void @$name(ptr %slots, ptr %context, ptr %threads, i64 %count) {
entry:
  store ptr %context, ptr @lazyblock.context
  %is.end = icmp eq ptr %slots, null
  br label %loop
loop:
  %number = phi i64 [ 0, %entry ], [ %following, %next ]
  %listed = getelementptr i64, ptr %threads, i64 %number
  %thread = load i64, ptr %listed
  store i64 %thread, ptr @lazyblock.thread
  %kept = call ptr @lazyblock.entry(i64 $handles, i64 %thread)
  %handle = load ptr, ptr %kept
  %is.new = icmp eq ptr %handle, null
  br i1 %is.end, label %end, label %run
end:
  br i1 %is.new, label %next, label %destroy
run:
  br i1 %is.new, label %start, label %resume
start:
$loads
  %begun = call ptr $call
  store ptr %begun, ptr %kept
  br label %ran
resume:
  call void @llvm.coro.resume(ptr %handle)
  br label %ran
ran:
  %current = load ptr, ptr %kept
  %is.done = call i1 @llvm.coro.done(ptr %current)
  br i1 %is.done, label %done, label %next
done:
  %waiting = call ptr @lazyblock.entry(i64 $waiting, i64 %thread)
  store i64 0, ptr %waiting
  br label %destroy
destroy:
  %old = load ptr, ptr %kept
  call void @llvm.coro.destroy(ptr %old)
  store ptr null, ptr %kept
  br label %next
next:
  %following = add i64 %number, 1
  %is.more = icmp ult i64 %following, %count
  %fault = call i64 @lazyblock.get(i64 $fault)
  %is.right = icmp eq i64 %fault, 0
  %is.on = and i1 %is.more, %is.right
  br i1 %is.on, label %loop, label %stop
stop:
  ret void
}
define internal void @lazyblock.report(i64 %fault, i64 %address, i64 %nbytes, ptr %site) noinline {
  call void @lazyblock.set(i64 $fault, i64 %fault)
  call void @lazyblock.set(i64 $address, i64 %address)
  call void @lazyblock.set(i64 $nbytes, i64 %nbytes)
  %place = ptrtoint ptr %site to i64
  call void @lazyblock.set(i64 $site, i64 %place)
  %thread = load i64, ptr @lazyblock.thread
  call void @lazyblock.set(i64 $thread, i64 %thread)
  ret void
}
""")

_FIELD = """\
define internal i32 @lazyblock.{name}() alwaysinline {{
  %value = call i64 @lazyblock.get(i64 {number})
  %narrow = trunc i64 %value to i32
  ret i32 %narrow
}}
"""
_THREAD_INDEX = """\
define internal i32 @lazyblock.thread_index() alwaysinline {
  %thread = load i64, ptr @lazyblock.thread
  %narrow = trunc i64 %thread to i32
  ret i32 %narrow
}
"""
_ARRIVE = Template("""\
define internal void @lazyblock.arrive(ptr %site) alwaysinline {
  %thread = load i64, ptr @lazyblock.thread
  %place = call ptr @lazyblock.entry(i64 $waiting, i64 %thread)
  store ptr %site, ptr %place
  ret void
}
""")
_PUBLISH = Template("""\
define internal void @lazyblock.publish(i32 %value) alwaysinline {
  %thread = load i64, ptr @lazyblock.thread
  %place = call ptr @lazyblock.entry(i64 $published, i64 %thread)
  store i32 %value, ptr %place
  ret void
}
""")
_RECEIVE = Template("""\
define internal i32 @lazyblock.receive(i32 %mask) alwaysinline {
  %wide = zext i32 %mask to i64
  %thread = load i64, ptr @lazyblock.thread
  %partner = xor i64 %thread, %wide
  %place = call ptr @lazyblock.entry(i64 $received, i64 %partner)
  %value = load i32, ptr %place
  ret i32 %value
}
""")
_RECIPROCAL = """\
define internal float @lazyblock.reciprocal(float %value) alwaysinline {
  %result = fdiv float 1.0, %value
  ret float %result
}
"""

# the address must be aligned and all bytes lie in one range
_CHECK_GLOBAL = Template("""\
define internal i1 @lazyblock.check_global(
    ptr addrspace(1) %pointer, i64 %nbytes, i64 %align, i1 %is.write, ptr %site) noinline {
entry:
  %address = ptrtoint ptr addrspace(1) %pointer to i64
  %mask = sub i64 %align, 1
  %low = and i64 %address, %mask
  %is.aligned = icmp eq i64 %low, 0
  %count = call i64 @lazyblock.get(i64 $num_ranges)
  br i1 %is.aligned, label %loop, label %wrong
loop:
  %number = phi i64 [ 0, %entry ], [ %following, %look ]
  %is.more = icmp ult i64 %number, %count
  br i1 %is.more, label %look, label %wrong
look:
  %index = shl i64 %number, 1
  %first.place = call ptr @lazyblock.entry(i64 $ranges, i64 %index)
  %end.place = getelementptr i64, ptr %first.place, i64 1
  %first = load i64, ptr %first.place
  %end = load i64, ptr %end.place
  %stop = add i64 %address, %nbytes
  %is.above = icmp uge i64 %address, %first
  %is.below = icmp ule i64 %stop, %end
  %is.inside = and i1 %is.above, %is.below
  %following = add i64 %number, 1
  br i1 %is.inside, label %right, label %loop
wrong:
  %fault = phi i64 [ $misaligned, %entry ], [ $global_bounds, %loop ]
  call void @lazyblock.report(i64 %fault, i64 %address, i64 %nbytes, ptr %site)
  ret i1 false
right:
  ret i1 true
}
""")

# the same for shared memory; then every byte is checked against what was done to it before
_CHECK_SHARED = Template("""\
define internal i1 @lazyblock.check_shared(
    ptr addrspace(3) %pointer, i64 %nbytes, i64 %align, i1 %is.write, ptr %site) noinline {
entry:
  %address = ptrtoint ptr addrspace(3) %pointer to i64
  %base = ptrtoint ptr addrspace(3) @smem to i64
  %first = sub i64 %address, %base
  %end = add i64 %first, %nbytes
  %mask = sub i64 %align, 1
  %low = and i64 %address, %mask
  %is.aligned = icmp eq i64 %low, 0
  br i1 %is.aligned, label %measure, label %wrong
measure:
  %size = call i64 @lazyblock.get(i64 $shared_bytes)
  %is.above = icmp sge i64 %first, 0
  %is.below = icmp sle i64 %end, %size
  %is.inside = and i1 %is.above, %is.below
  br i1 %is.inside, label %loop, label %wrong
loop:
  %byte = phi i64 [ %first, %measure ], [ %following, %touch ]
  %is.more = icmp slt i64 %byte, %end
  br i1 %is.more, label %touch, label %right
touch:
  %found = call i64 @lazyblock.touch(i64 %byte, i1 %is.write, ptr %site)
  %following = add i64 %byte, 1
  %is.fine = icmp eq i64 %found, 0
  br i1 %is.fine, label %loop, label %wrong
wrong:
  %fault = phi i64 [ $misaligned, %entry ], [ $shared_bounds, %measure ], [ %found, %touch ]
  call void @lazyblock.report(i64 %fault, i64 %first, i64 %nbytes, ptr %site)
  ret i1 false
right:
  ret i1 true
}
define internal i64 @lazyblock.touch(i64 %byte, i1 %is.write, ptr %site) {
entry:
  %index = mul i64 %byte, $shadow_fields
  %writer = call ptr @lazyblock.entry(i64 $shadow, i64 %index)
  %reader = getelementptr i64, ptr %writer, i64 2
  %second = getelementptr i64, ptr %writer, i64 4
  %start = call i64 @lazyblock.get(i64 $epoch_start)
  %thread = load i64, ptr @lazyblock.thread
  %now = add i64 %start, %thread
  %is.written = call i1 @lazyblock.conflicts(ptr %writer, i64 %start, i64 %now)
  br i1 %is.written, label %race, label %apart
apart:
  br i1 %is.write, label %write, label %read
write:
  %is.read = call i1 @lazyblock.conflicts(ptr %reader, i64 %start, i64 %now)
  %is.read.again = call i1 @lazyblock.conflicts(ptr %second, i64 %start, i64 %now)
  %is.race = or i1 %is.read, %is.read.again
  br i1 %is.race, label %race, label %note
read:
  %moment = load i64, ptr %writer
  %program = call i64 @lazyblock.get(i64 $program_start)
  %is.unwritten = icmp ult i64 %moment, %program
  br i1 %is.unwritten, label %unwritten, label %choose
choose:
  %other = call i1 @lazyblock.conflicts(ptr %reader, i64 %start, i64 %now)
  %chosen = select i1 %other, ptr %second, ptr %reader
  br label %note
note:
  %record = phi ptr [ %writer, %write ], [ %chosen, %choose ]
  store i64 %now, ptr %record
  %record.site = getelementptr i64, ptr %record, i64 1
  store ptr %site, ptr %record.site
  br label %right
right:
  ret i64 0
unwritten:
  ret i64 $unwritten
race:
  ret i64 $race
}
define internal i1 @lazyblock.conflicts(ptr %record, i64 %start, i64 %now) alwaysinline {
entry:
  %moment = load i64, ptr %record
  %is.recent = icmp uge i64 %moment, %start
  %is.other = icmp ne i64 %moment, %now
  %conflicts = and i1 %is.recent, %is.other
  br i1 %conflicts, label %keep, label %done
keep:
  %site.place = getelementptr i64, ptr %record, i64 1
  %site = load i64, ptr %site.place
  call void @lazyblock.set(i64 $other, i64 %moment)
  call void @lazyblock.set(i64 $other_site, i64 %site)
  br label %done
done:
  ret i1 %conflicts
}
""")

_REGISTERS = {
    **{f"program_id.{axis}": f"program_{axis}" for axis in "xyz"},
    **{f"num_programs.{axis}": f"num_{axis}" for axis in "xyz"},
}
_FUNCTIONS: Mapping[str, str] = {
    "lazyblock.thread_index": _THREAD_INDEX,
    **{
        f"lazyblock.{name}": _FIELD.format(name=name, number=_NUMBERS[field])
        for name, field in _REGISTERS.items()
    },
    "lazyblock.arrive": _ARRIVE.substitute(_NUMBERS),
    "lazyblock.publish": _PUBLISH.substitute(_NUMBERS),
    "lazyblock.receive": _RECEIVE.substitute(_NUMBERS),
    "lazyblock.check_global": _CHECK_GLOBAL.substitute(_NUMBERS),
    "lazyblock.check_shared": _CHECK_SHARED.substitute(_NUMBERS, shadow_fields=SHADOW_FIELDS),
    "lazyblock.reciprocal": _RECIPROCAL,
}
_REPLACEMENTS = {"llvm.nvvm.rcp.approx.ftz.f": "reciprocal"}  # near enough for what corrects it
