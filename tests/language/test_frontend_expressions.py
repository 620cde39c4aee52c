"""Expressions, assignments, builtins and calls in kernels."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.language.aggregate import aggregate
from tests.helpers.kernels import jit, program_of, run_kernel, text_of

FACTOR = 3
NAMED = tl.constexpr(4)
SHAPE = (2, 4)


def zeros(size=1, dtype=np.float32):
    return np.zeros(size, dtype)


def ints(size=1):
    return zeros(size, np.int32)


# --- literals and assigned scalars ---------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, value, literal, assigned",
    [
        (np.int8, 1, "int8", "int32"),
        (np.float16, 1.5, "fp16", "fp32"),
        (np.uint16, 7, "uint16", "int32"),
        (np.float64, 0.5, "fp64", "fp64"),
        (np.int8, True, "int8", "int8"),
    ],
)
def test_literals_adapt_and_assigned_scalars_have_types(dtype, value, literal, assigned):
    def kernel(x, out, LITERAL: tl.constexpr, VALUE: tl.constexpr, ASSIGNED: tl.constexpr):
        a = tl.load(x)
        tl.static_assert((a + VALUE).dtype.name == LITERAL)
        y = VALUE
        tl.static_assert((a + y).dtype.name == ASSIGNED)
        z: tl.constexpr = VALUE
        tl.static_assert((a + z).dtype.name == LITERAL)
        tl.store(out, (a + y).to(tl.float32))

    out = run_kernel(
        kernel, zeros(1, dtype), zeros(), LITERAL=literal, VALUE=value, ASSIGNED=assigned
    )[1]
    assert out == value


def test_known_values_compute_as_in_python_and_others_as_in_c():
    def kernel(out, n, N: tl.constexpr):
        tl.store(out, N // 2 * 100 + N % 4)
        tl.store(out + 1, n // 2 * 100 + n % 4)

    assert run_kernel(kernel, ints(2), -7, N=-7).tolist() == [-399, -303]


def test_annotated_names_stay_known():
    def kernel(out, BLOCK: tl.constexpr):
        half: tl.constexpr = BLOCK // 2
        pair: tl.constexpr = (half, BLOCK)
        tl.store(out + tl.arange(0, half), tl.arange(0, pair[0]) + pair[1])

    assert run_kernel(kernel, ints(4), BLOCK=8).tolist() == [8, 9, 10, 11]


def test_all_targets_of_an_assignment():
    def kernel(out, n):
        a = b = n + 1
        c, (d, e) = a, (b, 2)
        first, *rest = (c, d, e)
        (f := n)
        a -= 3
        tl.store(out, a + 10 * first + 100 * rest[1] + 1000 * len(rest) + 10000 * f)

    assert run_kernel(kernel, ints(), 4) == 2 + 50 + 200 + 2000 + 40000


# --- operators -----------------------------------------------------------------------------------


def test_chains_compare_neighbours_and_evaluate_the_middle_once():
    def kernel(x, out, n, KNOWN: tl.constexpr):
        tl.store(out, 0 < tl.load(x + n) < 3 < n)
        tl.store(out + 1, 1 < KNOWN < 3)

    assert text_of(kernel, zeros(8), zeros(8, bool), 5, KNOWN=2).count("load") == 1
    x = np.arange(8, dtype=np.float32)
    assert run_kernel(kernel, x, zeros(2, bool), 2, KNOWN=2)[1].tolist() == [False, True]
    x[5] = 1
    assert run_kernel(kernel, x, zeros(2, bool), 5, KNOWN=1)[1].tolist() == [True, False]


def test_and_or_not():
    def kernel(out, a, b, NOTHING: tl.constexpr):
        tl.store(out, a > 1 and b > 1)
        tl.store(out + 1, a > 1 or b > 1)
        tl.store(out + 2, not a > 1)
        tl.store(out + 3, NOTHING is None or a > 1)
        if NOTHING is not None and NOTHING.shape:
            tl.store(out + 99, 1)
        if not NOTHING:
            tl.store(out + 4, not (a and b))

    for a, b in [(0, 5), (5, 0), (2, 2)]:
        expected = [a > 1 and b > 1, a > 1 or b > 1, not a > 1, True, not (a and b)]
        assert run_kernel(kernel, zeros(5, bool), a, b, NOTHING=None).tolist() == expected


def test_known_membership_and_identity():
    def kernel(out, MODE: tl.constexpr, TYPE: tl.constexpr):
        known: tl.constexpr = ("relu", "tanh")
        if MODE in known and MODE not in ("tanh", "x"):
            tl.store(out, 1)
        if TYPE is tl.float32 and tl.float32 == TYPE and tl.float16 != TYPE:
            tl.store(out + 1, 1)
        if MODE + "6" == "relu6":
            tl.store(out + 2, 1)

    assert run_kernel(kernel, ints(3), MODE="relu", TYPE=tl.float32).tolist() == [1, 1, 1]


def test_f_strings_and_static_assertions():
    def kernel(out, N: tl.constexpr):
        text: tl.constexpr = f"{N:03d}-{N + 1!r}-{'x'}"
        tl.static_assert(text == "007-8-x", f"N is {N}")
        assert N == 7, "seven"
        tl.store(out, len(text))

    assert run_kernel(kernel, ints(), N=7) == 7


def test_comprehensions_over_known_items():
    def kernel(out, n, SIZES: tl.constexpr):
        parts = [n * size for size in SIZES if size > 1]
        total = 0
        for part in parts:
            total += part
        squares = tuple(i * j for i in range(3) for j in (1, 2))
        tl.store(out, total + sum(squares))

    assert run_kernel(kernel, ints(), 10, SIZES=(1, 2, 3)) == 50 + 9


def test_items_of_tuples_and_new_axes_of_blocks():
    def kernel(out, pair, N: tl.constexpr):
        rows = tl.arange(0, N)[:, None]
        columns = tl.arange(0, N)[None, :]
        index: tl.constexpr = -1
        tl.store(out + rows * N + columns, rows * pair[index] + columns * pair[0] + len(pair[1:]))

    expected = np.add.outer(np.arange(4) * 5, np.arange(4) * 3) + 1
    out = (
        run_kernel(kernel, ints(16), (3, 5), N=4)[-1]
        if False
        else run_kernel(kernel, ints(16), (3, 5), N=4)
    )
    assert out.reshape(4, 4).tolist() == expected.tolist()


def test_builtins():
    def kernel(out, n, x, N: tl.constexpr):
        tl.store(out, min(n, 3) + max(n, 7, 9) + abs(-n))
        tl.store(out + 1, min(N, 3) + max(N, 7))
        tl.store(out + 2, int(x) + int(N / 2) + len((1, 2)))
        tl.store(out + 3, float(n) + float("1.5"))
        if isinstance(n, tl.tensor) and hasattr(n, "dtype") and n.dtype == tl.int32:
            tl.store(out + 4, 1)
        for i, (a, b) in enumerate(zip((1, 2), (3, 4))):  # noqa: B905
            tl.store(out + 5 + i, a * b)
        tl.store(out + 7, bool(n) and isinstance(N, int))

    found = run_kernel(kernel, zeros(8), 5, 2.75, N=5).tolist()
    assert found == [3 + 9 + 5, 3 + 7, 2 + 2 + 2, 6.5, 1, 3, 8, 1]


# --- names from outside --------------------------------------------------------------------------


def test_globals_and_closures_are_read_as_constants():
    offset = 5

    def kernel(out):
        tl.store(out, FACTOR * offset + NAMED + math.ceil(math.pi) + SHAPE[1])

    assert run_kernel(kernel, ints()) == 15 + 4 + 4 + 4


# --- calls ---------------------------------------------------------------------------------------


@jit
def scale(x, by=2, *, plus=0):
    return x * by + plus


@jit
def divide(x, y):
    return x // y, x % y


@jit
def factorial(n: tl.constexpr):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def test_functions_are_called_by_position_and_name():
    def kernel(out, n):
        quotient, rest = divide(y=4, x=n)
        tl.store(out, scale(n) + scale(n, by=3, plus=1) + scale(*(n, 4)) + quotient + rest)

    assert run_kernel(kernel, ints(), 10) == 20 + 31 + 40 + 2 + 2


def test_functions_return_known_values_and_nothing():
    @jit
    def nothing(out):
        tl.store(out + 1, 1)

    def kernel(out):
        size: tl.constexpr = factorial(4)
        tl.store(out, size)
        tl.static_assert(nothing(out) is None)

    assert run_kernel(kernel, ints(2)).tolist() == [24, 1]


def test_combines_of_reductions():
    @jit
    def larger(a, b):
        if a > b:
            return a
        return b

    def kernel(x, out, n):
        values = tl.load(x + tl.arange(0, 8))
        tl.store(out, tl.reduce(values, 0, larger))
        tl.store(out + 1, tl.reduce(values, 0, lambda a, b: a + b))

    x = np.arange(8, dtype=np.float32)
    assert run_kernel(kernel, x, zeros(2), 1)[1].tolist() == [7, 28]


def test_functions_defined_inside_see_the_kernels_names():
    def kernel(out, n):
        def add(x, y=3):
            return x + y + n

        twice = lambda x: x * 2  # noqa: E731
        tl.store(out, add(1) + twice(n) + add(1, 2))

    assert run_kernel(kernel, ints(), 10) == 14 + 20 + 13


def test_functions_are_arguments_of_functions_and_kernels():
    @jit
    def apply(function, x):
        return function(x)

    def kernel(out, n, FUNCTION: tl.constexpr):
        tl.store(out, apply(FUNCTION, n) + apply(scale, n))

    assert run_kernel(kernel, ints(), 5, FUNCTION=scale) == 20


def test_plain_functions_run_on_known_values():
    def rounded(n):
        return 1 << math.ceil(math.log2(n))

    def kernel(out, N: tl.constexpr):
        size: tl.constexpr = rounded(N)
        tl.store(out + tl.arange(0, size), 1)

    assert run_kernel(kernel, ints(8), N=5).tolist() == [1] * 8


class Pair(NamedTuple):
    first: object
    second: object


def test_namedtuples():
    def kernel(out, pair):
        swapped = Pair(pair.second, second=pair.first)
        if swapped.first > 3:
            swapped = Pair(swapped.first, swapped.second * 100)
        tl.store(out, swapped.first * 10 + swapped.second)

    assert run_kernel(kernel, ints(), Pair(3, 5)) == 350
    assert run_kernel(kernel, ints(), Pair(3, 2)) == 23


@aggregate
class Counter:
    total: tl.tensor
    step: tl.constexpr

    @jit
    def __init__(self, total, step):
        self.total = total
        self.step = step

    @jit
    def advanced(self, times):
        return Counter(self.total + self.step * times, self.step)


def test_aggregates_are_values():
    def kernel(out, n):
        counter = Counter(n, 2)
        for i in range(3):
            counter = counter.advanced(i)
        if n > 3:
            counter.total += 100
        tl.store(out, counter.total + counter.step)

    assert run_kernel(kernel, ints(), 5) == 5 + 6 + 100 + 2
    assert run_kernel(kernel, ints(), 1) == 1 + 6 + 2


# --- functions from anywhere ---------------------------------------------------------------------


def make(step):
    @jit
    def inner(out, n):
        tl.store(out, n + step)

    return inner


def test_closures_of_factories():
    assert run_kernel(make(3), ints(), 1) == 4
    assert run_kernel(make(30), ints(), 1) == 31
    assert make(3).key() == make(3).key() != make(4).key()


def test_ops_know_their_lines():
    program = program_of(make(1), ints(), 1)
    first = make(1).source.first_line
    assert {op.line.line for op in program.body.ops} == {first + 2}


@jit
def types_of_known_values(out, N: tl.constexpr):
    text: tl.constexpr = "a"
    pair: tl.constexpr = (1, 2)
    tl.static_assert(N.type == tl.core.constexpr_type(3))
    tl.static_assert(text.type == tl.core.constexpr_type("a"))
    tl.static_assert(pair.type == tl.core.constexpr_type((1, 2)))
    tl.static_assert(pair.type != tl.core.constexpr_type((1, 3)))
    number = N
    tl.static_assert(number.type == tl.int32)
    tl.store(out, number)


def test_known_values_have_types_too():
    assert run_kernel(types_of_known_values, np.zeros(1, np.int32), N=3)[0] == 3
