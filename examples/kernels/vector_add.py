"""Add two vectors: one program instance per block, the last one masked.

Run it with `python -m examples.kernels.vector_add`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Each instance adds BLOCK elements."""
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    is_inside = i < n
    x = tl.load(x_ptr + i, mask=is_inside)
    y = tl.load(y_ptr + i, mask=is_inside)
    tl.store(out_ptr + i, x + y, mask=is_inside)


def add(x, y, out):
    """Write x + y into `out`."""
    n = out.size
    add_kernel[lambda meta: (lb.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)


def main(device=None) -> None:
    """Add 10,000 numbers."""
    a, b = normal(10_000), normal(10_000)
    x, y, out = to_device(device, a, b, np.empty_like(a))
    add(x, y, out)
    check("vector add", out, a.astype(np.float64) + b)


if __name__ == "__main__":
    main()
