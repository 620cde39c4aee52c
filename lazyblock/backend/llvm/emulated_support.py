"""What all emulated kernels share: running threads, meetings, checks of memory. Compiled once.

A module in LLVM's text. The device calls `lazyblock.run`; the code of the threads calls the rest.
Both sides share a *context*: an array of 8-byte fields, numbered by CONTEXT.

Every byte of memory has a *shadow*: three records of who touched it, the last write and two reads.
A record is moment << 17 | is atomic << 16 | site. A moment is epoch * MOST_THREADS + thread; epochs
begin at barriers and count on for good, so that records of earlier launches and instances tell
themselves apart. A barrier of a CTA begins one for its threads, one of the cluster for all CTAs.
Two accesses, one of them no read and not both atomic, are a race when no barrier lies between:
since the CTA's last one, by two of its threads, since the cluster's, by threads of two CTAs, or in
one launch, by two program instances, unless the later one has acquired: what it found at the place
was written atomically by an earlier instance. That orders it behind all before (more than it does
on the hardware, where the order of what these did not release is open).
"""

from __future__ import annotations

import enum
from string import Template

from lazyblock.backend.llvm.emulated_checks import CHECKS
from lazyblock.backend.llvm.emulated_mma import MMA_SUPPORT
from lazyblock.backend.llvm.nvptx_mma import MMA

MOST_THREADS = 8192  # of a cluster
SITE_BITS = 16
SHADOW_RECORDS = 3  # per byte
PUBLISHED_WORDS = 8  # of a thread at a meeting

CONTEXT = (
    *("handles", "waiting"),  # arrays with one entry per thread
    *("published", "received"),  # arrays with PUBLISHED_WORDS per thread
    "cta_threads",
    *("program_x", "program_y", "program_z", "num_x", "num_y", "num_z"),
    *("ranges", "num_ranges"),  # rows of RANGE_FIELDS: the global memory that may be accessed
    *("shared", "shared_bytes", "shared_shadow"),
    *("shared_stride", "cluster_bytes"),  # from one CTA's shared memory to the next one's; of all
    *("launch_start", "program_start", "cluster_start"),  # moments; the last barrier of the cluster
    "epochs",  # array with the moment of the last barrier of each CTA
    "acquired",  # the moment up to which an acquire orders other instances before this one
    *("rounds", "most_rounds"),  # of while loops, by all threads of an instance
    "is_started",  # whether all CTAs are known to run
    *("fault", "thread", "address", "nbytes", "site", "other"),  # what went wrong
)
RANGE_FIELDS = ("start", "end", "shadow", "is_written")


class Access(enum.IntEnum):
    """What is done to memory."""

    READ = 0
    WRITE = 1
    ATOMIC = 2  # an update; this and what follows are atomic
    ATOMIC_READ = 3
    ATOMIC_WRITE = 4


class Fault(enum.IntEnum):
    """What an access can do wrong."""

    MISALIGNED = 1
    GLOBAL_BOUNDS = 2
    SHARED_BOUNDS = 3
    UNWRITTEN = 4
    RACE = 5
    UNSTARTED = 6
    ENDLESS = 7
    MAIL = 8
    ASSERTION = 9


def moment_of(record: int) -> tuple[int, int]:
    """Epoch and thread of a record."""
    return divmod(record >> SITE_BITS + 1, MOST_THREADS)


def site_of(record: int) -> int:
    """Number of the place in the program that made a record."""
    return record & (1 << SITE_BITS) - 1


_REGISTERS = {  # functions that give a field of the context
    **{f"program_id.{axis}": f"program_{axis}" for axis in "xyz"},
    **{f"num_programs.{axis}": f"num_{axis}" for axis in "xyz"},
    **{f"cluster_id.{axis}": f"program_{axis}" for axis in "xyz"},
    **{f"num_clusters.{axis}": f"num_{axis}" for axis in "xyz"},
}
_PARTNERS = {  # of shuffles; who is none of the warp gives the thread its own value
    "xor": "%other = xor i32 %lane, %operand",
    "up": "%other = sub i32 %lane, %operand",
    "down": "%other = add i32 %lane, %operand",
    "idx": "%other = and i32 %operand, 31",
}
_APPROXIMATIONS = {
    "exp2": "%exact = call float @llvm.exp2.f32(float %flushed)",
    "log2": "%exact = call float @llvm.log2.f32(float %flushed)",
    "reciprocal": "%exact = fdiv float 1.0, %flushed",
    "rsqrt": "%root = call float @llvm.sqrt.f32(float %flushed)\n  %exact = fdiv float 1.0, %root",
    "sqrt": "%exact = call float @llvm.sqrt.f32(float %flushed)",
}
KERNEL_FUNCTIONS = tuple(  # what the code of a thread may call
    f"lazyblock.{name}"
    for name in (
        *("thread_index", "cta_rank", "shared_base", "map_shared", *_REGISTERS),
        *("arrive", "publish", "ballot", *(f"shuffle_{kind}" for kind in _PARTNERS)),
        *("check_global", "check_shared", "check_cluster", "check_mail", "acquire", "count_round"),
        *("fail", *_APPROXIMATIONS),
        *("publish_word", "round_tf32", *(f"mma_{name}" for name in MMA)),
    )
)
RUN = "lazyblock.run"
TO_BFLOAT = "__truncsfbf2"  # LLVM calls it where the host has no instruction
EXPORTS = (RUN, TO_BFLOAT, *KERNEL_FUNCTIONS)


def support_module() -> str:
    """The module's text."""
    numbers: dict[str, int] = {
        **{name: number for number, name in enumerate(CONTEXT)},
        **{fault.name.lower(): fault.value for fault in Fault},
        **{access.name.lower(): access.value for access in Access},
        **{f"range_{name}": number for number, name in enumerate(RANGE_FIELDS)},
        **{"site_bits": SITE_BITS, "moment_bits": SITE_BITS + 1, "atomic_bit": 1 << SITE_BITS},
        **{"shadow_bytes": 8 * SHADOW_RECORDS, "range_size": len(RANGE_FIELDS)},
        **{"most_threads": MOST_THREADS, "published_words": PUBLISHED_WORDS},
    }
    registers = [_FIELD.format(name=name, number=numbers[f]) for name, f in _REGISTERS.items()]
    shuffles = [_SHUFFLE.format(kind=kind, partner=text) for kind, text in _PARTNERS.items()]
    functions = [_APPROXIMATION.format(name=name, steps=s) for name, s in _APPROXIMATIONS.items()]
    threads = (_STATE, _FAIL, _RUN, _PLACES, *registers, _MEETINGS, *shuffles)
    parts = (*threads, CHECKS, _ARITHMETIC, *functions, MMA_SUPPORT)
    return Template("".join(parts)).substitute(numbers)


_STATE = """\
@lazyblock.context = internal global ptr null
@lazyblock.thread = internal global i64 0
define internal i64 @get(i64 %field) alwaysinline {
  %context = load ptr, ptr @lazyblock.context
  %place = getelementptr i64, ptr %context, i64 %field
  %value = load i64, ptr %place
  ret i64 %value
}
define internal void @set(i64 %field, i64 %value) alwaysinline {
  %context = load ptr, ptr @lazyblock.context
  %place = getelementptr i64, ptr %context, i64 %field
  store i64 %value, ptr %place
  ret void
}
define internal ptr @entry(i64 %field, i64 %number) alwaysinline {
  %address = call i64 @get(i64 %field)
  %array = inttoptr i64 %address to ptr
  %place = getelementptr i64, ptr %array, i64 %number
  ret ptr %place
}
define internal i1 @report(i64 %fault, i64 %address, i64 %nbytes, i64 %site) noinline {
  call void @set(i64 $fault, i64 %fault)
  call void @set(i64 $address, i64 %address)
  call void @set(i64 $nbytes, i64 %nbytes)
  call void @set(i64 $site, i64 %site)
  %thread = load i64, ptr @lazyblock.thread
  call void @set(i64 $thread, i64 %thread)
  ret i1 false
}
"""

_FAIL = """\
define void @lazyblock.fail(i64 %element, i64 %site) {
  %fault = call i64 @get(i64 $fault)
  %is.first = icmp eq i64 %fault, 0
  br i1 %is.first, label %first, label %done
first:
  %false = call i1 @report(i64 $assertion, i64 %element, i64 0, i64 %site)
  br label %done
done:
  ret void
}
"""

# runs a list of threads up to their next meeting or, without slots, ends them
_RUN = """\
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)
declare i1 @llvm.coro.done(ptr)
define void @lazyblock.run(ptr %start, ptr %slots, ptr %context, ptr %threads, i64 %count) {
entry:
  store ptr %context, ptr @lazyblock.context
  %is.end = icmp eq ptr %slots, null
  br label %loop
loop:
  %number = phi i64 [ 0, %entry ], [ %following, %next ]
  %listed = getelementptr i64, ptr %threads, i64 %number
  %thread = load i64, ptr %listed
  store i64 %thread, ptr @lazyblock.thread
  %kept = call ptr @entry(i64 $handles, i64 %thread)
  %handle = load ptr, ptr %kept
  %is.new = icmp eq ptr %handle, null
  br i1 %is.end, label %end, label %run
end:
  br i1 %is.new, label %next, label %destroy
run:
  br i1 %is.new, label %start.thread, label %resume
start.thread:
  %begun = call ptr %start(ptr %slots)
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
  %waiting = call ptr @entry(i64 $waiting, i64 %thread)
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
  %fault = call i64 @get(i64 $fault)
  %is.right = icmp eq i64 %fault, 0
  %is.on = and i1 %is.more, %is.right
  br i1 %is.on, label %loop, label %stop
stop:
  ret void
}
"""

# --- places: where a thread runs, and where the shared memory of its CTA lies ---------------------

_PLACES = """\
define internal i64 @own.cta() alwaysinline {
  %thread = load i64, ptr @lazyblock.thread
  %size = call i64 @get(i64 $cta_threads)
  %number = udiv i64 %thread, %size
  ret i64 %number
}
define i32 @lazyblock.cta_rank() {
  %number = call i64 @own.cta()
  %narrow = trunc i64 %number to i32
  ret i32 %narrow
}
define i32 @lazyblock.thread_index() {
  %thread = load i64, ptr @lazyblock.thread
  %size = call i64 @get(i64 $cta_threads)
  %number = urem i64 %thread, %size
  %narrow = trunc i64 %number to i32
  ret i32 %narrow
}
define internal i64 @base.of(i64 %cta) alwaysinline {
  %start = call i64 @get(i64 $shared)
  %stride = call i64 @get(i64 $shared_stride)
  %offset = mul i64 %stride, %cta
  %base = add i64 %start, %offset
  ret i64 %base
}
define ptr addrspace(3) @lazyblock.shared_base() {
  %own = call i64 @own.cta()
  %address = call i64 @base.of(i64 %own)
  %base = inttoptr i64 %address to ptr addrspace(3)
  ret ptr addrspace(3) %base
}
define ptr addrspace(7) @lazyblock.map_shared(ptr addrspace(3) %pointer, i32 %rank) {
  %own = call i64 @own.cta()
  %own.base = call i64 @base.of(i64 %own)
  %wide = zext i32 %rank to i64
  %base = call i64 @base.of(i64 %wide)
  %address = ptrtoint ptr addrspace(3) %pointer to i64
  %offset = sub i64 %address, %own.base
  %moved = add i64 %base, %offset
  %place = inttoptr i64 %moved to ptr addrspace(7)
  ret ptr addrspace(7) %place
}
"""
_FIELD = """\
define i32 @lazyblock.{name}() {{
  %value = call i64 @get(i64 {number})
  %narrow = trunc i64 %value to i32
  ret i32 %narrow
}}
"""

# --- meetings: a thread says where it waits, and what it has for others --------------------------

_MEETINGS = """\
define i1 @lazyblock.count_round(i64 %site) {
  %rounds = call i64 @get(i64 $rounds)
  %next = add i64 %rounds, 1
  call void @set(i64 $rounds, i64 %next)
  %most = call i64 @get(i64 $most_rounds)
  %is.within = icmp ule i64 %next, %most
  br i1 %is.within, label %within, label %beyond
within:
  ret i1 true
beyond:
  %false = call i1 @report(i64 $endless, i64 0, i64 0, i64 %site)
  ret i1 %false
}
define void @lazyblock.arrive(i64 %site) {
  %thread = load i64, ptr @lazyblock.thread
  %place = call ptr @entry(i64 $waiting, i64 %thread)
  store i64 %site, ptr %place
  ret void
}
define void @lazyblock.publish_word(i64 %number, i64 %value) {
  %thread = load i64, ptr @lazyblock.thread
  %first = mul i64 %thread, $published_words
  %index = add i64 %first, %number
  %place = call ptr @entry(i64 $published, i64 %index)
  store i64 %value, ptr %place
  ret void
}
define void @lazyblock.publish(i32 %value) {
  %wide = zext i32 %value to i64
  call void @lazyblock.publish_word(i64 0, i64 %wide)
  ret void
}
define internal i64 @receive.word(i32 %lane, i32 %number) alwaysinline {
  %thread = load i64, ptr @lazyblock.thread
  %warp = and i64 %thread, -32
  %wide = zext i32 %lane to i64
  %partner = or i64 %warp, %wide
  %first = mul i64 %partner, $published_words
  %word = zext i32 %number to i64
  %index = add i64 %first, %word
  %place = call ptr @entry(i64 $received, i64 %index)
  %value = load i64, ptr %place
  ret i64 %value
}
define internal i32 @receive(i32 %lane) alwaysinline {
  %wide = call i64 @receive.word(i32 %lane, i32 0)
  %value = trunc i64 %wide to i32
  ret i32 %value
}
define i32 @lazyblock.ballot() {
entry:
  br label %loop
loop:
  %lane = phi i32 [ 0, %entry ], [ %following, %loop ]
  %votes = phi i32 [ 0, %entry ], [ %all, %loop ]
  %vote = call i32 @receive(i32 %lane)
  %bit = shl i32 %vote, %lane
  %all = or i32 %votes, %bit
  %following = add i32 %lane, 1
  %is.more = icmp ult i32 %following, 32
  br i1 %is.more, label %loop, label %done
done:
  ret i32 %all
}
"""
_SHUFFLE = """\
define i32 @lazyblock.shuffle_{kind}(i32 %operand) {{
  %thread = call i32 @lazyblock.thread_index()
  %lane = and i32 %thread, 31
  {partner}
  %is.lane = icmp ult i32 %other, 32
  %partner = select i1 %is.lane, i32 %other, i32 %lane
  %value = call i32 @receive(i32 %partner)
  ret i32 %value
}}
"""

# --- arithmetic: approximate functions flush subnormals, as the hardware's do ---------------------

_ARITHMETIC = """\
declare float @llvm.fabs.f32(float)
declare float @llvm.exp2.f32(float)
declare float @llvm.log2.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.copysign.f32(float, float)
define internal float @flush(float %value) alwaysinline {
  %size = call float @llvm.fabs.f32(float %value)
  %is.subnormal = fcmp olt float %size, 0x3810000000000000
  %zero = call float @llvm.copysign.f32(float 0.0, float %value)
  %result = select i1 %is.subnormal, float %zero, float %value
  ret float %result
}
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
_APPROXIMATION = """\
define float @lazyblock.{name}(float %value) {{
  %flushed = call float @flush(float %value)
  {steps}
  %result = call float @flush(float %exact)
  ret float %result
}}
"""
