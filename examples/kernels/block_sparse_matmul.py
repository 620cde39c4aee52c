"""A matrix of which most blocks are zero, times a dense one; the others are found by pointers.

Run it with `python -m examples.kernels.block_sparse_matmul`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, rng, to_device
from lazyblock.tools.pointer_table import PointerTable


@lb.jit
def block_sparse_kernel(
    block_table, columns_ptr, ends_ptr, b_ptr, c_ptr, N, SIDE: tl.constexpr, BLOCK_N: tl.constexpr
):
    """SIDE rows of c: the sum over this row's blocks, each times the rows of b that it meets."""
    row = tl.program_id(0)
    i, k = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    first = tl.load(ends_ptr + row - 1, mask=row > 0, other=0)
    total = tl.zeros((SIDE, BLOCK_N), tl.float32)
    for number in range(first, tl.load(ends_ptr + row)):
        block_ptr = tl.load(block_table + number).to(tl.pointer_type(tl.float32))
        column = tl.load(columns_ptr + number)
        b = tl.load(b_ptr + (column * SIDE + i) * N + j, mask=j < N, other=0.0)
        total = tl.dot(tl.load(block_ptr + i * SIDE + k), b, total)
    tl.store(c_ptr + (row * SIDE + i) * N + j, total, mask=j < N)


def main(device=None) -> None:
    """A matrix of 6 x 5 blocks of side 16, a third of which is there, times (80, 50)."""
    side, n = 16, 50
    is_there = rng.random((6, 5)) < 1 / 3
    dense, right = normal(6, side, 5, side), normal(5 * side, n)
    dense *= is_there[:, None, :, None]
    places = np.argwhere(is_there)
    blocks = to_device(device, *(dense[row, :, column].copy() for row, column in places))
    columns, ends, b, c = to_device(
        device, places[:, 1].astype(np.int32), is_there.sum(axis=1).cumsum().astype(np.int32),
        right, np.empty((6 * side, n), np.float32),
    )  # fmt: skip
    grid = (6, lb.cdiv(n, 32))
    block_sparse_kernel[grid](PointerTable(blocks), columns, ends, b, c, n, SIDE=side, BLOCK_N=32)
    expected = dense.reshape(6 * side, 5 * side).astype(np.float64) @ right
    check("block-sparse matmul", c, expected)


if __name__ == "__main__":
    main()
