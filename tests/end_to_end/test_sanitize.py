"""`config.sanitize`: checked kernels give what others give, and faults are reported in full."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

import lazyblock as lb
import lazyblock.language as tl
from lazyblock import config, pipeline
from lazyblock.backend.devices import get_device
from lazyblock.backend.runtime.device import pack_pointer, pack_scalar
from lazyblock.dtypes import int32 as int32_dtype
from lazyblock.errors import DeviceError, LaunchError, SanitizerError
from lazyblock.target import cuda_target
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.printer import print_program
from tests.backend.kernels import CASES, expect
from tests.backend.test_emulated_faults import copy_up_to, reading_a_neighbour
from tests.end_to_end.test_random_expressions import assert_exact, on_cpu
from tests.helpers.arrays import assert_equal_values
from tests.helpers.drawing import exact_graphs
from tests.helpers.emulator import run_on


@pytest.fixture(autouse=True)
def _sanitized():
    with config.scope(sanitize=True):
        yield


def run_checked(program, arguments, grid=(1, 1, 1)):
    return run_on("cpu", program, arguments, grid)


# --- what is right passes ------------------------------------------------------------------------


@settings(max_examples=25)
@given(exact_graphs())
def test_drawn_expressions(outputs):
    with config.scope(sanitize=True):
        assert_exact(outputs, on_cpu)


@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_the_interpreter(name):
    case = CASES[name](np.random.default_rng(1))
    for actual, expected in zip(expect(case, run_checked), expect(case, interpret), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_views_of_numpy_arrays_are_inside():
    host = np.arange(60, dtype=np.float32).reshape(6, 10)
    for view in (host[::-1, ::2], host.T[3:], host[1:5, ::-3]):
        x = lb.asarray(view, device="cpu", copy=False)
        assert_equal_values((x * 2 + x.sum(axis=0)).numpy(), view * 2 + view.sum(axis=0))


def test_results_are_read_by_later_kernels():
    with config.scope(fuse=False):
        x = lb.asarray(np.arange(1000.0), device="cpu")
        assert_equal_values(
            ((x + 1) * x - 3).numpy(), (np.arange(1000.0) + 1) * np.arange(1000.0) - 3
        )


def test_arrays_from_outside_the_scope_count_as_written():
    with config.scope(sanitize=False):
        x = lb.asarray(np.arange(10.0), device="cpu")
        y = x * 2
        lb.eval(y)
    assert_equal_values((y + 1).numpy(), np.arange(10.0) * 2 + 1)


def test_kernels_show_their_block_program():
    (kernel,) = (lb.asarray(np.arange(10.0), device="cpu") * 2).kernels
    assert kernel.ir.startswith("program ") and kernel.llvm == kernel.asm == ""


# --- what is wrong is reported -------------------------------------------------------------------


def fail(make, match):
    case = make(np.random.default_rng(1))
    with pytest.raises(SanitizerError, match=match) as info:
        run_checked(case.program, case.arguments, case.grid)
    return str(info.value)


def test_a_missing_mask_is_named_with_its_line():
    message = fail(copy_up_to("le"), r"^Kernel 'copy_up_to', program \(2, 0, 0\): ")
    first, note, hint = message.splitlines()
    assert "out-of-bounds read at offset 300 of 'x', whose buffer has offsets 0 to 299." in first
    assert (
        note.startswith("Note: in '%") and "= load %" in note and "(user.py:7), lane (44,)" in note
    )
    assert hint == "Hint: mask the lanes outside the array."


def test_indices_below_the_array_are_out_of_bounds():
    fail(copy_up_to("lt", shift=-1), r"program \(0, 0, 0\): .* at offset -1 of 'x'")


@pytest.mark.parametrize(("step", "first", "then"), [(1, "read", "write"), (-1, "write", "read")])
def test_programs_that_touch_each_others_elements_race(step, first, then):
    message = fail(reading_a_neighbour(step), r"program \(1, 0, 0\): race")
    assert f"race: {then} at offset " in message
    assert f" of 'x', which program (0, 0, 0) {first}s too." in message
    assert "; there in '" in message and "Hint: let one program instance write" in message


def launch_on_buffers(program, buffers, n):
    device = get_device("cpu")
    kernel = pipeline.compile_block_program(program, device.target)
    loaded = device.load(kernel.image, kernel.name, kernel.num_threads, kernel.shared_bytes)
    slots = b"".join(pack_pointer(pointer) for pointer in buffers) + pack_scalar(n, int32_dtype)
    device.launch(loaded, (1, 1, 1), bytearray(slots + bytes(24)), n)


def test_reads_of_memory_nobody_wrote_are_reported():
    program = copy_up_to("lt", block=32)(None).program
    device = get_device("cpu")
    full = device.from_host(np.arange(32, dtype=np.float32))
    first, second = device.allocate(128), device.allocate(128)
    launch_on_buffers(program, [full.pointer, first.pointer], 20)
    launch_on_buffers(program, [first.pointer, second.pointer], 20)  # as much as was written
    with pytest.raises(SanitizerError, match=r"read of unwritten memory at offset 20 of 'x'") as e:
        launch_on_buffers(program, [first.pointer, second.pointer], 21)
    assert "(user.py:7), lane (20,)" in str(e.value)


def test_memory_that_is_used_again_counts_as_unwritten():
    program = copy_up_to("lt", block=32)(None).program
    device = get_device("cpu")
    full = device.from_host(np.arange(32, dtype=np.float32))
    allocate, second = device.allocator(128), device.allocate(128)
    first = allocate()
    place = first.pointer
    launch_on_buffers(program, [full.pointer, place], 32)
    del first
    again = allocate()
    assert again.pointer == place
    with pytest.raises(SanitizerError, match="read of unwritten memory at offset 0 of 'x'"):
        launch_on_buffers(program, [again.pointer, second.pointer], 32)


def test_what_unchecked_kernels_wrote_is_written():
    with config.scope(sanitize=False):
        allocate = get_device("cpu").allocator(128)
    first, second = allocate(), get_device("cpu").allocate(128)
    launch_on_buffers(copy_up_to("lt", block=32)(None).program, [first.pointer, second.pointer], 32)


def test_empty_arrays_are_unwritten_until_somebody_writes():
    x = lb.asarray(np.ones(8, np.float32), device="cpu")
    fresh = lb.empty(8, dtype=np.float32, device="cpu")
    add_into[(1,)](x, lb.zeros(8, dtype=np.float32, device="cpu"), N=8)
    fresh[...] = 2
    add_into[(1,)](x, fresh, N=8)  # an assignment is writing
    assert_equal_values(fresh.numpy(), np.full(8, 3, np.float32))
    copied = lb.empty_like(x)
    copy_into[(1,)](x, copied, N=4)
    add_into[(1,)](x, copied, N=4)
    with pytest.raises(SanitizerError, match="unwritten memory at offset 4 of 'out'"):
        add_into[(1,)](x, copied, N=8)


# --- offsets that wrap ---------------------------------------------------------------------------


@lb.jit
def copy_into(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i))


@lb.jit
def add_into(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(out + i) + tl.load(x + i))


@lb.jit
def read_by_hash(x, out, factor):
    i = tl.arange(0, 16) + 1
    hashed = (i * factor).to(tl.uint32, bitcast=True) % 16
    tl.store(out + i - 1, tl.load(x + hashed))


@lb.jit
def read_masked(x, out, factor):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i * factor, mask=i < 1, other=0.0))


@lb.jit
def read_wide(x, out, factor):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i.to(tl.int64) * factor * 0 + i))


@lb.jit
def read_there_and_back(x, out, factor):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + (i + factor) - factor))


@lb.jit
def read_by_steps(x, out, factor):
    place = tl.program_id(0)
    for _ in range(4):
        place += factor
    rows = tl.expand_dims(place + tl.arange(0, 16), 0)
    tl.store(out + tl.arange(0, 16), tl.sum(tl.load(x + rows.to(tl.int64)), axis=0))


@pytest.mark.parametrize("kernel", [read_by_hash, read_masked, read_wide])
def test_wraps_that_reach_no_element_pass(kernel):
    x = np.arange(16, dtype=np.float32)
    kernel[(1,)](x, x.copy(), 0x7FFFFFF1)


def test_wraps_are_followed_through_loops_and_wider_types():
    x = np.zeros(16, np.float32)
    with pytest.raises(SanitizerError) as caught:
        read_by_steps[(1,)](x, x.copy(), 0x40000000)
    message = str(caught.value)
    assert "an i32 offset wrapped: read at offset 0 of 'x' instead of 4294967296." in message
    assert "it wrapped in '" in message and "binary add" in message


def test_pointers_that_leave_and_come_back_pass():
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    read_there_and_back[(1,)](x, out, 0x7FFFFFF0)  # the wrapped 32 bits are the right ones again
    np.testing.assert_array_equal(out, x)


def test_views_of_another_type_have_the_arguments_name():
    x = np.zeros(4, np.float32)
    with pytest.raises(SanitizerError, match="out-of-bounds read at offset 2 of 'x', whose buffer"):
        read_pairs[(1,)](x, np.zeros(4, np.int64))


@lb.jit
def read_pairs(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x.to(tl.pointer_type(tl.int64)) + i))


def test_pointers_into_no_buffer_are_refused():
    program = copy_up_to("lt", block=32)(None).program
    with pytest.raises(
        LaunchError, match="Argument 'x' of kernel 'copy_up_to' points to no buffer"
    ):
        launch_on_buffers(program, [64, 64], 0)


def test_edited_programs_are_checked_too():
    case = copy_up_to("lt")(None)
    text = print_program(case.program)
    edited = parse_program(text.replace("compare lt", "compare le", 1))
    with pytest.raises(SanitizerError, match="out-of-bounds read at offset 300 of 'x'"):
        run_checked(edited, case.arguments, case.grid)


def test_gpus_are_refused():
    with pytest.raises(DeviceError, match=r"sanitized on the CPU only[^$]*device='cpu'"):
        pipeline.compile_block_program(copy_up_to("lt")(None).program, cuda_target("sm_90a"))


def test_the_environment_switches_it_on():
    code = (
        "from lazyblock.backend.devices import get_device as g; print(g('cpu').target.is_checked)"
    )
    environment = {**os.environ, "LAZYBLOCK_SANITIZE": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert run.stdout == b"True\n", run.stderr
