"""Ordered accesses, atomic updates, while loops and addresses as integers: rules, text, facts."""

import pytest

from lazyblock.errors import VerifyError
from lazyblock.tiler.analysis.axis_info import analyse
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Effect, walk
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import PointerType, float16, float32, float64, int1, int8, int32, int64
from lazyblock.tiler.verify import verify_program


def builder(element=int32, shape=()):
    b = Builder("memory")
    return b, b.splat(b.parameter("x", PointerType(element), 16), shape)


def kinds(program):
    return [op.name for op in walk(program.body)]


# --- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "element", "match"),
    [
        (lambda b, x: b.atomic("mul", x, 1), int32, "unknown atomic kind 'mul'"),
        (lambda b, x: b.atomic("add", x, 1), int8, "atomic 'add' is not for i8"),
        (lambda b, x: b.atomic("max", x, 1), float16, "atomic 'max' is not for f16"),
        (lambda b, x: b.atomic("or", x, 1), float32, "atomic 'or' is not for f32"),
        (lambda b, x: b.atomic("add", x, 1, sem="seq_cst"), int32, "unknown order 'seq_cst'"),
        (lambda b, x: b.atomic("add", x, 1, scope="warp"), int32, "unknown scope 'warp'"),
        (lambda b, x: b.atomic("add", x, b.load(x), b.splat(b.load(x), (4,))), int32, "i1"),
        (lambda b, x: b.compare_and_swap(x, 1, 2), int8, "no compare and swap of i8"),
        (lambda b, x: b.load(x, sem="release", scope="gpu"), int32, "unknown order 'release'"),
        (lambda b, x: b.load(x, scope="gpu"), int32, "a scope is for atomic accesses"),
        (lambda b, x: b.load(x, sem="acquire"), int32, "unknown scope ''"),
        (lambda b, x: b.store(x, b.load(x), sem="acquire", scope="gpu"), int32, "order 'acquire'"),
        (lambda b, x: b.bitcast(b.load(x), PointerType(int32)), float64, "a float is no address"),
        (lambda b, x: b.bitcast(b.load(x), PointerType(int32)), int32, "equal widths"),
    ],
)
def test_what_memory_does_not_have_is_refused(build, element, match):
    b, x = builder(element)
    with pytest.raises(VerifyError, match=match):
        build(b, x)


def test_loops_carry_what_they_start_with():
    b, x = builder()
    with pytest.raises(VerifyError, match="condition yields i32, expected i1"):
        b.while_([], lambda: b.load(x), list)
        verify_program(b.finish())
    b, x = builder()
    b.while_([b.load(x)], lambda i: b.compare("lt", i, 3), lambda i: [b.cast(i, int64)])
    with pytest.raises(VerifyError, match="body yields i64, expected i32"):
        verify_program(b.finish())


# --- text ----------------------------------------------------------------------------------------


def test_text_of_waiting():
    b, x = builder()
    b.while_([], lambda: b.compare("eq", b.load(x, sem="acquire", scope="sys"), 0), list)
    b.store(x, b.atomic("xchg", x, 0, scope="cta"), sem="release", scope="gpu")
    b.barrier()
    address = b.bitcast(x, int64)
    b.store(b.bitcast(address, PointerType(float16)), b.constant(1, float16))
    text = print_program(b.finish())
    for line in (
        "while () condition {",
        "= load %x, sem=acquire, scope=sys : i32",
        "= atomic_rmw xchg, %x, %3, scope=cta : i32",
        "store %x, %4, sem=release, scope=gpu",
        "barrier\n",
        '= bitcast %5, "*f16" : *f16',
    ):
        assert line in text
    parsed = parse_program(text)
    verify_program(parsed)
    assert print_program(parsed) == text


# --- passes --------------------------------------------------------------------------------------


def test_ordered_accesses_are_neither_merged_nor_dropped():
    b, x = builder()
    for _ in range(2):
        b.load(x, sem="relaxed", scope="gpu")
        b.atomic("add", x, 1)
        b.barrier()
    program = b.finish()
    after = eliminate_dead(eliminate_common(program))
    found = [op.name for op in walk(after.body) if op.effect is not Effect.NONE]
    assert found == ["load", "atomic_rmw", "barrier"] * 2


def test_loads_are_not_merged_over_what_orders_memory():
    for order in (lambda b, x: b.barrier(), lambda b, x: b.atomic("add", x, 1)):
        b, x = builder()
        first = b.load(x)
        order(b, x)
        b.store(x, b.add(first, b.load(x)))
        assert kinds(eliminate_common(b.finish())).count("load") == 2


def test_loops_that_nobody_needs_go():
    b, x = builder()
    b.while_([b.constant(0, int32)], lambda i: b.compare("lt", i, 3), lambda i: [b.add(i, 1)])
    assert kinds(eliminate_dead(b.finish())) == []
    b, x = builder()
    b.while_([], lambda: b.compare("eq", b.load(x), 0), list)
    assert "while" in kinds(eliminate_dead(b.finish()))


def test_masks_that_hold_go():
    b, x = builder(shape=(8,))
    b.atomic("add", x, b.full_like(b.load(x), 1), b.constant(True, int1, (8,)))
    (op,) = (op for op in walk(fold_constants(b.finish()).body) if op.name == "atomic_rmw")
    assert op.mask is None and (op.kind, op.sem, op.scope) == ("add", "acq_rel", "gpu")


def test_addresses_there_and_back_fold():
    b, x = builder()
    same = b.bitcast(b.bitcast(b.bitcast(x, int64), PointerType(float32)), PointerType(int32))
    b.store(same, b.constant(1, int32))
    (store,) = (op for op in walk(fold_constants(b.finish()).body) if op.name == "store")
    assert store.pointer.owner is None


# --- facts ---------------------------------------------------------------------------------------


def test_facts_of_carried_values_hold_after_every_round():
    b = Builder()
    start = [b.constant(0, int32), b.parameter("n", int32, 16)]
    i, n = b.while_(
        start, lambda i, n: b.compare("lt", i, n), lambda i, n: [b.add(i, 8), b.mul(n, 3)]
    )
    infos = analyse(b.finish())
    assert infos[i].divisibility == (8,) and infos[n].divisibility == (16,)
    assert infos[i].constant is None and infos[i].nonnegative


def test_addresses_count_in_their_elements():
    b, x = builder(float32)  # 16 bytes
    infos_of = [b.bitcast(x, to) for to in (int64, PointerType(float16), PointerType(float64))]
    infos = analyse(b.finish())
    assert [infos[value].divisibility for value in infos_of] == [(16,), (8,), (2,)]


def test_ordered_loads_of_one_place_may_differ():
    b, x = builder(shape=(8,))
    plain, ordered = b.load(x), b.load(x, sem="relaxed", scope="gpu")
    infos = analyse(b.finish())
    assert infos[plain].constancy == (8,) and infos[ordered].constancy == (1,)
