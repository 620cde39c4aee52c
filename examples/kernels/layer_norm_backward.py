"""Gradients of layer norm, in two stages: sums over few rows each, then the sum of those sums.

Run it with `python -m examples.kernels.layer_norm_backward`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def rows_kernel(x_ptr, dy_ptr, weight_ptr, dx_ptr, parts_ptr, M, N, epsilon, BLOCK: tl.constexpr):
    """The gradient of each num_programs-th row; what these rows add to those of weight and bias."""
    i = tl.arange(0, BLOCK)
    is_inside = i < N
    weight = tl.load(weight_ptr + i, mask=is_inside, other=0.0)
    d_weight = tl.zeros((BLOCK,), tl.float32)
    d_bias = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        x = tl.load(x_ptr + row * N + i, mask=is_inside, other=0.0)
        dy = tl.load(dy_ptr + row * N + i, mask=is_inside, other=0.0)
        centred = tl.where(is_inside, x - tl.sum(x, axis=0) / N, 0.0)
        rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / N + epsilon)
        normed, weighted = centred * rstd, dy * weight
        along = tl.sum(normed * weighted, axis=0) / N
        dx = (weighted - normed * along - tl.sum(weighted, axis=0) / N) * rstd
        tl.store(dx_ptr + row * N + i, dx, mask=is_inside)
        d_weight += dy * normed
        d_bias += dy
    tl.store(parts_ptr + tl.program_id(0) * 2 * N + i, d_weight, mask=is_inside)
    tl.store(parts_ptr + (tl.program_id(0) * 2 + 1) * N + i, d_bias, mask=is_inside)


@lb.jit
def parts_kernel(parts_ptr, sums_ptr, N, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """Sums of BLOCK columns over all parts."""
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    parts = tl.load(parts_ptr + tl.arange(0, PARTS)[:, None] * N + j, mask=j < N, other=0.0)
    tl.store(sums_ptr + j, tl.sum(parts, axis=0), mask=j < N)


def main(device=None) -> None:
    """Go back through 30 rows of 100 numbers, by 8 program instances."""
    a, dy, w = normal(30, 100), normal(30, 100), normal(100)
    sums, parts = np.empty((2, 100), np.float32), np.empty((8, 2, 100), np.float32)
    arrays = to_device(device, a, dy, w, np.empty_like(a), parts, sums)
    rows_kernel[(8,)](*arrays[:-1], 30, 100, 1e-5, BLOCK=128)
    parts_kernel[(4,)](*arrays[-2:], 200, PARTS=8, BLOCK=64)
    rstd = 1 / np.sqrt(a.var(1, keepdims=True, dtype=np.float64) + 1e-5)
    normed, dn = (a - a.mean(1, keepdims=True, dtype=np.float64)) * rstd, dy * w.astype(np.float64)
    along = (normed * dn).mean(1, keepdims=True)
    check("d rows", arrays[3], (dn - normed * along - dn.mean(1, keepdims=True)) * rstd)
    check("d weight, d bias", arrays[5], np.stack([(dy * normed).sum(0), dy.sum(0)]))


if __name__ == "__main__":
    main()
