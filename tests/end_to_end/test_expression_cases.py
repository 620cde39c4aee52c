"""Expressions on which array fusers have gone wrong, each checked in every way (helpers/ways).

`case` gives a test the numbers of the public faults whose kind it covers; `CASES` lists them all.
"""

import gc
import itertools
import re
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors, events
from tests.helpers.ways import check, lazy, results

f16, f32, f64 = np.float16, np.float32, np.float64
i8, i32, i64, u8, u32, u64 = np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64
bf16 = lb.bfloat16

case = pytest.mark.case
pytestmark = pytest.mark.usefixtures("default_device")
CASES = """
    01 03 04 06 08 10 11 12 13 14 15 17 19 20 22 23 25 26 27 29 30 31 32 33 34 36 37 38 40 41
    42 44 45 46 47 51 52 53 54 56 57 58 59 60 61 62 63 64 65 67 68 69 70 71 73 74 75 76 77 78
    79 80 81 82 83 84 86 87 89 90 91 92 93 94 95
"""


def test_every_case_is_a_test():
    named = set()
    for file in Path(__file__).parents[1].rglob("test_*.py"):
        for numbers in re.findall(r"^@(?:pytest\.mark\.)?case\((.*)\)$", file.read_text(), re.M):
            named |= set(re.findall(r"BR-(\d+)", numbers))
    assert named == set(CASES.split())


# Blocks, tails, identities


@case("BR-04")
@pytest.mark.parametrize("width", [1, 2, 3, 33, 48, 96, 127, 128, 129, 1000])
def test_rows_of_any_width_reduce_to_the_last_element(width):
    check(lambda xp, x: (x.sum(1), x.max(1), x.min(1)), np.arange(5.0 * width).reshape(5, width))
    check(lambda xp, x: x.sum(), np.arange(1, width + 1, dtype=f32))


@case("BR-08")
@pytest.mark.parametrize("shape", [(2,), (3,), (4, 33), (5, 128)])
def test_extremes_of_infinities_are_infinite(shape):
    high = np.full(shape, np.inf)
    check(lambda xp, x: (x.min(), (-x).max(), x.min(axis=-1), (-x).max(axis=0)), high)


@case("BR-12")
def test_reductions_of_nothing_give_their_identity():
    def identities(xp, x):
        return x.sum(0), x.prod(), x.mean(0), x.max(axis=1), x.any(axis=0), x.all(axis=0)

    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        check(identities, np.empty((0, 3)))


@case("BR-12")
@pytest.mark.parametrize(("shape", "axis"), [((0, 3), None), ((0, 3), 0), ((0, 0), 1)])
def test_extremes_of_nothing_are_refused(shape, axis):
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        lazy(np.empty(shape)).max(axis=axis)


@case("BR-14")
def test_nan_reaches_extremes_and_clipping():
    x = np.zeros((4, 33), f32)
    x[2, 32] = np.nan
    check(lambda xp, x: (x.max(1), x.min(1), xp.maximum(x, 1.0), xp.clip(x, 0, 1), x.max()), x)
    check(lambda xp, x: (xp.fmax(x, 1), xp.fmin(x, -1)), x)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 64, 100, 5000])
def test_sums_of_negative_zeros_are_zero(count):
    x = np.full((count, 2), -0.0, f32)
    check(lambda xp, x: (x.sum(0), x.sum(1), x.sum(), x.mean(0)), x)
    check(lambda xp, x: x.T.sum(1, keepdims=True), x[:, :1])


@pytest.mark.parametrize("n", [(1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_003])
def test_long_reductions_keep_every_element(n):
    x = np.random.default_rng(0).integers(-1000, 1000, n)

    def reductions(xp, x):
        return x.sum(), (x | 1).prod(), x.max(), x.min(), (x == 5000).any(), (x < 1000).all()

    check(reductions, x)


@pytest.mark.parametrize("shape", [(3, 1 << 17), (1 << 17, 3), (5, 30_000, 3), (2, 70_001, 2)])
def test_reductions_over_any_axes_of_long_arrays(shape):
    x = np.random.default_rng(0).integers(-1000, 1000, shape)
    every = [
        c for k in range(1, len(shape) + 1) for c in itertools.combinations(range(len(shape)), k)
    ]
    check(lambda xp, x: tuple(x.sum(axis=axes) for axes in every), x)
    check(lambda xp, x: tuple(x[::-1].T.min(axis=axes, keepdims=True) for axes in every), x)


@case("BR-90")
@pytest.mark.parametrize("start", [0, 1])
def test_masked_tails_at_every_small_size(start):
    for n in range(start, 70, 3):
        check(lambda xp, x: xp.where(x > 0.5, x + 1, x), np.linspace(0, 1, n))


# The sizes at which blocks of the CPU and of GPUs begin and end; 1,000,003 are many blocks
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 127, 128, 129, 255, 256, 257, 1000, 1_000_003])
def test_every_kind_of_operation_at_any_size(n):
    def operations(xp, x):
        y = xp.where(x % 3 == 1, x[::-1], x * 2)
        z = xp.zeros(n + 2, dtype=x.dtype)
        z[1:-1] = y
        running = xp.cumsum(x[::-1])[::-1]
        return y, z, running, x.sum(), (x > 1).any(), xp.pad(y, 1)[1:], xp.take(x, x, mode="wrap")

    check(operations, np.arange(n), is_emulated=n in (1, 9))


@case("BR-89")
@pytest.mark.parametrize("length", [1, 2, 3, 11, 1000])
def test_reversed_running_sums(length):
    def suffix_sums(xp, x):
        return xp.cumsum(x[:, ::-1], axis=1)[:, ::-1], xp.cumsum(x.T[::-1], axis=0)[::-1]

    check(suffix_sums, np.arange(2.0 * length).reshape(2, length))


@case("BR-15", "BR-87")
def test_complex_extremes():
    nan = np.array([0.5 + 3.7j, complex(0.7, np.nan), complex(np.nan, -3.9)])
    check(lambda xp, z: (xp.max(z), xp.min(z[::-1]), xp.max(z[:1])), nan)
    z = np.array([3 + 4j, -5 + 12j, 8 - 6j] * 300, np.complex64)
    check(lambda xp, z: (xp.max(z), xp.min(z)), z)
    check(lambda xp, z: xp.max(xp.abs(z)), z, rtol=1e-7)


# Views


@case("BR-20")
def test_reversed_views_read_their_own_elements():
    check(lambda xp, x: xp.exp(x[::-1] * 0) + x[::-1], np.arange(7.0))
    check(lambda xp, x: (x[::-1, ::-2] * 2, x[::-1, ::-2].sum(0)), np.arange(35.0).reshape(5, 7))


def test_evaluating_a_view_with_its_base_keeps_both_shapes():
    x = np.arange(12.0).reshape(3, 4)

    def base_and_views(xp, x):
        base = x + 1
        return base, base.reshape(4, 3), base[:0], base.T, xp.broadcast_to(base, (2, 3, 4)), base[1]

    check(base_and_views, x)


def test_reshapes_of_evaluated_transposes_are_copies():
    x = lazy(np.arange(12).reshape(3, 4))
    turned = (x + 1).T
    lb.eval(turned)
    flat = turned.reshape(-1)
    np.testing.assert_array_equal(flat.numpy(), (np.arange(12).reshape(3, 4) + 1).T.reshape(-1))


# Integers


@case("BR-27")
def test_integer_division_rounds_down():
    a, b = np.array([-7, 7, -8, 8]), np.array([2, -2, 3, -3])
    check(lambda xp, a, b: (a // b, a % b, xp.fmod(a, b)), a, b)
    check(lambda xp, a, b: (a // b, a % b), a.astype(i8), b.astype(i8))
    check(lambda xp, a, b: (a // b, a % b), np.array([-5.5, 5.5]), np.array([3.0, -3.0]))


@case("BR-29")
def test_negated_floor_division_rounds_up():
    check(lambda xp, a: -(-a // 5), np.array([-36, 36, -35]))


@case("BR-30")
@pytest.mark.parametrize("dtype", [i8, i32, i64, u8, u32, u64])
def test_shifts_beyond_the_width(dtype):
    bits = np.iinfo(dtype).bits
    counts = np.array([0, 1, bits - 1, bits, bits + 1, 100], dtype)
    check(lambda xp, n: (dtype(100) << n, dtype(100) >> n), counts)
    if np.iinfo(dtype).min:
        check(lambda xp, n: dtype(-100) >> n, counts)


@case("BR-31")
def test_right_shifts_keep_the_sign():
    check(lambda xp, x: (((x - 5) >> 1) + 1, xp.full(3, -1) >> 31), np.arange(3))


@case("BR-32")
@pytest.mark.parametrize("dtype", [i8, i32, i64, u8, u64])
def test_integer_division_by_zero_gives_zero(dtype):
    a, low = np.array([7, 100, 0], dtype), np.full(3, np.iinfo(dtype).min)
    check(lambda xp, a, b: (a // b, a % b), a, np.zeros(3, dtype))
    if np.iinfo(dtype).min:
        check(lambda xp, a: (a // dtype(-1), a % dtype(-1)), low)


@case("BR-33", "BR-34")
def test_integer_powers_wrap():
    check(lambda xp, a, b: a**b, np.array([10, 3, -3, 0, 1, 2]), np.array([25, 50, 3, 64, 64, 64]))
    check(lambda xp, a, b: a**b, np.array([10, 3, 2], u8), np.array([25, 5, 8], u8))


@case("BR-37")
def test_wide_integers_keep_their_upper_bits():
    check(lambda xp, x: -x, np.array([2**31, 2**40, 2**63 - 1, -(2**63)]))


@case("BR-38", "BR-40")
def test_small_unsigned_results_wrap_before_they_are_used():
    check(lambda xp, x: (-x, (-x) > 5, (x + x) // 2), np.array([1, 255], u8))
    check(lambda xp, x: (x * 2 + 1, x + 1), np.array([1, 2**32 - 1], u32))


# Dtypes


@case("BR-41", "BR-42")
def test_python_numbers_are_weak_and_numpy_numbers_are_not():
    x = np.ones(2, f32)
    check(lambda xp, x: x * (2.0 * 1.0), x)
    check(lambda xp, x, h: x * (2.0 * h), x, f32(1))
    check(lambda xp, x: x * (2.0 * f64(1)), x)
    check(lambda xp, x, h: (1.0 - (x * x) / (h * h), 1 + h * h * x), np.ones((10, 20), f32), f32(5))


@case("BR-44")
def test_integer_sums_are_wide():
    check(lambda xp, a: (a**2, (a**2).sum(), a.sum()), np.array([16, 17], u8))
    check(lambda xp, a: (a.sum(), a.prod(), a.mean()), np.array([2**31 - 1, 2**31 - 1], i32))


@case("BR-45")
def test_arithmetic_of_bools():
    check(lambda xp, b: (b + b, b * b, b.sum(), b.max(), b.mean()), np.array([True, False]))
    for refused in (lambda b: b - b, lambda b: -b):
        with pytest.raises(TypeError, match="boolean"):
            refused(lazy([True, False]))


@case("BR-46")
def test_python_ints_out_of_range():
    check(lambda xp, x: x + 2**63, np.zeros(3, u64))
    with pytest.raises(OverflowError, match="300"):
        lazy(np.zeros(3, i8)) + 300


@case("BR-47")
def test_unsigned_meets_signed():
    check(lambda xp, a, b: (a + 1, a + b, a > b, a < b, a == b), u64([2**63]), i64([-1]))
    check(lambda xp, a: (a > -1, a == -1, a < 256), np.array([200], u8))


# Precision


@case("BR-51")
def test_a_half_value_is_one_value_in_every_kernel():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 1000)).astype(f16)
    h = a * b

    def product(xp, a, b):
        h = a * b
        return h, h.sum(), (h - b).max()

    right = (h, h.astype(f32).sum(dtype=f32).astype(f16), (h - b).max())
    check(product, a, b, expected=right)


@case("BR-52")
def test_variance_of_values_far_from_zero():
    x = f32(1e4) + np.arange(1000, dtype=f32) % 7
    check(lambda xp, x: (x.var(), x.std()), x, rtol=1e-4)
    row = f32(1449) + np.linspace(0, 1, 16, dtype=f32)
    wide = row.astype(f64)
    right = ((wide - wide.mean()) / wide.std()).astype(f32)
    check(lambda xp, x: (x - x.mean()) / x.std(), row, expected=right, rtol=1e-3)


def test_variance_of_many_values_far_from_zero():
    x = f32(1e4) + np.arange(1 << 20, dtype=f32) % 7
    right = x.astype(f64).var().astype(f32)
    # thousands of squares add up in one float32 lane
    check(lambda xp, x: x.var(), x, expected=right, rtol=1e-4)


def test_variance_of_equal_values_is_no_nan():
    for value in (0.1, 1e4 + 0.1, 1e-15):
        x = np.full(1000, value, f32)
        for way in results(lambda xp, x: x.std(), x):
            assert way[0] <= 1e-5 * value


@case("BR-53", "BR-54")
def test_sums_of_half_types_accumulate_in_float32():
    check(lambda xp, x: x.mean(), np.full(2**20, 1e-5, f16), expected=f16(1e-5))
    check(lambda xp, x: x.sum(), np.full(1000, 0.5, bf16), expected=np.asarray(500, bf16))


@case("BR-86")
def test_special_literals_keep_their_value():
    x, m = np.array([[1.0], [2.0]]), np.array([True, False])
    check(lambda xp, x, m: xp.where(m[:, None], x, xp.inf), x, m)
    check(lambda xp, x: (xp.full(2, xp.nan) + x, x * -0.0, x + 1e400, x * 5e-324), x)


@case("BR-92")
def test_constant_masks_and_factors_keep_shape_and_nan():
    x, y = np.array([1.0, np.nan, np.inf]), np.zeros(3)
    check(lambda xp, x, y: xp.where(xp.zeros(3, dtype=bool), x, y), x, y)
    check(lambda xp, x, y: (x * 0, x - x, xp.where(True, x, y), xp.isfinite(y.sum() > 1)), x, y)


def test_constants_are_results_beside_their_users():
    check(lambda xp, x: (xp.isfinite(x), x + xp.isfinite(x), xp.full((), 2.0), x + 2.0), i64(3))


@case("BR-63")
def test_subtraction_runs_in_order():
    def differences(xp, x):
        r = x[0]
        for k in range(1, 4):
            r = r - x[k]
        return r

    check(differences, np.array([10, 1, 2, 3]))
    check(lambda xp, x: (np.subtract.reduce(x), np.divide.reduce(x)), np.array([10.0, 1, 2, 4]))


# Several results


@case("BR-70")
def test_results_keep_their_own_shapes():
    rng = np.random.default_rng(0)
    check(lambda xp, a, b: (2 * a, 3 * b), rng.random((2, 2, 2)), rng.random((2, 2)))


@case("BR-71")
def test_an_intermediate_is_a_result_too():
    check(lambda xp, x: (x * 3, x * 3 + 1, (x * 3) * 2, (x * 3).sum(), x * 3), np.arange(12.0))


@case("BR-73")
def test_same_operations_with_other_results():
    x = np.array([0.5, 2.0, 3.0])
    both = lb.compile(lambda x: (lb.abs(x - 1), lb.abs(lb.abs(x - 1) - 1)))
    last = lb.compile(lambda x: lb.abs(lb.abs(x - 1) - 1))
    for _ in range(2):
        first, second = both(lazy(x))
        np.testing.assert_array_equal(first.numpy(), np.abs(x - 1))
        np.testing.assert_array_equal(second.numpy(), np.abs(np.abs(x - 1) - 1))
        np.testing.assert_array_equal(last(lazy(x)).numpy(), second.numpy())


# Size of expressions


@case("BR-76")
def test_changing_scalars_compile_once():
    x = lazy(np.ones(1000))
    seen = []
    with events.listen(seen.append):
        for k in range(50):
            result = (x * (x + 0.01 * k)).numpy()
            np.testing.assert_array_equal(result, np.ones(1000) + 0.01 * k)
    assert Counter(type(event) for event in seen)[events.CacheLookup] <= 1


@case("BR-77")
def test_deep_chains_evaluate():
    x = lazy(np.zeros(10))
    for _ in range(20_000):
        x = x + 1
    np.testing.assert_array_equal(x.numpy(), np.full(10, 20_000.0))


@case("BR-79")
def test_dropping_a_deep_graph_that_was_never_evaluated():
    x = lazy(np.ones(10))
    for _ in range(100_000):
        x = x * 1.0001
    del x
    gc.collect()


@case("BR-78")
def test_long_sums_of_functions_are_cut_into_equal_kernels():
    def terms(xp, x):
        s = x
        for k in range(300):
            s = s + xp.log(xp.abs(x) + k + 1)
        return s

    compiled = lb.compile(lambda x: terms(lb, x))
    for size in (100, 100, 130):
        x = np.linspace(-1, 1, size)
        np.testing.assert_allclose(compiled(lazy(x)).numpy(), terms(np, x), rtol=1e-13)
    texts = [kernel.ir for kernel in compiled.kernels]
    assert len(set(texts)) <= 3  # the first, the last, and all between
    assert max(map(len, texts)) < 20_000


@case("BR-80")
def test_sums_of_many_arrays():
    def total(arrays):
        s = arrays[0]
        for array in arrays[1:]:
            s = s + array
        return s

    arrays = [np.full(1000, k, f32) for k in range(600)]
    np.testing.assert_array_equal(total([*map(lazy, arrays)]).numpy(), total(arrays))
    compiled = lb.compile(lambda *given: total(given))
    np.testing.assert_array_equal(compiled(*arrays).numpy(), total(arrays))


@case("BR-81")
def test_evaluated_arrays_do_not_outlive_their_handles():
    def resident():  # without what lies in files: the system loads and drops that as it likes
        with open("/proc/self/statm") as file:
            _, in_memory, of_files, *_ = map(int, file.read().split())
            return (in_memory - of_files) * 4096

    seen = []
    total = lazy(0.0)
    for k in range(60):
        batch = lazy(np.full(1 << 19, k, f64))
        total = total + (batch * 2).sum()
        lb.eval(total)
        seen.append(resident())
    assert seen[-1] - seen[20] < 8 * (1 << 22)  # eight batches; forty were made


@case("BR-84")
def test_captured_arrays_are_arguments():
    c = np.arange(10**6, dtype=f64)
    f = lb.compile(lambda x: (lazy(c) * x).sum())
    assert f(lazy(np.ones(1))).item() == c.sum()
    assert all(len(kernel.ir) < 10_000 for kernel in f.kernels)


# Threads and processes


@case("BR-82")
def test_one_compiled_function_serves_many_threads():
    f = lb.compile(lambda a, b: (a / b, (a / b).sum(axis=0)))
    failures = []

    def work(seed):
        a, b = np.random.default_rng(seed).random((2, 5, 100)) + 1
        for _ in range(100):
            ratio, _ = f(a, b)
            if not np.array_equal(ratio.numpy(), a / b):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# Errors


@case("BR-95", "BR-40")
def test_errors_stand_at_the_line_that_recorded_the_mistake():
    x = lazy(np.ones(3))
    for _ in range(20):
        x = x + 1
    with pytest.raises(errors.ShapeError, match=r"\(3,\) with \(4,\) in 'add'"):
        x + np.ones(4)
    with pytest.raises(errors.DTypeError, match="complex256"):
        x + np.ones(3, np.clongdouble)
    with pytest.raises(TypeError, match="bitwise_and"):
        x & 1
