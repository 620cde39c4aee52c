"""Whole block programs on the CPU: equal to the block interpreter, and nothing else touched."""

import numpy as np
import pytest

from lazyblock.backend.llvm.host_nests import MAX_STACK
from lazyblock.shapes import cdiv
from lazyblock.target import Target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import (
    SCALARS,
    PointerType,
    bfloat16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int32,
    int64,
    to_numpy,
    uint8,
)
from tests.helpers import cpu
from tests.helpers.cpu import load_on_cpu, run_on_cpu
from tests.helpers.programs import COMPUTED
from tests.helpers.targets import assert_same_as_interpreter

rng = np.random.default_rng(7)


def pointer(b, name, element=float32):
    return b.parameter(name, PointerType(element), 16)


def offsets(b, block):
    return b.add(b.splat(b.mul(b.program_id(0), block), (block,)), b.arange(0, block))


def grid_2d(b, rows, columns, row_stride):
    """Offsets of a block of a row-major array."""
    row = b.broadcast_to(b.expand_dims(b.arange(0, rows), 1), (rows, columns))
    column = b.broadcast_to(b.expand_dims(b.arange(0, columns), 0), (rows, columns))
    return b.add(b.mul(row, row_stride), column)


def random_floats(*shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


# --- maps ----------------------------------------------------------------------------------------


def axpy(block, element=float32):
    b = Builder("axpy")
    x, y = pointer(b, "x", element), pointer(b, "y", element)
    a, n = b.parameter("a", element), b.parameter("n", int32)
    i = offsets(b, block)
    mask = b.compare("lt", i, b.splat(n, (block,)))
    loaded = [b.load(b.add_pointer(p, i), mask) for p in (x, y)]
    scaled = b.mul(b.splat(a, (block,)), loaded[0])
    b.store(b.add_pointer(y, i), b.add(scaled, loaded[1]), mask)
    return b.finish()


@pytest.mark.parametrize("n", [0, 1, 7, 127, 128, 129, 5000])
def test_masked_tail_in_place_and_bytes_behind_stay(n):
    padded = random_floats(n + 40)
    x, y = random_floats(n + 40), padded
    (_, result) = assert_same_as_interpreter(axpy(128), [x, y, 2.5, n], (cdiv(n, 128), 1, 1))
    assert (result[n:] == padded[n:]).all()


def test_large_masked_map_on_threads():
    n = 1000003
    x, y = random_floats(n), random_floats(n)
    expected = np.float32(2.5) * x + y
    run_on_cpu(axpy(1024), [x, y, 2.5, n], (cdiv(n, 1024), 1, 1), work=n)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("element", [e for e in COMPUTED if not e.is_half], ids=str)
def test_masked_tail_of_every_dtype(element):
    b = Builder("tail")
    x, o = pointer(b, "x", element), pointer(b, "o", element)
    n = b.parameter("n", int32)
    i = offsets(b, 256)
    mask = b.compare("lt", i, b.splat(n, (256,)))
    value = b.load(b.add_pointer(x, i), mask, 1)
    b.store(b.add_pointer(o, i), b.binary("max", value, value), mask)
    dtype = to_numpy(element)
    data = rng.integers(0, 2, 600).astype(dtype)
    assert_same_as_interpreter(b.finish(), [data, np.zeros(600, dtype), 515], (3, 1, 1))


@pytest.mark.parametrize("element", [float16, bfloat16], ids=str)
def test_half_loads_casts_and_stores(element):
    b = Builder("halves")
    x, o = pointer(b, "x", element), pointer(b, "o", element)
    i = offsets(b, 128)
    mask = b.compare("lt", i, b.splat(b.parameter("n", int32), (128,)))
    wide = b.cast(b.load(b.add_pointer(x, i), mask, 1.5), float32)
    b.store(b.add_pointer(o, i), b.cast(b.mul(wide, wide), element), mask)
    data = random_floats(256).astype(to_numpy(element))
    assert_same_as_interpreter(b.finish(), [data, np.zeros_like(data), 201], (2, 1, 1))


def test_scalar_arguments_of_every_dtype():
    for element in SCALARS.values():
        b = Builder("scalars")
        o, s = pointer(b, "o", element), b.parameter("s", element)
        b.store(b.add_pointer(o, b.arange(0, 4)), b.splat(s, (4,)))
        b.store(o, b.select(b.constant(True, int1), s, s))
        value = to_numpy(element).type(1)
        assert_same_as_interpreter(b.finish(), [np.zeros(4, to_numpy(element)), value])


@pytest.mark.parametrize("step", [-1, 2, 3, -2])
def test_strides(step):
    b = Builder("strided")
    x, o = pointer(b, "x"), pointer(b, "o")
    i = offsets(b, 64)
    moved = b.mul(i, step)
    mask = b.compare("lt", i, b.splat(b.parameter("n", int32), (64,)))
    b.store(b.add_pointer(o, moved), b.load(b.add_pointer(x, moved), mask), mask)
    source, target = random_floats(512), np.zeros(512, np.float32)
    x_view, o_view = source[::step], target[::step]
    n = x_view.size - 3
    run_on_cpu(b.finish(), [x_view, o_view, n], (cdiv(n, 64), 1, 1))
    np.testing.assert_array_equal(o_view[:n], x_view[:n])
    assert np.count_nonzero(target) == n


def test_runtime_strides_gather():
    b = Builder("gather")
    x, o, s = pointer(b, "x"), pointer(b, "o"), b.parameter("s", int64)
    i = offsets(b, 64)
    mask = b.compare("lt", i, b.splat(b.parameter("n", int32), (64,)))
    at = b.mul(b.cast(i, int64), b.splat(s, (64,)))
    b.store(b.add_pointer(o, i), b.load(b.add_pointer(x, at), mask, -1.0), mask)
    arguments = [random_floats(700), np.zeros(128, np.float32), 7, 100]
    assert_same_as_interpreter(b.finish(), arguments, (2, 1, 1))


@pytest.mark.parametrize("element", [uint8, float32, float64], ids=str)
def test_gather_and_scatter_by_loaded_indices(element):
    b = Builder("indices")
    x, o, at = pointer(b, "x", element), pointer(b, "o", element), pointer(b, "at", int32)
    i = offsets(b, 64)
    mask = b.compare("lt", i, b.splat(b.parameter("n", int32), (64,)))
    place = b.load(b.add_pointer(at, i), mask)
    value = b.load(b.add_pointer(x, place), mask)
    b.store(b.add_pointer(o, place), value, mask)
    dtype = to_numpy(element)
    arguments = [random_floats(100).astype(dtype), np.zeros(100, dtype)]
    order = rng.permutation(100).astype(np.int32)
    assert_same_as_interpreter(b.finish(), [*arguments, order, 100], (2, 1, 1))


def test_two_dimensional_masks():
    b = Builder("masks")
    x, o = pointer(b, "x"), pointer(b, "o")
    m, n = b.parameter("m", int32), b.parameter("n", int32)
    row = b.broadcast_to(b.expand_dims(b.arange(0, 8), 1), (8, 64))
    column = b.broadcast_to(b.expand_dims(b.arange(0, 64), 0), (8, 64))
    inside = [b.compare("lt", v, b.splat(s, (8, 64))) for v, s in ((row, m), (column, n))]
    mask = b.and_(*inside)
    at = b.add(b.mul(row, b.splat(n, (8, 64))), column)
    b.store(b.add_pointer(o, at), b.load(b.add_pointer(x, at), mask), mask)
    for rows, columns in ((5, 37), (8, 64), (1, 1), (0, 9)):
        size = rows * columns
        arguments = [random_floats(size), np.zeros(size, np.float32), rows, columns]
        if size:
            assert_same_as_interpreter(b.program, arguments)


def test_program_ids_of_three_axes():
    b = Builder("ids")
    o = pointer(b, "o", int32)
    x, y, z = (b.program_id(axis) for axis in range(3))
    sizes = [b.num_programs(axis) for axis in range(3)]
    number = b.add(x, b.mul(sizes[0], b.add(y, b.mul(sizes[1], z))))
    b.store(b.add_pointer(o, number), b.add(b.mul(x, 10000), b.add(b.mul(y, 100), z)))
    assert_same_as_interpreter(b.finish(), [np.zeros(30, np.int32)], (2, 3, 5))


# --- rearranging ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "permutation"),
    [
        ((8, 16), (16, 8), (1, 0)),
        ((4, 8, 16), (16, 4, 8), (2, 0, 1)),
        ((2, 64), (64, 2), (1, 0)),
        ((1, 32), (32, 1), (1, 0)),
    ],
)
def test_transpose(before, after, permutation):
    b = Builder("transpose")
    x, o = pointer(b, "x"), pointer(b, "o")
    size = int(np.prod(before))
    read = b.reshape(b.arange(0, size), before)
    write = b.reshape(b.arange(0, size), after)
    value = b.transpose(b.load(b.add_pointer(x, read)), permutation)
    b.store(b.add_pointer(o, write), b.add(value, 1.0))
    assert_same_as_interpreter(b.finish(), [random_floats(size), np.zeros(size, np.float32)])


RESHAPED = [
    ((64,), (4, 16)),
    ((4, 16), (16, 4)),
    ((2, 32), (64,)),
    ((2, 2, 16), (4, 16)),
    ((128,), (64, 2)),
    ((64, 2), (2, 64)),
]


@pytest.mark.parametrize("shapes", RESHAPED)
def test_reshape_of_computed_values(shapes):
    before, after = shapes
    b = Builder("reshape")
    x, o = pointer(b, "x"), pointer(b, "o")
    size = int(np.prod(before))
    read = b.reshape(b.arange(0, size), before)
    value = b.mul(b.load(b.add_pointer(x, read)), 3.0)
    write = b.reshape(b.arange(0, size), after)
    b.store(b.add_pointer(o, write), b.reshape(value, after))
    assert_same_as_interpreter(b.finish(), [random_floats(size), np.zeros(size, np.float32)])


def test_in_place_transpose_reads_all_before_writing():
    b = Builder("flip")
    x, y = pointer(b, "x"), pointer(b, "y")
    at = grid_2d(b, 16, 16, 16)
    b.store(b.add_pointer(y, at), b.transpose(b.load(b.add_pointer(x, at)), (1, 0)))
    data = random_floats(16, 16)
    expected = data.T.copy()
    run_on_cpu(b.finish(), [data, data])
    np.testing.assert_array_equal(data, expected)


def test_shift_within_one_array_reads_all_before_writing():
    b = Builder("shift")
    x = pointer(b, "x")
    i = b.arange(0, 256)
    b.store(b.add_pointer(x, b.add(i, 1)), b.load(b.add_pointer(x, i)))
    assert_same_as_interpreter(b.finish(), [random_floats(257)])


def test_a_second_store_sees_values_of_before_the_first():
    b = Builder("twice")
    x, y, z = (pointer(b, name) for name in "xyz")
    i = b.arange(0, 128)
    loaded = b.load(b.add_pointer(x, i))
    b.store(b.add_pointer(y, i), b.add(loaded, 1.0))
    other = b.load(b.add_pointer(z, i))
    b.store(b.add_pointer(z, i), b.add(loaded, other))
    data, z = random_floats(128), random_floats(128)
    before, expected = data + np.float32(1), data + z
    run_on_cpu(b.finish(), [data, data, z])
    np.testing.assert_array_equal(data, before)
    np.testing.assert_array_equal(z, expected)


@pytest.mark.parametrize("noalias", [False, True])
def test_stores_to_one_array_keep_their_order(noalias):
    b = Builder("order")
    x, y = pointer(b, "x"), pointer(b, "y")
    i = b.arange(0, 128)
    backwards = b.sub(b.constant(127, int32, (128,)), i)
    loaded = b.load(b.add_pointer(y, i))
    for place, factor in ((i, 2.0), (backwards, 3.0), (i, 4.0), (backwards, 5.0)):
        mask = b.compare("gt", loaded, b.constant(factor / 9, float32, (128,)))
        b.store(b.add_pointer(x, place), b.mul(loaded, factor), mask)
    b.store(b.add_pointer(y, backwards), loaded)
    b.program.noalias = noalias
    assert_same_as_interpreter(b.finish(), [random_floats(128), random_floats(128)])


# --- reductions ----------------------------------------------------------------------------------


def reduction(kind, shape, axis, element=float32):
    b = Builder("reduction")
    x, o = pointer(b, "x", element), pointer(b, "o", element)
    size = int(np.prod(shape))
    at = b.reshape(b.arange(0, size), shape)
    total = b.reduce_with(kind, b.load(b.add_pointer(x, at)), axis)
    if total.shape:
        place = b.reshape(b.arange(0, total.type.size), total.shape)
        b.store(b.add_pointer(o, place), total)
    else:
        b.store(o, total)
    return b.finish()


REDUCED = [((256,), 0), ((1,), 0), ((4, 1024), 1), ((64, 32), 0), ((8, 4, 16), 1), ((2, 2), 1),
           ((128, 1), 0), ((128, 1), 1), ((1, 64), 0), ((4, 8, 2), 0), ((4, 2, 8), 2)]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis"), REDUCED)
@pytest.mark.parametrize("kind", ["max", "xor"])
def test_exact_reductions(kind, shape, axis):
    element = int32 if kind == "xor" else float32
    size = int(np.prod(shape))
    data = (random_floats(size) * 100).astype(to_numpy(element))
    out = np.zeros(size, data.dtype)
    assert_same_as_interpreter(reduction(kind, shape, axis, element), [data, out])


@pytest.mark.parametrize("element", [e for e in COMPUTED if not e.is_half], ids=str)
def test_reductions_of_every_dtype(element):
    kinds = ["max", "min"] + ([] if element.is_floating else ["add", "mul", "and", "or", "xor"])
    data = rng.integers(0, 2, 512).astype(to_numpy(element))
    for kind in kinds:
        out = np.zeros(512, data.dtype)
        cpu.assert_same_as_interpreter(reduction(kind, (4, 128), 1, element), [data, out])


def test_sum_is_close_to_exact():
    data = random_floats(4, 1024)
    out = np.zeros(4, np.float32)
    run_on_cpu(reduction("add", (4, 1024), 1), [data, out])
    # 32 partial sums of 32 terms, then 5 halvings: 37 roundings of at most |x| 2**-24 each
    bound = np.abs(data).sum(1, dtype=np.float64) * 37 * 2.0**-24
    assert (np.abs(out - data.sum(1, dtype=np.float64)) <= bound).all()


@pytest.mark.parametrize(("shape", "axis"), REDUCED)
def test_reduction_of_pairs(shape, axis):
    """Maximum and its first index."""
    b = Builder("argmax")
    x, o, at_o = pointer(b, "x"), pointer(b, "o"), pointer(b, "at", int32)
    size = int(np.prod(shape))
    at = b.reshape(b.arange(0, size), shape)

    def combine(v, i, w, j):
        is_equal = b.and_(b.compare("eq", v, w), b.compare("lt", i, j))
        is_left = b.or_(b.compare("gt", v, w), is_equal)
        return b.select(is_left, v, w), b.select(is_left, i, j)

    best, index = b.reduce([b.load(b.add_pointer(x, at)), at], axis, combine)
    for target, value in ((o, best), (at_o, index)):
        place = b.reshape(b.arange(0, value.type.size), value.shape) if value.shape else None
        b.store(target if place is None else b.add_pointer(target, place), value)
    data = rng.integers(0, 9, size).astype(np.float32)
    arguments = [data, np.zeros(size, np.float32), np.zeros(size, np.int32)]
    assert_same_as_interpreter(b.finish(), arguments)


def softmax_like(rows, columns):
    """A row program that computes a dear value once, masks its tail, and is exact in any order."""
    b = Builder("rows")
    x, o = pointer(b, "x"), pointer(b, "o")
    m, n = b.parameter("m", int32), b.parameter("n", int32)
    shape = (rows, columns)
    first = b.mul(b.program_id(0), rows)
    row = b.add(b.splat(first, shape), b.broadcast_to(b.expand_dims(b.arange(0, rows), 1), shape))
    column = b.broadcast_to(b.expand_dims(b.arange(0, columns), 0), shape)
    mask = b.and_(
        b.compare("lt", row, b.splat(m, shape)), b.compare("lt", column, b.splat(n, shape))
    )
    at = b.add(b.mul(row, b.splat(n, shape)), column)
    loaded = b.load(b.add_pointer(x, at), mask, -np.inf)
    spread = lambda v: b.broadcast_to(b.expand_dims(v, 1), shape)  # noqa: E731
    centred = b.sub(loaded, spread(b.reduce_with("max", loaded, 1)))
    dear = b.binary("max", centred, -50.0)
    for _ in range(6):
        dear = b.add(b.mul(dear, 0.5), b.full_like(dear, 1.0))
    dear = b.unary("rint", b.mul(dear, 8.0))  # small integers: their sum has no rounding
    total = b.reduce_with("add", b.select(mask, dear, 0.0), 1)
    b.store(b.add_pointer(o, at), b.div(dear, spread(total)), mask)
    return b.finish()


@pytest.mark.parametrize(("m", "n"), [(4, 1024), (5, 1000), (1, 1), (7, 33)])
def test_rows_with_reductions_between(m, n):
    arguments = [random_floats(m * n), np.zeros(m * n, np.float32), m, n]
    assert_same_as_interpreter(softmax_like(4, 1024), arguments, (cdiv(m, 4), 1, 1))


# --- control -------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [16, 256])
def test_loop_with_carried_blocks_and_scalars(block):
    b = Builder("loop")
    x, o, c = pointer(b, "x"), pointer(b, "o"), pointer(b, "c", int32)
    n = b.parameter("n", int32)
    zero = b.constant(0.0, float32, (block,))
    i = b.arange(0, block)

    def body(k, total, count):
        value = b.load(b.add_pointer(x, b.add(b.splat(b.mul(k, block), (block,)), i)))
        return b.add(b.mul(total, 0.5), value), b.add(count, k)

    total, count = b.for_(0, n, 1, [zero, b.constant(5, int32)], body)
    b.store(b.add_pointer(o, i), total)
    b.store(c, count)
    program = b.finish()
    for rounds in (0, 1, 5):
        arguments = [random_floats(5 * block), np.zeros(block, np.float32), np.zeros(1, np.int32)]
        assert_same_as_interpreter(program, [*arguments, rounds])


def test_loop_that_swaps_and_transposes_what_it_carries():
    b = Builder("swap")
    x, o = pointer(b, "x"), pointer(b, "o")
    at = grid_2d(b, 8, 8, 8)
    left = b.load(b.add_pointer(x, at))
    right = b.mul(left, 2.0)
    step = lambda _, a, c: (b.transpose(c, (1, 0)), b.add(a, c))  # noqa: E731
    left, right = b.for_(0, 3, 1, [left, right], step)
    b.store(b.add_pointer(o, at), b.sub(left, right))
    assert_same_as_interpreter(b.finish(), [random_floats(64), np.zeros(64, np.float32)])


def test_nested_loops_and_branches():
    b = Builder("nested")
    x, o = pointer(b, "x"), pointer(b, "o")
    i = b.arange(0, 64)
    start = b.load(b.add_pointer(x, i))

    def outer(j, carried):
        def inner(k, value):
            is_even = b.compare("eq", b.rem(b.add(j, k), 2), b.constant(0, int32))
            (result,) = b.if_(
                is_even, lambda: [b.add(value, start)], lambda: [b.mul(value, carried)]
            )
            return [result]

        return b.for_(0, j, 1, [carried], inner)

    (result,) = b.for_(0, 4, 1, [start], outer)
    b.store(b.add_pointer(o, i), result)
    assert_same_as_interpreter(b.finish(), [random_floats(64), np.zeros(64, np.float32)])


def test_loop_that_stores_over_what_was_loaded_before_it():
    b = Builder("clobber")
    x, o = pointer(b, "x"), pointer(b, "o")
    i = b.arange(0, 64)
    before = b.load(b.add_pointer(x, i))

    def body(k, total):
        now = b.load(b.add_pointer(x, i))
        b.store(b.add_pointer(x, i), b.add(now, before))
        return [b.add(total, now)]

    (total,) = b.for_(0, 3, 1, [before], body)
    b.store(b.add_pointer(o, i), b.add(total, before))
    assert_same_as_interpreter(b.finish(), [random_floats(64), np.zeros(64, np.float32)])


def test_branch_that_stores_over_what_is_read_behind_it():
    b = Builder("branch")
    x, o = pointer(b, "x"), pointer(b, "o")
    flag = b.parameter("flag", int1)
    i = b.arange(0, 64)
    before = b.load(b.add_pointer(x, i))
    b.if_(flag, lambda: b.store(b.add_pointer(x, i), b.mul(before, 2.0)) or ())
    b.store(b.add_pointer(o, i), before)
    for flag_value in (False, True):
        arguments = [random_floats(64), np.zeros(64, np.float32), flag_value]
        assert_same_as_interpreter(b.program, arguments)


def test_loop_bounds_near_the_end_of_int32():
    b = Builder("bounds")
    o, n = pointer(b, "o", int32), b.parameter("n", int32)
    (count,) = b.for_(b.sub(n, 5), n, 3, [b.constant(0, int32)], lambda _, c: [b.add(c, 1)])
    b.store(o, count)
    # not on the emulator: the GPU lowering counts in i32, which wraps here and never ends
    cpu.assert_same_as_interpreter(b.finish(), [np.zeros(1, np.int32), 2**31 - 1])


def test_scalar_masked_loads_and_stores():
    b = Builder("scalar")
    x, o = pointer(b, "x", int8), pointer(b, "o", int8)
    flag = b.parameter("flag", int1)
    value = b.load(x, flag, 9)
    b.store(o, value, b.compare("ne", value, b.constant(3, int8)))
    for given in (False, True):
        arguments = [np.array([3], np.int8), np.array([1], np.int8), given]
        assert_same_as_interpreter(b.program, arguments)


# --- the code ------------------------------------------------------------------------------------


def test_code_size_does_not_depend_on_the_block():
    texts = [load_on_cpu(axpy(block))[0] for block in (1024, 65536)]
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())


def test_tiles_beyond_the_stack_limit_lie_on_the_heap():
    columns = MAX_STACK
    data = np.arange(columns, dtype=np.float32)
    out = np.zeros_like(data)
    program = softmax_like(1, columns)
    assert "@malloc" in load_on_cpu(program)[0]
    cpu.assert_same_as_interpreter(program, [data, out, 1, columns])


def test_equal_programs_give_equal_text():
    assert load_on_cpu(softmax_like(4, 64))[0] == load_on_cpu(softmax_like(4, 64))[0]


def test_baseline_processor_needs_no_extensions():
    """Without AVX2, FMA, F16C: helpers for masks, library calls, integer arithmetic for halves."""
    baseline = Target("cpu", "x86-64", "")
    b = Builder("baseline")
    x, h, o = pointer(b, "x"), pointer(b, "h", float16), pointer(b, "o", float16)
    i = offsets(b, 64)
    mask = b.compare("lt", i, b.splat(b.parameter("n", int32), (64,)))
    value = b.load(b.add_pointer(x, i), mask)
    value = b.fma(value, b.cast(b.load(b.add_pointer(h, i), mask), float32), 0.1)
    value = b.add(b.unary("floor", value), b.unary("rint", b.mul(value, 3.0)))
    b.store(b.add_pointer(o, i), b.cast(value, float16), mask)
    halves = random_floats(128).astype(np.float16)
    arguments = [random_floats(128), halves, np.zeros_like(halves), 100]
    cpu.assert_same_as_interpreter(b.finish(), arguments, (2, 1, 1), target=baseline)
