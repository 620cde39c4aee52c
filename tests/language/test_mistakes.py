"""Kernels with one mistake each: what is reported names the line and the cure."""

import re
import warnings

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock.errors import CompileError, LaunchError, SanitizerError, SanitizerWarning

N = 16


def floats(*shape, dtype=np.float32):
    return np.random.default_rng(2).standard_normal(shape or (N,)).astype(dtype)


@pytest.fixture(autouse=True)
def _sanitized():
    with lb.config.scope(sanitize=True):
        yield


def line_of(kernel, fragment):
    """Where in this file the only line of a kernel stands that has `fragment` in it."""
    lines = kernel.source.text.splitlines()
    (number,) = (number for number, line in enumerate(lines) if fragment in line)
    return f"{__file__}:{kernel.source.first_line + number}"


def fail(kernel, *arguments, error, grid=(1,), **constants):
    with pytest.raises(error) as caught:
        kernel[grid](*arguments, **constants)
    return caught.value


# --- what does not compile -----------------------------------------------------------------------


@lb.jit
def reduces_the_wrong_axis(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    sums = tl.sum(tl.load(x + i[:, None] * COLUMNS + j), axis=0)
    tl.store(out + i, sums)


@lb.jit
def reduces_no_axis_there_is(x, out):
    i = tl.arange(0, 16)
    tl.store(out, tl.max(tl.load(x + i), axis=1))


@lb.jit
def mixes_types_in_dot(a, b, out):
    i = tl.arange(0, 16)
    places = i[:, None] * 16 + i
    tl.store(out + places, tl.dot(tl.load(a + places), tl.load(b + places)))


@lb.jit
def catches_exceptions(x):
    try:  # noqa: SIM105
        tl.store(x, 1.0)
    except ValueError:
        pass


@lb.jit
def keeps_a_dict(x):
    offsets = {"first": 0}
    tl.store(x + offsets["first"], 1.0)


@lb.jit
def adds_unlike_shapes(x, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i) + tl.load(x + tl.arange(0, 8)))


@lb.jit
def has_a_block_of_n(x, n):
    i = tl.arange(0, n)
    tl.store(x + i, 1.0)


@lb.jit
def changes_type_in_a_loop(x, out, n):
    total = 0
    for i in range(n):
        total += tl.load(x + i)
    tl.store(out, total)


@lb.jit
def defines_in_one_branch(x, n):
    if n > 3:
        value = 1.0
    tl.store(x, value)


@lb.jit
def stores_a_block_at_a_scalar(x):
    tl.store(x, tl.arange(0, 16))


A = np.zeros((N, N), np.float32)
COMPILE_ERRORS = [
    (
        *(reduces_the_wrong_axis, (A, A, 16, 32), "tl.store"),
        "A value of shape (32,) does not broadcast to (16,).",
        "reduce along another axis, or add axes of extent 1 with x[:, None].",
    ),
    (
        *(reduces_no_axis_there_is, (A, A), "tl.max"),
        "Axis 1 is outside a block of 1 axes.",
        "axes count from 0 to 0, or from the end: -1 is the last one.",
    ),
    (
        *(mixes_types_in_dot, (A.astype(np.float16), A, A), "tl.dot"),
        "tl.dot is of operands of one type, got fp16 and fp32.",
        "cast one of them with .to(...).",
    ),
    (
        *(catches_exceptions, (A,), "try:"),
        "Exceptions cannot be caught in a kernel.",
        "test the condition with 'if' instead.",
    ),
    (
        *(keeps_a_dict, (A,), '{"first": 0}'),
        "There are no dicts in a kernel.",
        "use a tuple, or a class made by @lb.aggregate.",
    ),
    (
        *(adds_unlike_shapes, (A, A), "tl.store"),
        "Shapes (16,) and (8,) do not broadcast together in '+'.",
        "add axes of extent 1 with x[:, None], or transpose one operand.",
    ),
    (
        *(has_a_block_of_n, (A, 16), "tl.arange"),
        "'end' must be known at compile time, got a scalar of int32.",
        "make it a tl.constexpr parameter.",
    ),
    (
        *(changes_type_in_a_loop, (A, A, 16), "total +="),
        f"'total' is a scalar of int32 before the loop at line "
        f"{changes_type_in_a_loop.source.first_line + 3} and a scalar of fp32 after an iteration.",
        "start 'total' with the type it gets in the loop, or convert with .to(...).",
    ),
    (
        *(defines_in_one_branch, (A, 16), "tl.store"),
        f"'value' is assigned in only one branch of the 'if' at line "
        f"{defines_in_one_branch.source.first_line + 2}.",
        "give 'value' a value before the 'if', or in both branches.",
    ),
    (
        *(stores_a_block_at_a_scalar, (A,), "tl.store"),
        "The value is a block of int32 of shape (16,), but the pointer is a scalar.",
        "add a block of offsets to the pointer.",
    ),
]


@pytest.mark.parametrize(
    "kernel, arguments, fragment, message, hint",
    COMPILE_ERRORS,
    ids=[row[0].name for row in COMPILE_ERRORS],
)
def test_compile_errors(kernel, arguments, fragment, message, hint):
    error = fail(kernel, *arguments, error=CompileError)
    file, line = line_of(kernel, fragment).rsplit(":", 1)
    first, place, text, caret, *rest = str(error).splitlines()
    assert first == message
    assert place == f'  File "{file}", line {line}, in {kernel.name}'
    assert fragment in text and set(caret.strip()) == {"^"}
    assert rest == [f"Hint: {hint}"]


# --- what the sanitizer finds --------------------------------------------------------------------


@lb.jit
def forgets_the_mask(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + i, mask=i < n) * 2
    tl.store(out + i, y)


@lb.jit
def wraps_an_offset(x, out, stride):
    rows = tl.arange(0, 16) * stride
    tl.store(out + tl.arange(0, 16), tl.load(x + rows))


@lb.jit
def races(x, total):
    part = tl.sum(tl.load(x + tl.program_id(0) * 16 + tl.arange(0, 16)), axis=0)
    before = tl.load(total)
    tl.store(total, before + part)


@lb.jit
def reads_what_nobody_wrote(x, total):
    i = tl.arange(0, 16)
    so_far = tl.load(total + i)
    tl.store(total + i, so_far + tl.load(x + i))


@lb.jit
def points_askew(x, out):
    pairs = (x + 1).to(tl.pointer_type(tl.float64))
    tl.store(out + tl.arange(0, 4), tl.load(pairs + tl.arange(0, 4)))


@lb.jit
def points_anywhere(table, out):
    pointer = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(pointer))


def test_a_missing_mask():
    x = floats(N + 4)
    error = fail(forgets_the_mask, x, x.copy(), N + 4, grid=(2,), BLOCK=N, error=SanitizerError)
    assert error.message == (
        "Kernel 'forgets_the_mask', program (1, 0, 0): out-of-bounds write at offset 20 of 'out', "
        "whose buffer has offsets 0 to 19."
    )
    assert f"({line_of(forgets_the_mask, 'tl.store')}), lane (4,)." in error.note
    assert error.hint == "mask the lanes outside the array."


def test_a_missing_mask_in_interpreter_mode():
    x = floats(N + 4)
    with lb.config.scope(interpret=True, sanitize=False):
        error = fail(forgets_the_mask, x, x.copy(), N + 4, grid=(2,), BLOCK=N, error=LaunchError)
    assert error.message == (
        f"'store' at {line_of(forgets_the_mask, 'tl.store')} touches element 20 of 'out', which "
        "has 20; program instance (1, 0, 0), lane (4,)."
    )
    assert error.hint == "mask the lanes outside the array."


def test_an_offset_that_wraps():
    error = fail(wraps_an_offset, floats(), floats(), 2**30, error=SanitizerError)
    assert error.message == (
        "Kernel 'wraps_an_offset', program (0, 0, 0): an i32 offset wrapped: read at offset "
        "-2147483648 of 'x' instead of 2147483648."
    )
    assert f"({line_of(wraps_an_offset, 'tl.load')}), lane (2,)" in error.note
    assert error.note.endswith(f"({line_of(wraps_an_offset, '* stride')}).")
    assert error.hint == "compute offsets in 64 bits: convert one operand with .to(tl.int64)."


def test_a_race_between_instances():
    error = fail(races, floats(2 * N), np.zeros(1, np.float32), grid=(2,), error=SanitizerError)
    assert error.message == (
        "Kernel 'races', program (1, 0, 0): race: read at offset 0 of 'total', which program "
        "(0, 0, 0) writes too."
    )
    assert f"({line_of(races, 'before =')}), lane ()" in error.note
    assert error.note.endswith(f"({line_of(races, 'tl.store')}).")
    assert error.hint == "let one program instance write the element, or update it atomically."


def test_a_read_of_what_nobody_wrote():
    x, total = lb.asarray(floats(), device="cpu"), lb.empty(N, dtype=np.float32, device="cpu")
    error = fail(reads_what_nobody_wrote, x, total, error=SanitizerError)
    assert error.message == (
        "Kernel 'reads_what_nobody_wrote', program (0, 0, 0): read of unwritten memory at offset 0 "
        "of 'total'."
    )
    assert f"({line_of(reads_what_nobody_wrote, 'so_far =')}), lane (0,)." in error.note
    assert error.hint == "write the element first, or mask the load."


def test_a_misaligned_pointer():
    error = fail(points_askew, floats(), np.zeros(4), error=SanitizerError)
    assert re.fullmatch(
        r"Kernel 'points_askew', program \(0, 0, 0\): misaligned read at offset 0 of 'x', whose "
        r"elements of 8 bytes begin at address 0x[0-9a-f]*[4c]\.",
        error.message,
    )
    assert f"({line_of(points_askew, 'tl.load(pairs')}), lane (0,)." in error.note
    assert error.hint == "pointers to float64 are multiples of 8 bytes."


def test_a_pointer_into_no_array():
    error = fail(points_anywhere, np.array([0x1238]), floats(), error=SanitizerError)
    assert error.message == (
        "Kernel 'points_anywhere', program (0, 0, 0): read at address 0x1238, which lies in no "
        "array."
    )
    assert f"({line_of(points_anywhere, 'tl.load(pointer)')}), lane ()." in error.note
    assert error.hint == "pass addresses in a lazyblock.tools PointerTable, which keeps its arrays."


# --- what works, but perhaps not as meant --------------------------------------------------------


@lb.jit
def shifted_maximum(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + i, mask=i < n)
    tl.store(out, tl.max(row - 1, axis=0))


@lb.jit
def sum_of_a_loop(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        if n > 3:
            total += tl.load(x + i, mask=i < n)
    tl.store(out, tl.sum(total))


@lb.jit
def columns_of_whole_rows(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    block = tl.load(x + i[None, :] * BLOCK + i[:, None], mask=i[None, :] < n)
    tl.store(out + i, tl.max(block.T, axis=1), mask=i < n)


@lb.jit
def leaky_sum(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.cumsum(tl.where(row > 0, row, 0.1), axis=0), mask=i < n)


@lb.jit
def whole_rows(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    block = tl.load(x + i[:, None] * BLOCK + i[None, :], mask=i[:, None] < n)
    tl.store(out + i, tl.sum(block, axis=1), mask=i < n)


@lb.jit
def filled_by_where(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + i, mask=i < n)
    tl.store(out, tl.max(tl.where(i < n, row, -1e9), axis=0))


@lb.jit
def filled_by_other(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out, tl.max(tl.load(x + i, mask=i < n, other=-float("inf")), axis=0))


@lb.jit
def reads_indices(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = tl.load(x + i, mask=i < n).to(tl.int32)
    tl.store(out, tl.sum(tl.load(out + places), axis=0))


@pytest.mark.parametrize(
    "kernel, reduction",
    [
        (shifted_maximum, "reduce"),
        (sum_of_a_loop, "reduce"),
        (leaky_sum, "scan"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_unfilled_lanes_of_reductions(kernel, reduction):
    x = np.ones((N, N), np.float32)
    with pytest.warns(SanitizerWarning) as caught:
        kernel[(1,)](x, x.copy(), N - 2, BLOCK=N)
        kernel[(1,)](x, x.copy(), N - 1, BLOCK=N)
    (warning,) = caught  # compiled once, told once
    assert f"{warning.filename}:{warning.lineno}" == line_of(kernel, "tl.load")
    store = line_of(kernel, "tl.store")
    text, hint = str(warning.message).splitlines()
    assert text == (
        f"Kernel '{kernel.name}': masked lanes of this load without 'other' count as 0 in the "
        f"{reduction} at {store}; in Triton they are undefined."
    )
    assert hint == (
        "Hint: give tl.load the neutral element, other=0.0 for a sum, other=-float('inf') for a "
        "maximum."
    )


@pytest.mark.parametrize(
    "kernel",
    [whole_rows, columns_of_whole_rows, filled_by_where, filled_by_other, reads_indices],
    ids=lambda kernel: kernel.name,
)
def test_lanes_that_no_reduction_misses(kernel):
    x = np.ones((N, N), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[(1,)](x, x.copy(), N - 2, BLOCK=N)


def test_warnings_are_the_sanitizers():
    x = np.ones((N, N), np.float32)
    with warnings.catch_warnings(), lb.config.scope(sanitize=False):
        warnings.simplefilter("error")
        shifted_maximum[(1,)](x, x.copy(), N - 3, BLOCK=2 * N)
