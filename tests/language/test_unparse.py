"""Programs in the block language: how they read, and that the text means the program."""

import ast
import math

import numpy as np
import pytest

from lazyblock.errors import UnsupportedError
from lazyblock.language.unparse import unparse
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.passes.version_masks import version_masks
from lazyblock.tiler.types import (
    PointerType,
    ScalarType,
    bfloat16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int32,
    int64,
    uint8,
)
from tests.helpers.language import read_text
from tests.helpers.programs import GRID, ZOO, copy_arguments, make_arguments, random_program


def body_of(program):
    """Lines of the kernel's body."""
    text = unparse(program)
    ast.parse(text)
    lines = text[text.index("def ") :].splitlines()[1:]
    return [line.removeprefix("    ") for line in lines if line]


def written(build, *scalars, shape=(8,)):
    """How the value stored by a small kernel is written."""
    b = Builder()
    out = b.parameter("out", int64)
    values = []
    for number, scalar in enumerate(scalars):
        pointer = b.parameter("abc"[number] + "_ptr", PointerType(scalar))
        value = b.load(b.splat(pointer, shape))
        value.hint = "abc"[number]
        values.append(value)
    result = build(b, *values)
    out.type = out.type.with_element(PointerType(result.type.scalar))
    b.store(b.splat(out, result.shape), result)
    line = body_of(b.finish())[-1]
    start = f"tl.store(tl.broadcast_to(out, {result.shape}), "
    return line.removeprefix(start.replace(" )", ")")).removesuffix(")")


# --- how it reads --------------------------------------------------------------------------------


def test_the_whole_text():
    text = unparse(eliminate_common(ZOO["vector_add"]()), launch=(4, 1, 1))
    assert (
        text
        == """import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def vector_add(x, y, out, n):
    offs = tl.program_id(0) * 16 + tl.arange(0, 16)
    mask = offs < n
    x_values = tl.load(x + offs, mask=mask)
    y_values = tl.load(y + offs, mask=mask)
    tl.store(out + offs, x_values + y_values, mask=mask)


# launch: vector_add[(4, 1, 1)](x, y, out, n, num_warps=4, num_ctas=1, num_stages=1)
"""
    )


def test_loops_assign_what_they_carry_at_once():
    assert body_of(eliminate_common(ZOO["loop_sum"]()))[:5] == [
        "offs = tl.arange(0, 16)",
        "value, ptrs = tl.zeros((16,), tl.float32), x + offs",
        "for i in range(0, n, 16):",
        "    value_1 = tl.load(ptrs, mask=i + offs < n)",
        "    value, ptrs = value + value_1, ptrs + 16",
    ]


def test_branches_assign_their_results():
    assert body_of(eliminate_common(ZOO["branch"]()))[3:9] == [
        "if pid % 2 == 0:",
        "    value = x_values + x_values",
        "else:",
        "    tl.store(flags + pid, True)",
        "    value = -x_values",
        "tl.store(out + offs, value)",
    ]


def test_combines_become_functions():
    text = unparse(ZOO["argmax"]())
    assert "def combine_0(left_0, left_1, right_0, right_1):" in text
    assert "reduced, reduced_1 = tl.reduce((x_values, tl.arange(0, 16)), 0, combine_0)" in text


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda b, x, y: b.mul(b.add(x, y), x), "(a + b) * a"),
        (lambda b, x, y: b.add(b.mul(x, y), x), "a * b + a"),
        (lambda b, x, y: b.sub(x, b.sub(y, x)), "a - (b - a)"),
        (lambda b, x, y: b.sub(b.sub(x, y), x), "a - b - a"),
        (lambda b, x, y: b.and_(b.or_(x, y), b.not_(x)), "(a | b) & ~a"),
        (lambda b, x, y: b.neg(b.add(x, y)), "-(a + b)"),
        (lambda b, x, y: b.shl(x, b.add(y, 1)), "a << b + 1"),
        (
            lambda b, x, y: b.compare("eq", b.compare("lt", x, y), b.compare("lt", y, x)),
            "(a < b) == (b < a)",
        ),
        (lambda b, x, y: b.div(x, y), "a // b"),
        (lambda b, x, y: b.cast(b.add(x, y), float32), "(a + b).to(tl.float32)"),
        (lambda b, x, y: b.bitcast(x, float32), "a.to(tl.float32, bitcast=True)"),
        (lambda b, x, y: b.select(b.compare("lt", x, 0), y, 0), "tl.where(a < 0, b, 0)"),
        (lambda b, x, y: b.binary("max", x, y), "tl.maximum(a, b)"),
        (
            lambda b, x, y: b.transpose(b.reshape(x, (2, 4)), (1, 0)),
            "tl.trans(tl.reshape(a, (2, 4)))",
        ),
        (lambda b, x, y: b.broadcast_to(b.expand_dims(x, 0), (4, 8)), "a[None, :]"),
    ],
)
def test_expressions(build, text):
    assert written(build, int32, int32) == text


def test_outer_products_broadcast_by_themselves():
    def build(b, x, y):
        wide = b.broadcast_to(b.expand_dims(x, 1), (8, 8))
        return b.add(b.mul(wide, 3), b.broadcast_to(b.expand_dims(y, 0), (8, 8)))

    assert (
        written(build, float32, float32) == "tl.broadcast_to(a[:, None], (8, 8)) * 3.0 + b[None, :]"
    )


@pytest.mark.parametrize(
    "build, scalar, text",
    [
        (lambda b, x: b.div(x, x), float16, "(a / a).to(tl.float16)"),
        (lambda b, x: b.rem(x, x), bfloat16, "(a % a).to(tl.bfloat16)"),
        (lambda b, x: b.div(x, x), float64, "a / a"),
        (lambda b, x: b.unary("sqrt", x), float16, "tl.sqrt(a.to(tl.float32)).to(tl.float16)"),
        (lambda b, x: b.unary("rint", x), float32, "tl.extra.libdevice.rint(a)"),
        (lambda b, x: b.math("tanh", x), float32, "tl.extra.libdevice.tanh(a)"),
        (lambda b, x: b.math("exp", x), float32, "tl.exp(a)"),
        (lambda b, x: b.add(x, math.inf), float32, 'a + float("inf")'),
        (lambda b, x: b.add(x, -0.0), float32, "a + -0.0"),
        (lambda b, x: b.add(x, 0.1), float64, "a + 0.1"),
        (lambda b, x: b.full_like(x, 0.1), float64, "tl.full((), 0.1, tl.float64)"),
        (lambda b, x: b.full_like(x, 0.5), float64, "0.5"),
        (lambda b, x: b.binary("maxnum", x, 1.0), bfloat16, "tl.maximum(a, 1.0).to(tl.bfloat16)"),
        (lambda b, x: b.binary("minnum", x, 1.0), float32, "tl.minimum(a, 1.0)"),
    ],
)
def test_types_that_promote_are_cast_back(build, scalar, text):
    assert written(build, scalar).replace("(8,)", "()") == text


@pytest.mark.parametrize(
    "kind, scalar, text",
    [
        ("add", float32, "tl.sum(x, axis=0)"),
        ("add", int8, "tl.sum(x, axis=0).to(tl.int8)"),
        ("max", uint8, "tl.max(x, axis=0).to(tl.uint8)"),
        ("max", float32, "tl.max(x, axis=0, propagate_nan=tl.PropagateNan.ALL)"),
        ("min", float16, "tl.min(x, axis=0, propagate_nan=tl.PropagateNan.ALL).to(tl.float16)"),
        ("mul", float32, "tl.reduce(x, 0, combine_0)"),
        ("or", int1, "tl.reduce(x, 0, combine_0)"),
    ],
)
def test_reductions(kind, scalar, text):
    b = Builder()
    x = b.parameter("x_ptr", PointerType(scalar))
    out = b.parameter("out", PointerType(scalar))
    b.store(out, b.reduce_with(kind, b.load(b.add_pointer(x, b.arange(0, 8))), 0))
    source = unparse(b.finish())
    assert f" = {text}\n" in source


@pytest.mark.parametrize(
    "kind, scalar, reverse, text",
    [
        ("add", float32, False, "sums = tl.cumsum(x, axis=0)"),
        ("add", int8, True, "sums = tl.cumsum(x, axis=0, reverse=True).to(tl.int8)"),
        ("mul", float16, False, "products = tl.cumprod(x, axis=0)"),
        ("add", bfloat16, False, "sums = tl.associative_scan(x, 0, combine_0)"),
        ("max", float32, False, "scanned = tl.associative_scan(x, 0, combine_0)"),
        ("or", int1, True, "scanned = tl.associative_scan(x, 0, combine_0, reverse=True)"),
    ],
)
def test_scans(kind, scalar, reverse, text):
    b = Builder()
    x = b.parameter("x_ptr", PointerType(scalar))
    out = b.parameter("out", PointerType(scalar))
    lanes = b.arange(0, 8)
    scanned = b.scan_with(kind, b.load(b.add_pointer(x, lanes)), 0, reverse)
    b.store(b.add_pointer(out, lanes), scanned)
    assert f"    {text}\n" in unparse(b.finish())


def test_names_that_python_or_the_text_needs_are_avoided():
    b = Builder("for")
    n = b.parameter("tl", int32)
    out = b.parameter("lambda", PointerType(int32))
    b.store(out, n)
    assert "def vfor(vtl, vlambda):\n    tl.store(vlambda, vtl)" in unparse(b.finish())


def test_parameters_whose_type_a_call_does_not_tell_are_annotated():
    b = Builder("f")
    for name, scalar in [("a", int32), ("b", int64), ("c", float32), ("d", float64), ("e", int1)]:
        b.parameter(name, scalar)
    assert "def f(a, b: tl.int64, c, d: tl.float64, e):\n    pass" in unparse(b.finish())


def test_hints_on_memory_are_kept():
    b = Builder()
    x = b.parameter("x", PointerType(float32))
    b.store(x, b.load(x, cache=".cg", eviction="evict_last"), cache=".wt")
    assert body_of(b.finish()) == [
        'x_values = tl.load(x, cache_modifier=".cg", eviction_policy="evict_last")',
        'tl.store(x, x_values, cache_modifier=".wt")',
    ]


def test_ops_without_words_are_refused():
    class Strange(ops.Arange):
        name = "strange"

    b = Builder()
    b.append(Strange, start=0, end=4)
    with pytest.raises(UnsupportedError, match="no words for 'strange'"):
        unparse(b.finish())


# --- that it means the program -------------------------------------------------------------------


def assert_text_means(program, arguments, grid=GRID):
    text = unparse(program)
    ast.parse(text)
    expected, actual = copy_arguments(arguments), copy_arguments(arguments)
    interpret(program, expected, grid)
    interpret(read_text(text, program), actual, grid)
    for left, right in zip(expected, actual, strict=True):
        if isinstance(left, np.ndarray):
            assert_same(left, right, text)


def assert_same(left, right, text):
    numbers = np.ones(left.shape, bool)
    if left.dtype.kind not in "iub":
        numbers = ~np.isnan(left)
        np.testing.assert_array_equal(numbers, ~np.isnan(right), text)
    bits = f"u{left.dtype.itemsize}"
    np.testing.assert_array_equal(left.view(bits)[numbers], right.view(bits)[numbers], text)


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo(name):
    for program in (ZOO[name](), eliminate_common(ZOO[name]()), version_masks(ZOO[name]())):
        assert_text_means(program, make_arguments(program, np.random.default_rng(5)))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    arguments = make_arguments(program, rng)
    assert_text_means(program, arguments)
    assert_text_means(eliminate_dead(eliminate_common(fold_constants(program))), arguments)


@pytest.mark.parametrize("scalar", [int8, int64, float16, bfloat16, float64], ids=str)
def test_carried_numbers_keep_their_type(scalar: ScalarType):
    b = Builder()
    out = b.parameter("out", PointerType(scalar))
    one = b.constant(1, scalar)

    def body(i, total, previous):
        return [b.add(total, previous), total]

    total, previous = b.for_(0, 5, 1, [one, b.constant(0, scalar)], body)
    b.store(out, total)
    b.store(b.add_pointer(out, b.constant(1, int32)), previous)
    program = b.finish()
    assert_text_means(program, make_arguments(program, np.random.default_rng(0)), (1, 1, 1))
