"""Emulated GPUs: the code that ships gives what the interpreter does; faults are reported."""

import numpy as np
import pytest
from hypothesis import given, settings

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.backend.compile import compile_program
from lazyblock.backend.devices import get_device
from lazyblock.backend.llvm.emulated import EmulatedEmitter
from lazyblock.backend.llvm.layout import LinearLayout
from lazyblock.backend.llvm.nvptx_barriers import SharedAccess
from lazyblock.backend.llvm.nvptx_shared import SharedMemory
from lazyblock.backend.runtime.device import pack_pointer, pack_scalar
from lazyblock.backend.runtime.emulated import ARCHITECTURES
from lazyblock.errors import DeviceError, SanitizerError
from lazyblock.source import SourceLine
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.types import bfloat16, float16, int32
from tests.backend.kernels import (
    CASES,
    Case,
    argmax,
    expect,
    half_to_float,
    in_place_reverse,
    less,
    pointer,
    row_softmax,
    transpose_values,
)
from tests.end_to_end.test_random_expressions import assert_exact, evaluate_on
from tests.helpers.arrays import assert_equal_values
from tests.helpers.cpu import assert_same_bits
from tests.helpers.drawing import exact_graphs
from tests.helpers.emulator import emulate
from tests.helpers.programs import GRID, ZOO, copy_arguments, make_arguments, random_program

DEVICES = [f"emulated:{arch}" for arch in ARCHITECTURES]


def assert_same_as_interpreter(program, arguments, grid, arch="sm_90a"):
    actual, expected = copy_arguments(arguments), copy_arguments(arguments)
    interpret(program, expected, grid)
    emulate(program, actual, grid, arch)
    for left, right in zip(actual, expected, strict=True):
        assert_same_bits(np.asarray(left), np.asarray(right))


def uses_maths(program):
    return any(isinstance(op, ops.Math) for op in walk(program.body))


def divides_normal(program):
    """Whether a division is promised operands that random programs do not give it."""
    return any(getattr(op, "kind", None) == "div_normal" for op in walk(program.body))


# --- the same results ----------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_the_interpreter(name, arch):
    case = CASES[name](np.random.default_rng(1))
    assert_same_as_interpreter(case.program, case.arguments, case.grid, arch)


@pytest.mark.parametrize("element", [float16, bfloat16], ids=str)
def test_halves_agree_with_the_interpreter(element):
    case = half_to_float(element)(np.random.default_rng(1))
    assert_same_as_interpreter(case.program, case.arguments, case.grid)


@pytest.mark.parametrize("name", ZOO)
def test_zoo_agrees_with_the_interpreter(name):
    program = ZOO[name]()
    if uses_maths(program):
        pytest.skip("the interpreter's maths is NumPy's")
    assert_same_as_interpreter(program, make_arguments(program, np.random.default_rng(0)), GRID)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_agree_with_the_interpreter(seed):
    rng = np.random.default_rng(seed)
    programs = iter(lambda: random_program(rng), None)
    program = next(program for program in programs if not divides_normal(program))
    program.num_warps = int(rng.choice([1, 2]))
    assert_same_as_interpreter(program, make_arguments(program, rng), (2, 1, 1))


# --- through the public names --------------------------------------------------------------------


def softmax(x):
    e = lb.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


ELEMENTWISE = {
    "polynomial": lambda x: 0.5 * x * (1 + x * x),
    "tanh": lambda x: lb.tanh(x + 0.25),
    "transpose": lambda x: x.mT * 2,
    "maximum": lambda x: x.max(axis=0),
}
SUMS = {
    "all": lambda x: x.sum(),
    "rows": lambda x: x.sum(axis=1),
    "columns": lambda x: x.sum(axis=0),
    "softmax": softmax,
}


def sample(dtype):
    return np.random.default_rng(0).normal(size=(17, 131)).astype(dtype)


def evaluate(function, data, device):
    return np.asarray(function(lb.asarray(data, device=device)))


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_expressions_give_the_bits_of_the_cpu(name, dtype):
    data = sample(dtype)
    expected = evaluate(ELEMENTWISE[name], data, "cpu")
    for device in DEVICES:
        assert_equal_values(evaluate(ELEMENTWISE[name], data, device), expected)


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_right(name):
    data = sample(np.float32)
    wide = evaluate(SUMS[name], data.astype(np.float64), "cpu")
    for device in DEVICES:  # up to log2(2227) roundings of a tree
        actual = evaluate(SUMS[name], data, device)
        np.testing.assert_allclose(actual, wide, rtol=2e-6, atol=2e-5)


def test_integer_sums_are_numpys():
    data = np.random.default_rng(0).integers(-99, 99, (33, 65), np.int32)
    actual = evaluate(lambda x: x.sum(axis=0), data, "emulated:sm_90a")
    np.testing.assert_array_equal(actual, data.sum(axis=0))


@settings(max_examples=50)
@given(exact_graphs())
def test_drawn_expressions(outputs):
    assert_exact(outputs, lambda *graph: evaluate_on("emulated:sm_90a", *graph))


def test_arrays_may_be_empty():
    assert evaluate(lambda x: x + 1, np.zeros((0, 3), np.float32), DEVICES[0]).shape == (0, 3)


# --- the device ----------------------------------------------------------------------------------


def test_devices_are_made_once():
    assert get_device("emulated:sm_80") is get_device("emulated:sm_80")
    assert str(get_device("emulated:sm_80")) == "emulated:sm_80"


def test_unknown_architectures_are_refused():
    with pytest.raises(DeviceError, match=r"no device 'emulated:sm_1'.[^$]*'emulated:sm_90a'"):
        get_device("emulated:sm_1")


def test_arrays_come_back_under_any_strides():
    device = get_device("emulated:sm_80")
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    buffer = device.from_host(data.T)
    actual = device.to_host(buffer, 23, data.dtype, (6, 4), (-4, -1))
    np.testing.assert_array_equal(actual, data.T[::-1, ::-1])
    assert device.to_host(buffer, 3, data.dtype, (2, 2), (0, 1)).tolist() == [[18.0, 1.0]] * 2


# --- seeded faults -------------------------------------------------------------------------------


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


def test_a_dropped_barrier_on_global_memory_changes_the_result(monkeypatch):
    monkeypatch.setattr(EmulatedEmitter, "barrier", lambda self: None)
    case = in_place_reverse()(np.random.default_rng(1))
    (actual,) = run_faulty(in_place_reverse())
    assert (actual != case.arguments[0][::-1]).any()


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

    def first_threads_wait(emitter):
        with emitter.when(emitter.is_first_replica(0, 1)):
            wait(emitter)

    monkeypatch.setattr(EmulatedEmitter, "barrier", first_threads_wait)
    match = r"thread 32: divergent threads: it has ended while thread 0 waits at barrier 1 in '"
    fail(in_place_reverse(), match)


def test_a_shuffle_that_some_lanes_skip_is_divergent(monkeypatch):
    wait = EmulatedEmitter._meet

    def even_lanes_wait(emitter, kind):
        with emitter.when(emitter.is_first_replica(1, 0)):
            wait(emitter, kind)

    monkeypatch.setattr(EmulatedEmitter, "_meet", even_lanes_wait)
    fail(argmax(32, 1), "thread 1: divergent threads: it has ended while thread 0 waits at shuffle")


def test_a_kernel_runs_again_after_an_error():
    program = copy_up_to("lt", block=32)(None).program
    device = get_device("emulated:sm_90a")
    kernel = compile_fresh(program, device.target)
    loaded = device.load(kernel.image, kernel.name, kernel.num_threads, kernel.shared_bytes)
    data = np.arange(32, dtype=np.float32)
    source, short, result = device.from_host(data), device.allocate(64), device.allocate(128)

    def launch(buffer):
        pointers = pack_pointer(source.pointer) + pack_pointer(buffer.pointer)
        slots = pointers + pack_scalar(32, dtypes.int32) + bytes(24)
        device.launch(loaded, (1, 1, 1), bytearray(slots), 32)

    with pytest.raises(SanitizerError, match=r"write of .* at byte 64 of a buffer of 64 bytes"):
        launch(short)
    launch(result)
    np.testing.assert_array_equal(device.to_host(result, 0, data.dtype, (32,), (1,)), data)
