"""Launching kernels: grids, arguments of every kind, in-place semantics, what is compiled when."""

import sys
import threading
from collections import namedtuple
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock import errors, events
from lazyblock.backend.compile import compile_program
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.language.frontend import build_program
from lazyblock.language.specs import Constant, Pointer, Scalar
from lazyblock.language.unparse import unparse
from lazyblock.target import cuda_target

DEVICES = ["cpu", "emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)]


@lb.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


@lb.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


@lb.jit
def store_scalar(out_ptr, value):
    tl.store(out_ptr, value)


@pytest.fixture
def lookups():
    """Names of the kernels that are asked of the cache."""
    seen = []
    with events.listen(lambda e: isinstance(e, events.CacheLookup) and seen.append(e.kernel)):
        yield seen


def numbers(n, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(n).astype(dtype)


def lazy(array, device="cpu"):
    return lb.asarray(array, device=device)


# --- grids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid",
    [(4,), (4, 1), (4, 1, 1), [4], 4, np.int64(4), lambda meta: (lb.cdiv(100, meta["BLOCK"]),)],
    ids=["1", "2", "3", "list", "int", "numpy", "function"],
)
def test_forms_of_a_grid(grid):
    x = numbers(100)
    expected = x * 2
    double[grid](x, 100, BLOCK=32)
    np.testing.assert_array_equal(x, expected)


def test_a_grid_function_sees_arguments_and_options_by_name():
    seen = {}

    def grid(meta):
        seen.update(meta)
        return (1,)

    x = numbers(8)
    double[grid](x, n=8, BLOCK=8, num_warps=2)
    assert seen["x_ptr"] is x
    assert (seen["n"], seen["BLOCK"], seen["num_warps"]) == (8, 8, 2)


@lb.jit
def store_place(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + at, x + 10 * y + 100 * z)


@pytest.mark.parametrize("device", DEVICES)
def test_grids_have_three_axes(device):
    out = lb.zeros((4, 3, 2), dtype=np.int32, device=device)
    store_place[2, 3, 4](out)
    z, y, x = np.indices((4, 3, 2))
    np.testing.assert_array_equal(out.numpy(), x + 10 * y + 100 * z)


@pytest.mark.parametrize("grid", [(0,), (3, 0), 0])
def test_an_empty_grid_launches_nothing(grid):
    x = np.ones(8, np.float32)
    double[grid](x, 8, BLOCK=8)
    np.testing.assert_array_equal(x, 1)


def test_bad_grids_are_told():
    x = np.ones(8, np.float32)
    with pytest.raises(errors.LaunchError, match=r"grid of 'double' is 2\.5, expected integers"):
        double[2.5](x, 8, BLOCK=8)
    with pytest.raises(errors.ValueRangeError, match="1 to 3 extents"):
        double[1, 1, 1, 1](x, 8, BLOCK=8)
    for interpret in (False, True):
        with lb.config.scope(interpret=interpret):
            with pytest.raises(errors.ValueRangeError, match="is negative"):
                double[(-1,)](x, 8, BLOCK=8)
            with pytest.raises(errors.ValueRangeError, match="instances on an axis"):
                double[(2**33,)](x, 8, BLOCK=8)
    with pytest.raises(errors.ValueRangeError, match="num_warps is '4', expected an integer"):
        double[(1,)](x, 8, BLOCK=8, num_warps="4")


# --- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_lazy_arrays_are_evaluated_and_written(device):
    x, y = lazy(numbers(100), device), lazy(numbers(100, seed=1), device)
    out = lb.zeros(100, dtype=np.float32, device=device)
    add_kernel[(4,)](x * 2, y[::-1], out, 100, BLOCK_SIZE=32)
    np.testing.assert_array_equal(out.numpy(), x.numpy() * 2 + y.numpy()[::-1])


@pytest.mark.parametrize("device", DEVICES)
def test_recorded_expressions_keep_what_a_kernel_overwrites(device):
    x = lazy(numbers(64), device)
    before = x.numpy().copy()
    recorded, handed_out, copied = x + 1, x.numpy(), x.copy()
    double[(1,)](x, 64, BLOCK=64)
    np.testing.assert_array_equal(x.numpy(), before * 2)
    np.testing.assert_array_equal(recorded.numpy(), before + 1)
    np.testing.assert_array_equal(handed_out, before)
    np.testing.assert_array_equal(copied.numpy(), before)


def test_a_value_nobody_else_holds_is_written_in_place():
    x = lazy(numbers(64))
    buffer = x.node.attrs.storage.pointer
    double[(1,)](x, 64, BLOCK=64)
    double[(1,)](x, 64, BLOCK=64)
    assert x.node.attrs.storage.pointer == buffer


def test_views_see_what_a_kernel_writes_and_a_view_can_be_written():
    values = numbers(32).reshape(4, 8)
    x = lazy(values)
    row, column = x[2], x[:, 1]
    double[(1,)](x, 32, BLOCK=32)
    np.testing.assert_array_equal(row.numpy(), values[2] * 2)
    np.testing.assert_array_equal(column.numpy(), values[:, 1] * 2)
    double[(1,)](row, 8, BLOCK=8)
    np.testing.assert_array_equal(x.numpy(), values * [[2], [2], [4], [2]])


def test_a_view_that_skips_elements_cannot_be_written():
    x = lazy(np.zeros((4, 8), np.float32))
    x.numpy()
    with pytest.raises(errors.UnsupportedError, match="skips elements"):
        double[(1,)](x[:, ::2], 16, BLOCK=16)


def test_a_copy_that_only_the_launch_needs_lives_until_then():
    a = numbers(64).reshape(8, 8)
    x = lazy(a.T.copy()).T  # its base lies the other way round
    x.numpy()
    out = np.zeros(64, np.float32)
    flat = x.reshape(64)
    for _ in range(3):
        add_kernel[(1,)](flat, x.T.reshape(64), lazy(out), 64, BLOCK_SIZE=64)
    result = lazy(out)
    add_kernel[(1,)](flat, x.T.reshape(64), result, 64, BLOCK_SIZE=64)
    np.testing.assert_array_equal(result.numpy(), (a + a.T).reshape(-1))


def test_views_of_aliased_memory_are_copied_with_their_alignment():
    memory = numbers(65)[1:]  # not aligned, its fourth element is
    x = lb.asarray(memory, device="cpu", copy=False)
    view = x[3:]
    double[(1,)](view, 61, BLOCK=64)
    np.testing.assert_array_equal(x.numpy(), np.where(np.arange(64) < 3, 1, 2) * memory)


def test_one_array_may_be_several_arguments():
    x = lazy(numbers(32))
    before = x.numpy().copy()
    add_kernel[(1,)](x, x, x, 32, BLOCK_SIZE=32)
    np.testing.assert_array_equal(x.numpy(), before * 2)


def test_memory_that_an_array_only_aliases_is_not_written():
    memory = numbers(32)
    before = memory.copy()
    x = lb.asarray(memory, device="cpu", copy=False)
    double[(1,)](x, 32, BLOCK=32)
    np.testing.assert_array_equal(x.numpy(), before * 2)
    np.testing.assert_array_equal(memory, before)


@lb.jit
def copy_strided(x_ptr, out_ptr, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i * stride))


@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_numpy_views_point_to_their_element_zero(step):
    base = numbers(64)
    view, out = base[::step][:16], np.zeros(16, np.float32)
    copy_strided[(1,)](view, out, step, N=16)
    np.testing.assert_array_equal(out, view)
    double[(1,)](base[5:9], 4, BLOCK=4)
    np.testing.assert_array_equal(base[5:9], numbers(64)[5:9] * 2)


def test_read_only_arrays_are_refused_where_they_would_be_written():
    x, out = numbers(32), numbers(32)
    x.setflags(write=False)
    add_kernel[(1,)](x, x, out, 32, BLOCK_SIZE=32)
    with pytest.raises(errors.LaunchError, match="'double' writes into argument 'x_ptr'"):
        double[(1,)](x, 32, BLOCK=32)
    np.testing.assert_array_equal(out, x + x)


@pytest.mark.parametrize(
    "dtype",
    [np.int8, np.int64, np.uint16, np.uint64, np.float16, np.float64, ml_dtypes.bfloat16],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_dtypes_of_arrays(dtype):
    x = np.arange(8).astype(dtype)
    double[(1,)](x, 8, BLOCK=8)
    np.testing.assert_array_equal(x, np.arange(8).astype(dtype) * np.asarray(2, dtype))


def test_a_dtype_without_a_type_of_the_language_is_told():
    with pytest.raises(errors.DTypeError, match="arrays of complex64"):
        double[(1,)](np.zeros(8, np.complex64), 8, BLOCK=8)


class Exporting:
    """An array of another library, seen through one protocol."""

    def __init__(self, array, protocol):
        self.array = array
        self.protocol = protocol


class WithDlpack(Exporting):
    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class WithInterface(Exporting):
    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class WithPointer(Exporting):
    dtype = "mylib.float32"

    def data_ptr(self):
        return self.array.ctypes.data


class WithType(WithPointer):
    dtype = tl.float32


@pytest.mark.parametrize("kind", [WithDlpack, WithInterface, WithPointer, WithType])
def test_arrays_of_other_libraries(kind):
    x = numbers(32)
    expected = x * 2
    double[(1,)](kind(x, ""), 32, BLOCK=32)
    np.testing.assert_array_equal(x, expected)


class LikeTorch(WithPointer):
    """What torch shows NumPy as integers only."""

    dtype = "torch.bfloat16"

    def detach(self):
        return self

    def numpy(self):
        assert self.array.dtype != ml_dtypes.bfloat16
        return self.array

    def view(self, dtype):
        return LikeTorch(self.array.view(dtype), "")


def test_bfloat16_of_torch_is_interpreted(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16=np.int16))
    x = numbers(32).astype(ml_dtypes.bfloat16)
    expected = x * 2
    with lb.config.scope(interpret=True):
        double[(1,)](LikeTorch(x, ""), 32, BLOCK=32)
    np.testing.assert_array_equal(x, expected)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x, y = torch.rand(1000), torch.rand(1000)
    out = torch.empty_like(x)
    add_kernel[(8,)](x, y, out, 1000, BLOCK_SIZE=128)
    assert torch.equal(out, x + y)


def test_arrays_must_be_on_one_device():
    x, y = numbers(32), lazy(numbers(32), "emulated:sm_90a")
    with pytest.raises(errors.LaunchError, match=r"different devices: 'cpu' and 'emulated:sm_90a'"):
        add_kernel[(1,)](x, y, x, 32, BLOCK_SIZE=32)


def test_numpy_arrays_run_on_the_cpu_whatever_the_default_device():
    with lb.config.scope(device="emulated:sm_90a"):
        kernel = double[(1,)](numbers(8), 8, BLOCK=8)
        assert kernel.device == "cpu"


def test_a_traced_function_cannot_launch():
    @lb.compile
    def traced(x):
        double[(1,)](x, 8, BLOCK=8)
        return x

    with pytest.raises(errors.UnsupportedError, match=r"lb\.call"):
        traced(lazy(numbers(8)))


# --- numbers, constants, tuples ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (7, np.int32),
        (-(2**31), np.int32),
        (2**31, np.int64),
        (2**63, np.uint64),
        (np.int64(7), np.int32),
        (1.5, np.float32),
        (np.float64(0.1), np.float32),
        (1e300, np.float32),
        (True, np.int8),
        (np.bool_(False), np.int8),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_by_value(value, dtype):
    out = np.zeros(1, np.float64)
    kernel = store_scalar[(1,)](out, value)
    assert out[0] == np.asarray(value).astype(dtype)
    element = str(kernel.block.program.parameters[1].value.type)
    names = {np.int32: "i32", np.int64: "i64", np.uint64: "u64", np.float32: "f32", np.int8: "i1"}
    assert element == names[dtype]


def test_numbers_beyond_64_bits_are_told():
    with pytest.raises(OverflowError, match="64 bits"):
        store_scalar[(1,)](np.zeros(1), 2**64)


@lb.jit
def annotated(out_ptr, a: tl.int64, b: tl.float64, c: tl.int8):
    tl.store(out_ptr, a * 4 + b + c)


def test_annotations_decide_on_the_type():
    out = np.zeros(1)
    kernel = annotated[(1,)](out, 2**31, 0.1, 3)
    assert out[0] == 2.0**33 + 0.1 + 3
    types = [str(p.value.type) for p in kernel.block.program.parameters]
    assert types == ["*f64", "i64", "f64", "i8"]
    with pytest.raises(errors.LaunchError, match="'c' is 300, which i8 cannot hold"):
        annotated[(1,)](out, 1, 0.1, 300)
    with pytest.raises(errors.DTypeError, match="A float cannot be an argument of type int64"):
        annotated[(1,)](out, 1.5, 0.1, 3)


Pair = namedtuple("Pair", ["first", "second"])


class Size(tuple):
    """As torch's shapes are: made of one sequence."""


@lb.jit
def use_tuple(out_ptr, pair, scale: tl.constexpr, missing, fn: tl.constexpr):
    if missing is None:
        tl.store(out_ptr, fn(pair[0], pair[1]) * scale[1])


@lb.jit
def multiply(a, b):
    return a * b


def test_tuples_none_functions_and_constants():
    out = np.zeros(1, np.float32)
    use_tuple[(1,)](out, (3, 4.0), (5, 6), None, multiply)
    assert out[0] == 72
    use_tuple[(1,)](out, Pair(2, 2), [5, 7], None, multiply)
    assert out[0] == 28
    use_tuple[(1,)](out, [2, 3], [5, 7], None, multiply)
    assert out[0] == 42
    use_tuple[(1,)](out, Size([2, 4]), [5, 7], None, multiply)
    assert out[0] == 56


@lb.jit
def store_sum(out_ptr, x_ptr: "*fp32", extra: tl.int32):  # noqa: F722
    total = 0.0
    if x_ptr is not None:
        total += tl.load(x_ptr)
    if extra is not None:
        total += extra
    tl.store(out_ptr, total)


def test_none_stands_for_annotated_arguments_too():
    out = np.zeros(1, np.float32)
    store_sum[(1,)](out, np.ones(1, np.float32), 2)
    assert out[0] == 3
    store_sum[(1,)](out, None, None)
    assert out[0] == 0
    with pytest.raises(errors.DTypeError, match=r"int cannot be an argument of type pointer<fp32>"):
        store_sum[(1,)](out, 3, None)


@lb.jit
def store_as(out_ptr, dtype: tl.constexpr, value: tl.constexpr):
    tl.store(out_ptr, tl.full((), value, dtype))


def test_dtypes_and_floats_as_constants():
    out = np.zeros(1)
    store_as[(1,)](out, tl.float16, 0.1)
    assert out[0] == np.float16(0.1)
    for half in (lb.float16, np.dtype("float16"), np.float16):
        store_as[(1,)](out, half, 0.2)
        assert out[0] == np.float16(0.2)
        out[0] = 0
    store_as[(1,)](out, lb.bfloat16, 0.2)
    assert out[0] == lb.bfloat16(0.2)
    store_as[(1,)](out, tl.float32, tl.constexpr(-0.0))
    assert np.signbit(out[0])
    store_as[(1,)](out, tl.float32, 0.0)
    assert not np.signbit(out[0])


def test_what_no_kernel_takes_is_told():
    with pytest.raises(errors.DTypeError, match="argument of type dict"):
        store_scalar[(1,)](np.zeros(1), {})
    with pytest.raises(errors.DTypeError, match="ndarray cannot be a constexpr argument"):
        store_as[(1,)](np.zeros(1), tl.float32, np.zeros(2))


# --- calling -------------------------------------------------------------------------------------


def test_mistakes_of_a_call_are_told():
    x = numbers(8)
    with pytest.raises(TypeError, match=r"double\(\) missing 1 required positional argument: 'n'"):
        double[(1,)](x, BLOCK=8)
    with pytest.raises(errors.LaunchError, match="no option 'num_warp'"):
        double[(1,)](x, 8, BLOCK=8, num_warp=4)
    with pytest.raises(errors.ValueRangeError, match="num_warps is 3, expected a power of two"):
        double[(1,)](x, 8, BLOCK=8, num_warps=3)
    with pytest.raises(errors.CompileError, match=r"launch it on a grid: double\[grid\]"):
        double(x, 8, BLOCK=8)


def test_options_of_tritons_launches_are_accepted():
    x = np.ones(8, np.float32)
    double[(1,)](x, 8, BLOCK=8, num_stages=2, num_ctas=1, maxnreg=64, extern_libs={"a": "b"})
    np.testing.assert_array_equal(x, 2)


def test_registers_are_limited_where_a_launch_asks_for_it():
    arguments = {"x_ptr": Pointer(tl.float32), "n": Scalar(tl.int32), "BLOCK": Constant(8)}
    arguments = dict(zip(double.arg_names, arguments.values(), strict=True))
    program = build_program(double, arguments, maxnreg=40)
    assert '"nvvm.maxnreg"="40"' in emit_nvptx(program, cuda_target("sm_90a")).llvm
    assert "maxnreg=40" in unparse(program, (1, 1, 1))
    assert "maxnreg" not in unparse(build_program(double, arguments), (1, 1, 1))


def test_launches_can_ask_that_all_instances_run_at_once():
    arguments = {"x_ptr": Pointer(tl.float32), "n": Scalar(tl.int32), "BLOCK": Constant(8)}
    arguments = dict(zip(double.arg_names, arguments.values(), strict=True))
    program = build_program(double, arguments, launch_cooperative_grid=True)
    assert compile_program(program, cuda_target("sm_90a"), "key", "").is_cooperative
    assert "launch_cooperative_grid=True" in unparse(program, (1, 1, 1))
    assert "cooperative" not in unparse(build_program(double, arguments), (1, 1, 1))


def test_defaults_and_run():
    @lb.jit
    def fill(out_ptr, value=3, N: tl.constexpr = 4):
        tl.store(out_ptr + tl.arange(0, N), value)

    out = np.zeros(4, np.int32)
    fill.run(out, grid=(1,))
    np.testing.assert_array_equal(out, 3)
    fill[(1,)](out, 5)
    np.testing.assert_array_equal(out, 5)


def test_hooks_run_before_a_launch():
    seen = []

    @lb.jit
    def fill(out_ptr):
        tl.store(out_ptr, 1)

    fill.pre_run_hooks.append(lambda *args, **kwargs: seen.append((len(args), kwargs)))
    fill[(1,)](np.zeros(1), num_warps=1)
    assert seen == [(1, {"num_warps": 1})]


def test_a_bound_launch_uses_the_memory_it_was_bound_to():
    x = np.ones(8, np.float32)
    launch = double.bind_launch((1,), x, 8, BLOCK=8)
    for _ in range(3):
        launch()
    np.testing.assert_array_equal(x, 8)


# --- what is compiled when -----------------------------------------------------------------------


def make_double():
    """A kernel that was never launched."""
    return lb.jit(double.fn)


def test_new_sizes_and_values_compile_nothing(lookups):
    double = make_double()
    for n in (1, 7, 100, 1023):
        x = numbers(n)
        double[(lb.cdiv(n, 64),)](x, n, BLOCK=64)
    assert lookups == ["double"]
    for n in (16, 1024):
        double[(lb.cdiv(n, 64),)](numbers(n), n, BLOCK=64)
    assert lookups == ["double"] * 2


def test_what_compiles_anew(lookups):
    double = make_double()
    x = numbers(64)
    double[(1,)](x, 61, BLOCK=16)
    for launch in (
        lambda: double[(1,)](x[1:], 61, BLOCK=16),  # an address that is not aligned
        lambda: double[(1,)](x.astype(np.float16), 61, BLOCK=16),
        lambda: double[(1,)](x, 61, BLOCK=32),
        lambda: double[(1,)](x, 61, BLOCK=16, num_warps=8),
        lambda: double[(1,)](x, 2**40 + 1, BLOCK=16),
    ):
        lookups.clear()
        launch()
        assert lookups == ["double"]
        launch()
        assert lookups == ["double"]


def test_listeners_are_told_why_a_kernel_is_compiled():
    double = make_double()
    told = []
    with events.listen(lambda e: isinstance(e, events.Specialisation) and told.append(e)):
        double[(1,)](numbers(16), 16, BLOCK=16)
        double[(1,)](numbers(16), 15, BLOCK=16)
        double[(1,)](numbers(16), 15, BLOCK=16, num_warps=2)
    assert told[0].arguments == (
        "x_ptr: aligned float32 array on cpu, n: i32, a multiple of 16, BLOCK: constant 16"
    )
    assert [event.reason for event in told] == [
        "the first of its kind",
        "n was i32, a multiple of 16",
        "other options, settings or text",
    ]


def test_alignment_can_be_left_out(lookups):
    def body(x_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, 1.0, mask=i < n)

    kernel = lb.jit(body, do_not_specialize=["n"], do_not_specialize_on_alignment=[0])
    x = numbers(64)
    for n, memory in ((16, x), (17, x), (16, x[1:])):
        kernel[(1,)](memory, n, BLOCK=16)
    assert lookups == ["body"]


def test_options_equal_to_the_defaults_are_no_other_kernel(lookups):
    double = make_double()
    x = numbers(64)
    for options in ({}, {"num_warps": 4}, {"num_warps": 4, "num_stages": 3}):
        double[(1,)](x, 60, BLOCK=64, **options)
    assert len(lookups) == 1


SCALE = tl.constexpr(2)


def test_a_global_that_changes_compiles_anew():
    global SCALE

    @lb.jit
    def scale(x_ptr):
        tl.store(x_ptr, tl.load(x_ptr) * SCALE)

    x = np.ones(1, np.float32)
    scale[(1,)](x)
    SCALE = tl.constexpr(5)
    scale[(1,)](x)
    SCALE = tl.constexpr(2)
    assert x[0] == 10


def test_kernels_launched_by_several_threads_at_once_compile_once(lookups):
    @lb.jit
    def count(x_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)

    arrays = [np.zeros(64, np.float32) for _ in range(8)]

    def work(x):
        for _ in range(50):
            count[(1,)](x, N=64)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x in arrays:
        np.testing.assert_array_equal(x, 50)
    assert lookups == ["count"]


# --- looking inside ------------------------------------------------------------------------------


def test_warmup_compiles_without_running():
    kernel = add_kernel.warmup(np.float32, lb.float32, tl.float32, 100, BLOCK_SIZE=64, grid=(1,))
    assert set(kernel.asm) == {"source", "ttir", "llir", "asm"}
    assert "def add_kernel" in kernel.asm["source"]
    assert kernel.metadata.num_warps == 4
    assert kernel.metadata.name == "add_kernel"
    assert (kernel.n_spills, kernel.metadata.shared) == (0, 0)
    x, out = numbers(100), np.zeros(100, np.float32)
    kernel[(2,)](x, x, out, 100)
    np.testing.assert_array_equal(out, x + x)
    with pytest.raises(errors.LaunchError, match="compiled for other arguments"):
        kernel[(2,)](x.astype(np.float16), x, out, 100)


def test_warmup_for_a_gpu_that_is_not_there():
    with lb.config.scope(device="emulated:sm_80"):
        kernel = add_kernel.warmup(np.float32, np.float32, np.float32, 100, BLOCK_SIZE=64)
    assert kernel.device == "emulated:sm_80"
    assert "llir" in kernel.asm


def test_a_kernel_can_be_named_for_what_it_is_compiled_for():
    @lb.jit(repr=lambda spec: f"{spec.name}_{spec.constants['N']}_{spec.signature['x_ptr'][1:]}")
    def fill(x_ptr, N: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, N), 1)

    assert fill[(1,)](np.zeros(4, np.float32), N=4).name == "fill_4_fp32"


@pytest.mark.parametrize("device", DEVICES)
def test_any_name_of_python_names_a_kernel(device):
    @lb.jit
    def größe(ziel_ptr, größe_n, Δ: tl.constexpr):
        stellen = tl.arange(0, Δ)
        tl.store(ziel_ptr + stellen, größe_n)

    out = lb.zeros(4, dtype=np.float32, device=device)
    größe[(1,)](out, 3, Δ=4)
    np.testing.assert_array_equal(out.numpy(), 3)


def test_launches_are_told_to_listeners():
    seen = []
    with events.listen(lambda e: isinstance(e, events.KernelLaunch) and seen.append(e)):
        double[(2,)](numbers(8), 8, BLOCK=4)
    assert seen == [events.KernelLaunch("double", (2, 1, 1), "cpu")]


def test_sanitized_launches_find_a_missing_mask():
    @lb.jit
    def unmasked(x_ptr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + i, 1.0)

    with (
        lb.config.scope(sanitize=True),
        pytest.raises(errors.SanitizerError, match="out-of-bounds write at offset 20 of 'x_ptr'"),
    ):
        unmasked[(3,)](numbers(20), BLOCK=8)
