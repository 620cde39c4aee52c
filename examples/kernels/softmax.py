"""Softmax of the rows of a matrix, each row read once and written once.

Run it with `python -m examples.kernels.softmax`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def softmax_kernel(x_ptr, out_ptr, num_rows, num_columns, BLOCK: tl.constexpr):
    """A row fits into a block; instances take rows in turn until none is left."""
    columns = tl.arange(0, BLOCK)
    is_inside = columns < num_columns
    for row in tl.range(tl.program_id(0), num_rows, tl.num_programs(0), num_stages=2):
        places = row.to(tl.int64) * num_columns + columns
        x = tl.load(x_ptr + places, mask=is_inside, other=-float("inf"))
        exponentials = tl.exp(x - tl.max(x, axis=0))
        weights = exponentials / tl.sum(exponentials, axis=0)
        tl.store(out_ptr + places, weights, mask=is_inside)


def softmax(x, out, num_programs=16):
    """Write the softmax of each row of `x` into `out`."""
    num_rows, num_columns = x.shape
    block = lb.next_power_of_2(num_columns)
    grid = (min(num_rows, num_programs),)
    softmax_kernel[grid](x, out, num_rows, num_columns, BLOCK=block, num_warps=4)


def main(device=None) -> None:
    """Weigh 50 rows of 781 numbers."""
    a = normal(50, 781)
    x, out = to_device(device, a, np.empty_like(a))
    softmax(x, out)
    exponentials = np.exp(a - a.max(axis=1, keepdims=True).astype(np.float64))
    check("softmax", out, exponentials / exponentials.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main()
