"""Rewrites: given, expected, actual; a twin where the rule must not fire; meaning is kept."""

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.passes import GRAPH_PASSES, fold_views, simplify
from lazyblock.graph.rewrite import Rule, rewrite
from tests.helpers.graphs import assert_same_meaning, count_op, new_input, random_graph


def apply(op, *operands):
    return build.elementwise(op, *operands)


X = new_input((3, 4))
FLAT = new_input((12,))
HALF = new_input((3,), dtypes.float16)
INTS = new_input((3,), dtypes.int64)

FIRES = {
    "view of view": (fold_views, build.permute(build.permute(X, (1, 0)), (1, 0)), X),
    "reshape of reshape": (
        fold_views,
        build.reshape(build.reshape(X, (2, 6)), (4, 3)),
        build.reshape(X, (4, 3)),
    ),
    "reshape back": (fold_views, build.reshape(build.reshape(X, (12,)), (3, 4)), X),
    "reshape by unit axes": (
        fold_views,
        build.reshape(build.permute(X, (1, 0)), (4, 1, 3)),
        build.view(X, index_map.from_axes((2, 0), 3), (4, 1, 3)),
    ),
    "reshape of elementwise": (
        fold_views,
        build.reshape(apply(Op.EXP, FLAT), (3, 4)),
        apply(Op.EXP, build.reshape(FLAT, (3, 4))),
    ),
    "wide cast and back": (
        simplify,
        build.cast(build.cast(HALF, dtypes.float32), dtypes.float16),
        HALF,
    ),
    "negative twice": (simplify, apply(Op.NEGATIVE, apply(Op.NEGATIVE, X)), X),
    "invert twice": (simplify, apply(Op.INVERT, apply(Op.INVERT, INTS)), INTS),
    "absolute twice": (
        simplify,
        apply(Op.ABSOLUTE, apply(Op.ABSOLUTE, X)),
        apply(Op.ABSOLUTE, X),
    ),
    "floor twice": (simplify, apply(Op.FLOOR, apply(Op.FLOOR, X)), apply(Op.FLOOR, X)),
    "equal branches": (simplify, build.where(apply(Op.ISNAN, X), X, X), X),
    "scan of one": (
        simplify,
        build.scan(ReduceKind.SUM, build.reshape(X, (3, 1, 4)), 1),
        build.reshape(X, (3, 1, 4)),
    ),
    "reduction of one": (
        simplify,
        build.reduce(ReduceKind.MAX, build.reshape(X, (3, 1, 4)), (1,)),
        build.squeeze(build.reshape(X, (3, 1, 4)), (1,)),
    ),
}

STAYS = {
    "different views": (fold_views, build.permute(X, (1, 0))),
    "one reshape": (fold_views, build.reshape(X, (2, 6))),
    "reshape of a reduction's elementwise": (
        fold_views,
        build.reshape(apply(Op.EXP, build.permute(X, (1, 0))), (12,)),
    ),
    "narrow cast and back": (
        simplify,
        build.cast(build.cast(X, dtypes.float32), dtypes.float64),
    ),
    "int64 through float64": (
        simplify,
        build.cast(build.cast(INTS, dtypes.float64), dtypes.int64),
    ),
    "signed through unsigned": (
        simplify,
        build.cast(build.cast(INTS, dtypes.uint64), dtypes.float64),
    ),
    "floor of ceil": (simplify, apply(Op.FLOOR, apply(Op.CEIL, X))),
    "negative of absolute": (simplify, apply(Op.NEGATIVE, apply(Op.ABSOLUTE, X))),
    "times one": (simplify, apply(Op.MULTIPLY, X, build.constant(1, dtypes.float64))),
    "plus zero": (simplify, apply(Op.ADD, X, build.constant(0, dtypes.float64))),
    "times zero": (simplify, apply(Op.MULTIPLY, X, build.constant(0, dtypes.float64))),
    "other branches": (simplify, build.where(apply(Op.ISNAN, X), X, apply(Op.EXP, X))),
    "scan of some": (simplify, build.scan(ReduceKind.SUM, X, 1)),
    "scan of one from a start": (
        simplify,
        build.scan(ReduceKind.SUM, build.reshape(X, (12, 1)), 1, start=FLAT),
    ),
    "reduction of some": (simplify, build.reduce(ReduceKind.SUM, X, (1,))),
    "float sum of one, which turns -0.0 into 0.0": (
        simplify,
        build.reduce(ReduceKind.SUM, build.reshape(X, (3, 1, 4)), (1,)),
    ),
}


@pytest.mark.parametrize("name", FIRES)
def test_rule_fires(name):
    run, given, expected = FIRES[name]
    assert given is not expected
    (actual,) = run([given])
    assert actual is expected


@pytest.mark.parametrize("name", STAYS)
def test_rule_does_not_fire(name):
    run, given = STAYS[name]
    assert run([given])[0] is given


@pytest.mark.parametrize("seed", range(60))
def test_passes_keep_the_meaning_of_random_graphs(seed):
    output, inputs = random_graph(np.random.default_rng(seed))
    outputs = [output]
    for run in GRAPH_PASSES:
        outputs = run(outputs)
        assert_same_meaning([output], outputs, inputs)
        assert run(outputs) == outputs


def test_rewriting_is_shared_by_outputs():
    twice = apply(Op.NEGATIVE, apply(Op.NEGATIVE, X))
    user = apply(Op.EXP, twice)
    assert simplify([user, twice]) == [apply(Op.EXP, X), X]
    assert count_op(simplify([user])[0], Op.NEGATIVE) == 0


def test_rules_that_undo_each_other_are_found():
    swap = {Op.SIN: Op.COS, Op.COS: Op.SIN}
    rules = [Rule(op, lambda n: apply(swap[n.op], *n.inputs), "never settles") for op in swap]
    with pytest.raises(AssertionError, match="do not settle"):
        rewrite([apply(Op.SIN, X)], rules)
