"""Kernels that teach Triton, launched as its host code launches them; imports are changed."""

import numpy as np
import pytest

import lazyblock as lb
import lazyblock as triton
import lazyblock.language as tl

DEVICES = ["cpu", "emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)]


def to_device(array, device):
    return lb.asarray(array, device=device)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# --- vector addition -----------------------------------------------------------------------------


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


@pytest.mark.parametrize("device", [None, "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_million_elements_are_added(device):
    n = 1_000_000
    a, b = floats(n), floats(n, seed=1)
    x, y, out = (v if device is None else to_device(v, device) for v in (a, b, np.zeros_like(a)))
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)  # noqa: E731
    add_kernel[grid](x, y, out, n, BLOCK_SIZE=1024)
    np.testing.assert_array_equal(np.asarray(out), a + b)


@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    input_row_stride,
    output_row_stride,
    n_rows,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
    num_stages: tl.constexpr,
):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        input_ptrs = row_start_ptr + col_offsets
        mask = col_offsets < n_cols
        row = tl.load(input_ptrs, mask=mask, other=-float("inf"))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        denominator = tl.sum(numerator, axis=0)
        softmax_output = numerator / denominator
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        output_ptrs = output_row_start_ptr + col_offsets
        tl.store(output_ptrs, softmax_output, mask=mask)


@pytest.mark.parametrize("device", DEVICES)
def test_fused_softmax(device):
    a = floats(13, 78)
    n_rows, n_cols = a.shape
    x, y = to_device(a, device), lb.empty(a.shape, dtype=np.float32, device=device)
    block, num_warps, num_stages = triton.next_power_of_2(n_cols), 4, 2
    with lb.config.scope(device=device):
        properties = triton.runtime.driver.active.utils.get_device_properties(0)
        kernel = softmax_kernel.warmup(
            y, x, n_cols, n_cols, n_rows, n_cols,
            BLOCK_SIZE=block, num_stages=num_stages, num_warps=num_warps, grid=(1,),
        )  # fmt: skip
    kernel._init_handles()
    assert kernel.n_regs > 0 or device != "cpu"  # what is emulated does not tell
    num_regs = max(kernel.n_regs, 1) * properties["warpSize"] * num_warps
    occupancy = properties["max_num_regs"] // num_regs
    occupancy = min(occupancy, properties["max_shared_mem"] // kernel.metadata.shared)
    num_programs = min(properties["multiprocessor_count"] * occupancy, n_rows)
    kernel[(num_programs, 1, 1)](y, x, n_cols, n_cols, n_rows, n_cols, block, num_stages)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)


@triton.jit
def _seeded_dropout(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    random = tl.rand(seed, offsets)
    x_keep = random > p
    output = tl.where(x_keep, x / (1 - p), 0.0)
    tl.store(output_ptr + offsets, output, mask=mask)


@pytest.mark.parametrize("device", DEVICES)
def test_seeded_dropout(device):
    a = floats(1000)
    x = to_device(a, device)
    outputs = []
    for seed in (123, 123, 512):
        out = lb.empty(1000, dtype=np.float32, device=device)
        grid = (triton.cdiv(1000, 256),)
        _seeded_dropout[grid](x, out, 1000, 0.5, seed, BLOCK_SIZE=256)
        outputs.append(out.numpy())
    first, again, other = outputs
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    kept = first != 0
    np.testing.assert_allclose(first[kept], a[kept] * 2)
    assert 400 < kept.sum() < 600


@triton.jit
def _layer_norm_fwd_fused(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    mean = 0
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        a = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        x_hat = (x - mean) * rstd
        y = x_hat * w + b
        tl.store(Y + cols, y, mask=mask)


@triton.jit
def _layer_norm_bwd_dx_fused(
    DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N,
    GROUP_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE_N)
    mask = cols < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock_id = row % GROUP_SIZE_M
    Lock += lock_id
    Count = Lock + GROUP_SIZE_M
    DW = DW + lock_id * N + cols
    DB = DB + lock_id * N + cols
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tl.where(mask, xhat, 0.0)
    wdy = tl.where(mask, wdy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(DX + cols, dx, mask=mask)
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = (dy).to(w.dtype)
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask)
        partial_db += tl.load(DB, mask=mask)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def _layer_norm_bwd_dwdb(
    DW, DB, FINAL_DW, FINAL_DB, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr
):
    pid = tl.program_id(0)
    cols = pid * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    dw = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_SIZE_M):
        rows = i + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dw += tl.load(DW + offs, mask=mask, other=0.0)
        db += tl.load(DB + offs, mask=mask, other=0.0)
    sum_dw = tl.sum(dw, axis=0)
    sum_db = tl.sum(db, axis=0)
    tl.store(FINAL_DW + cols, sum_dw, mask=cols < N)
    tl.store(FINAL_DB + cols, sum_db, mask=cols < N)


@pytest.mark.parametrize("device", DEVICES)
def test_layer_norm(device):
    M, N, group = 16, 50, 4
    a, w, b, dy = floats(M, N), floats(N, seed=1), floats(N, seed=2), floats(M, N, seed=3)
    x, weight, bias, grad = (to_device(v, device) for v in (a, w, b, dy))

    def zeros(*shape, dtype=np.float32):
        return lb.zeros(shape, dtype=dtype, device=device)

    y, mean, rstd = zeros(M, N), zeros(M), zeros(M)
    _layer_norm_fwd_fused[(M,)](x, y, weight, bias, mean, rstd, N, N, 1e-5, BLOCK_SIZE=32)
    mu, var = a.mean(axis=1, keepdims=True), a.var(axis=1, keepdims=True)
    xhat = (a - mu) / np.sqrt(var + 1e-5)
    np.testing.assert_allclose(y.numpy(), xhat * w + b, rtol=1e-4, atol=1e-5)
    dx, dw, db = zeros(M, N), zeros(group, N), zeros(group, N)
    locks, final_dw, final_db = zeros(2 * group, dtype=np.int32), zeros(N), zeros(N)
    _layer_norm_bwd_dx_fused[(M,)](
        dx, grad, dw, db, x, weight, mean, rstd, locks, N, N,
        BLOCK_SIZE_N=64, GROUP_SIZE_M=group, num_warps=2,
    )  # fmt: skip

    def grid(meta):
        return [triton.cdiv(N, meta["BLOCK_SIZE_N"])]

    _layer_norm_bwd_dwdb[grid](
        dw, db, final_dw, final_db, min(group, M), N, BLOCK_SIZE_M=32, BLOCK_SIZE_N=64, num_ctas=1
    )
    wdy = w * dy
    c1, c2 = (xhat * wdy).mean(axis=1, keepdims=True), wdy.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        dx.numpy(), (wdy - (xhat * c1 + c2)) / np.sqrt(var + 1e-5), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(final_dw.numpy(), (dy * xhat).sum(axis=0), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(final_db.numpy(), dy.sum(axis=0), rtol=1e-3, atol=1e-5)
