"""The CUDA runtime: without a driver, on a pretended one, and (marked gpu) on a real one."""

import ctypes
import enum
import itertools
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import config, dlpack, dtypes
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.backend.runtime import cuda, cuda_driver, cuda_module, cuda_reports
from lazyblock.backend.runtime.device import pack_pointer, pack_scalar
from lazyblock.errors import CompileError, DeviceError, LaunchError, OutOfResourcesError
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import PointerType, bfloat16, float16, to_numpy
from tests.backend.kernels import CASES, axpy, expect, half_to_float, layer_norm, row_softmax
from tests.backend.waiting import WAITING, decoupled_look_back, look_back, spin_lock

# --- no driver -----------------------------------------------------------------------------------


def test_asking_for_devices_without_a_driver_loads_nothing():
    code = (
        "import ctypes, sys\n"
        "def refuse(name, *rest): raise OSError(name)\n"
        "ctypes.CDLL = refuse\n"
        "from lazyblock.backend.runtime import cuda\n"
        "assert not cuda.is_available() and cuda.cuda_devices() == ()\n"
        "assert 'libcuda.so.1' in cuda.describe_missing()\n"
        "print('cuda' in sys.modules, 'llvmlite' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["False", "False"], result.stderr


class _Library:
    """A libcuda that answers as told."""

    def __init__(self, version=13000, status=0, count=1):
        self._version, self._status, self._count = version, status, count

    def cuDriverGetVersion(self, place):
        place._obj.value = self._version
        return 0

    def cuInit(self, flags):
        return self._status

    def cuDeviceGetCount(self, place):
        place._obj.value = self._count
        return 0


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (_Library(version=11080), "for CUDA 11.8, at least 12.7"),
        (_Library(status=999), "does not start (error 999)"),
        (_Library(status=100), "finds no device; CUDA_VISIBLE_DEVICES may hide them (error 100)"),
        (_Library(count=0), "finds no device"),
    ],
)
def test_what_is_missing_is_told(monkeypatch, library, words):
    monkeypatch.setattr(cuda_driver, "_found", None)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    assert not cuda.is_available()
    assert words in cuda.describe_missing()


# --- a pretended driver --------------------------------------------------------------------------


class _Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class _Names:
    """Any attribute is its own name."""

    def __getattr__(self, name):
        return name


OK = _Result.CUDA_SUCCESS


class FakeDriver:
    """cuda.bindings.driver over host memory; `room` bytes may be allocated at a time."""

    current = None

    def __init__(self, room=1 << 20):
        self.room = room
        self.cached = 0  # bytes the pool holds and nobody uses
        self.blocks = {}
        self.launches = []
        self.launch_status = OK
        self.num_parameters = 2
        self.wait_status = OK
        self.load_status = OK
        FakeDriver.current = self
        self.images = []
        self.variables = {}
        self.CUresult = _Result
        for name in ("CUdevice_attribute", "CUfunction_attribute", "CUmemPool_attribute"):
            setattr(self, name, _Names())
        self.CUjit_option, self.CUstream_flags = _Names(), _Names()
        self.cuuint64_t = int

    def __getattr__(self, name):
        if name.startswith("cu"):
            return lambda *arguments: (OK, name)
        raise AttributeError(name)

    def cuInit(self, flags):
        return (OK,)

    def cuMemPoolSetAttribute(self, *arguments):
        return (OK,)

    cuCtxSetCurrent = cuFuncSetAttribute = cuMemPoolSetAttribute

    def cuGetErrorString(self, code):
        return OK, b"words of the driver"

    def cuDeviceGetAttribute(self, key, device):
        values = {"CAPABILITY_MAJOR": 9, "CAPABILITY_MINOR": 0, "OPTIN": 232448, "COUNT": 132}
        return OK, next(value for end, value in values.items() if key.endswith(end))

    def cuMemAllocAsync(self, nbytes, stream):
        used = sum(len(block) for block in self.blocks.values())
        if used + self.cached + nbytes > self.room:
            return _Result.CUDA_ERROR_OUT_OF_MEMORY, 0
        block = ctypes.create_string_buffer(nbytes)
        self.blocks[ctypes.addressof(block)] = block
        return OK, ctypes.addressof(block)

    def cuMemFreeAsync(self, pointer, stream):
        self.cached += len(self.blocks.pop(pointer))
        return (OK,)

    def cuMemPoolTrimTo(self, pool, nbytes):
        self.cached = 0
        return (OK,)

    def cuMemPoolGetAttribute(self, pool, key):
        return OK, sum(len(block) for block in self.blocks.values())

    def cuMemGetInfo(self):
        return OK, 1000, self.room

    def cuMemHostGetFlags(self, address):
        return _Result.CUDA_ERROR_INVALID_VALUE, 0

    def cuMemcpyHtoDAsync(self, to, source, nbytes, stream):
        ctypes.memmove(to, source, nbytes)
        return (OK,)

    cuMemcpyDtoHAsync = cuMemcpyHtoDAsync

    def cuStreamSynchronize(self, stream):
        return (self.wait_status,)

    def cuModuleLoadDataEx(self, image, count, options, values):
        self.images.append(image)
        logs = dict(zip(options, values, strict=True))
        logs["CU_JIT_INFO_LOG_BUFFER"][:24] = b"ptxas info : (C7510) ..."
        if self.load_status:
            logs["CU_JIT_ERROR_LOG_BUFFER"][:17] = b"ptxas: line 3: no"
        return self.load_status, "module"

    def cuFuncGetAttribute(self, key, function):
        return OK, {"NUM_REGS": 40, "LOCAL_SIZE_BYTES": 8}.get(key[18:], 16)

    def cuModuleGetFunction(self, module, name):
        return OK, FUNCTION

    def cuModuleGetGlobal(self, module, name):
        variable = self.variables[name.decode()]
        return OK, ctypes.addressof(variable), len(variable)

    def cuMemsetD8Async(self, pointer, value, nbytes, stream):
        ctypes.memset(pointer, value, nbytes)
        return (OK,)

    def cuStreamCreate(self, flags):
        return OK, STREAM


FUNCTION, STREAM = 1 << 40, 1 << 41
_UNSIGNED = [ctypes.c_uint] * 7
_POINTERS = [ctypes.c_void_p] * 3


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *_UNSIGNED, *_POINTERS)
def launch_on_fake(function, *rest):
    """What the builtin of `cuda_launch` calls instead of cuLaunchKernel."""
    *dimensions, stream, parameters, extra = rest
    assert (function, stream, extra) == (FUNCTION, STREAM, None)
    array = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
    driver = FakeDriver.current
    values = [ctypes.string_at(array[i], 8) for i in range(driver.num_parameters)]
    driver.launches.append((dimensions, values))
    return driver.launch_status


@pytest.fixture
def fake(monkeypatch, tmp_path):
    driver = FakeDriver()
    address = ctypes.cast(launch_on_fake, ctypes.c_void_p).value
    monkeypatch.setattr(cuda, "find_driver_functions", lambda: (address, address))
    monkeypatch.setattr(config.current, "cache_dir", str(tmp_path / "cache"))
    monkeypatch.setattr(cuda, "driver", driver)
    monkeypatch.setattr(cuda_driver, "driver", driver)
    monkeypatch.setattr(cuda_module, "driver", driver)
    monkeypatch.setattr(cuda_reports, "driver", driver)
    monkeypatch.setattr(cuda._thread, "current", None)
    return driver


@pytest.fixture
def device(fake):
    return cuda.CudaDevice(0)


def test_target_describes_the_device(device):
    assert (device.name, device.target.arch, device.target.num_units) == ("cuda:0", "sm_90a", 132)
    assert device.target.shared_bytes == 232448


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (0, (4, 6), (6, 1)),
        (0, (6, 4), (1, 6)),
        (23, (4, 6), (-6, -1)),
        (7, (3,), (2,)),
        (5, (2, 3), (0, 1)),
        (3, (), ()),
        (0, (0, 5), (5, 1)),
    ],
)
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16, dtypes.bool_])
def test_arrays_come_back_under_any_strides(device, offset, shape, strides, dtype):
    data = np.arange(24).astype(dtype).reshape(4, 6)
    buffer = device.from_host(data)
    actual = device.to_host(buffer, offset, dtype, shape, strides)
    byte_strides = [stride * dtype.itemsize for stride in strides]
    flat = data.reshape(-1)[offset:]
    expected = np.lib.stride_tricks.as_strided(flat, shape, byte_strides)
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == dtype
    assert actual.flags.writeable


def test_strided_host_arrays_are_copied_in_order(device):
    data = np.arange(12, dtype=np.int64).reshape(3, 4).T
    buffer = device.from_host(data)
    assert buffer.nbytes == 96
    np.testing.assert_array_equal(device.to_host(buffer, 0, data.dtype, (4, 3), (3, 1)), data)


def test_freed_buffers_serve_again(fake, device):
    buffer = device.allocate(100)
    pointer = buffer.pointer
    assert len(fake.blocks) == 1
    del buffer
    assert device.allocate(120).pointer == pointer
    assert len(fake.blocks) == 1
    device.trim()
    assert not fake.blocks and not fake.cached


@pytest.mark.parametrize("bound", ["_MOST_KEPT_BYTES", "held"])
def test_what_is_not_kept_goes_to_the_driver(monkeypatch, fake, device, bound):
    if bound == "held":
        device._pool.limit = 4096
    else:
        monkeypatch.setattr(cuda, bound, 4096)
    buffers = [device.allocate(4096), device.allocate(5000)]
    del buffers
    assert sorted(map(len, fake.blocks.values())) == [4096]


def test_empty_buffers_take_no_memory(fake, device):
    assert device.allocate(0).pointer == 0
    assert device.from_host(np.zeros((0, 3))).nbytes == 0
    assert not fake.blocks


def test_small_host_data_is_sent_when_its_address_is_asked_for(device, fake):
    data = np.arange(24, dtype=np.float32)
    buffer = device.from_host(data)
    assert not fake.blocks
    data[:] = 0
    seen = device.to_host(buffer, 1, dtypes.float32, (3,), (2,))
    np.testing.assert_array_equal(seen, [1, 3, 5])
    seen[:] = 7  # a copy
    sent = fake.blocks[buffer.pointer]
    assert np.frombuffer(sent, np.float32, 24)[3] == 3
    sent[:4] = np.float32(9).tobytes()  # as a kernel writes
    assert device.to_host(buffer, 0, dtypes.float32, (2,), (1,)).tolist() == [9, 1]
    del buffer, sent
    assert len(device._pool.clear()) == 1


def test_pooled_memory_is_returned_before_giving_up(fake, device):
    first = device.allocate(900_000)
    del first
    assert device._pool.held_bytes >= 900_000
    second = device.allocate(600_000)
    assert second.nbytes == 600_000 and device._pool.held_bytes == fake.cached == 0


def test_memory_of_cycles_is_returned_before_giving_up(device):
    cycle = [device.allocate(900_000)]
    cycle.append(cycle)
    del cycle
    assert device.allocate(600_000).nbytes == 600_000


def test_out_of_memory_tells_the_sizes(device):
    kept = device.allocate(500_000)
    with pytest.raises(OutOfResourcesError, match=r"no room for 2,000,000 bytes[^$]*524,288 bytes"):
        device.allocate(2_000_000)
    assert kept.pointer


def test_loading_ends_text_with_a_zero_and_reads_resources(fake, device):
    kernel = device.load(b".version 8.6", "k", 128, 64)
    assert fake.images == [b".version 8.6\0"]
    assert kernel.resources.registers == 40
    assert kernel.resources.spill_bytes == 8
    assert kernel.resources.shared_bytes == 16 + 64
    device.load(b"\x7fELF", "k", 128, 0)
    assert fake.images[-1] == b"\x7fELF"


def test_a_failed_assertion_is_raised_once(fake, device):
    failure = ctypes.create_string_buffer(struct.pack("<5i", 2, 3, 1, 0, 9), 20)
    texts = b"|Kernel 'k': assertion 'a' failed\n4x4|Kernel 'k': assertion 'b' failed at f.py:7"
    table = ctypes.create_string_buffer(texts)
    fake.variables = {"lazyblock_failure": failure, "lazyblock_assertions": table}
    kernel = device.load(b".global lazyblock_failure[20];", "k", 128, 0)
    launch = device.bind(kernel, (4, 2, 1), 1)
    message = r"Kernel 'k': assertion 'b' failed at f.py:7; program \(3, 1, 0\), lane \(2, 1\)\."
    with pytest.raises(LaunchError, match=message):
        launch(bytes(40))
    launch(bytes(40))
    assert len(fake.launches) == 2


def test_only_kernels_that_tell_something_are_waited_for(fake, device):
    quiet = device.bind(device.load(b"quiet", "k", 128, 0), (1, 1, 1), 1)
    telling = device.bind(device.load(b"call vprintf", "k", 128, 0), (1, 1, 1), 1)
    fake.wait_status = _Result.CUDA_ERROR_ILLEGAL_ADDRESS
    quiet(bytes(40))
    with pytest.raises(LaunchError, match="out of bounds"):
        telling(bytes(40))


def test_what_the_compiler_says_is_kept(fake, device):
    kernel = device.load(b"one", "k", 128, 0)
    assert kernel.log == "ptxas info : (C7510) ..."
    assert kernel.warnings == (kernel.log,)


def test_a_refused_text_raises_with_the_log(fake, device):
    fake.load_status = _Result.CUDA_ERROR_INVALID_PTX
    with pytest.raises(CompileError, match=r"load kernel 'k'[^$]*ptxas: line 3: no"):
        device.load(b"\x7fELF", "k", 128, 0)


def test_too_much_shared_memory_is_refused(device):
    with pytest.raises(OutOfResourcesError, match="'k' wants 300,000 bytes"):
        device.load(b"", "k", 128, 300_000)


def make_slots(*values, grid=(3, 1, 1)):
    return bytearray(b"".join(values) + b"".join(pack_pointer(n) for n in grid))


def test_launch_passes_every_slot(fake, device):
    kernel = device.load(b"", "k", 128, 64)
    slots = make_slots(pack_pointer(1 << 40), pack_scalar(2.5, dtypes.float32))
    launch = device.bind(kernel, (3, 2, 1), 10)
    launch(bytes(slots))
    slots[:8] = pack_pointer(77)
    launch(bytes(slots))
    (dimensions, first), (_, second) = fake.launches
    assert dimensions == [3, 2, 1, 128, 1, 1, 64]
    assert first == [pack_pointer(1 << 40), pack_scalar(2.5, dtypes.float32)]
    assert second[0] == pack_pointer(77)


def test_clusters_multiply_the_grid(fake, device):
    kernel = device.load(b"", "k", 128, 64, 4)
    slots = make_slots(pack_pointer(0), pack_scalar(2.5, dtypes.float32))
    device.launch(kernel, (3, 2, 1), slots, 10)
    assert fake.launches[0][0] == [12, 2, 1, 128, 1, 1, 64]


@pytest.mark.parametrize("count", [0, 1, 7, 200])
def test_launch_takes_any_number_of_parameters(fake, device, count):
    kernel = device.load(b"", "k", 128, 0)
    fake.num_parameters = count
    values = [pack_pointer(2**64 - 1 - n) for n in range(count)]
    device.launch(kernel, (2**31 - 1, 1, 1), make_slots(*values), 1)
    assert fake.launches == [([2**31 - 1, 1, 1, 128, 1, 1, 0], values)]


def test_an_empty_grid_launches_nothing(fake, device):
    kernel = device.load(b"", "k", 128, 0)
    device.launch(kernel, (0, 1, 1), make_slots(pack_pointer(0)), 0)
    assert not fake.launches


def test_a_failed_launch_names_the_kernel(fake, device):
    kernel = device.load(b"", "k", 128, 0)
    fake.launch_status = _Result.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(LaunchError, match=r"launch 'k' with \(1, 70000, 1\) programs.*INVALID"):
        device.launch(kernel, (1, 70000, 1), make_slots(pack_pointer(0), pack_pointer(0)), 0)


def test_a_lost_device_says_so_once_and_again(fake, device):
    kernel = device.load(b"", "k", 128, 0)
    device.launch(kernel, (1, 1, 1), make_slots(pack_pointer(0), pack_pointer(0)), 0)
    fake.wait_status = _Result.CUDA_ERROR_ILLEGAL_ADDRESS
    launch = device.bind(kernel, (1, 1, 1), 0)
    with pytest.raises(LaunchError, match=r"A kernel failed on the GPU[^$]*bounds[^$]*'k'"):
        device.synchronize()
    with pytest.raises(DeviceError, match="cuda:0 is lost to this process"):
        launch(bytes(make_slots()))
    assert len(fake.launches) == 1
    with pytest.raises(DeviceError, match="cuda:0 is lost to this process"):
        device.allocate(8)


def test_a_forked_child_is_refused(monkeypatch, device):
    device.from_host(np.zeros(1))
    cuda._forget_threads()  # as forking does
    monkeypatch.setattr(cuda_driver, "_is_forked", True)
    with pytest.raises(DeviceError, match="cannot be used in a forked process"):
        device.from_host(np.zeros(1))
    monkeypatch.setattr(cuda_driver, "_found", cuda_driver.Probe(1, ""))
    assert not cuda.is_available()
    assert "forked" in cuda.describe_missing()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (214, "uncorrectable memory error"),
        (700, r"out of bounds \('emulated:sm_90a' tells where\)"),
        (702, "ran longer than"),
        (709, "context was destroyed"),
        (716, "not aligned"),
        (719, "does not tell how"),
    ],
)
def test_errors_that_lose_the_device_are_explained(fake, status, words):
    error = cuda_driver.make_error(status, "wait")
    assert isinstance(error, LaunchError)
    assert re.search(rf"{words}.*\.\n.*trying to wait; the device is lost", str(error))


def test_devices_that_cannot_be_used_say_why(monkeypatch, fake):
    monkeypatch.setattr(cuda_driver, "_found", cuda_driver.Probe(2, ""))
    cuda._open_device.cache_clear()
    old = {"cuDeviceGet": lambda index: (OK, index)}
    attribute = fake.cuDeviceGetAttribute
    old["cuDeviceGetAttribute"] = lambda key, index: (OK, 7) if index == 0 else attribute(key, 1)
    for name, function in old.items():
        monkeypatch.setattr(fake, name, function, raising=False)
    assert cuda.get_device(None).name == cuda.get_device(1).name == "cuda:1"
    with pytest.raises(DeviceError, match=r"'cuda:0' cannot be used: .* capability 7\.7"):
        cuda.get_device(0)
    with pytest.raises(DeviceError, match=r"no device 'cuda:2', only 'cuda:0', 'cuda:1'\."):
        cuda.get_device(2)
    monkeypatch.setattr(cuda_driver, "_found", cuda_driver.Probe(0, "there is no NVIDIA driver"))
    with pytest.raises(DeviceError, match="no device 'cuda:0': there is no NVIDIA driver"):
        cuda.get_device(None)
    cuda._open_device.cache_clear()


def test_old_devices_are_refused(monkeypatch, fake):
    monkeypatch.setattr(fake, "cuDeviceGetAttribute", lambda key, device: (OK, 7), raising=False)
    with pytest.raises(DeviceError, match=r"compute capability 7\.7, at least 8\.0"):
        cuda.CudaDevice(0)


# --- a real GPU ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpu():
    return cuda.cuda_devices()[0]


def run_on(device):
    """A function that runs a program on `device`, as `interpret` does."""

    def run(program, arguments, grid):
        kernel = emit_nvptx(program, device.target)
        ptx = to_ptx(kernel.llvm, device.target).encode()
        loaded = device.load(ptx, kernel.name, kernel.num_threads, kernel.shared_bytes)
        assert loaded.resources.spill_bytes == 0
        buffers, slots = [], []
        for parameter, argument in zip(program.parameters, arguments, strict=True):
            element = parameter.value.type.element
            if isinstance(element, PointerType):
                buffers.append((device.from_host(argument), argument))
                slots.append(pack_pointer(buffers[-1][0].pointer))
            else:
                slots.append(pack_scalar(argument, to_numpy(element)))
        device.launch(loaded, grid, make_slots(*slots, grid=grid), 0)
        for buffer, array in buffers:
            array[...] = device.to_host(buffer, 0, array.dtype, (array.size,), (1,)).reshape(
                array.shape
            )

    return run


def assert_same_on_gpu(gpu, make, seed=1):
    case = make(np.random.default_rng(seed))
    pairs = zip(expect(case, run_on(gpu)), expect(case, interpret), strict=True)
    for actual, expected in pairs:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_host_data_that_no_kernel_has_read_is_exported_to_the_host(max_version):
    data = np.arange(6.0).reshape(2, 3)
    x = lb.asarray(data, device="cuda")
    settings = {"dl_device": (1, 0), "max_version": max_version, "copy": False}
    memory = dlpack.take_capsule(x.T.__dlpack__(**settings))
    assert (memory.device, memory.shape, memory.strides) == ((1, 0), (3, 2), (1, 3))
    assert (memory.is_read_only, memory.is_copied) == (max_version is not None, False)
    np.testing.assert_array_equal((x + 1).numpy(), data + 1)
    with pytest.raises(BufferError, match="uncopied"):
        x.__dlpack__(**settings)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_gpu_agrees_with_the_interpreter(gpu, name):
    assert_same_on_gpu(gpu, CASES[name])


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in WAITING if name != "scalar_update"])
def test_gpu_waits_and_updates_as_the_interpreter_does(gpu, name):
    assert_same_on_gpu(gpu, WAITING[name])


@pytest.mark.gpu
def test_gpu_instances_wait_for_each_other(gpu):
    for build in (look_back(500, 1024, 4), decoupled_look_back(500), spin_lock(500, 4)):
        assert_same_on_gpu(gpu, build)


@pytest.mark.gpu
@pytest.mark.parametrize("element", [float16, bfloat16])
def test_gpu_converts_halves(gpu, element):
    assert_same_on_gpu(gpu, half_to_float(element))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("n", "divisibility"), [(0, 1), (1, 1), (127, 1), (129, 1), (1000003, 1), (1000000, 16)]
)
def test_gpu_maps_any_size(gpu, n, divisibility):
    case = axpy(n, 1024, 8, divisibility=divisibility)(np.random.default_rng(0))
    x, y, _, _ = case.arguments
    (_, _, out) = expect(case, run_on(gpu))
    if n:
        np.testing.assert_array_equal(out, x * np.float32(2.5) + y)
    else:
        assert out[0] == 77


@pytest.mark.gpu
@pytest.mark.parametrize(("columns", "n"), [(4096, 4096), (4096, 4001), (1024, 513)])
@pytest.mark.parametrize("num_warps", [4, 8, 16, 32])
def test_gpu_reduces_long_rows(gpu, columns, n, num_warps):
    assert_same_on_gpu(gpu, row_softmax(columns, n, num_warps))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("rows", "columns", "num_warps"),
    [
        (rows, columns, num_warps)
        for rows, columns, num_warps in itertools.product((1, 4, 16), (32, 1024), (1, 4, 8))
        if rows * columns <= 2048 * num_warps  # more does not fit the registers
    ],
)
def test_gpu_normalises_rows(gpu, rows, columns, num_warps):
    case = layer_norm(rows, columns, num_warps)(np.random.default_rng(0))
    pairs = zip(expect(case, run_on(gpu)), expect(case, interpret), strict=True)
    for (
        actual,
        expected,
    ) in pairs:  # sums of small integers are exact; the rest is correctly rounded
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.gpu
def test_gpu_memory_comes_back_strided(gpu):
    data = np.arange(24, dtype=np.float64).reshape(4, 6)
    buffer = gpu.from_host(data)
    np.testing.assert_array_equal(
        gpu.to_host(buffer, 1, data.dtype, (6, 2), (1, 12))[:5], (data.T[1:6, ::2])
    )


@pytest.mark.gpu
def test_gpu_refuses_faulty_text_with_its_log(gpu):
    with pytest.raises(CompileError, match=r"load kernel 'k'"):
        gpu.load(b".version 8.6\n.target sm_80\nnonsense\n", "k", 32, 0)
