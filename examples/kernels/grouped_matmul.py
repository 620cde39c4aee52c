"""Products of many pairs of matrices of different sizes in one launch, found by tables of pointers.

Run it with `python -m examples.kernels.grouped_matmul`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device
from lazyblock.tools.pointer_table import PointerTable


@lb.jit
def grouped_kernel(a_table, b_table, c_table, sizes_ptr, num_products, BLOCK: tl.constexpr):
    """Blocks of all products are numbered through; an instance takes every num_programs-th."""
    block = tl.program_id(0)
    first = 0  # block of the product
    for product in range(num_products):
        M = tl.load(sizes_ptr + 3 * product)
        N = tl.load(sizes_ptr + 3 * product + 1)
        K = tl.load(sizes_ptr + 3 * product + 2)
        a_ptr = tl.load(a_table + product).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(b_table + product).to(tl.pointer_type(tl.float16))
        c_ptr = tl.load(c_table + product).to(tl.pointer_type(tl.float16))
        blocks_n = tl.cdiv(N, BLOCK)
        end = first + tl.cdiv(M, BLOCK) * blocks_n
        while block < end:
            i = (block - first) // blocks_n * BLOCK + tl.arange(0, BLOCK)[:, None]
            j = (block - first) % blocks_n * BLOCK + tl.arange(0, BLOCK)[None, :]
            total = tl.zeros((BLOCK, BLOCK), tl.float32)
            for start in range(0, K, BLOCK):
                left, top = (
                    start + tl.arange(0, BLOCK)[None, :],
                    start + tl.arange(0, BLOCK)[:, None],
                )
                a = tl.load(a_ptr + i * K + left, mask=(i < M) & (left < K), other=0.0)
                b = tl.load(b_ptr + top * N + j, mask=(top < K) & (j < N), other=0.0)
                total = tl.dot(a, b, total)
            tl.store(c_ptr + i * N + j, total.to(tl.float16), mask=(i < M) & (j < N))
            block += tl.num_programs(0)
        first = end


def main(device=None) -> None:
    """Three products."""
    sizes = np.array([(70, 40, 30), (16, 90, 50), (33, 17, 65)], np.int32)
    pairs = [(normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16)) for m, n, k in sizes]
    a, b = (to_device(device, *matrices) for matrices in zip(*pairs, strict=True))
    c = to_device(device, *(np.empty((m, n), np.float16) for m, n, _ in sizes))
    (shapes,) = to_device(device, sizes)
    tables = [PointerTable(arrays) for arrays in (a, b, c)]
    grouped_kernel[(4,)](*tables, shapes, len(sizes), BLOCK=32)
    for result, (left, right) in zip(c, pairs, strict=True):
        check("grouped matmul", result, left.astype(np.float64) @ right, 1e-3)


if __name__ == "__main__":
    main()
