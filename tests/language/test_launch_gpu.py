"""Launching kernels on a real GPU: its own arrays, those of other libraries, times."""

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl

pytestmark = pytest.mark.gpu


@lb.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


class Foreign:
    """What CuPy shows of an array of its own."""

    def __init__(self, array, stream):
        self.array, self.stream = array, stream

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.array.node.attrs.storage.pointer, False),
            "version": 3,
            "stream": self.stream,
        }


def test_lazy_arrays():
    a = np.arange(10_000, dtype=np.float32)
    x = lb.asarray(a, device="cuda")
    recorded = x + 1
    kernel = double[(lb.cdiv(a.size, 1024),)](x, a.size, BLOCK=1024)
    np.testing.assert_array_equal(x.numpy(), a * 2)
    np.testing.assert_array_equal(recorded.numpy(), a + 1)
    assert kernel.device == "cuda:0"
    assert kernel.n_regs > 0
    assert kernel.n_spills == 0
    assert ".entry" in kernel.asm["ptx"]


@pytest.mark.parametrize("stream", [None, 1, 2])
def test_arrays_of_other_libraries(stream):
    a = np.arange(1000, dtype=np.float32)
    x = lb.asarray(a, device="cuda")
    foreign = Foreign(x, stream)
    double[(1,)](foreign, a.size, BLOCK=1024)
    np.testing.assert_array_equal(x.numpy(), a * 2)


def test_numpy_arrays_stay_on_the_host():
    x = np.ones(8, np.float32)
    assert double[(1,)](x, 8, BLOCK=8).device == "cpu"
    np.testing.assert_array_equal(x, 2)


def test_do_bench_measures_the_device():
    x = lb.asarray(np.ones(1 << 24, np.float32), device="cuda")
    grid = (lb.cdiv(x.size, 1024),)
    milliseconds = lb.testing.do_bench(lambda: double[grid](x, x.size, BLOCK=1024), rep=20)
    nbytes = 2 * x.nbytes
    assert 100 < nbytes / milliseconds / 1e6 < 20_000  # GB/s


def test_too_large_a_grid_is_told():
    with pytest.raises(lb.errors.LaunchError, match="larger than"):
        double[(1, 70_000)](lb.asarray(np.ones(8, np.float32), device="cuda"), 8, BLOCK=8)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    expected = x * 2
    double[(1,)](x, 1000, BLOCK=1024)
    assert torch.equal(x, expected)


@lb.jit
def meet(x_ptr, count_ptr, BLOCK: tl.constexpr):
    """Every instance waits for all others."""
    tl.atomic_add(count_ptr, 1)
    while tl.load(count_ptr, volatile=True) < tl.num_programs(0):
        pass
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


def test_instances_that_wait_for_each_other_run_at_once():
    x, count = lb.zeros(64 * 32, device="cuda"), lb.zeros(1, dtype="int32", device="cuda")
    meet[(64,)](x, count, BLOCK=32, launch_cooperative_grid=True)
    np.testing.assert_array_equal(x.numpy(), 1)


def test_more_instances_than_run_at_once_are_refused():
    x, count = lb.zeros(32, device="cuda"), lb.zeros(1, dtype="int32", device="cuda")
    with pytest.raises(lb.errors.LazyBlockError, match="meet"):
        meet[(1_000_000,)](x, count, BLOCK=32, launch_cooperative_grid=True)
    np.testing.assert_array_equal(x.numpy(), 0)
