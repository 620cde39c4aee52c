"""A product of matrices by tensor descriptors: as many program instances as there are processors.

Run it with `python -m examples.kernels.persistent_matmul`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device
from lazyblock.tools.tensor_descriptor import TensorDescriptor


@lb.jit
def persistent_kernel(
    a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    """Every num_programs-th block of c = a @ b.T; descriptors mask what lies outside."""
    blocks_n = tl.cdiv(N, BLOCK_N)
    num_blocks = tl.cdiv(M, BLOCK_M) * blocks_n
    for block in tl.range(
        tl.program_id(0), num_blocks, tl.num_programs(0), flatten=True, warp_specialize=True
    ):
        top, left = block // blocks_n * BLOCK_M, block % blocks_n * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            total = tl.dot(a.load([top, k]), b.load([left, k]).T, total)
        c.store([top, left], total.to(tl.float16))


def matmul(a, b, c, block=(32, 32, 32), num_programs=8):
    """Write a @ b.T into `c`."""
    (M, K), N = a.shape, b.shape[0]
    block_m, block_n, block_k = block
    persistent_kernel[(num_programs,)](
        TensorDescriptor.from_tensor(a, [block_m, block_k]),
        TensorDescriptor.from_tensor(b, [block_n, block_k]),
        TensorDescriptor.from_tensor(c, [block_m, block_n]),
        *(M, N, K), *block,
    )  # fmt: skip


def main(device=None) -> None:
    """Multiply (120, 80) by the transposed (136, 80)."""
    left, right = normal(120, 80, dtype=np.float16), normal(136, 80, dtype=np.float16)
    a, b, c = to_device(device, left, right, np.empty((120, 136), np.float16))
    matmul(a, b, c)
    check("persistent matmul", c, left.astype(np.float64) @ right.T, 1e-3)


if __name__ == "__main__":
    main()
