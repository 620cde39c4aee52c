"""Shapes: broadcasting, rearranging, joining, indexing; NumPy says what comes out."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from lazyblock.language.context import use_builder
from lazyblock.language.eager import EagerBuilder
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, evaluate
from tests.language.rules import NAMES, sample

A = np.arange(32, dtype=np.int32).reshape(4, 8)
B = np.arange(64, dtype=np.float32).reshape(2, 4, 8)

MOVES = [
    (lambda x: x[:, None], A, lambda a: a[:, None]),
    (lambda x: x[None, :, None, :], A, lambda a: a[None, :, None, :]),
    (lambda x: x[None], A, lambda a: a[None]),
    (lambda x: x[..., None], A, lambda a: a[..., None]),
    (lambda x: x.expand_dims(0), A, lambda a: a[None]),
    (lambda x: x.expand_dims(-1), A, lambda a: a[..., None]),
    (lambda x: tl.expand_dims(x, (0, 2)), A, lambda a: a[None, :, None, :]),
    (lambda x: tl.expand_dims(x, [-1, 0]), A, lambda a: a[None, :, :, None]),
    (lambda x: tl.unsqueeze(x, 1), A, lambda a: a[:, None]),
    (lambda x: x[:, None].squeeze(1), A, lambda a: a),
    (lambda x: x.T, A, lambda a: a.T),
    (lambda x: tl.trans(x), A, lambda a: a.T),
    (lambda x: x.trans(), B, lambda a: a.transpose(0, 2, 1)),
    (lambda x: tl.trans(x, 1, 2, 0), B, lambda a: a.transpose(1, 2, 0)),
    (lambda x: tl.trans(x, (2, 0, 1)), B, lambda a: a.transpose(2, 0, 1)),
    (lambda x: x.permute(2, 1, 0), B, lambda a: a.transpose(2, 1, 0)),
    (lambda x: tl.permute(x, (0, -1, 1)), B, lambda a: a.transpose(0, 2, 1)),
    (lambda x: x.reshape(8, 4), A, lambda a: a.reshape(8, 4)),
    (lambda x: x.reshape([2, 2, 8]), A, lambda a: a.reshape(2, 2, 8)),
    (lambda x: tl.reshape(x, (32,)), A, lambda a: a.reshape(-1)),
    (lambda x: tl.reshape(x, 2, -1), A, lambda a: a.reshape(2, 16)),
    (lambda x: x.view(16, 2), A, lambda a: a.reshape(16, 2)),
    (lambda x: tl.ravel(x), B, lambda a: a.reshape(-1)),
    (lambda x: tl.broadcast_to(x[:, None], (4, 2, 8)), A, lambda a: a[:, None].repeat(2, 1)),
    (lambda x: tl.broadcast_to(x, 2, 4, 8), A, lambda a: np.broadcast_to(a, (2, 4, 8))),
    (lambda x: tl.sum(x).broadcast_to((2, 2)), A, lambda a: np.full((2, 2), a.sum(), a.dtype)),
    (lambda x: x[1:3], A, lambda a: a[1:3]),
    (lambda x: x[:, ::2], A, lambda a: a[:, ::2]),
    (lambda x: x[::-1, 4:], A, lambda a: a[::-1, 4:]),
    (lambda x: x[2], A, lambda a: a[2]),
    (lambda x: x[-1, 3], A, lambda a: a[-1, 3]),
    (lambda x: x[:, 5], A, lambda a: a[:, 5]),
    (lambda x: x[0, None, :4], A, lambda a: a[0, None, :4]),
    (lambda x: tl.exchange(x, 1, 3), A, lambda a: a[:, np.arange(8) ^ 3]),
    (lambda x: tl.join(x, -x), A, lambda a: np.stack([a, -a], -1)),
    (lambda x: tl.join(tl.sum(x), tl.max(x)), A, lambda a: np.array([a.sum(), a.max()], a.dtype)),
    (lambda x: tl.interleave(x, -x), A, lambda a: np.stack([a, -a], -1).reshape(4, 16)),
    (lambda x: tl.interleave(tl.sum(x), tl.max(x)), A, lambda a: np.array([a.sum(), 31], a.dtype)),
    (lambda x: tl.cat(x, -x), A, lambda a: np.concatenate([a, -a])),
    (lambda x: tl.cat(x, -x, dim=1), A, lambda a: np.concatenate([a, -a], 1)),
    (lambda x: tl.cat(x, -x, can_reorder=True, dim=-1), B, lambda a: np.concatenate([a, -a], -1)),
    (lambda x: tl.cat(x, -x, dim=1), B, lambda a: np.concatenate([a, -a], 1)),
    (lambda x: tl.sum(x).reshape(1, 1), A, lambda a: a.sum(dtype=a.dtype).reshape(1, 1)),
    (lambda x: tl.sum(x, keep_dims=True).item(), A, lambda a: a.sum(dtype=a.dtype)),
    (lambda x: x + x[0], A, lambda a: a + a[0]),
    (lambda x: x[:, :, None] + x[0], B[0], lambda a: a[:, :, None] + a[0]),
]


@pytest.mark.parametrize(("move", "given", "expected"), MOVES)
def test_blocks_move_as_numpy_arrays_do(move, given, expected):
    assert_same_bits(evaluate(move, given).data, np.asarray(expected(given)))


def test_devices_move_blocks_too():
    evaluate(lambda x: [move(x) for move, given, _ in MOVES if given is A], A, ways=DEVICES)


@pytest.mark.parametrize("name", NAMES)
def test_every_type_moves(name):
    a = sample(name, 16).reshape(8, 2)
    results = evaluate(lambda x: [*tl.split(x), x.T, tl.join(*tl.split(x)), tl.cat(x, x)], a)
    expected = [a[:, 0], a[:, 1], a.T, a, np.concatenate([a, a])]
    for result, data in zip(results, expected, strict=True):
        assert_same_bits(result.data, data)


def test_split_of_two_elements_gives_scalars():
    results = evaluate(lambda x: tl.split(x), np.array([3, 4], np.int32), ways=ALL)
    assert [r.data.item() for r in results] == [3, 4]


def test_broadcast_gives_both():
    results = evaluate(lambda x: tl.broadcast(x[0], x[:, None, 0]), A)
    assert_same_bits(results[0].data, np.broadcast_to(A[0], (4, 8)))
    assert_same_bits(results[1].data, np.broadcast_to(A[:, :1], (4, 8)))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["int8", "int1", "fp16", "fp64"])
def test_gather(name, axis):
    a = sample(name, 32).reshape(4, 8)
    extent = a.shape[axis]
    index = np.random.default_rng(1).integers(0, extent, (4, 8)).astype(np.int32)
    result = evaluate(lambda x, i: tl.gather(x, i, axis), a, index, ways=DEVICES)
    assert_same_bits(result.data, np.take_along_axis(a, index, axis))


@pytest.mark.parametrize("type", [np.int8, np.uint8, np.int64, np.uint32])
def test_gather_by_any_integers(type):
    index = np.array([3, 0, 1, 2, 2, 2, 0, 3], type)
    result = evaluate(lambda x, i: x.gather(i, 0), A[:, 0].copy(), index)
    assert_same_bits(result.data, A[:, 0][index])


@pytest.mark.parametrize("type", [np.int32, np.uint32])
def test_histogram(type):
    a = np.array([0, 1, 1, 3, 7, 9, 2**31 - 1, 3], type)
    mask = np.array([1, 1, 0, 1, 1, 1, 1, 1], bool)
    results = evaluate(lambda x, m: [tl.histogram(x, 8), x.histogram(8, mask=m)], a, mask, ways=ALL)
    assert_same_bits(results[0].data, np.array([1, 2, 0, 2, 0, 0, 0, 1], np.int32))
    assert_same_bits(results[1].data, np.array([1, 1, 0, 2, 0, 0, 0, 1], np.int32))


@pytest.mark.parametrize(("start", "end"), [(0, 8), (5, 9), (-4, 4), (3, 4)])
def test_arange(start, end):
    result = evaluate(lambda: tl.arange(start, end), ways=ALL)
    assert result.type == "int32"
    assert_same_bits(result.data, np.arange(start, end, dtype=np.int32))


def test_a_last_colon_for_no_axis_counts_for_nothing():
    results = evaluate(lambda x: [tl.sum(x)[None, None, :], x[:, :, :]], A)
    assert_same_bits(results[0].data, A.sum(dtype=np.int32).reshape(1, 1))
    assert_same_bits(results[1].data, A)
    scalars = evaluate(lambda x: [tl.sum(x)[:, None], tl.sum(x)[None, :]], A)
    assert [scalar.data.tolist() for scalar in scalars] == [[A.sum()]] * 2
    with pytest.raises(SemanticError, match="3 indices for a block of 2 axes"):
        evaluate(lambda x: x[:, :, 0], A)


def test_shapes_are_constexprs():
    def body(x):
        assert x.shape == (4, 8) and isinstance(x.shape[0], tl.constexpr)
        assert x.numel == 32 and len(x) == 4 and x.ndim == 2
        assert x.type == tl.block_type(tl.int32, [4, 8])
        return tl.zeros(x.shape, x.dtype)

    assert_same_bits(evaluate(body, A).data, np.zeros_like(A))


REFUSED = [
    (lambda x: x + tl.zeros((2, 8), tl.int32), r"\(4, 8\) and \(2, 8\) do not broadcast"),
    (lambda x: tl.reshape(x, (4, 4)), r"cannot be reshaped to \(4, 4\): 32 elements are not 16"),
    (lambda x: tl.broadcast_to(x, (8, 8)), r"shape \(4, 8\) does not broadcast to \(8, 8\)"),
    (lambda x: tl.zeros((0,), tl.int32), "are positive, got 0"),
    (lambda x: tl.arange(4, 4), "has no elements"),
    (lambda x: tl.arange(0, tl.sum(x)), "'end' must be known at compile time"),
    (lambda x: tl.expand_dims(x, 5), "axis 5 is outside a block of 3 axes"),
    (lambda x: tl.expand_dims(x, (0, 0)), "the same axis twice"),
    (lambda x: tl.permute(x, (0, 0)), "is no order of the 2 axes"),
    (lambda x: x[None].T, ".T is of blocks of two axes"),
    (lambda x: tl.trans(x[0]), "two axes at least"),
    (lambda x: tl.join(x, x.to(tl.int8)), "blocks of one type, got int32 and int8"),
    (lambda x: tl.cat(x, x[:2]), "blocks of one shape"),
    (lambda x: tl.split(x), "last axis of extent 2"),
    (lambda x: tl.squeeze(x, 0), "not of extent 1"),
    (lambda x: x.item(), "blocks of one element"),
    (lambda x: x[tl.sum(x)], "None, ':' and static integers"),
    (lambda x: x[0, 0, 0], "3 indices for a block of 2 axes"),
    (lambda x: x[9], "index 9 is outside"),
    (lambda x: x[3:3], "A slice without elements"),
    (lambda x: tl.gather(x, x[:2], 1), "other extents to be equal"),
    (lambda x: tl.gather(x, x.to(tl.float32), 1), "integer indices"),
    (lambda x: tl.histogram(x, 4), "along one axis"),
    (lambda x: tl.full((4,), x, tl.int32), "tl.full repeats a scalar"),
    (lambda x: tl.program_id(3), "axis 0, 1 or 2, got 3"),
    (lambda x: tl.to_tensor("one"), "Expected a number or a block"),
    (lambda x: x**2, r"'\*\*' has no meaning for a block of int32 of shape \(4, 8\) and 2"),
    (lambda x: x + None, r"'\+' has no meaning for a block of int32 of shape \(4, 8\) and"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_what_has_no_meaning_is_refused(function, message):
    for way in ("eager", "interpreter"):
        with pytest.raises(SemanticError, match=message):
            evaluate(function, A, ways=[way])


def test_elements_are_not_assigned():
    def body(x):
        x[0] = 1
        return x

    with pytest.raises(SemanticError, match="cannot be assigned"):
        evaluate(body, A)


# --- Python's view -------------------------------------------------------------------------------


def test_values_are_seen_in_interpreter_mode_only():
    def look(x):
        total = tl.sum(x)
        assert bool(total > 3) and int(total) == 496 and float(total) == 496.0
        assert list(range(3))[tl.max(x[0, :2])] == 1
        assert repr(total) == "tensor(496, int32)"
        with pytest.raises(SemanticError, match="neither true nor false"):
            bool(x)
        return x

    evaluate(look, A, ways=["eager"])
    for use in (bool, int, float):
        with pytest.raises(SemanticError, match="has no value when a kernel is compiled"):
            evaluate(lambda x, use=use: use(tl.sum(x)) and x, A, ways=["interpreter"])


EXTENSIONS = [
    (lambda x: x[:2], "An index other than None and ':'"),
    (lambda x: x[3], "An index other than None and ':'"),
    (lambda x: tl.arange(0, 6), "A block of 6 elements, which is no power of two,"),
    (lambda x: tl.exchange(x, 0, 1), "tl.exchange"),
    (lambda x: tl.argsort(x), "tl.argsort"),
    (lambda x: tl.sort(x, payload=x), "A payload of tl.sort"),
    (lambda x: tl.topk(x, 2, payload=x), "A payload of tl.topk"),
]


@pytest.mark.parametrize(("function", "what"), EXTENSIONS)
def test_strict_mode_refuses_extensions(function, what):
    with use_builder(EagerBuilder(), strict=True):
        x = tl.arange(0, 8)
        assert x[:, None].shape == (8, 1) and tl.sort(x).shape == (8,)
        with pytest.raises(SemanticError, match=f"{what} is an extension of lazyblock"):
            function(x)


def test_functions_mean_nothing_outside_kernels():
    with pytest.raises(SemanticError, match="only inside a kernel"):
        tl.arange(0, 8)
