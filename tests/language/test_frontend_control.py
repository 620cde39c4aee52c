"""Control flow in kernels: branches, loops, ways out, and which names live on behind them."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.language.aggregate import aggregate
from tests.helpers.kernels import jit, run_kernel, text_of


def zeros(size, dtype=np.float32):
    return np.zeros(size, dtype)


# --- branches ------------------------------------------------------------------------------------


def test_branches_merge_the_values_both_define():
    def kernel(out, n):
        if n > 3:
            a = n * 2
            b = 1.0
        elif n > 1:
            a = n
            b = 2.0
        else:
            a = 7
            b = 3.0
        tl.store(out, a + b)

    for n, expected in [(5, 11), (2, 4), (0, 10)]:
        assert run_kernel(kernel, zeros(1), n) == expected


def test_a_branch_may_leave_a_value_alone():
    def kernel(out, n):
        a = n + 1
        if n > 3:
            a = a * 10
        tl.store(out, a)

    assert run_kernel(kernel, zeros(1, np.int32), 5) == 60
    assert run_kernel(kernel, zeros(1, np.int32), 1) == 2


def test_known_conditions_choose_when_the_kernel_is_compiled():
    def kernel(out, n, WIDE: tl.constexpr):
        if WIDE:  # noqa: SIM108
            a = tl.load(out).to(tl.float64)
        else:
            a = n
        tl.store(out, a + 1)

    assert "if" not in text_of(kernel, zeros(1), 5, WIDE=True)
    assert "f64" in text_of(kernel, zeros(1), 5, WIDE=True)
    assert run_kernel(kernel, zeros(1), 5, WIDE=False) == 6


def test_a_block_of_one_element_is_a_condition():
    def kernel(out):
        if tl.load(out + tl.arange(0, 1)) > 42:
            tl.store(out, 42)

    assert run_kernel(kernel, np.array([43], np.int32)) == 42
    assert run_kernel(kernel, np.array([41], np.int32)) == 41


def test_integers_and_floats_are_conditions_too():
    def kernel(out, n, x):
        if n:
            tl.store(out, 1.0)
        if x and not n:
            tl.store(out + 1, 1.0)

    assert run_kernel(kernel, zeros(2), 5, 0.5).tolist() == [1, 0]
    assert run_kernel(kernel, zeros(2), 0, 0.5).tolist() == [0, 1]


def test_early_returns_skip_the_rest():
    def kernel(x, out, n):
        pid = tl.program_id(0)
        if pid >= n:
            return
        tl.store(out + pid, tl.load(x + pid) * 2)

    x = np.arange(6, dtype=np.float32)
    assert run_kernel(kernel, x, zeros(6), 4, grid=(6,))[1].tolist() == [0, 2, 4, 6, 0, 0]
    assert text_of(kernel, x, x, 4).count("if ") == 1


def test_returns_in_both_branches_and_deep_inside():
    @jit
    def choose(a, b):
        if a > b:
            if a > 10:
                return 10.0
            a = a + 1
        elif a == b:
            return b * 3
        else:
            a = b
        return a

    def kernel(out, x, y):
        tl.store(out, choose(x, y))

    for x, y, expected in [(12, 1, 10), (5, 1, 6), (4, 4, 12), (1, 9, 9)]:
        assert run_kernel(kernel, zeros(1), float(x), float(y)) == expected


def test_conditional_expressions():
    def kernel(out, n, KNOWN: tl.constexpr):
        a = n if n > 3 else -n
        b = 1 if KNOWN is None else KNOWN
        c, d = (n, 2) if n > 3 else (7, n)
        tl.store(out, a * 1000 + b * 100 + c * 10 + d)

    assert run_kernel(kernel, zeros(1, np.int32), 5, KNOWN=None) == 5152
    assert run_kernel(kernel, zeros(1, np.int32), 2, KNOWN=4) == -2000 + 400 + 72


# --- for -----------------------------------------------------------------------------------------


def test_loops_carry_what_they_assign():
    def kernel(x, out, n, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        count = 0
        for start in range(0, n, BLOCK):
            total += tl.load(x + start + offs, mask=start + offs < n, other=0.0)
            count += 1
        tl.store(out, tl.sum(total, 0) + count)

    x = np.arange(19, dtype=np.float32)
    assert run_kernel(kernel, x, zeros(1), 19, BLOCK=8)[1] == x.sum() + 3


@pytest.mark.parametrize("bounds", [(0, 10, 3), (10, 0, -3), (3, -4, -1), (5, 5, 1), (5, 2, 1)])
def test_ranges_with_known_steps(bounds):
    start, stop, step = bounds

    def kernel(out, start, stop, STEP: tl.constexpr):
        at = 0
        for i in range(start, stop, STEP):
            tl.store(out + at, i)
            at += 1
        tl.store(out + 15, at)

    expected = list(range(*bounds))
    out = run_kernel(kernel, zeros(16, np.int32), start, stop, STEP=step)
    assert out[: len(expected)].tolist() == expected and out[15] == len(expected)


def test_the_index_has_the_widest_type_of_the_bounds():
    def kernel(out, n):
        for i in range(n):
            tl.store(out, i.dtype.primitive_bitwidth)

    assert run_kernel(kernel, zeros(1, np.int32), np.int64(2)) == 64
    assert run_kernel(kernel, zeros(1, np.int32), np.int8(2)) == 32


def test_changing_the_index_changes_nothing():
    def kernel(out, n):
        count = 0
        for i in range(n):
            i = i * 10
            count += i
        tl.store(out, count)

    assert run_kernel(kernel, zeros(1, np.int32), 4) == 60


def test_an_index_defined_before_keeps_its_last_value():
    def kernel(out, n):
        i = 100
        for i in range(n):  # noqa: B007
            pass
        tl.store(out, i)

    assert run_kernel(kernel, zeros(1, np.int32), 4) == 3
    assert run_kernel(kernel, zeros(1, np.int32), 0) == 100


@pytest.mark.parametrize("bounds", [(0, 5, 1), (2, 9, 3), (7, 0, -2)])
def test_an_index_keeps_its_last_value_behind_the_loop(bounds):
    start, stop, step = bounds

    def kernel(out, start, stop, STEP: tl.constexpr):
        for i in range(start, stop, STEP):
            tl.store(out + 1, i)
        tl.store(out, i)

    last = range(*bounds)[-1]
    np.testing.assert_array_equal(run_kernel(kernel, zeros(2), start, stop, STEP=step), last)


def test_static_ranges_and_tuples_are_unrolled():
    def kernel(out, n):
        total = 0
        for i in tl.static_range(1, 4):
            step: tl.constexpr = i * 2
            total += tl.sum(tl.arange(0, 2**i), 0) * step
        for item, factor in ((n, 2), (n + 1, 3)):
            total += item * factor
        tl.store(out, total)

    assert run_kernel(kernel, zeros(1, np.int32), 5) == 1 * 2 + 6 * 4 + 28 * 6 + 10 + 18


def test_nested_loops():
    def kernel(out, n, m):
        total = 0
        for i in range(n):
            row = 0
            for j in tl.range(i, m, num_stages=2):
                row += j
            total += row * (i + 1)
        tl.store(out, total)

    expected = sum(sum(range(i, 6)) * (i + 1) for i in range(4))
    assert run_kernel(kernel, zeros(1, np.int32), 4, 6) == expected


def test_continue_skips_to_the_next_iteration():
    def kernel(x, out, n):
        total = 0.0
        for i in range(n):
            value = tl.load(x + i)
            if value < 0:
                continue
            if value > 100:
                total = total + 1
                if value > 200:
                    continue
            total += value
        tl.store(out, total)

    x = np.array([1, -5, 150, 7, 300], np.float32)
    assert run_kernel(kernel, x, zeros(1), 5)[1] == 1 + 151 + 7 + 1


def test_tuples_are_carried_part_by_part():
    def kernel(x, out, n):
        state = (0.0, 0)
        for i in range(n):
            state = (state[0] + tl.load(x + i), state[1] + i)
        total, count = state
        tl.store(out, total * 100 + count)

    assert run_kernel(kernel, np.ones(4, np.float32), zeros(1), 4)[1] == 406


def test_pointers_are_carried():
    def kernel(x, out, n, BLOCK: tl.constexpr):
        ptrs = x + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for _ in range(n):
            total += tl.load(ptrs)
            ptrs += BLOCK
        tl.store(out, tl.sum(total, 0))

    x = np.arange(16, dtype=np.float32)
    assert run_kernel(kernel, x, zeros(1), 4, BLOCK=4)[1] == 120


# --- while, break, return in loops ---------------------------------------------------------------


def test_while_loops():
    def kernel(out, n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        tl.store(out, steps)

    assert run_kernel(kernel, zeros(1, np.int32), 6) == 8
    assert run_kernel(kernel, zeros(1, np.int32), 1) == 0


def test_while_with_and_in_its_condition():
    def kernel(x, out, n):
        i = 0
        while i < n and tl.load(x + tl.minimum(i, n - 1)) > 0:
            i += 1
        tl.store(out, i)

    assert run_kernel(kernel, np.array([1, 2, -1, 3], np.float32), zeros(1), 4)[1] == 2


def test_while_with_a_walrus():
    def kernel(x, out):
        i, total = 0, 0.0
        while (value := tl.load(x + i)) > 0:
            total += value
            i += 1
        tl.store(out, total)

    assert run_kernel(kernel, np.array([1, 2, -1, 3], np.float32), zeros(1))[1] == 3


def test_break_leaves_a_for():
    def kernel(x, out, n):
        total = 0.0
        seen = 0
        for i in range(n):
            value = tl.load(x + i)
            if value < 0:
                break
            total += value
            seen = i + 1
        tl.store(out, total)
        tl.store(out + 1, seen)

    x = np.array([1, 2, -1, 3], np.float32)
    assert run_kernel(kernel, x, zeros(2), 4)[1].tolist() == [3, 2]
    assert run_kernel(kernel, np.abs(x), zeros(2), 4)[1].tolist() == [7, 4]
    assert run_kernel(kernel, x, zeros(2), 0)[1].tolist() == [0, 0]


def test_break_leaves_a_falling_for():
    def kernel(out, n):
        last = 0
        for i in range(n, -1, -2):
            last = i
            if i < 5:
                break
        tl.store(out, last)

    assert run_kernel(kernel, zeros(1, np.int32), 11) == 3
    assert run_kernel(kernel, zeros(1, np.int32), 0) == 0


def test_break_near_the_end_of_the_integers():
    def kernel(out, stop):
        count = 0
        for i in range(stop - 5, stop, 4):
            count += 1
            if i < 0:
                break
        tl.store(out, count)

    assert run_kernel(kernel, zeros(1, np.int32), 2**31 - 1) == 2


def test_endless_loops_are_left_by_break():
    def kernel(out, n):
        while True:
            n -= 3
            if n < 0:
                break
            if n == 7:
                continue
            tl.store(out + n, n)

    out = run_kernel(kernel, zeros(16, np.int32), 13)
    assert out.nonzero()[0].tolist() == [1, 4, 10]


def test_break_belongs_to_the_inner_loop():
    def kernel(out, n):
        total = 0
        for i in range(n):
            for j in range(n):
                if j > i:
                    break
                if j == 2:
                    continue
                total += 1
            if total > 20:
                break
            total += 10
        tl.store(out, total)

    total = 0
    for i in range(5):
        for j in range(5):
            if j > i:
                break
            if j == 2:
                continue
            total += 1
        if total > 20:
            break
        total += 10
    assert run_kernel(kernel, zeros(1, np.int32), 5) == total


def test_return_inside_loops():
    @jit
    def find(x, n, wanted):
        for i in range(n):
            if tl.load(x + i) == wanted:
                return i
        return -1

    def kernel(x, out, n):
        for k in range(4):
            tl.store(out + k, find(x, n, k.to(tl.float32)))

    x = np.array([2, 0, 1, 2], np.float32)
    assert run_kernel(kernel, x, zeros(4, np.int32), 4)[1].tolist() == [1, 2, 0, -1]


def test_return_from_nested_loops_ends_the_kernel():
    def kernel(out, n):
        for i in range(n):
            while True:
                tl.store(out + i, i + 1)
                if i == 2:
                    return
                break
        tl.store(out + 7, 99)

    assert run_kernel(kernel, zeros(8, np.int32), 5).tolist() == [1, 2, 3, 0, 0, 0, 0, 0]
    assert run_kernel(kernel, zeros(8, np.int32), 2).tolist() == [1, 2, 0, 0, 0, 0, 0, 99]


def test_ways_out_of_unrolled_loops():
    def kernel(out, n):
        total = 0
        for i in tl.static_range(5):
            if i == 3:
                break
            if n == i:
                continue
            total += 10**i
        for i in tl.static_range(5):
            if n < i:
                break
            total += 1000 * 10**i
        tl.store(out, total)

    assert run_kernel(kernel, zeros(1, np.int32), 1) == 101 + 11000
    assert run_kernel(kernel, zeros(1, np.int32), 9) == 111 + 11111000


def test_tuples_are_returned_from_loops():
    @jit
    def find(x, n, least):
        for i in range(n):
            value = tl.load(x + i)
            if value > least:
                return value, i
        return 0.0, -1

    def kernel(x, out, n):
        value, place = find(x, n, 3)
        tl.store(out, value)
        tl.store(out + 1, place)

    x = np.array([1, 2, 7, 9], np.float32)
    assert run_kernel(kernel, x, zeros(2), 4)[1].tolist() == [7, 2]
    assert run_kernel(kernel, x, zeros(2), 2)[1].tolist() == [0, -1]


def test_pointers_trade_places_in_loops():
    def kernel(x, out, n):
        here, there = x, out
        for _ in range(n):
            here, there = there, here
        tl.store(here, 5.0)

    assert [a[0] for a in run_kernel(kernel, zeros(1), zeros(1), 3)] == [0, 5]
    assert [a[0] for a in run_kernel(kernel, zeros(1), zeros(1), 2)] == [5, 0]


@aggregate
class Span:
    start: tl.tensor
    length: tl.constexpr

    @jit
    def __init__(self, start, length):
        self.start = start
        self.length = length

    @jit
    def end(self):
        return self.start + self.length


def test_objects_are_carried_field_by_field():
    def kernel(out, n):
        span = Span(0, 4)
        while span.end() < n:
            span.start += span.length
            if span.start == 8:
                break
        tl.store(out, span.end())

    assert run_kernel(kernel, zeros(1, np.int32), 7) == 8
    assert run_kernel(kernel, zeros(1, np.int32), 99) == 12


def test_a_constexpr_of_a_tensor_is_the_tensor():
    def kernel(out, n):
        twice: tl.constexpr = n * 2
        tl.store(out, twice)

    assert run_kernel(kernel, zeros(1, np.int32), 4) == 8


def test_combines_may_ask_blocks_for_their_types():
    @jit
    def is_floating(x):
        return (x + tl.zeros((1,), tl.int1)).dtype.is_floating()

    @jit
    def larger(a, b):
        is_larger = a > b
        if is_floating(a):
            is_larger |= a != a
        return tl.where(is_larger, a, b)

    def kernel(x, out):
        i = tl.arange(0, 4)
        tl.store(out + i, tl.associative_scan(tl.load(x + i), 0, larger))
        tl.store(out + 4, tl.reduce(tl.load(x + i), 0, larger))

    x = np.array([2, 1, 3, 0], np.float32)
    assert run_kernel(kernel, x, zeros(5))[1].tolist() == [2, 2, 3, 3, 3]


def test_types_are_compared_by_identity_too():
    def kernel(out, TYPE: tl.constexpr):
        if out.dtype.element_ty is tl.int32 and TYPE.value is tl.float16:
            tl.store(out, 1)

    assert run_kernel(kernel, zeros(1, np.int32), TYPE=tl.float16) == 1


def test_constexpr_parameters_become_variables_when_assigned():
    def kernel(out, n, SIZE: tl.constexpr):
        SIZE = SIZE * 2
        for _ in range(n):
            SIZE += 1
        tl.store(out, SIZE)

    assert run_kernel(kernel, zeros(1, np.int32), 3, SIZE=4) == 11
