"""The dot op: what it takes, what it means, and how passes, text and the language treat it."""

import numpy as np
import pytest

from lazyblock.errors import VerifyError
from lazyblock.language.unparse import unparse
from lazyblock.tiler import ops
from lazyblock.tiler.analysis.axis_info import analyse
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import evaluate, interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.passes.keep_precision import keep_precision
from lazyblock.tiler.passes.legalise_half import legalise_half
from lazyblock.tiler.passes.version_masks import version_masks
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import (
    BlockType,
    PointerType,
    bfloat16,
    float16,
    float32,
    int8,
    int32,
    uint8,
)
from lazyblock.tiler.verify import verify_program
from tests.backend.dots import CASES, Dot, dot_case
from tests.backend.kernels import expect
from tests.helpers.cpu import assert_same_bits
from tests.helpers.language import read_text


def block(b, element, *shape):
    return b.constant(1, element, shape)


def test_the_result_is_like_the_accumulator():
    b = Builder()
    acc = block(b, float32, 2, 4, 16)
    product = b.dot(block(b, bfloat16, 2, 4, 8), block(b, bfloat16, 2, 8, 16), acc)
    assert product.type == BlockType(float32, (2, 4, 16))
    assert product.owner.precision == "ieee"


@pytest.mark.parametrize(
    ("a", "b", "acc", "message"),
    [
        ((float32, 4, 8), (float32, 4, 16), (float32, 4, 16), "shapes are"),
        ((float32, 4, 8), (float32, 8, 16), (float32, 4, 8), "shapes are"),
        ((float32, 2, 4, 8), (float32, 1, 8, 16), (float32, 2, 4, 16), "shapes are"),
        ((float32, 8), (float32, 8, 16), (float32, 4, 16), "ranks 2 or 3"),
        ((float32, 2, 2, 4, 8), (float32, 2, 2, 8, 4), (float32, 2, 2, 4, 4), "ranks 2 or 3"),
        ((float16, 4, 8), (bfloat16, 8, 16), (float32, 4, 16), "no such combination of types"),
        ((bfloat16, 4, 8), (bfloat16, 8, 16), (bfloat16, 4, 16), "no such combination of types"),
        ((int8, 4, 8), (uint8, 8, 16), (int32, 4, 16), "no such combination of types"),
        ((int32, 4, 8), (int32, 8, 16), (int32, 4, 16), "no such combination of types"),
    ],
)
def test_operands_that_do_not_fit_are_refused(a, b, acc, message):
    builder = Builder()
    with pytest.raises(VerifyError, match=message):
        builder.dot(*(block(builder, *given) for given in (a, b, acc)))


def test_an_unknown_precision_is_refused():
    b = Builder()
    square = block(b, float32, 4, 4)
    with pytest.raises(VerifyError, match="no precision 'tf64'"):
        b.dot(square, square, square, "tf64")


@pytest.mark.parametrize(
    "dot",
    [
        Dot(8, 4, 16),
        Dot(8, 4, 16, 0, float16, float16, turned=(True, False)),
        Dot(1, 32, 2, 4, uint8, int32, turned=(False, True)),
        Dot(16, 8, 8, 2, bfloat16, steps=3, cut=(3, 2, 5), turned=(True, True)),
        Dot(16, 8, 8, precision="tf32"),
    ],
)
def test_dots_mean_matrix_products(dot):
    x, y, start, actual = expect(dot_case(dot)(np.random.default_rng(1)), interpret)
    left, right = (
        operand.swapaxes(-1, -2) if turned else operand
        for operand, turned in zip((x, y), dot.turned, strict=True)
    )
    product = np.matmul(left.astype(float), right.astype(float))
    np.testing.assert_array_equal(actual.astype(float), start.astype(float) + product)


def test_int32_wraps():
    b = Builder()
    a, acc = block(b, int8, 1, 1), b.constant(2**31 - 1, int32, (1, 1))
    one, most = np.ones((1, 1), np.int8), np.full((1, 1), 2**31 - 1, np.int32)
    assert evaluate(b.dot(a, a, acc).owner, [one, one, most]) == -(2**31)


# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_text_reads_back(name):
    text = print_program(CASES[name](np.random.default_rng(0)).program)
    assert " dot " in text
    assert print_program(parse_program(text)) == text


@pytest.mark.parametrize("name", CASES)
def test_the_language_means_the_same(name):
    case = CASES[name](np.random.default_rng(0))
    text = unparse(case.program)
    assert "tl.dot(" in text and "input_precision=" in text
    results = expect(case, lambda p, *rest: interpret(read_text(text, p), *rest))
    for actual, expected in zip(results, expect(case, interpret), strict=True):
        assert_same_bits(actual, expected)


# --- passes --------------------------------------------------------------------------------------

PASSES = (
    *(legalise_half, keep_precision, fold_constants, eliminate_common, eliminate_dead),
    version_masks,
)


@pytest.mark.parametrize("run", PASSES)
@pytest.mark.parametrize("name", CASES)
def test_passes_keep_dots(name, run):
    case = CASES[name](np.random.default_rng(2))
    after = run(case.program)
    verify_program(after)
    changed = expect(case._replace(program=after), interpret)
    for actual, expected in zip(changed, expect(case, interpret), strict=True):
        assert_same_bits(actual, expected)


def test_halves_stay_halves():
    program = legalise_half(CASES["two_dots"](np.random.default_rng(0)).program)
    dots = [op for op in walk(program.body) if isinstance(op, ops.Dot)]
    assert [op.a.type.scalar for op in dots] == [float16, float16]


def test_nothing_is_known_of_a_dot_of_integers():
    b = Builder()
    product = b.dot(block(b, int8, 4, 8), block(b, int8, 8, 4), block(b, int32, 4, 4))
    info = analyse(b.finish())[product]
    assert info.contiguity == info.divisibility == info.constancy == (1, 1)


def test_a_mask_doubles_no_dot_before_it():
    b = Builder()
    out, n = b.parameter("out", PointerType(float32)), b.parameter("n", int32)
    square = block(b, float32, 8, 8)

    def body(i, total):
        return [b.dot(square, square, total)]

    (total,) = b.for_(0, 3, 1, [square], body)
    offsets = b.reshape(b.arange(0, 64), (8, 8))
    b.store(b.add_pointer(out, offsets), total, b.compare("lt", offsets, b.splat(n, (8, 8))))
    program = b.finish()
    after = version_masks(program)
    verify_program(after)
    names = [op.name for op in walk(after.body)]
    assert names.count("dot") == names.count("if") == 1
    assert names.count("store") == 2
    for count in (0, 9, 64):
        results = [np.zeros(64, np.float32) for _ in range(2)]
        interpret(program, [results[0], count])
        interpret(after, [results[1], count])
        np.testing.assert_array_equal(*results)
