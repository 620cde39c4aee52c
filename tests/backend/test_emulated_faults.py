"""Faults seeded into kernels and into the lowering: the emulator, or the comparison, finds each."""

from dataclasses import replace

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.backend.compile import compile_program
from lazyblock.backend.devices import get_device
from lazyblock.backend.llvm import nvptx_convert
from lazyblock.backend.llvm.atomics import Atomic
from lazyblock.backend.llvm.emulated import EmulatedEmitter, _entry
from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx import NvptxKernel
from lazyblock.backend.llvm.nvptx_barriers import SharedAccess
from lazyblock.backend.llvm.nvptx_functions import GLOBAL_POINTER, SHARED_POINTER
from lazyblock.backend.llvm.nvptx_shared import SharedMemory, Slot
from lazyblock.backend.llvm.optimize import host_target, to_object
from lazyblock.backend.runtime.device import pack_pointer, pack_scalar
from lazyblock.errors import SanitizerError
from lazyblock.source import SourceLine
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import PointerType, int32
from tests.backend.kernels import (
    Case,
    argmax,
    expect,
    in_place_reverse,
    less,
    pointer,
    row_softmax,
    transpose_values,
)
from tests.helpers.emulator import emulate

TARGET = cuda_target("sm_90a")


def compile_fresh(program, target):
    """Past the cache, whose kernels know nothing of the fault."""
    return compile_program(program, target, "", "")


def run_faulty(make):
    case = make(np.random.default_rng(1))
    return expect(case, lambda *arguments: emulate(*arguments, compile=compile_fresh))


def fail(make, match):
    with pytest.raises(SanitizerError, match=match) as info:
        run_faulty(make)
    return str(info.value)


def copy_up_to(order, n=300, shift=0, block=128):
    """x[i + shift] where i `order` n, in blocks; the load stands on line 7."""

    def make(rng):
        b = Builder("copy_up_to", num_warps=2)
        x, out, size = pointer(b, "x"), pointer(b, "out"), b.parameter("n", int32)
        i = b.add(b.broadcast_to(b.mul(b.program_id(0), block), (block,)), b.arange(0, block))
        mask = b.compare(order, i, b.broadcast_to(size, (block,)))
        value = b.load(b.add_pointer(x, b.add(i, shift)), mask)
        value.owner.line = SourceLine("user.py", 7)
        b.store(b.add_pointer(out, i), value, less(b, i, size))
        data = np.arange(n, dtype=np.float32)
        return Case(b.finish(), [data, np.zeros_like(data), n], (3, 1, 1))

    return make


def test_an_off_by_one_mask_reads_out_of_bounds():
    message = fail(copy_up_to("le"), r"^Kernel 'copy_up_to', program \(2, 0, 0\), thread 22: ")
    assert "out-of-bounds read of 4 bytes, at byte 1200 of a buffer of 1200 bytes." in message
    assert "Note: in '%" in message and "= load %" in message and "(user.py:7)" in message


def test_negative_indices_read_out_of_bounds():
    fail(copy_up_to("lt", shift=-1), r"thread 0: .* read of 4 bytes, 4 bytes before a buffer")


def test_misaligned_accesses_are_reported():
    b = Builder("misaligned", num_warps=1)
    x = pointer(b, "x")
    b.store(b.add_pointer(x, b.arange(0, 128)), b.constant(1.0, x.type.element.pointee, (128,)))
    device = get_device("emulated:sm_90a")
    kernel = compile_fresh(b.finish(), device.target)
    loaded = device.load(kernel.image, kernel.name, kernel.num_threads, kernel.shared_bytes)
    buffer = device.allocate(1024)
    slots = bytearray(pack_pointer(buffer.pointer + 4) + bytes(24))
    with pytest.raises(SanitizerError, match="thread 0: misaligned write of 16 bytes"):
        device.launch(loaded, (1, 1, 1), slots, 1)


def test_a_dropped_barrier_is_caught(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "barrier", lambda self: None)
    message = fail(row_softmax(), "read of 8 bytes at byte 0 of shared memory, which nobody wrote")
    assert "= reduce" in message


def test_a_dropped_barrier_on_global_memory_is_a_race(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "barrier", lambda self: None)
    message = fail(
        in_place_reverse(), "race: read of 4 bytes at byte .* of a buffer of 512 bytes, "
    )
    assert "no barrier after thread 63's" in message and "thread 63: write 'store" in message


def test_a_slot_written_while_others_read_it_is_a_race(monkeypatch):
    monkeypatch.setattr(SharedMemory, "_busy", lambda self, crosses_ctas: [])
    monkeypatch.setattr(SharedAccess, "conflicts", lambda self, other: not other.is_write)
    message = fail(row_softmax(), r"race: write of 4 bytes .* no barrier after thread \d+'s\.")
    assert "read" in message


def test_two_writers_of_a_byte_are_a_race(monkeypatch):
    monkeypatch.setattr(LinearLayout, "replica_masks", lambda self: (0, 0, 0))
    fail(argmax(), "race: write of 4 bytes at byte 0 of shared memory")


def test_too_little_shared_memory_is_out_of_bounds(monkeypatch):
    open_slot = SharedMemory.open_slot
    monkeypatch.setattr(
        SharedMemory, "open_slot", lambda m, nbytes, c: open_slot(m, nbytes // 2, c)
    )
    fail(transpose_values(), "out-of-bounds write .* bytes of shared memory")


def test_a_barrier_that_some_skip_is_divergent(monkeypatch):
    wait = EmulatedEmitter.barrier

    def first_threads_wait_again(emitter):
        wait(emitter)
        with emitter.when(emitter.is_first_replica(0, 1)):
            wait(emitter)

    monkeypatch.setattr(EmulatedEmitter, "barrier", first_threads_wait_again)
    match = r"thread 32: divergent threads: it has ended while thread 0 waits at barrier 2 in '"
    fail(in_place_reverse(), match)


def test_waiting_at_two_barriers_is_divergent(monkeypatch):
    wait = EmulatedEmitter.barrier

    def warps_wait_apart(emitter):
        is_even = emitter.is_first_replica(0, 1)
        with emitter.when(is_even):
            wait(emitter)
        with emitter.when(emitter.value(f"xor i1 {is_even}, true")):
            wait(emitter)

    monkeypatch.setattr(EmulatedEmitter, "barrier", warps_wait_apart)
    fail(
        in_place_reverse(), "thread 32: .* it waits at barrier 2 in .* thread 0 waits at barrier 1"
    )


def test_a_shuffle_that_some_lanes_skip_is_divergent(monkeypatch):
    wait = EmulatedEmitter._meet

    def even_lanes_wait(emitter, kind):
        with emitter.when(emitter.is_first_replica(1, 0)):
            wait(emitter, kind)

    monkeypatch.setattr(EmulatedEmitter, "_meet", even_lanes_wait)
    fail(argmax(32, 1), "thread 1: divergent threads: it has ended while thread 0 waits at shuffle")


def test_reads_of_memory_nobody_wrote_are_reported():
    program = copy_up_to("lt", block=32)(None).program
    device = get_device("emulated:sm_90a")
    launch = launcher(device, program)
    source, unwritten, result = (device.allocate(128) for _ in range(3))
    full = device.from_host(np.arange(32, dtype=np.float32))
    launch([full, source], 20)
    launch([source, result], 20)  # as much as was written
    with pytest.raises(
        SanitizerError, match="thread 20: read of 4 bytes at byte 80 of a buffer of"
    ):
        launch([source, result], 21)
    with pytest.raises(SanitizerError, match=r"thread 0: .* of 128 bytes, which nobody wrote"):
        launch([unwritten, result], 32)


def reading_a_neighbour(step, block=32):
    """Program p reads the first element of p + step (0 below that) and writes its own block."""
    b = Builder("reading_a_neighbour", num_warps=1)
    x, place = pointer(b, "x"), b.program_id(0)
    neighbour = b.binary("max", b.add(place, step), 0)
    value = b.load(b.add_pointer(x, b.mul(neighbour, block)))
    i = b.add(b.broadcast_to(b.mul(place, block), (block,)), b.arange(0, block))
    b.store(b.add_pointer(x, i), b.broadcast_to(value, (block,)))
    return lambda rng: Case(b.finish(), [np.zeros(4 * block, np.float32)], (3, 1, 1))


@pytest.mark.parametrize(("step", "first", "then"), [(1, "read", "write"), (-1, "write", "read")])
def test_programs_that_touch_each_others_elements_race(step, first, then):
    message = fail(reading_a_neighbour(step), r"program \(1, 0, 0\), thread 0: race")
    assert (
        f"race: {then} of 4 bytes" in message and "which program (0, 0, 0) touches too" in message
    )
    assert f"program (0, 0, 0), thread 0: {first} '" in message


def launcher(device, program):
    """Compile and load; gives a function that launches one instance on buffers and a number."""
    kernel = compile_fresh(program, device.target)
    loaded = device.load(kernel.image, kernel.name, kernel.num_threads, kernel.shared_bytes)

    def launch(buffers, n):
        pointers = b"".join(pack_pointer(buffer.pointer) for buffer in buffers)
        slots = pointers + pack_scalar(n, dtypes.int32) + bytes(24)
        device.launch(loaded, (1, 1, 1), bytearray(slots), n)

    return launch


def test_a_kernel_runs_again_after_an_error():
    device = get_device("emulated:sm_90a")
    launch = launcher(device, copy_up_to("lt", block=32)(None).program)
    data = np.arange(32, dtype=np.float32)
    source, short, result = device.from_host(data), device.allocate(64), device.allocate(128)
    with pytest.raises(SanitizerError, match=r"write of .* at byte 64 of a buffer of 64 bytes"):
        launch([source, short], 32)
    launch([source, result], 32)
    np.testing.assert_array_equal(device.to_host(result, 0, data.dtype, (32,), (1,)), data)


# --- the lowering --------------------------------------------------------------------------------


def fail_comparison(make):
    """The fault breaks no rule of the hardware: the interpreter tells."""
    case = make(np.random.default_rng(1))
    actual, expected = run_faulty(make), expect(case, interpret)
    assert not all(map(np.array_equal, actual, expected))


def test_a_wrong_basis_vector_in_a_conversion_changes_the_result(monkeypatch):
    places = nvptx_convert._Places

    def swapped(slot, shared, element, layout, *rest_of_place):
        first, second, *rest = layout.lane
        moved = replace(layout, lane=(second, first, *rest))
        return places(slot, shared, element, moved, *rest_of_place)

    pieces = iter([places, swapped] * 9)  # what is written is right, what is read is not
    monkeypatch.setattr(nvptx_convert, "_Places", lambda *args: next(pieces)(*args))
    fail_comparison(transpose_values())


def test_reading_the_other_slot_is_caught(monkeypatch):
    load = Slot.load

    def from_elsewhere(slot, element, address, width=1):
        offset = slot.stop - slot.start
        moved = slot.memory.emitter.value(
            f"getelementptr i8, {SHARED_POINTER} {address}, i32 {offset}"
        )
        return load(slot, element, moved, width)

    monkeypatch.setattr(Slot, "load", from_elsewhere)
    fail(transpose_values(), "out-of-bounds read|which nobody wrote")


def test_a_wrong_shuffle_mask_changes_the_result(monkeypatch):
    exchange = EmulatedEmitter.exchange
    monkeypatch.setattr(
        EmulatedEmitter, "exchange", lambda e, kind, word, lane: exchange(e, kind, word, "1")
    )
    fail_comparison(argmax(32, 1))


# --- functions of the hardware -------------------------------------------------------------------


def run_threads(emit, outputs, num_warps=1):
    """Emit one thread's code by hand: `emit` gives the i32 that goes to out[thread]."""
    b = Builder("by_hand", num_warps=num_warps)
    b.parameter("out", PointerType(int32), 16)
    b.parameter("x", PointerType(int32), 16)
    program = b.finish()
    emitter = EmulatedEmitter(program)
    emitter.start(32 * num_warps, 1)
    thread = emitter.ask("thread_index")
    value = emit(emitter, thread)
    place = emitter.value(f"getelementptr i32, {GLOBAL_POINTER} %p0, i32 {thread}")
    emitter.store_vector(int32, [value], f"{GLOBAL_POINTER} {place}", 4)
    emitter.finish()
    parameters = [f"{GLOBAL_POINTER} %p0", f"{GLOBAL_POINTER} %p1"]
    frame = emitter.kernel("by_hand", parameters, 32 * num_warps)
    kernel = NvptxKernel("", "by_hand", 32 * num_warps, 0, 1)
    text = "\n".join([frame, emitter.surroundings(), emitter.sites(), _entry(program, kernel)])
    image = to_object(text, host_target(), 0)
    device = get_device("emulated:sm_90a")
    loaded = device.load(image, "by_hand", 32 * num_warps, 0)
    buffers = [device.from_host(array) for array in outputs]
    slots = b"".join(pack_pointer(buffer.pointer) for buffer in buffers)
    device.launch(loaded, (1, 1, 1), bytearray(slots + bytes(24)), 1)
    return [
        device.to_host(buffer, 0, array.dtype, array.shape, (1,))
        for buffer, array in zip(buffers, outputs, strict=True)
    ]


LANES = np.arange(64, dtype=np.int32) % 32
WARPS = np.arange(64, dtype=np.int32) // 32 * 32


@pytest.mark.parametrize(
    ("kind", "lane", "expected"),
    [
        ("xor", 5, LANES ^ 5),
        ("up", 3, np.where(LANES >= 3, LANES - 3, LANES)),
        ("down", 3, np.where(LANES <= 28, LANES + 3, LANES)),
        ("idx", 7, np.full(64, 7)),
    ],
)
def test_shuffles_stay_in_their_warp(kind, lane, expected):
    def emit(emitter, thread):
        return emitter.shuffle(kind, int32, thread, str(lane))

    out, _ = run_threads(emit, [np.zeros(64, np.int32), np.zeros(1, np.int32)], 2)
    np.testing.assert_array_equal(out, WARPS + expected)


def test_votes_gather_the_bits_of_a_warp():
    def emit(emitter, thread):
        return emitter.ballot(emitter.value(f"icmp slt i32 {thread}, 37"))

    out, _ = run_threads(emit, [np.zeros(64, np.int32), np.zeros(1, np.int32)], 2)
    np.testing.assert_array_equal(out, [-1] * 32 + [31] * 32)


def test_atomics_of_all_threads_count():
    def emit(emitter, thread):
        return emitter.atomic(TARGET, Atomic("add", int32), f"{GLOBAL_POINTER} %p1", "2")

    out, (total,) = run_threads(emit, [np.zeros(64, np.int32), np.zeros(1, np.int32)], 2)
    assert total == 128 and sorted(out) == list(range(0, 128, 2))


def test_atomics_beside_plain_accesses_race():
    def emit(emitter, thread):
        emitter.atomic(TARGET, Atomic("add", int32), f"{GLOBAL_POINTER} %p1", "2")
        return emitter.load_vector(int32, 1, f"{GLOBAL_POINTER} %p1", 4)[0]

    with pytest.raises(SanitizerError, match="thread 1: race: atomic update of 4 bytes"):
        run_threads(emit, [np.zeros(64, np.int32), np.zeros(1, np.int32)], 2)
