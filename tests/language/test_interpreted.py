"""Interpreter mode: the Python body itself runs, and means what the compiled kernel means."""

import os
import subprocess
import sys

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock import errors


def softmax_body(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


compiled, interpreted = lb.jit(softmax_body), lb.jit(softmax_body, interpret=True)


@pytest.mark.parametrize("make", [np.array, lb.asarray], ids=["numpy", "lazy"])
def test_interpreted_is_compiled(make):
    x = np.random.default_rng(0).standard_normal((5, 13)).astype(np.float32)
    results = []
    for kernel in (compiled, interpreted):
        out = make(np.zeros_like(x))
        kernel[(5,)](make(x), out, 13, BLOCK=16)
        results.append(np.asarray(out))
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_python_runs_the_body(capsys):
    seen = []

    @lb.jit(interpret=True)
    def look(x_ptr, n):
        seen.append(tl.program_id(0))
        i = tl.arange(0, 4)
        x = tl.load(x_ptr + i, mask=i < n)
        if tl.sum(x, axis=0) > 3:
            print("sum", tl.sum(x, axis=0))
        tl.store(x_ptr + i, x + 1, mask=i < n)

    x = np.ones(3, np.float32)
    assert look[(3,)](x, 3) is None
    assert [repr(place) for place in seen] == [f"tensor({n}, int32)" for n in range(3)]
    np.testing.assert_array_equal(x, 4)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == ["sum", "sum"]
    assert "6" in printed[0]
    assert "9" in printed[1]


def test_a_kernel_that_was_compiled_is_interpreted_all_the_same():
    @lb.jit(interpret=True)
    def fill(x_ptr):
        tl.store(x_ptr + 1, 1)

    x = np.zeros(2, np.float32)
    fill.warmup(np.float32)
    fill[(1,)](x)
    assert x[1] == 1
    with pytest.raises(errors.LaunchError, match="touches element 1"):
        fill[(1,)](x[:1])


def test_a_debugger_stops_in_the_body(monkeypatch):
    seen = {}

    def stop():
        frame = sys._getframe(1)
        seen.update(frame.f_locals, line=frame.f_lineno, file=frame.f_code.co_filename)

    monkeypatch.setattr(sys, "breakpointhook", stop)

    @lb.jit(interpret=True)
    def kernel(x_ptr):
        x = tl.load(x_ptr + tl.arange(0, 4))
        breakpoint()
        tl.store(x_ptr + tl.arange(0, 4), x * 2)

    kernel[(1,)](np.arange(4.0))
    assert seen["file"] == __file__
    assert seen["line"] >= kernel.fn.__code__.co_firstlineno
    assert "x" in seen


def test_accesses_out_of_bounds_are_told():
    with pytest.raises(errors.LaunchError, match=r"touches element 8 of 'x_ptr', which has 8"):
        interpreted[(1,)](np.zeros(8, np.float32), np.zeros(16, np.float32), 9, BLOCK=16)


def test_views_of_one_array_share_memory():
    x = lb.asarray(np.arange(8, dtype=np.float32))
    x.numpy()

    @lb.jit(interpret=True)
    def move(a_ptr, b_ptr):
        i = tl.arange(0, 4)
        tl.store(b_ptr + i, tl.load(a_ptr + i))
        tl.store(b_ptr - 1, 7.0)

    recorded = x + 0
    move[(1,)](x[:4], x[4:])
    np.testing.assert_array_equal(x.numpy(), [0, 1, 2, 7, 0, 1, 2, 3])
    np.testing.assert_array_equal(recorded.numpy(), np.arange(8))


def test_the_environment_switches_it_on(tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(
        "import numpy as np\n"
        "import lazyblock as triton\n"
        "import lazyblock.language as tl\n\n"
        "seen = []\n\n"
        "@triton.jit\n"
        "def fill(x_ptr, N: tl.constexpr):\n"
        "    seen.append(1)\n"
        "    tl.store(x_ptr + tl.arange(0, N), 3)\n\n"
        "x = np.zeros(4)\n"
        "fill[(2,)](x, N=4)\n"
        "print(x.tolist(), len(seen))\n"
    )
    environment = {**os.environ, "LAZYBLOCK_INTERPRET": "1"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[3.0, 3.0, 3.0, 3.0] 2\n"


@pytest.mark.parametrize("settings", [{"interpret": True}, {"sanitize": True}], ids=str)
def test_arrays_of_rank_0_are_written(settings):
    @lb.jit
    def total(x_ptr, out_ptr):
        tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 8))))

    out = np.zeros((), np.float32)
    with lb.config.scope(**settings):
        total[(1,)](np.arange(8, dtype=np.float32), out)
    assert out == 28


class Buffer:
    """An address with a shape and strides, as libraries make them for negative strides."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, "torch.float32", array.shape

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return [nbytes // self.array.itemsize for nbytes in self.array.strides]


@pytest.mark.parametrize("settings", [{}, {"interpret": True}, {"sanitize": True}], ids=str)
def test_buffers_tell_their_extent_by_shape_and_strides(settings):
    @lb.jit
    def copy(x_ptr, out_ptr, stride):
        i = tl.arange(0, 4)
        tl.store(out_ptr + i, tl.load(x_ptr + i * stride))

    x, out = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    with lb.config.scope(**settings):
        copy[(1,)](Buffer(x[::-2]), Buffer(out), -2)
    np.testing.assert_array_equal(out, x[::-2])
    with lb.config.scope(interpret=True), pytest.raises(errors.LaunchError, match="which has 7"):
        copy[(1,)](Buffer(x[::2]), Buffer(out), 3)


def test_read_only_arrays_are_not_written():
    x = np.zeros(8, np.float32)
    out = np.zeros(8, np.float32)
    out.flags.writeable = False
    with pytest.raises(errors.LaunchError, match=r"'store' at .* writes into 'out_ptr'"):
        interpreted[(1,)](x, out, 8, BLOCK=8)


@pytest.mark.parametrize("settings", [{}, {"interpret": True}], ids=str)
def test_addresses_in_plain_integers_are_followed(settings):
    @lb.jit
    def gather(table_ptr, out_ptr):
        x_ptr = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
        tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr + 1))

    arrays = [np.arange(4, dtype=np.float32) + start for start in (0, 10)]
    table, out = np.array([x.ctypes.data for x in arrays]), np.zeros(2, np.float32)
    with lb.config.scope(**settings):
        gather[(2,)](table, out)
    np.testing.assert_array_equal(out, [1, 11])
