"""Kernels of the kinds people write: on devices and by Python, against NumPy."""

import numpy as np
import pytest

import lazyblock.language as tl
from tests.helpers.kernels import jit, run_kernel


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def run(kernel, *arguments, grid, **constants):
    return run_kernel(
        kernel, *arguments, grid=grid, exact=False, arch="sm_90a", **constants
    )  # fmt: skip


@pytest.fixture
def rng():
    return np.random.default_rng(11)


# --- elements and rows ---------------------------------------------------------------------------


@jit
def add_vectors(x_ptr, y_ptr, out_ptr, size, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < size
    total = tl.load(x_ptr + offsets, mask=inside) + tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, total, mask=inside)


def test_vector_addition(rng):
    x, y = floats(rng, 100), floats(rng, 100)
    out = run(add_vectors, x, y, np.zeros_like(x), 100, grid=(4,), BLOCK=32)[2]
    np.testing.assert_array_equal(out, x + y)


@jit
def softmax_rows(out_ptr, in_ptr, stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    first, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=STAGES):
        lanes = tl.arange(0, BLOCK)
        inside = lanes < columns
        values = tl.load(in_ptr + row * stride + lanes, mask=inside, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out_ptr + row * stride + lanes, powers / tl.sum(powers, axis=0), mask=inside)


def test_softmax_of_rows(rng):
    x = floats(rng, 7, 50)
    sizes = {"BLOCK": 64, "STAGES": 2}
    out, _ = run(softmax_rows, np.zeros_like(x), x, 50, 7, 50, grid=(3,), **sizes)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5)


@jit
def drop(x_ptr, out_ptr, size, share, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < size
    x = tl.load(x_ptr + offsets, mask=inside)
    is_kept = tl.rand(seed, offsets) > share
    tl.store(out_ptr + offsets, tl.where(is_kept, x / (1 - share), 0.0), mask=inside)


def test_dropout():
    x = np.ones(100, np.float32)
    out = run(drop, x, np.zeros_like(x), 100, 0.5, 123, grid=(2,), BLOCK=64)[1]
    assert set(out.tolist()) == {0.0, 2.0} and 30 < (out == 0).sum() < 70


@jit
def normalise(X, Y, W, B, Mean, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    mean = 0
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        sums += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < N
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * scale * tl.load(W + cols, mask=mask) + tl.load(B + cols, mask=mask)
        tl.store(Y + cols, y, mask=mask)


def test_layer_norm(rng):
    x, w, b = floats(rng, 3, 50), floats(rng, 50), floats(rng, 50)
    means = np.zeros(3, np.float32)
    arguments = x, np.zeros_like(x), w, b, means, 50, 50, 1e-5
    _, y, _, _, means = run(normalise, *arguments, grid=(3,), BLOCK=16)
    centred = x - x.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(means, x.mean(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@jit
def log_loss(scores, labels, losses, weights, columns, ignored, MEAN: tl.constexpr,
             SMOOTH: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    scores += row * columns
    if label == ignored:
        for start in range(0, columns, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            tl.store(scores + offsets, 0.0, mask=offsets < columns)
        return
    if weights is not None:
        weight = tl.load(weights + label)
    largest = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        block = tl.load(scores + offsets, mask=offsets < columns, other=float("-inf"))
        new = tl.maximum(largest, tl.max(block))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(block - new))
        largest = new
    loss = largest + tl.log(total) - tl.load(scores + label)
    if SMOOTH > 0:
        loss *= 1 - SMOOTH
    if weights is not None:
        loss *= weight
    if MEAN == "mean":
        loss = loss / columns
    tl.store(losses + row, loss)


@pytest.mark.parametrize("has_weights", [False, True])
def test_losses_of_rows_some_of_which_are_ignored(rng, has_weights):
    scores, labels = floats(rng, 4, 37), np.array([3, -100, 36, 0])
    weights = np.abs(floats(rng, 37)) if has_weights else None
    arguments = scores, labels, np.zeros(4, np.float32), weights, 37, -100
    constants = {"MEAN": "mean", "SMOOTH": 0.0, "BLOCK": 16}
    after, _, losses, *_ = run(log_loss, *arguments, grid=(4,), **constants)
    wide = scores.astype(np.float64)
    expected = (np.log(np.exp(wide).sum(1)) - wide[np.arange(4), labels % 37]) / 37
    expected *= weights[labels % 37] if has_weights else 1
    expected[1] = 0
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert (after[1] == 0).all() and (after[0] == scores[0]).all()


# --- several instances ---------------------------------------------------------------------------


@jit
def add_rows_under_locks(X, Out, Locks, columns, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < columns
    lock = Locks + row % GROUPS
    count = lock + GROUPS
    place = Out + (row % GROUPS) * columns + cols
    part = tl.load(X + row * columns + cols, mask=mask)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(place, mask=mask)
    tl.store(place, part, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_sums_under_locks(rng):
    x = np.arange(100, dtype=np.float32).reshape(5, 20)
    out, locks = np.full((2, 20), 7, np.float32), np.zeros(4, np.int32)
    sizes = {"GROUPS": 2, "BLOCK": 32}
    _, out, locks = run(add_rows_under_locks, x, out, locks, 20, grid=(5,), **sizes)
    np.testing.assert_array_equal(out, [x[0::2].sum(0), x[1::2].sum(0)])
    assert locks.tolist() == [0, 0, 1, 1]


@jit
def count_tiles(sizes, out, problems, INSTANCES: tl.constexpr, BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    end = 0
    for problem in range(problems):
        size = tl.load(sizes + problem)
        tiles = tl.cdiv(size, BLOCK)
        while tile >= end and tile < end + tiles:
            offsets = (tile - end) * BLOCK + tl.arange(0, BLOCK)
            tl.atomic_add(out + problem, tl.sum(tl.where(offsets < size, 1, 0)))
            tile += INSTANCES
        end = end + tiles


def test_instances_take_tiles_of_many_problems():
    sizes = np.array([5, 17, 8], np.int32)
    out = run(count_tiles, sizes, np.zeros_like(sizes), 3, grid=(2,), INSTANCES=2, BLOCK=4)[1]
    assert out.tolist() == sizes.tolist()


# --- products ------------------------------------------------------------------------------------


@jit
def place_in_groups(tile, rows, columns, GROUP: tl.constexpr):
    per_group = GROUP * columns
    first = tile // per_group * GROUP
    height = min(rows - first, GROUP)
    return first + tile % per_group % height, tile % per_group // height


@jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@jit
def multiply(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = place_in_groups(
        tl.program_id(axis=0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP
    )
    tl.assume(pid_m >= 0)
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def test_matrix_product_in_grouped_order(rng):
    M, N, K = 40, 24, 36
    a, b = floats(rng, M, K).astype(np.float16), floats(rng, K, N).astype(np.float16)
    blocks = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP": 2}
    arguments = a, b, np.zeros((M, N), np.float16), M, N, K, K, 1, N, 1, N, 1
    *_, c = run(multiply, *arguments, grid=(6,), ACTIVATION="leaky", **blocks)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    expected = np.where(expected >= 0, expected, 0.01 * expected)
    np.testing.assert_allclose(c.astype(np.float32), expected, rtol=2e-3, atol=2e-3)


@jit
def attend_to(
    acc, weight, highest, q, K, V, first, scale, stride, offs_m: tl.constexpr,
    offs_n: tl.constexpr, PART: tl.constexpr, CONTEXT: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    if PART == 1:
        low, high = 0, first * BLOCK_M
    elif PART == 2:
        low, high = first * BLOCK_M, (first + 1) * BLOCK_M
        low = tl.multiple_of(low, BLOCK_M)
    else:
        low, high = 0, CONTEXT
    dims = tl.arange(0, DIM)
    for start in tl.range(low, high, BLOCK_N, warp_specialize=False):
        start = tl.multiple_of(start, BLOCK_N)
        k = tl.load(K + (start + offs_n)[:, None] * stride + dims[None, :])
        scores = tl.dot(q, tl.trans(k)) * scale
        if PART == 2:
            scores += tl.where(offs_m[:, None] >= start + offs_n[None, :], 0, -1.0e6)
        new = tl.maximum(highest, tl.max(scores, 1))
        p = tl.math.exp2(scores - new[:, None])
        shrink = tl.math.exp2(highest - new)
        v = tl.load(V + (start + offs_n)[:, None] * stride + dims[None, :])
        acc = tl.dot(p, v, acc * shrink[:, None])
        weight = weight * shrink + tl.sum(p, 1)
        highest = new
    return acc, weight, highest


@jit
def attend(
    Q, K, V, Out, scale, CONTEXT: tl.constexpr, DIM: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
):  # fmt: skip
    tl.static_assert(BLOCK_N <= DIM)
    first = tl.program_id(0)
    offs_m = first * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    place = offs_m[:, None] * DIM + tl.arange(0, DIM)[None, :]
    highest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    weight = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, DIM], dtype=tl.float32)
    base2 = scale
    base2 *= 1.44269504
    q = tl.load(Q + place)
    if STAGE & 1:
        acc, weight, highest = attend_to(
            acc, weight, highest, q, K, V, first, base2, DIM, offs_m, offs_n, 4 - STAGE,
            CONTEXT, BLOCK_M, BLOCK_N, DIM,
        )  # fmt: skip
    if STAGE & 2:
        acc, weight, highest = attend_to(
            acc, weight, highest, q, K, V, first, base2, DIM, offs_m, offs_n, 2,
            CONTEXT, BLOCK_M, BLOCK_N, DIM,
        )  # fmt: skip
    tl.store(Out + place, acc / weight[:, None])


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(rng, is_causal):
    size, dim = 64, 16
    q, k, v = (floats(rng, size, dim) for _ in range(3))
    constants = {"CONTEXT": size, "DIM": dim, "BLOCK_M": 32, "BLOCK_N": 16}
    constants["STAGE"] = 3 if is_causal else 1
    *_, out = run(attend, q, k, v, np.zeros_like(q), 0.5, grid=(2,), **constants)
    scores = q.astype(np.float64) @ k.T * 0.5
    if is_causal:
        scores = np.where(np.tri(size, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(out, p / p.sum(1, keepdims=True) @ v, rtol=1e-3, atol=1e-4)
