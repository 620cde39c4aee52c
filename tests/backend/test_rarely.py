"""The op that passes a computation over where no element needs it."""

import numpy as np
import pytest

from lazyblock.errors import VerifyError
from lazyblock.tiler import ops
from lazyblock.tiler.ir import walk
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import float32, float64
from lazyblock.tiler.verify import verify_program
from tests.helpers.block_ops import assert_block_op, block_kernel

X = np.arange(-100, 156, dtype=np.float32).reshape(4, 64)


def of_large(b, x, limit=100.0):
    """1 / (3 x) of numbers above `limit`, the number itself else."""
    return b.rarely(b.compare("gt", x, limit), x, lambda y: b.div(1.0, b.mul(y, 3.0)), x)


@pytest.mark.parametrize("limit", [-1000.0, 0.0, 150.0, 1000.0], ids=["all", "many", "few", "none"])
def test_rare_elements_are_computed_apart(limit):
    with np.errstate(divide="ignore"):
        expected = np.where(limit < X, np.float32(1) / (X * 3), X)
    assert_block_op(lambda b, x: [of_large(b, x, limit)], [X], [expected])


def test_integers_and_several_arguments():
    x, y = np.arange(64, dtype=np.int64), np.arange(64, dtype=np.int64)[::-1].copy()

    def build(b, x, y):
        return [b.rarely(b.compare("eq", x, 7), x, lambda p, q: b.add(b.shl(p, 40), q), x, y)]

    assert_block_op(build, [x, y], [np.where(x == 7, (x << 40) + y, x)])


def test_it_is_printed_parsed_folded_and_merged_like_other_ops():
    program = block_kernel(lambda b, x: [b.add(of_large(b, x), of_large(b, x))], X)
    text = print_program(program)
    assert print_program(parse_program(text)) == text
    merged = eliminate_common(fold_constants(program))
    assert sum(isinstance(op, ops.Rarely) for op in walk(merged.body)) == 1


def test_scalars_outside_do_not_reach_into_the_region():
    def build(b, x):
        one = b.constant(3.0, float32)
        scalar = b.constant(200.0, float32)
        tripled = b.mul(scalar, one)
        return [b.mul(of_large(b, x), b.splat(b.mul(of_large(b, scalar), tripled), x.shape))]

    program = block_kernel(build, X)
    optimised = fold_constants(eliminate_common(program))
    verify_program(optimised)
    assert optimised is not program


@pytest.mark.parametrize(
    ("rare", "message"),
    [
        (lambda b, y: b.cast(y, float64), "rarely yields f64, expected f32"),
        (lambda b, y: b.reduce_with("add", b.splat(y, (4,)), 0), "rarely computes elements"),
    ],
)
def test_regions_that_do_not_fit_are_refused(rare, message):
    def build(b, x):
        return [b.rarely(b.compare("gt", x, 0.0), x, lambda y: rare(b, y), x)]

    with pytest.raises(VerifyError, match=message):
        block_kernel(build, X)
