"""Checks of the emulator: whether an access is aligned, inside, of written memory, and alone.

Text of the support module (emulated_support says what a shadow and a moment are). A thread calls
`lazyblock.check_global`, `check_shared` or `check_cluster` before each access; what is wrong goes
into the context, and the thread ends.
"""

from __future__ import annotations

CHECKS = """\
declare i64 @llvm.umax.i64(i64, i64)
define i1 @lazyblock.check_global(
    ptr addrspace(1) %pointer, i64 %nbytes, i64 %align, i64 %access, i64 %site) {
entry:
  %address = ptrtoint ptr addrspace(1) %pointer to i64
  %mask = sub i64 %align, 1
  %low = and i64 %address, %mask
  %is.aligned = icmp eq i64 %low, 0
  br i1 %is.aligned, label %look, label %wrong
look:
  %range = call ptr @range.of(i64 %address, i64 %nbytes)
  %is.outside = icmp eq ptr %range, null
  br i1 %is.outside, label %wrong, label %inside
inside:
  %first = load i64, ptr %range
  %shadow.place = getelementptr i64, ptr %range, i64 $range_shadow
  %shadow = load i64, ptr %shadow.place
  %written.place = getelementptr i64, ptr %range, i64 $range_is_written
  %is.written = load i64, ptr %written.place
  %since = sub i64 1, %is.written
  %byte = sub i64 %address, %first
  %launch = call i64 @get(i64 $launch_start)
  %acquired = call i64 @get(i64 $acquired)
  %floor = call i64 @llvm.umax.i64(i64 %launch, i64 %acquired)
  %found = call i64 @touch(
    i64 %shadow, i64 %byte, i64 %nbytes, i64 %access, i64 %site, i64 %floor, i64 %since,
    i1 true)
  %is.fine = icmp eq i64 %found, 0
  br i1 %is.fine, label %right, label %wrong
wrong:
  %fault = phi i64 [ $misaligned, %entry ], [ $global_bounds, %look ], [ %found, %inside ]
  %false = call i1 @report(i64 %fault, i64 %address, i64 %nbytes, i64 %site)
  ret i1 %false
right:
  ret i1 true
}
; The row of the global memory that holds these bytes, or null
define internal ptr @range.of(i64 %address, i64 %nbytes) {
entry:
  %stop = add i64 %address, %nbytes
  %count = call i64 @get(i64 $num_ranges)
  br label %loop
loop:
  %number = phi i64 [ 0, %entry ], [ %following, %look ]
  %is.more = icmp ult i64 %number, %count
  br i1 %is.more, label %look, label %missing
look:
  %index = mul i64 %number, $range_size
  %range = call ptr @entry(i64 $ranges, i64 %index)
  %end.place = getelementptr i64, ptr %range, i64 $range_end
  %first = load i64, ptr %range
  %end = load i64, ptr %end.place
  %is.above = icmp uge i64 %address, %first
  %is.below = icmp ule i64 %stop, %end
  %is.inside = and i1 %is.above, %is.below
  %following = add i64 %number, 1
  br i1 %is.inside, label %found, label %loop
found:
  ret ptr %range
missing:
  ret ptr null
}
; Before an access that acquires: note what it orders
define void @lazyblock.acquire(ptr addrspace(1) %pointer) {
  %address = ptrtoint ptr addrspace(1) %pointer to i64
  %range = call ptr @range.of(i64 %address, i64 1)
  %is.outside = icmp eq ptr %range, null
  br i1 %is.outside, label %done, label %look
look:
  %first = load i64, ptr %range
  %byte = sub i64 %address, %first
  %shadow.place = getelementptr i64, ptr %range, i64 $range_shadow
  %shadow = load i64, ptr %shadow.place
  %offset = mul i64 %byte, $shadow_bytes
  %place = add i64 %shadow, %offset
  %writer = inttoptr i64 %place to ptr
  %record = load i64, ptr %writer
  %bit = and i64 %record, $atomic_bit
  %is.atomic = icmp ne i64 %bit, 0
  %moment = lshr i64 %record, $moment_bits
  %launch = call i64 @get(i64 $launch_start)
  %program = call i64 @get(i64 $program_start)
  %is.launch = icmp uge i64 %moment, %launch
  %is.before = icmp ult i64 %moment, %program
  %is.earlier = and i1 %is.launch, %is.before
  %orders = and i1 %is.atomic, %is.earlier
  br i1 %orders, label %order, label %done
order:
  call void @set(i64 $acquired, i64 %program)
  br label %done
done:
  ret void
}
; Whether a CTA got as many bytes as it expected: hardware would wait for ever, or go on too early
define i1 @lazyblock.check_mail(ptr addrspace(3) %count, i64 %site) {
  %missing = load i64, ptr addrspace(3) %count
  %is.right = icmp eq i64 %missing, 0
  br i1 %is.right, label %right, label %wrong
wrong:
  %false = call i1 @report(i64 $mail, i64 0, i64 %missing, i64 %site)
  ret i1 %false
right:
  ret i1 true
}
define i1 @lazyblock.check_shared(
    ptr addrspace(3) %pointer, i64 %nbytes, i64 %align, i64 %access, i64 %site) {
  %address = ptrtoint ptr addrspace(3) %pointer to i64
  %own = call i64 @own.cta()
  %base = call i64 @base.of(i64 %own)
  %is.right = call i1 @check.shared.at(
    i64 %address, i64 %base, i64 %nbytes, i64 %align, i64 %access, i64 %site)
  ret i1 %is.right
}
; any CTA's memory: the base is that of the CTA that the address lies in, which must be running
define i1 @lazyblock.check_cluster(
    ptr addrspace(7) %pointer, i64 %nbytes, i64 %align, i64 %access, i64 %site) {
  %address = ptrtoint ptr addrspace(7) %pointer to i64
  %is.started = call i64 @get(i64 $is_started)
  %is.early = icmp eq i64 %is.started, 0
  br i1 %is.early, label %wrong, label %check
check:
  %start = call i64 @get(i64 $shared)
  %offset = sub i64 %address, %start
  %stride = call i64 @get(i64 $shared_stride)
  %total = call i64 @get(i64 $cluster_bytes)
  %is.inside = icmp ult i64 %offset, %total
  %inside = urem i64 %offset, %stride
  %from.start = select i1 %is.inside, i64 %inside, i64 %stride
  %base = sub i64 %address, %from.start
  %is.right = call i1 @check.shared.at(
    i64 %address, i64 %base, i64 %nbytes, i64 %align, i64 %access, i64 %site)
  ret i1 %is.right
wrong:
  %false = call i1 @report(i64 $unstarted, i64 %address, i64 %nbytes, i64 %site)
  ret i1 %false
}
define internal i1 @check.shared.at(
    i64 %address, i64 %base, i64 %nbytes, i64 %align, i64 %access, i64 %site) {
entry:
  %first = sub i64 %address, %base
  %end = add i64 %first, %nbytes
  %mask = sub i64 %align, 1
  %low = and i64 %address, %mask
  %is.aligned = icmp eq i64 %low, 0
  br i1 %is.aligned, label %measure, label %wrong
measure:
  %size = call i64 @get(i64 $shared_bytes)
  %is.above = icmp sge i64 %first, 0
  %is.below = icmp sle i64 %end, %size
  %is.inside = and i1 %is.above, %is.below
  br i1 %is.inside, label %inside, label %wrong
inside:
  %shadow = call i64 @get(i64 $shared_shadow)
  %program = call i64 @get(i64 $program_start)
  %start = call i64 @get(i64 $shared)
  %byte = sub i64 %address, %start
  %found = call i64 @touch(
    i64 %shadow, i64 %byte, i64 %nbytes, i64 %access, i64 %site, i64 %program, i64 %program,
    i1 false)
  %is.fine = icmp eq i64 %found, 0
  br i1 %is.fine, label %right, label %wrong
wrong:
  %fault = phi i64 [ $misaligned, %entry ], [ $shared_bounds, %measure ], [ %found, %inside ]
  %false = call i1 @report(i64 %fault, i64 %first, i64 %nbytes, i64 %site)
  ret i1 %false
right:
  ret i1 true
}

; Note an access in the shadow of each byte. Memory counts as written from moment %since on, other
; program instances matter from %floor on. %may.repeat: one op may store to a place twice, as block
; programs may (any of the values stays).
define internal i64 @touch(i64 %shadow, i64 %first, i64 %nbytes, i64 %access, i64 %site,
    i64 %floor, i64 %since, i1 %may.repeat) {
entry:
  %cta = call i64 @own.cta()
  %epoch = call ptr @entry(i64 $epochs, i64 %cta)
  %start = load i64, ptr %epoch
  %program = call i64 @get(i64 $program_start)
  %thread = load i64, ptr @lazyblock.thread
  %moment = add i64 %start, %thread
  %is.plain.read = icmp eq i64 %access, $read
  %is.atomic.read = icmp eq i64 %access, $atomic_read
  %is.read = or i1 %is.plain.read, %is.atomic.read
  %is.write = icmp eq i64 %access, $write
  %is.update = icmp eq i64 %access, $atomic
  %is.atomic = icmp uge i64 %access, $atomic
  %atomic.bit = select i1 %is.atomic, i64 $atomic_bit, i64 0
  %high = shl i64 %moment, $moment_bits
  %marked = or i64 %high, %atomic.bit
  %now = or i64 %marked, %site
  br label %loop
loop:
  %number = phi i64 [ 0, %entry ], [ %following, %next ]
  %byte = add i64 %first, %number
  %offset = mul i64 %byte, $shadow_bytes
  %address = add i64 %shadow, %offset
  %writer = inttoptr i64 %address to ptr
  %reader = getelementptr i64, ptr %writer, i64 1
  %second = getelementptr i64, ptr %writer, i64 2
  %written = load i64, ptr %writer
  %is.touched = call i1 @clashes(
    i64 %written, i64 %moment, i64 %floor, i64 %program, i64 %start)
  %record.bit = and i64 %written, $atomic_bit
  %was.atomic = icmp ne i64 %record.bit, 0
  %both.atomic = and i1 %was.atomic, %is.atomic
  %difference = xor i64 %written, %now
  %same.site.bits = shl i64 %difference, 48
  %is.same.site = icmp eq i64 %same.site.bits, 0
  %written.moment = lshr i64 %written, $moment_bits
  %is.recent = call i1 @is.unordered(i64 %written.moment, i64 %start)
  %is.same.op = and i1 %is.same.site, %is.recent
  %is.same.write = and i1 %is.same.op, %is.write
  %is.repeated = and i1 %is.same.write, %may.repeat
  %is.excused = or i1 %both.atomic, %is.repeated
  %is.alone = xor i1 %is.excused, true
  %is.race = and i1 %is.touched, %is.alone
  br i1 %is.race, label %race.write, label %apart
apart:
  br i1 %is.read, label %read, label %write
read:
  %is.unwritten = icmp ult i64 %written.moment, %since
  br i1 %is.unwritten, label %unwritten, label %note.read
note.read:
  %known = load i64, ptr %reader
  %is.other = call i1 @clashes(i64 %known, i64 %moment, i64 %floor, i64 %program, i64 %start)
  %chosen = select i1 %is.other, ptr %second, ptr %reader
  store i64 %now, ptr %chosen
  br label %next
write:
  %was.read = load i64, ptr %reader
  %read.clash = call i1 @clashes.with.read(
    i64 %was.read, i64 %moment, i64 %floor, i64 %program, i64 %start, i1 %is.atomic)
  br i1 %read.clash, label %race.read, label %look.again
look.again:
  %was.read.again = load i64, ptr %second
  %again.clash = call i1 @clashes.with.read(
    i64 %was.read.again, i64 %moment, i64 %floor, i64 %program, i64 %start, i1 %is.atomic)
  br i1 %again.clash, label %race.read, label %update
update:
  %is.missing = icmp ult i64 %written.moment, %since
  %is.lacking = and i1 %is.update, %is.missing
  br i1 %is.lacking, label %unwritten, label %note.write
note.write:
  ; an atomic access does not hide the same thread's plain write
  %is.own = icmp eq i64 %written.moment, %moment
  %was.plain = xor i1 %was.atomic, true
  %own.plain = and i1 %is.own, %was.plain
  %is.kept = and i1 %own.plain, %is.atomic
  %record = select i1 %is.kept, i64 %written, i64 %now
  store i64 %record, ptr %writer
  br label %next
next:
  %following = add i64 %number, 1
  %is.more = icmp ult i64 %following, %nbytes
  br i1 %is.more, label %loop, label %right
race.read:
  %other.read = phi i64 [ %was.read, %write ], [ %was.read.again, %look.again ]
  br label %race
race.write:
  br label %race
race:
  %other = phi i64 [ %other.read, %race.read ], [ %written, %race.write ]
  call void @set(i64 $other, i64 %other)
  ret i64 $race
unwritten:
  ret i64 $unwritten
right:
  ret i64 0
}
define internal i1 @clashes.with.read(i64 %record, i64 %moment, i64 %floor, i64 %program,
    i64 %start, i1 %is.atomic) alwaysinline {
  %bit = and i64 %record, $atomic_bit
  %was.atomic = icmp ne i64 %bit, 0
  %are.atomic = and i1 %was.atomic, %is.atomic
  %are.apart = xor i1 %are.atomic, true
  %touch = call i1 @clashes(
    i64 %record, i64 %moment, i64 %floor, i64 %program, i64 %start)
  %clashes = and i1 %touch, %are.apart
  ret i1 %clashes
}
define internal i1 @clashes(
    i64 %record, i64 %moment, i64 %floor, i64 %program, i64 %start) alwaysinline {
  %then = lshr i64 %record, $moment_bits
  %is.recent = call i1 @is.unordered(i64 %then, i64 %start)
  %is.other = icmp ne i64 %then, %moment
  %is.thread = and i1 %is.recent, %is.other
  %is.launch = icmp uge i64 %then, %floor
  %is.before = icmp ult i64 %then, %program
  %is.instance = and i1 %is.launch, %is.before
  %clashes = or i1 %is.thread, %is.instance
  ret i1 %clashes
}
; Whether no barrier has come since: the one at %start for this CTA, for others the cluster's
define internal i1 @is.unordered(i64 %then, i64 %start) alwaysinline {
  %cluster.start = call i64 @get(i64 $cluster_start)
  %size = call i64 @get(i64 $cta_threads)
  %thread = urem i64 %then, $most_threads
  %cta = udiv i64 %thread, %size
  %own = call i64 @own.cta()
  %is.near = icmp eq i64 %cta, %own
  %last = select i1 %is.near, i64 %start, i64 %cluster.start
  %is.after = icmp uge i64 %then, %last
  ret i1 %is.after
}
"""
