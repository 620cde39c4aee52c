"""Layer norm: rows are centred, scaled to variance 1, then weighted. See layer_norm_backward too.

Run it with `python -m examples.kernels.layer_norm`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, mean_ptr, rstd_ptr, N, epsilon, BLOCK: tl.constexpr
):
    """One row, in steps of BLOCK: its mean, its variance, then the result."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x_ptr + row * N + start + i, mask=start + i < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * N + start + i, mask=start + i < N, other=mean)
        squares += (x - mean) * (x - mean)
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + epsilon)
    for start in range(0, N, BLOCK):
        is_inside = start + i < N
        x = tl.load(x_ptr + row * N + start + i, mask=is_inside)
        weight = tl.load(weight_ptr + start + i, mask=is_inside)
        bias = tl.load(bias_ptr + start + i, mask=is_inside)
        tl.store(out_ptr + row * N + start + i, (x - mean) * rstd * weight + bias, mask=is_inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


def main(device=None) -> None:
    """Normalise 20 rows of 300 numbers."""
    M, N = 20, 300
    rows, factors, terms = 3 * normal(M, N) + 1, normal(N), normal(N)
    x, weight, bias, out, mean, rstd = to_device(
        device, rows, factors, terms, np.empty_like(rows), *np.empty((2, M), np.float32)
    )
    layer_norm_kernel[(M,)](x, weight, bias, out, mean, rstd, N, 1e-5, BLOCK=128)
    exact = rows.astype(np.float64)
    deviation = np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    centred = exact - exact.mean(axis=1, keepdims=True)
    check("layer norm", out, centred / deviation * factors + terms)
    check("layer norm: mean", mean, exact.mean(axis=1))
    check("layer norm: 1 / deviation", rstd, 1 / deviation[:, 0])


if __name__ == "__main__":
    main()
