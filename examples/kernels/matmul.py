"""Product of two matrices of float16, with leaky ReLU, block by block in an order that reuses L2.

Run it with `python -m examples.kernels.matmul`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def leaky_relu(x):
    """Negative numbers count for a hundredth."""
    return tl.where(x >= 0, x, 0.01 * x)


@lb.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """One block of c = a @ b. Blocks go down GROUP_M rows before they go on to the next column."""
    blocks_m, blocks_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group, place = tl.program_id(0) // (GROUP_M * blocks_n), tl.program_id(0) % (GROUP_M * blocks_n)
    height = min(blocks_m - group * GROUP_M, GROUP_M)
    i = (group * GROUP_M + place % height) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    j = (place // height) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        left, top = start + k[None, :], start + k[:, None]
        a = tl.load(a_ptr + i * K + left, mask=(i < M) & (left < K), other=0.0)
        b = tl.load(b_ptr + top * N + j, mask=(top < K) & (j < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + i * N + j, ACTIVATION(total).to(tl.float16), mask=(i < M) & (j < N))


def main(device=None) -> None:
    """Multiply (150, 90) by (90, 110)."""
    M, N, K = 150, 110, 90
    left, right = normal(M, K, dtype=np.float16), normal(K, N, dtype=np.float16)
    a, b, c = to_device(device, left, right, np.empty((M, N), np.float16))
    blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 2}
    grid = (lb.cdiv(M, 32) * lb.cdiv(N, 32),)
    matmul_kernel[grid](a, b, c, M, N, K, **blocks, ACTIVATION=leaky_relu)
    product = left.astype(np.float64) @ right
    check("matmul", c, np.where(product >= 0, product, 0.01 * product), 1e-3)


if __name__ == "__main__":
    main()
