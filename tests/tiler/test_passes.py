"""Each pass is an equation: the interpreter before and after. Rules with given and expected."""

import math

import numpy as np
import pytest

from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.ops.arith import BINARY_KINDS, UNARY_KINDS
from lazyblock.tiler.passes.eliminate_common import _Merger, eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.fold_constants import constant_of, fold_constants
from lazyblock.tiler.passes.version_masks import MAX_OPS, version_masks
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import (
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
    uint32,
)
from lazyblock.tiler.verify import verify_program
from tests.helpers.programs import (
    COMPUTED,
    GRID,
    SIZE,
    ZOO,
    copy_arguments,
    make_arguments,
    random_program,
)

PASSES = [fold_constants, eliminate_common, eliminate_dead, version_masks]


def assert_same_results(before, after, arguments, grid=GRID):
    left, right = copy_arguments(arguments), copy_arguments(arguments)
    interpret(before, left, grid)
    interpret(after, right, grid)
    for a, b in zip(left, right, strict=True):
        assert_same_bits(a, b)


def assert_same_bits(left, right):
    """Equal in every bit, save which NaN it is."""
    if not isinstance(left, np.ndarray):
        return
    numbers = np.ones(left.shape, bool)
    if left.dtype.kind not in "iub":
        numbers = ~np.isnan(left)
        np.testing.assert_array_equal(numbers, ~np.isnan(right))
    np.testing.assert_array_equal(bits(left)[numbers], bits(right)[numbers])


def bits(array):
    return array.view(f"u{array.dtype.itemsize}")


# --- every pass ----------------------------------------------------------------------------------


@pytest.mark.parametrize("run", PASSES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_mean_the_same(run, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    text = print_program(program)
    after = run(program)
    assert print_program(program) == text, "the input was changed"
    verify_program(after)
    for n in (13, SIZE):
        assert_same_results(program, after, make_arguments(program, rng, n))


@pytest.mark.parametrize("run", PASSES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_means_the_same(run, name):
    program = ZOO[name]()
    after = run(program)
    verify_program(after)
    for n in (0, 7, 16, 33, SIZE):
        if name == "row_softmax" and n > 16:
            continue
        assert_same_results(program, after, make_arguments(program, np.random.default_rng(n), n))


@pytest.mark.parametrize("run", PASSES[:3], ids=lambda run: run.__name__)
@pytest.mark.parametrize("seed", range(15))
def test_a_second_run_changes_nothing(run, seed):
    """Or settles in a few more: folding may uncover more to fold."""
    program = random_program(np.random.default_rng(seed))
    for _ in range(4):
        before, program = program, run(program)
    assert program is before


@pytest.mark.parametrize("run", PASSES, ids=lambda run: run.__name__)
def test_nothing_to_do_gives_the_same_object(run):
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    address = b.add_pointer(x, b.arange(0, 4))
    b.store(address, b.neg(b.load(address)))
    program = b.finish()
    assert run(program) is program


# --- fold_constants ------------------------------------------------------------------------------


def fold(build, *scalars, shape=(4,)):
    """Fold one expression of loaded blocks; gives (folded value, the blocks)."""
    b = Builder()
    blocks = []
    for number, scalar in enumerate(scalars):
        pointer = b.parameter(f"x{number}", PointerType(scalar))
        size = math.prod(shape)
        block = b.load(b.add_pointer(pointer, b.arange(0, size)))
        blocks.append(b.reshape(block, shape))
    value = build(b, *blocks)
    out = b.parameter("out", PointerType(value.type.scalar))
    b.store(b.splat(out, value.shape), value)
    program = fold_constants(b.finish())
    store = program.body.ops[-1]
    assert isinstance(store, ops.Store)
    return store.value


def assert_folds_to_operand(build, scalar):
    assert isinstance(fold(build, scalar).owner, ops.Load)


def assert_stays(build, scalar):
    value = fold(build, scalar)
    assert not isinstance(value.owner, (ops.Load, ops.Constant))


def assert_folds_to(number, build, *scalars):
    value = fold(build, *scalars)
    assert constant_of(value) == number
    assert type(constant_of(value)) is type(number)


@pytest.mark.parametrize("scalar", [int8, int32, uint32, int1])
@pytest.mark.parametrize(
    "build",
    [
        *(lambda b, x: b.add(x, 0), lambda b, x: b.add(0, x), lambda b, x: b.sub(x, 0)),
        *(lambda b, x: b.mul(x, 1), lambda b, x: b.mul(1, x), lambda b, x: b.div(x, 1)),
        *(lambda b, x: b.and_(x, -1), lambda b, x: b.or_(x, 0), lambda b, x: b.xor(0, x)),
        *(lambda b, x: b.shl(x, 0), lambda b, x: b.shr(x, 0), lambda b, x: b.and_(x, x)),
        *(lambda b, x: b.binary("max", x, x), lambda b, x: b.not_(b.not_(x))),
        lambda b, x: b.neg(b.neg(x)),
        lambda b, x: b.select(b.constant(True, int1, (4,)), x, 0),
        lambda b, x: b.select(b.compare("ne", x, 0), x, x),
    ],
)
def test_integer_identities(build, scalar):
    assert_folds_to_operand(build, scalar)


@pytest.mark.parametrize(
    "number, build",
    [
        *(
            (0, lambda b, x: b.mul(x, 0)),
            (0, lambda b, x: b.sub(x, x)),
            (0, lambda b, x: b.xor(x, x)),
        ),
        *(
            (0, lambda b, x: b.and_(0, x)),
            (-1, lambda b, x: b.or_(x, -1)),
            (0, lambda b, x: b.rem(x, 1)),
        ),
        *(
            (0, lambda b, x: b.div(x, 0)),
            (0, lambda b, x: b.rem(x, 0)),
            (0, lambda b, x: b.rem(x, x)),
        ),
        *((0, lambda b, x: b.div(0, x)), (0, lambda b, x: b.shl(0, x))),
    ],
)
def test_integers_that_become_constant(number, build):
    assert_folds_to(number, build, int32)


@pytest.mark.parametrize(
    "expected, build",
    [
        *((True, lambda b, x: b.compare("eq", x, x)), (False, lambda b, x: b.compare("lt", x, x))),
        *((True, lambda b, x: b.compare("ge", x, 0)), (False, lambda b, x: b.compare("lt", x, 0))),
    ],
)
def test_comparisons_that_are_known(expected, build):
    assert_folds_to(expected, build, uint32)


@pytest.mark.parametrize("scalar", [float16, bfloat16, float32, float64])
@pytest.mark.parametrize(
    "build",
    [
        *(lambda b, x: b.mul(x, 1.0), lambda b, x: b.div(x, 1.0), lambda b, x: b.sub(x, 0.0)),
        *(lambda b, x: b.add(x, -0.0), lambda b, x: b.add(-0.0, x), lambda b, x: b.neg(b.neg(x))),
        lambda b, x: b.binary("max", x, x),
    ],
)
def test_float_identities_that_hold(build, scalar):
    assert_folds_to_operand(build, scalar)


@pytest.mark.parametrize(
    "build",
    [
        *(lambda b, x: b.add(x, 0.0), lambda b, x: b.sub(x, -0.0), lambda b, x: b.sub(0.0, x)),
        *(lambda b, x: b.mul(x, 0.0), lambda b, x: b.sub(x, x), lambda b, x: b.div(x, x)),
        *(lambda b, x: b.compare("eq", x, x), lambda b, x: b.mul(x, -1.0)),
        *(lambda b, x: b.div(0.0, x), lambda b, x: b.compare("ge", x, 0.0)),
        lambda b, x: b.cast(b.cast(x, float16), float32),
        lambda b, x: b.cast(b.cast(x, int64), float32),
    ],
)
def test_float_identities_that_do_not(build):
    assert_stays(build, float32)


def test_casts_there_and_back():
    for narrow, wide in [(int8, int32), (int32, uint32), (float16, float32), (int1, int8)]:
        assert_folds_to_operand(lambda b, x, n=narrow, w=wide: b.cast(b.cast(x, w), n), narrow)
    for wide, narrow in [(int32, int8), (float32, bfloat16), (int8, int1), (float16, bfloat16)]:
        assert_stays(lambda b, x, n=narrow, w=wide: b.cast(b.cast(x, n), w), wide)


@pytest.mark.parametrize("scalar", COMPUTED, ids=str)
def test_constants_compute_as_the_interpreter(scalar):
    """Folded and interpreted agree on all kinds that the type has."""
    b = Builder()
    out = b.parameter("out", PointerType(scalar))
    domain = "f" if scalar.is_floating else "i"
    unary = [kind for kind, where in UNARY_KINDS.items() if domain in where]
    binary = [kind for kind, where in BINARY_KINDS.items() if domain in where]
    x, y = b.constant(3, scalar), b.constant(-2, scalar)
    values = [b.unary(kind, x) for kind in unary] + [b.binary(kind, x, y) for kind in binary]
    for position, value in enumerate(values):
        b.store(b.add_pointer(out, b.constant(position, int32)), value)
    program = b.finish()
    folded = eliminate_dead(fold_constants(program))
    assert not any(isinstance(op, (ops.Unary, ops.Binary)) for op in folded.body.ops)
    assert_same_results(program, folded, [np.zeros(SIZE, to_numpy(scalar))], (1, 1, 1))


def test_functions_are_left_to_the_devices():
    value = fold(lambda b, x: b.math("exp", b.full_like(x, 1.0)), float32)
    assert isinstance(value.owner, ops.Math)


def permute_twice(b, x):
    return b.transpose(b.transpose(b.reshape(x, (2, 2, 2)), (1, 2, 0)), (1, 2, 0))


@pytest.mark.parametrize(
    "build, kinds",
    [
        (lambda b, x: b.transpose(b.transpose(x, (1, 0)), (1, 0)), ["reshape"]),
        (permute_twice, ["transpose", "reshape"]),
        (lambda b, x: b.reshape(b.reshape(x, (2, 2, 2)), (4, 2)), ["reshape"]),
        (lambda b, x: b.reshape(b.reshape(x, (2, 2, 2)), (8,)), []),
    ],
)
def test_shape_ops_compose(build, kinds):
    value = fold(build, float32, shape=(2, 4))
    found = []
    while isinstance(value.owner, (ops.Reshape, ops.Transpose)):
        found.append(value.owner.name)
        value = value.owner.value
    assert found == kinds


def test_splats_pass_through_shape_ops():
    b = Builder()
    x = b.parameter("x", float32)
    out = b.parameter("out", PointerType(float32))
    tile = b.transpose(b.expand_dims(b.splat(x, (4,)), 0), (1, 0))
    b.store(b.splat(out, (4, 8)), b.broadcast_to(tile, (4, 8)))
    store = fold_constants(b.finish()).body.ops[-1]
    assert isinstance(store.value.owner, ops.Splat)
    assert store.value.owner.value is x


@pytest.mark.parametrize("condition", [True, False])
def test_branches_on_constants_open(condition):
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    results = b.if_(
        b.constant(condition, int1), lambda: [b.program_id(0)], lambda: [b.num_programs(0)]
    )
    b.store(out, results[0])
    after = fold_constants(b.finish())
    verify_program(after)
    assert not any(isinstance(op, ops.If) for op in after.body.ops)
    kind = ops.ProgramId if condition else ops.NumPrograms
    assert isinstance(after.body.ops[-1].value.owner, kind)


def test_loops_without_rounds_go():
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    n = b.parameter("n", int32)
    (result,) = b.for_(4, 4, 1, [n], lambda i, total: [b.add(total, i)])
    b.store(out, result)
    after = fold_constants(b.finish())
    assert after.body.ops[-1].value is n


@pytest.mark.parametrize("holds", [True, False])
def test_constant_masks_go(holds):
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    address = b.add_pointer(x, b.arange(0, 4))
    mask = b.constant(holds, int1, (4,))
    b.store(address, b.load(address, mask, 2.0), mask, cache=".cg")
    after = fold_constants(b.finish())
    stores = [op for op in after.body.ops if isinstance(op, ops.Store)]
    assert [op.mask for op in stores] == ([None] if holds else [])
    assert [op.cache for op in stores] == ([".cg"] if holds else [])


# --- eliminate_common ----------------------------------------------------------------------------


def count_ops(program, kind):
    return sum(isinstance(op, kind) for op in walk(program.body))


def test_commuted_operands_are_the_same():
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    n, m = b.parameter("n", int32), b.parameter("m", int32)
    b.store(x, b.add(b.add(n, m), b.add(m, n)))
    assert count_ops(eliminate_common(b.finish()), ops.Binary) == 2


def test_differences_do_not_commute():
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    n, m = b.parameter("n", int32), b.parameter("m", int32)
    b.store(x, b.add(b.sub(n, m), b.sub(m, n)))
    program = b.finish()
    assert eliminate_common(program) is program


def test_zeros_of_two_signs_stay_two():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    b.store(x, b.sub(b.constant(0.0, float32), b.constant(-0.0, float32)))
    program = b.finish()
    assert eliminate_common(program) is program


def test_values_around_a_region_serve_inside_but_not_beside():
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    n = b.parameter("n", int32)
    outer = b.add(n, n)

    def branch():
        b.store(x, b.mul(b.add(n, n), b.mul(n, 3)))
        return []

    b.if_(b.compare("lt", outer, 3), branch, branch)
    after = eliminate_common(b.finish())
    verify_program(after)
    sums = [op for op in walk(after.body) if isinstance(op, ops.Binary) and op.kind == "add"]
    assert len(sums) == 1
    assert count_ops(after, ops.Binary) == 1 + 4


def make_reloading(between):
    b = Builder()
    x, y = (b.parameter(name, PointerType(float32)) for name in "xy")
    first = b.load(x)
    between(b, x, y)
    b.store(y, b.add(first, b.load(x)))
    return eliminate_common(b.finish())


def test_loads_merge_while_nothing_is_written():
    assert count_ops(make_reloading(lambda b, x, y: b.load(y)), ops.Load) == 2


def test_loads_do_not_merge_across_writes():
    def store(b, x, y):
        b.store(y, b.constant(1.0, float32))

    def store_in_loop(b, x, y):
        b.for_(0, 3, 1, [], lambda i: store(b, x, y) or [])

    assert count_ops(make_reloading(store), ops.Load) == 2
    assert count_ops(make_reloading(store_in_loop), ops.Load) == 2


def test_a_load_in_a_loop_sees_the_last_round():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    before = b.load(x)

    def body(i):
        b.store(x, b.add(b.load(x), before))
        return []

    b.for_(0, 3, 1, [], body)
    assert count_ops(eliminate_common(b.finish()), ops.Load) == 2


def test_equal_reductions_merge():
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    row = b.arange(0, 8)
    kinds = ["add", "add", "max"]
    sums = [b.reduce_with(kind, row, 0) for kind in kinds]
    b.store(x, b.mul(b.mul(sums[0], sums[1]), sums[2]))
    assert count_ops(eliminate_common(b.finish()), ops.Reduce) == 2


def test_branches_in_branches_are_walked_once(monkeypatch):
    asked = []
    structure = _Merger._structure
    monkeypatch.setattr(_Merger, "_structure", lambda *a: asked.append(a[1]) or structure(*a))
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    n = b.parameter("n", int32)

    def branch(depth):
        if depth == 0:
            return [b.mul(n, n)]
        inside = b.if_(b.compare("lt", n, depth), lambda: branch(0), lambda: branch(depth - 1))
        return [b.add(inside[0], b.mul(n, n))]

    b.store(x, branch(20)[0])
    program = b.finish()
    eliminate_common(program)
    assert len(asked) < 2 * len(list(walk(program.body)))


# --- eliminate_dead ------------------------------------------------------------------------------


def test_unused_values_loads_and_loops_go():
    b = Builder()
    x = b.parameter("x", PointerType(int32))
    b.load(b.add_pointer(x, b.arange(0, 4)))
    b.for_(0, 3, 1, [b.constant(0, int32)], lambda i, total: [b.add(total, b.load(x))])
    assert eliminate_dead(b.finish()).body.ops == []


def test_writes_keep_their_control_and_operands():
    b = Builder()
    x = b.parameter("x", PointerType(int32))

    def body(i):
        b.mul(i, 7)
        b.store(x, b.add(i, 1))
        return []

    b.for_(0, 3, 1, [], body)
    after = eliminate_dead(b.finish())
    verify_program(after)
    kinds = [op.name for op in walk(after.body)]
    assert kinds == ["constant"] * 3 + ["for", "constant", "binary", "store", "yield"]


# --- version_masks -------------------------------------------------------------------------------


def masks_by_branch(program):
    """For every branch: how many masks each of its ways has."""
    found = []
    for op in walk(program.body):
        if isinstance(op, ops.If):
            ways = [list(walk(way)) for way in (op.then, op.otherwise)]
            found.append(
                tuple(
                    sum(getattr(inner, "mask", None) is not None for inner in way) for way in ways
                )
            )
    return found


def test_full_tiles_run_without_masks():
    assert masks_by_branch(version_masks(ZOO["vector_add"]())) == [(0, 3)]


def test_loop_bodies_are_versioned_alone():
    after = version_masks(ZOO["loop_sum"]())
    assert masks_by_branch(after) == [(0, 1)]
    assert count_ops(after, ops.For) == 1


def test_loops_in_branches_are_versioned_once():
    b = Builder()
    out, n = b.parameter("out", PointerType(float32)), b.parameter("n", int32)

    def write(start):
        offsets, end = b.add(b.splat(start, (4,)), b.arange(0, 4)), b.splat(n, (4,))
        zeros, mask = b.constant(0.0, float32, (4,)), b.compare("lt", offsets, end)
        b.store(b.add_pointer(out, offsets), zeros, mask)
        return []

    def walk_row():
        b.for_(0, n, 4, [], write)
        return []

    b.if_(b.compare("gt", n, 8), walk_row, lambda: [])
    after = version_masks(b.finish())
    verify_program(after)
    assert masks_by_branch(after) == [(1, 0), (0, 1)]


def make_tile_copy(kind="lt", wide=False):
    """An 8x8 tile of a matrix under a mask of rows and columns."""
    b = Builder()
    x, out = (b.parameter(name, PointerType(float32)) for name in ("x", "out"))
    m, n = b.parameter("m", int32), b.parameter("n", int32)
    rows = b.add(b.splat(b.mul(b.program_id(1), 4), (4,)), b.arange(0, 4))
    columns = b.add(b.splat(b.mul(b.program_id(0), 4), (4,)), b.arange(0, 4))
    bounds = [b.splat(v, (4,)) for v in (m, n)]
    if wide:
        rows, columns, *bounds = (b.cast(v, int64) for v in (rows, columns, *bounds))
    sides = [(rows, bounds[0]), (columns, bounds[1])]
    if kind == "gt":
        sides = [(bound, value) for value, bound in sides]
    row_mask, column_mask = (b.compare(kind, left, right) for left, right in sides)
    row_mask = b.broadcast_to(b.expand_dims(row_mask, 1), (4, 4))
    column_mask = b.broadcast_to(b.expand_dims(column_mask, 0), (4, 4))
    mask = b.and_(row_mask, column_mask)
    start = b.broadcast_to(b.expand_dims(b.mul(rows, 8), 1), (4, 4))
    offsets = b.add(start, b.broadcast_to(b.expand_dims(columns, 0), (4, 4)))
    tile = b.load(b.add_pointer(x, offsets), mask, -1.0)
    b.store(b.add_pointer(out, offsets), b.select(row_mask, tile, 3.0), mask)
    return b.finish()


@pytest.mark.parametrize("kind", ["lt", "le", "gt"])
@pytest.mark.parametrize("wide", [False, True])
def test_masks_of_rows_and_columns(kind, wide):
    program = make_tile_copy(kind, wide)
    after = version_masks(program)
    verify_program(after)
    assert masks_by_branch(after) == [(0, 2)]
    (branch,) = (op for op in walk(after.body) if isinstance(op, ops.If))
    assert not any(isinstance(op, ops.Select) for op in branch.then.ops)
    rng = np.random.default_rng(0)
    for m, n in [(8, 8), (7, 8), (4, 4), (3, 5), (0, 0), (1, 7)]:
        arrays = [rng.normal(size=SIZE + 8).astype(np.float32) for _ in range(2)]
        assert_same_results(program, after, [*arrays, m - (kind == "le"), n], (2, 2, 1))


def test_offsets_that_wrap_count_as_not_full():
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    start, n = b.parameter("start", int32), b.parameter("n", int32)
    lanes = b.arange(0, 8)
    mask = b.compare("lt", b.add(b.splat(start, (8,)), lanes), b.splat(n, (8,)))
    b.store(b.add_pointer(out, lanes), b.cast(mask, int32), mask)
    program = b.finish()
    after = version_masks(program)
    assert after is not program
    for start in (2**31 - 5, 2**31 - 8, 0):
        assert_same_results(program, after, [np.zeros(8, np.int32), start, 100], (1, 1, 1))


def test_masks_from_memory_stay():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    flags = b.parameter("flags", PointerType(int1))
    lanes = b.arange(0, 8)
    mask = b.load(b.add_pointer(flags, lanes))
    b.store(b.add_pointer(x, lanes), b.constant(1.0, float32, (8,)), mask)
    program = b.finish()
    assert version_masks(program) is program


def test_masks_that_are_always_full_need_no_version():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    full = b.constant(True, int1, (8,))
    b.store(b.add_pointer(x, b.arange(0, 8)), b.constant(1.0, float32, (8,)), full)
    program = b.finish()
    assert version_masks(program) is program


def test_masks_of_remainders_and_quotients():
    b = Builder()
    out = b.parameter("out", PointerType(int32))
    n = b.parameter("n", int32)
    offsets = b.add(b.splat(b.mul(b.program_id(0), 16), (16,)), b.arange(0, 16))
    row = b.compare("lt", b.div(offsets, 8), b.splat(n, (16,)))
    column = b.compare("lt", b.rem(offsets, 8), b.splat(n, (16,)))
    b.store(b.add_pointer(out, offsets), offsets, b.and_(row, column))
    program = b.finish()
    after = version_masks(program)
    assert masks_by_branch(after) == [(0, 1)]
    for n in range(12):
        assert_same_results(program, after, [np.zeros(SIZE, np.int32), n])


def test_large_regions_are_not_doubled():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    n = b.parameter("n", int32)
    lanes = b.arange(0, 8)
    mask = b.compare("lt", lanes, b.splat(n, (8,)))
    value = b.load(b.add_pointer(x, lanes), mask)
    for _ in range(MAX_OPS):
        value = b.add(value, 1.0)
    b.store(b.add_pointer(x, lanes), value, mask)
    program = b.finish()
    assert version_masks(program) is program
