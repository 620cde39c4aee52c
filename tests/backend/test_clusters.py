"""Programs that run on clusters of CTAs: results, waits, and the emulator's checks across CTAs."""

import dataclasses

import numpy as np
import pytest

import lazyblock as lb
from lazyblock.backend import cache
from lazyblock.backend.compile import compile_program
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.llvm.emulated import EmulatedEmitter
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.nvptx_barriers import SharedAccess
from lazyblock.backend.llvm.nvptx_shared import SharedMemory
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.errors import OutOfResourcesError, SanitizerError
from lazyblock.target import cuda_target
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import float32, int64
from tests.backend.kernels import (
    argmax,
    axpy,
    branches,
    expect,
    gather,
    in_place_reverse,
    k_loop,
    layer_norm,
    reduce_axis,
    reductions_in_loop,
    row_softmax,
    running_update,
    transpose_values,
    transposed_add,
)
from tests.backend.waiting import WAITING
from tests.helpers.arrays import assert_equal_values
from tests.helpers.emulator import emulate
from tests.helpers.ptxas import assemble

TARGET = cuda_target("sm_90a")
CASES = {
    "axpy": axpy(300, 128, 1),
    "row_softmax": row_softmax(1024, 1000, 2, 8),
    "row_softmax_padded": row_softmax(64, 50, 1),  # more threads than elements
    "layer_norm": layer_norm(8, 64, 1),
    "sum_columns": reduce_axis((64, 16), 0, "add", float32, 1),
    "sum_middle": reduce_axis((4, 64, 4), 1, "add", int64, 1),
    "argmax": argmax(512, 2),
    "transposed_add": transposed_add(32, 1),
    "transpose_values": transpose_values(16, 64, float32, 1),
    "k_loop": k_loop(300, 256, 1),
    "reductions_in_loop": reductions_in_loop(4, 256, 1),
    "branches": branches(1, 256),
    "gather": gather(100, 256, 1),
    "in_place_reverse": in_place_reverse(256, 1),
    "running_update": running_update(4, 256, 1),
    **WAITING,
}


def on_cluster(make, num_ctas):
    case = make(np.random.default_rng(1))
    return case._replace(program=dataclasses.replace(case.program, num_ctas=num_ctas))


def count_waits(make, num_ctas):
    """Barriers of a CTA and of the cluster."""
    text = emit_nvptx(on_cluster(make, num_ctas).program, TARGET).llvm
    calls = ("barrier", "cluster_barrier")
    return tuple(text.count(f"call void @lazyblock.{name}()") for name in calls)


@pytest.mark.parametrize(
    ("name", "num_ctas"), [*((name, 4) for name in CASES), ("row_softmax", 8), ("sum_columns", 8)]
)
def test_clusters_agree_with_the_interpreter(name, num_ctas):
    case = on_cluster(CASES[name], num_ctas)
    expected = expect(case, interpret)
    for actual, wanted in zip(expect(case, emulate), expected, strict=True):
        assert_equal_values(actual, wanted)


@pytest.mark.parametrize("name", ["row_softmax", "argmax", "transpose_values", "sum_columns"])
def test_kernels_of_clusters_assemble(name, tmp_path):
    kernel = emit_nvptx(on_cluster(CASES[name], 4).program, TARGET)
    ptx = to_ptx(kernel.llvm, TARGET)
    assert ".reqnctapercluster 4, 1, 1" in ptx
    assert assemble(ptx, "sm_90a", tmp_path).spill_bytes == 0


def test_elementwise_clusters_exchange_nothing():
    assert count_waits(CASES["axpy"], 8) == (0, 0)


def test_a_reduction_waits_once_in_the_cta_and_for_the_mail_of_the_others():
    assert count_waits(CASES["row_softmax"], 4) == (2, 0)
    assert count_waits(row_softmax(1024, 1000, 1), 4) == (0, 0)


def test_a_reduction_in_a_loop_waits_for_the_cluster():
    assert count_waits(CASES["reductions_in_loop"], 4)[1] > 0


def test_global_memory_is_shared_by_the_cluster():
    assert count_waits(CASES["in_place_reverse"], 2) == (0, 1)


def test_one_partial_per_cta_goes_to_every_other(tmp_path):
    ptx = to_ptx(emit_nvptx(on_cluster(CASES["row_softmax"], 8).program, TARGET).llvm, TARGET)
    assert ptx.count("st.async.shared::cluster") == 2
    assert ptx.count("mbarrier.init") == ptx.count("mbarrier.arrive.expect_tx") == 2
    assert "barrier.cluster.arrive.aligned" not in ptx


@pytest.mark.parametrize(("arch", "num_ctas", "most"), [("sm_80", 2, 1), ("sm_90a", 16, 8)])
def test_too_large_clusters_are_refused(arch, num_ctas, most):
    program = on_cluster(CASES["axpy"], num_ctas).program
    match = f"'axpy' wants clusters of {num_ctas} CTAs, {arch} runs at most {most}"
    with pytest.raises(OutOfResourcesError, match=match):
        emit_nvptx(program, cuda_target(arch))


def test_the_disk_cache_keeps_the_size_of_the_cluster(tmp_path):
    kernel = CompiledKernel("k", TARGET, "key", b"image", {}, 128, 64, 4)
    with lb.config.scope(cache=True, cache_dir=str(tmp_path)):
        cache.find_or_compile("key", lambda: kernel)
        cache.clear_memory()
        found = cache.find_or_compile("key", lambda: pytest.fail("not on the disk"))
    assert found == kernel and found.num_ctas == 4


# --- seeded faults -------------------------------------------------------------------------------


def fail(make, match, num_ctas=4):
    def run(*arguments):
        emulate(
            *arguments, compile=lambda program, target: compile_program(program, target, "", "")
        )

    with pytest.raises(SanitizerError, match=match):
        expect(on_cluster(make, num_ctas), run)


def test_a_dropped_cluster_barrier_is_caught(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "cluster_barrier", lambda self: None)
    fail(CASES["transpose_values"], "read of .* shared memory, which nobody wrote")


def test_reading_before_the_mail_has_come_is_caught(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "await_mail", lambda self, count: None)
    fail(CASES["row_softmax"], "read of .* shared memory, which nobody wrote")


@pytest.mark.parametrize(("change", "balance"), [(-4, "4 bytes more"), (8, "8 bytes less")])
def test_expecting_other_mail_than_is_sent_is_caught(monkeypatch, change, balance):
    expect_mail = EmulatedEmitter.expect_mail
    monkeypatch.setattr(
        EmulatedEmitter, "expect_mail", lambda e, count, n: expect_mail(e, count, n + change)
    )
    fail(CASES["row_softmax"], f"a CTA got {balance} than it expects of its cluster")


def test_a_cta_barrier_does_not_order_the_cluster(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "cluster_barrier", EmulatedEmitter.barrier)
    fail(CASES["transpose_values"], r"race: |nobody wrote")


@pytest.mark.parametrize("replacement", [lambda self: None, EmulatedEmitter.barrier])
def test_global_memory_that_no_cluster_barrier_orders_is_a_race(monkeypatch, replacement):
    monkeypatch.setattr(EmulatedEmitter, "cluster_barrier", replacement)
    fail(CASES["in_place_reverse"], r"race: .* of a buffer of 1024 bytes, no barrier after thread")


def test_writing_before_the_others_have_started_is_caught(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "await_start", lambda self: None)
    fail(
        CASES["row_softmax"], "write of 4 bytes of shared memory of a CTA that may not have started"
    )


def test_writing_what_another_cta_still_reads_is_a_race(monkeypatch):
    monkeypatch.setattr(SharedMemory, "_busy", lambda self, crosses_ctas: [])
    monkeypatch.setattr(SharedAccess, "conflicts", lambda self, other: not other.is_write)
    fail(CASES["reductions_in_loop"], "race: write of 4 bytes")


def test_writing_behind_another_ctas_memory_is_out_of_bounds(monkeypatch):
    open_slot = SharedMemory.open_slot
    monkeypatch.setattr(
        SharedMemory, "open_slot", lambda m, nbytes, c: open_slot(m, nbytes // 2, c)
    )
    fail(CASES["transpose_values"], "out-of-bounds write .* bytes of shared memory")


def test_a_cluster_barrier_that_a_cta_skips_is_divergent(monkeypatch):
    wait = EmulatedEmitter.cluster_barrier

    def first_cta_waits_again(emitter):
        wait(emitter)
        with emitter.when(emitter.is_first_replica(0, 0b110)):  # two warps in each CTA
            wait(emitter)

    monkeypatch.setattr(EmulatedEmitter, "cluster_barrier", first_cta_waits_again)
    fail(
        in_place_reverse(256, 2), "divergent threads: it has ended while thread 0 waits at cluster"
    )


def test_long_rows_of_an_expression():
    data = np.random.default_rng(2).normal(size=(2, 20000)).astype(np.float32)
    x = lb.asarray(data, device="emulated:sm_90a")
    powers = lb.exp(x - lb.max(x, axis=1, keepdims=True))
    actual = np.asarray(powers / lb.sum(powers, axis=1, keepdims=True))
    wide = np.exp(data.astype(np.float64) - data.max(axis=1, keepdims=True))
    np.testing.assert_allclose(actual, wide / wide.sum(axis=1, keepdims=True), rtol=2e-6)
