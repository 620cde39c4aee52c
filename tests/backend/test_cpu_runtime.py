"""The CPU device: memory that is recycled but never too early, and kernels run by threads."""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from lazyblock import config, dtypes
from lazyblock.backend.llvm.host import emit_host
from lazyblock.backend.llvm.optimize import link, to_assembly, to_object
from lazyblock.backend.runtime.cpu import CpuDevice, alias
from lazyblock.backend.runtime.pool import size_class
from lazyblock.errors import CompileError, LaunchError, OutOfResourcesError
from lazyblock.shapes import contiguous_strides
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import PointerType, float32, int32
from tests.helpers.cpu import load_on_cpu, pack_slots

BLOCK = 256
LOAD_IN_A_NEW_PROCESS = """
import ctypes, sys
from lazyblock.backend.runtime.cpu import CpuDevice
kernel = CpuDevice().load(open(sys.argv[1], "rb").read(), "increment", 1, 0)
numbers = (ctypes.c_float * 3)(1, 2, 3)
slots = bytearray(8) + bytearray(ctypes.c_int64(3)) + bytearray(24)
slots[:8] = ctypes.c_int64(ctypes.addressof(numbers))
CpuDevice().launch(kernel, (1, 1, 1), slots, 3)
print(*numbers)
"""


@pytest.fixture
def device():
    return CpuDevice()


def increment():
    """x[i] += 1 for i < n."""
    b = Builder("increment")
    x, n = b.parameter("x", PointerType(float32)), b.parameter("n", int32)
    i = b.add(b.splat(b.mul(b.program_id(0), BLOCK), (BLOCK,)), b.arange(0, BLOCK))
    mask = b.compare("lt", i, b.splat(n, (BLOCK,)))
    at = b.add_pointer(x, i)
    b.store(at, b.add(b.load(at, mask), 1.0), mask)
    return b.finish()


@pytest.fixture(scope="module")
def loaded():
    return load_on_cpu(increment())[1]


def launch(kernel, array):
    grid = (-(-array.size // BLOCK), 1, 1)
    slots = pack_slots(increment(), [array, array.size])
    CpuDevice().launch(kernel, grid, slots, array.size)


def test_there_is_one_device(device):
    assert CpuDevice() is device and str(device) == "cpu" and device.target.kind == "cpu"


@pytest.mark.parametrize("nbytes", [0, 1, 64, 65, 1000, 1024, 1025, 5000, 1 << 20, 3 << 24])
def test_size_classes_waste_at_most_a_quarter_and_a_line(nbytes):
    size = size_class(nbytes)
    assert size % 64 == 0 and nbytes <= size <= nbytes * 1.25 + 64


def test_memory_is_aligned_and_recycled(device):
    buffer = device.allocate(123456)
    assert buffer.pointer % 64 == 0 and buffer.nbytes == 123456
    pointer = buffer.pointer
    del buffer
    assert device.allocate(123450).pointer == pointer


def test_a_view_keeps_its_memory(device):
    buffer = device.from_host(np.arange(1000, dtype=np.int64))
    view = device.to_host(buffer, 10, dtypes.int64, (5,), (2,))
    del buffer
    gc.collect()
    others = [device.from_host(np.zeros(1000, np.int64)) for _ in range(3)]
    np.testing.assert_array_equal(view, [10, 12, 14, 16, 18])
    assert others and not view.flags.writeable


@pytest.mark.parametrize("dtype", dtypes.SUPPORTED, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (4, 5)])
def test_round_trip(device, dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    transposed = array.T
    buffer = device.from_host(transposed)
    strides = contiguous_strides(transposed.shape)
    back = device.to_host(buffer, 0, dtype, transposed.shape, strides)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, transposed)


def test_alias_shares_memory(device):
    array = np.zeros(4, np.float32)
    view = device.to_host(alias(array), 0, dtypes.float32, (4,), (1,))
    array[2] = 5
    assert view[2] == 5


def test_too_large_an_allocation_names_the_sizes(device):
    with pytest.raises(OutOfResourcesError, match=rf"{1 << 60} bytes on 'cpu'"):
        device.allocate(1 << 60)


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
@pytest.mark.parametrize("num_threads", [0, 1, 2, 7])
def test_every_instance_runs_once(loaded, size, num_threads):
    array = np.zeros(size, np.float32)
    with config.scope(num_threads=num_threads):
        for _ in range(5):
            launch(loaded, array)
    assert (array == 5).all()


def test_several_threads_launch_at_once(loaded):
    arrays = [np.zeros(300000 + n, np.float32) for n in range(6)]

    def work(array):
        for _ in range(20):
            launch(loaded, array)

    with config.scope(num_threads=3):
        threads = [threading.Thread(target=work, args=[array]) for array in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all((array == 20).all() for array in arrays)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads(loaded):
    array = np.zeros(1 << 18, np.float32)
    with config.scope(num_threads=3):
        launch(loaded, array)
        child = os.fork()
        if child == 0:
            launch(loaded, array)
            os._exit(0 if (array == 2).all() else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_another_process_loads_the_image(tmp_path, device):
    text = emit_host(increment(), device.target).llvm
    image = to_object(text, device.target)
    (tmp_path / "kernel.o").write_bytes(image)
    assert "increment:" in to_assembly(text, device.target)
    command = [sys.executable, "-c", LOAD_IN_A_NEW_PROCESS, str(tmp_path / "kernel.o")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["2.0", "3.0", "4.0"]


def test_a_torn_image_is_refused(device):
    image = to_object(emit_host(increment(), device.target).llvm, device.target)
    for torn in (b"", image[:100], image[: len(image) // 2]):
        with pytest.raises(LaunchError, match="'increment' could not be loaded"):
            device.load(torn, "increment", 1, 0)


def test_invalid_llvm_is_a_compile_error(device):
    with pytest.raises(CompileError, match="LLVM does not accept"):
        to_object("define void @f() { ret i32 %x }", device.target)


def test_loops_of_very_long_modules_stay_loops(device):
    text = """
define void @squares(ptr %x) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %place = getelementptr i64, ptr %x, i64 %i
  %seen = load volatile i64, ptr %place
  %square = mul i64 %seen, %seen
  store volatile i64 %square, ptr %place
  %next = add i64 %i, 1
  %goes_on = icmp ult i64 %next, 16
  br i1 %goes_on, label %loop, label %done
done:
  ret void
}
"""
    short, long = (to_assembly(text + ";\n" * lines, device.target) for lines in (0, 7000))
    assert long.count("imul") == 1 < short.count("imul")


def test_equal_loops_of_too_long_modules_are_one_function(device):
    loop = """
  br label %loopN
loopN:
  %iN = phi i64 [ 0, %BEFORE ], [ %nextN, %loopN ]
  %placeN = getelementptr i64, ptr %N, i64 %iN
  %seenN = load i64, ptr %placeN
  %squareN = mul i64 %seenN, %seenN
  store i64 %squareN, ptr %placeN
  %nextN = add i64 %iN, 1
  %goes_onN = icmp ult i64 %nextN, %n
  br i1 %goes_onN, label %loopN, label %doneN
doneN:
"""
    loops = [
        loop.replace("BEFORE", f"done{before}" if before else "start").replace("N", now)
        for before, now in zip(["", "a", "b"], "abc", strict=True)
    ]
    text = "define void @squares(ptr %a, ptr %b, ptr %c, i64 %n) {\nstart:\n"
    text += "".join(loops) + "  ret void\n}\n"
    short, long = (to_assembly(text + ";\n" * lines, device.target) for lines in (0, 21000))
    assert long.count("imul") < short.count("imul")
    places, library = link(to_object(text + ";\n" * 21000, device.target), ["squares"])
    arrays = [np.arange(first, first + 5) for first in (0, 10, 20)]
    squares = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(places["squares"])
    squares(*(array.ctypes.data for array in arrays), 5)
    assert np.array_equal(
        np.concatenate(arrays), [n * n for k in (0, 10, 20) for n in range(k, k + 5)]
    )
    del library
