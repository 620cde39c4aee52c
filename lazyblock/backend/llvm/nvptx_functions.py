"""The few functions of a GPU's hardware that a thread's code calls, as LLVM text; all are inlined.

What is needed of them is written into a module. The emulator has its own of the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyblock.backend.llvm.nvptx_mma import MMA, mma_function
from lazyblock.backend.llvm.reports import FAILURE

GLOBAL_POINTER = "ptr addrspace(1)"
SHARED_POINTER = "ptr addrspace(3)"
CLUSTER_POINTER = "ptr addrspace(7)"  # shared memory of any CTA of the cluster

_SPECIAL_REGISTER = """\
declare i32 @llvm.nvvm.read.ptx.sreg.{register}()
define internal i32 @{name}() alwaysinline nounwind {{
  %r = call i32 @llvm.nvvm.read.ptx.sreg.{register}()
  ret i32 %r
}}
"""
_SHUFFLE = """\
declare i32 @llvm.nvvm.shfl.sync.{mode}.i32(i32, i32, i32, i32)
define internal i32 @{name}(i32 %value, i32 %lane) alwaysinline convergent nounwind {{
  %r = call i32 @llvm.nvvm.shfl.sync.{mode}.i32(i32 -1, i32 %value, i32 %lane, i32 {last})
  ret i32 %r
}}
"""
_BALLOT = """\
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
define internal i32 @lazyblock.ballot(i1 %vote) alwaysinline convergent nounwind {
  %r = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %vote)
  ret i32 %r
}
"""
_BARRIER = """\
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal void @lazyblock.barrier() alwaysinline convergent nounwind {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
"""
_CLUSTER_BARRIER = """\
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
define internal void @lazyblock.cluster_barrier() alwaysinline convergent nounwind {
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  ret void
}
"""
_ANNOUNCE_START = """\
declare void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
define internal void @lazyblock.announce_start() alwaysinline convergent nounwind {
  call void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
  ret void
}
"""
_AWAIT_START = """\
define internal void @lazyblock.await_start() alwaysinline convergent nounwind {
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  ret void
}
"""
_MAP_SHARED = f"""\
declare {CLUSTER_POINTER} @llvm.nvvm.mapa.shared.cluster({SHARED_POINTER}, i32)
define internal {CLUSTER_POINTER} @lazyblock.map_shared(
    {SHARED_POINTER} %address, i32 %rank) alwaysinline nounwind {{
  %r = call {CLUSTER_POINTER} @llvm.nvvm.mapa.shared.cluster({SHARED_POINTER} %address, i32 %rank)
  ret {CLUSTER_POINTER} %r
}}
"""
# Mailboxes: memory of a CTA that each CTA of its cluster writes to once, with a count of the bytes
# that came. A cluster barrier would also wait for memory at large, which takes far longer.
_INIT_MAILBOX = f"""\
declare void @llvm.nvvm.mbarrier.init.shared({SHARED_POINTER}, i32)
define internal void @lazyblock.init_mailbox({SHARED_POINTER} %count) alwaysinline nounwind {{
  call void @llvm.nvvm.mbarrier.init.shared({SHARED_POINTER} %count, i32 1)
  ret void
}}
"""
_SHOW_MAILBOXES = """\
declare void @llvm.nvvm.fence.mbarrier_init.release.cluster()
define internal void @lazyblock.show_mailboxes() alwaysinline nounwind {
  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()
  ret void
}
"""
_EXPECT_MAIL = f"""\
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta({SHARED_POINTER}, i32)
define internal void @lazyblock.expect_mail(
    {SHARED_POINTER} %count, i32 %nbytes) alwaysinline convergent nounwind {{
  %r = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(
    {SHARED_POINTER} %count, i32 %nbytes)
  ret void
}}
"""
_SEND_MAIL = f"""\
define internal void @lazyblock.send_mail_{{bits}}({CLUSTER_POINTER} %place, i{{bits}} %value,
    {CLUSTER_POINTER} %count) alwaysinline nounwind {{{{
  call void asm sideeffect "st.async.shared::cluster.mbarrier::complete_tx::bytes.b{{bits}} \
[$0], $1, [$2];", "l,{{register}},l,~{{{{memory}}}}"(
    {CLUSTER_POINTER} %place, i{{bits}} %value, {CLUSTER_POINTER} %count)
  ret void
}}}}
"""
_AWAIT_MAIL = f"""\
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta({SHARED_POINTER}, i32)
define internal void @lazyblock.await_mail({SHARED_POINTER} %count) alwaysinline nounwind {{
entry:
  br label %wait
wait:
  %has.come = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(
    {SHARED_POINTER} %count, i32 0)
  br i1 %has.come, label %done, label %wait
done:
  ret void
}}
"""
MAIL_BYTES = 4, 8  # of what can be sent
_FAIL = f"""\
define internal void @lazyblock.fail(
    i32 %number, i32 %x, i32 %y, i32 %z, i32 %element) noinline nounwind {{
  %pair = cmpxchg {GLOBAL_POINTER} @{FAILURE}, i32 0, i32 %number monotonic monotonic
  %is.first = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %is.first, label %first, label %done
first:
  %x.place = getelementptr i32, {GLOBAL_POINTER} @{FAILURE}, i32 1
  store i32 %x, {GLOBAL_POINTER} %x.place
  %y.place = getelementptr i32, {GLOBAL_POINTER} @{FAILURE}, i32 2
  store i32 %y, {GLOBAL_POINTER} %y.place
  %z.place = getelementptr i32, {GLOBAL_POINTER} @{FAILURE}, i32 3
  store i32 %z, {GLOBAL_POINTER} %z.place
  %element.place = getelementptr i32, {GLOBAL_POINTER} @{FAILURE}, i32 4
  store i32 %element, {GLOBAL_POINTER} %element.place
  br label %done
done:
  ret void
}}
"""
_ANY = """\
declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)
define internal i1 @lazyblock.any(i1 %vote) alwaysinline convergent nounwind {
  %r = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %vote)
  ret i1 %r
}
"""
_ROUND_TF32 = """\
declare i32 @llvm.nvvm.f2tf32.rna(float)
define internal i32 @lazyblock.round_tf32(float %value) alwaysinline nounwind {
  %r = call i32 @llvm.nvvm.f2tf32.rna(float %value)
  ret i32 %r
}
"""
_REGISTERS = {
    "lazyblock.thread_index": "tid.x",
    **{f"lazyblock.program_id.{axis}": f"ctaid.{axis}" for axis in "xyz"},
    **{f"lazyblock.num_programs.{axis}": f"nctaid.{axis}" for axis in "xyz"},
    **{f"lazyblock.cluster_id.{axis}": f"clusterid.{axis}" for axis in "xyz"},
    **{f"lazyblock.num_clusters.{axis}": f"nclusterid.{axis}" for axis in "xyz"},
    "lazyblock.cta_rank": "cluster.ctarank",
}
_SHUFFLES = {"xor": ("bfly", 31), "up": ("up", 0), "down": ("down", 31), "idx": ("idx", 31)}
THREAD_FUNCTIONS: Mapping[str, str] = {
    **{
        name: _SPECIAL_REGISTER.format(name=name, register=register)
        for name, register in _REGISTERS.items()
    },
    **{
        f"lazyblock.shuffle_{kind}": _SHUFFLE.format(
            name=f"lazyblock.shuffle_{kind}", mode=mode, last=last
        )
        for kind, (mode, last) in _SHUFFLES.items()
    },
    "lazyblock.ballot": _BALLOT,
    "lazyblock.barrier": _BARRIER,
    "lazyblock.cluster_barrier": _CLUSTER_BARRIER,
    "lazyblock.announce_start": _ANNOUNCE_START,
    "lazyblock.await_start": _AWAIT_START,
    "lazyblock.map_shared": _MAP_SHARED,
    "lazyblock.init_mailbox": _INIT_MAILBOX,
    "lazyblock.show_mailboxes": _SHOW_MAILBOXES,
    "lazyblock.expect_mail": _EXPECT_MAIL,
    "lazyblock.await_mail": _AWAIT_MAIL,
    **{
        f"lazyblock.send_mail_{bits}": _SEND_MAIL.format(bits=bits, register=register)
        for bits, register in ((32, "r"), (64, "l"))
    },
    "lazyblock.fail": _FAIL,
    "lazyblock.any": _ANY,
    "lazyblock.round_tf32": _ROUND_TF32,
    **{f"lazyblock.mma_{name}": mma_function(mma) for name, mma in MMA.items()},
}
