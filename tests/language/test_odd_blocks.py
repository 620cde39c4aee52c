"""Blocks whose extents are no powers of two, an extension: they work as other blocks do."""

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock.errors import CompileError, SemanticError
from lazyblock.language.context import use_builder
from lazyblock.tiler.builder import Builder
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, WAYS, evaluate, run_body
from tests.language.rules import NUMPY, sample

A = np.arange(1, 16, dtype=np.int32).reshape(3, 5) * 7 % 11 - 4
X = sample("fp32", 7)


def pick(x, index):
    return x[index]


MOVES = {
    "flat": (lambda x: x.ravel(), A.reshape(15)),
    "other rows": (lambda x: x.reshape(5, 3), A.reshape(5, 3)),
    "more axes": (lambda x: x.reshape(3, 1, 5, 1), A.reshape(3, 1, 5, 1)),
    "transposed": (lambda x: x.T, A.T),
    "transposed and flat": (lambda x: x.T.reshape(15), A.T.reshape(15)),
    "repeated": (lambda x: tl.broadcast_to(x[:, None, :], 3, 2, 5), np.stack([A, A], 1)),
    "joined": (lambda x: tl.join(x, x + 1), np.stack([A, A + 1], -1)),
    "one of two": (lambda x: tl.split(tl.join(x, -x))[1], -A),
    "interleaved": (lambda x: tl.interleave(x, -x), np.stack([A, -A], -1).reshape(3, 10)),
    "behind each other": (lambda x: tl.cat(x, -x), np.concatenate([A, -A])),
    "beside each other": (lambda x: tl.cat(x, -x, dim=1), np.concatenate([A, -A], 1)),
    "flipped": (lambda x: tl.flip(x), A[:, ::-1]),
    "columns flipped": (lambda x: tl.flip(x, 0), A[::-1]),
    "sliced": (lambda x: pick(x, (slice(1, None), slice(0, 5, 2))), A[1:, ::2]),
    "a row": (lambda x: pick(x, 2), A[2]),
    "sum": (lambda x: tl.sum(x, 1), A.sum(1)),
    "sum of columns": (lambda x: tl.sum(x, 0), A.sum(0)),
    "sum of all": (lambda x: tl.sum(x), A.sum()),
    "product": (lambda x: tl.reduce(x, 1, lambda a, b: a * b), A.prod(1, dtype=np.int32)),
    "largest": (lambda x: tl.max(x, 1), A.max(1)),
    "place of the smallest": (lambda x: tl.argmin(x, 0), A.argmin(0)),
    "all bits": (lambda x: tl.xor_sum(x, 0), np.bitwise_xor.reduce(A, 0)),
    "running sum": (lambda x: tl.cumsum(x, 1), A.cumsum(1)),
    "running sum from the end": (
        lambda x: tl.cumsum(x, 0, reverse=True),
        A[::-1].cumsum(0)[::-1],
    ),
    "running largest from the end": (
        lambda x: tl.associative_scan(x, 1, lambda a, b: tl.maximum(a, b), reverse=True),
        np.maximum.accumulate(A[:, ::-1], 1)[:, ::-1],
    ),
    "sorted": (lambda x: tl.sort(x), np.sort(A)),
    "sorted downwards": (lambda x: tl.sort(x, descending=True), np.sort(A)[:, ::-1]),
    "order": (lambda x: tl.argsort(x), np.argsort(A, kind="stable")),
    "three largest": (lambda x: tl.topk(x, 3), np.sort(A)[:, :-4:-1]),
    "divided": (lambda x: x // (x * 0 + 2), (A / 2).astype(np.int32)),
    "counted": (
        lambda x: tl.histogram(x.ravel() + 4, 11),
        np.bincount(A.ravel() + 4, minlength=11),
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_works_on_blocks(name):
    function, expected = MOVES[name]
    result = evaluate(function, A, ways=ALL)
    assert_same_bits(result.data, np.asarray(expected, np.int32))


@pytest.mark.parametrize("size", [1, 3, 5, 6, 7, 12, 33, 100])
def test_ranges_of_any_length(size):
    result = evaluate(lambda: tl.arange(2, 2 + size), ways=ALL)
    assert_same_bits(result.data, np.arange(2, 2 + size, dtype=np.int32))


@pytest.mark.parametrize("name", NUMPY)
def test_every_type(name):
    a = sample(name, 6).reshape(2, 3)
    result = evaluate(lambda x: x.T.reshape(6), a, ways=DEVICES)
    assert_same_bits(result.data, a.T.reshape(6))


def test_floats_fold_as_if_nothing_were_behind_them():
    a = np.array([[-0.0, -0.0, -0.0], [np.nan, np.nan, np.nan], [1, np.nan, -3]], np.float32)
    folds = evaluate(lambda x: [tl.sum(x, 1), tl.max(x, 1), tl.min(x, 1)], a, ways=ALL)
    assert_same_bits(folds[0].data, np.array([-0.0, np.nan, np.nan], np.float32))
    assert_same_bits(folds[1].data, np.array([-0.0, np.nan, 1], np.float32))
    assert_same_bits(folds[2].data, np.array([-0.0, np.nan, -3], np.float32))


def test_several_blocks_fold_together():
    def later(a, i, b, j):
        takes = (b > a) | ((b == a) & (j > i))
        return tl.where(takes, b, a), tl.where(takes, j, i)

    def body(x):
        index = tl.broadcast_to(tl.arange(0, 5)[None, :], 3, 5)
        return tl.reduce((x, index), 1, later)

    largest, place = evaluate(body, A, ways=ALL)
    assert_same_bits(largest.data, A.max(1))
    assert_same_bits(place.data, (4 - A[:, ::-1].argmax(1)).astype(np.int32))


@pytest.mark.parametrize(("m", "k", "n"), [(3, 5, 7), (12, 20, 24), (1, 3, 16), (16, 16, 17)])
@pytest.mark.parametrize("name", ["fp32", "fp16", "int8"])
def test_products_of_any_sizes(name, m, k, n):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(NUMPY[name]) for shape in ((m, k), (k, n)))
    result = evaluate(tl.dot, a, b, ways=ALL)
    expected = a.astype(np.int32) @ b.astype(np.int32)
    assert_same_bits(result.data, expected.astype(result.data.dtype))


def test_what_is_behind_a_factor_does_not_count():
    a, b = np.ones((4, 3), np.float32), np.full((3, 4), 2, np.float32)
    result = evaluate(lambda x, y: tl.dot(1 / x, y / x.T), a, b, ways=ALL)
    assert_same_bits(result.data, np.full((4, 4), 6, np.float32))


def test_memory_behind_a_block_is_left_alone():
    def body(x, out):
        i = tl.arange(0, 5)
        tl.store(out + i, tl.load(x + i, mask=i < 3, other=9))
        tl.atomic_add(out + 6 + tl.arange(0, 3), 1)

    given, out = np.arange(5, dtype=np.int32), np.full(9, 7, np.int32)
    expected = np.array([0, 1, 2, 9, 9, 7, 8, 8, 8], np.int32)
    assert_same_bits(run_body(body, given, out, ways=ALL)[1], expected)


@lb.jit
def walks(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total, rounds = tl.zeros((N,), tl.int32), 0
    for k in range(n):
        total += tl.load(x_ptr + i) + k
    while tl.max(total) < 1000:
        total, rounds = total * 2 + i, rounds + 1
    if rounds > 2:  # noqa: SIM108 (a branch is what is tested)
        total = tl.flip(total)
    else:
        total = -total
    tl.store(out_ptr + i, total)


def walked(x, n):
    total, rounds = x * n + n * (n - 1) // 2, 0
    while total.max() < 1000:
        total, rounds = total * 2 + np.arange(len(x)), rounds + 1
    return total[::-1] if rounds > 2 else -total


GPU = pytest.param("cuda", marks=pytest.mark.gpu)


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize("device", ["cpu", "emulated:sm_90a", "interpreter", "sanitizer", GPU])
def test_loops_and_branches_carry_them(device, n):
    x = np.arange(1, 8, dtype=np.int32)
    modes = {"interpreter": {"interpret": True}, "sanitizer": {"sanitize": True}}
    with lb.config.scope(**modes.get(device, {})):
        place = "cpu" if device in modes else device
        out = lb.zeros(7, dtype=np.int32, device=place)
        walks[(1,)](lb.asarray(x, device=place), out, n, N=7)
    np.testing.assert_array_equal(out.numpy(), walked(x, n))


REFUSED = [
    (lambda: tl.arange(3, 3), "has no elements"),
    (lambda: tl.zeros((0, 2), tl.int32), "Extents of blocks are positive, got 0"),
    (lambda: tl.exchange(tl.arange(0, 6), 0, 1), "tl.exchange needs extents that are powers"),
    (lambda: tl.bitonic_merge(tl.arange(0, 6)), "tl.bitonic_merge needs extents"),
    (lambda: tl.device_print("x", tl.arange(0, 6)), "tl.device_print needs extents"),
    (lambda: tl.topk(tl.arange(0, 6), 7), "needs 1 to 6 as k, got 7"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
@pytest.mark.parametrize("way", WAYS)
def test_what_has_no_meaning_is_refused(body, message, way):
    with pytest.raises(SemanticError, match=message):
        run_body(lambda out: body(), np.zeros(1, np.int32), ways=[way])


def test_strict_mode_refuses_them():
    with (
        use_builder(Builder("body"), strict=True),
        pytest.raises(
            SemanticError, match="A block of 3 elements, which is no power of two, is an"
        ),
    ):
        tl.zeros((4, 3), tl.int32)


@pytest.mark.parametrize("interpret", [False, True])
def test_the_setting_strict_holds_for_launches(interpret):
    out = np.zeros(7, np.int32)
    with lb.config.scope(interpret=interpret):
        walks[(1,)](out + 1, out, 3, N=7)
        with (
            lb.config.scope(strict=True),
            pytest.raises(CompileError, match="A block of 7 elements, which is no power"),
        ):
            walks[(1,)](out + 1, out, 3, N=7)
