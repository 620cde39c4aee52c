"""Dropout that keeps a seed instead of a mask: going backward draws the same numbers again.

Run it with `python -m examples.kernels.dropout`.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def dropout_kernel(x_ptr, out_ptr, n, probability, seed, BLOCK: tl.constexpr):
    """Zero each element with a probability and scale up the rest."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_inside = i < n
    x = tl.load(x_ptr + i, mask=is_inside)
    is_kept = tl.rand(seed, i) >= probability
    tl.store(out_ptr + i, tl.where(is_kept, x / (1 - probability), 0.0), mask=is_inside)


def dropout(x, out, probability, seed):
    """Write `x` with some elements dropped into `out`; so is its gradient made of that of `out`."""
    grid = (lb.cdiv(x.size, 512),)
    dropout_kernel[grid](x, out, x.size, probability, seed, BLOCK=512)


def main(device=None) -> None:
    """Drop a quarter of 10,000 numbers, and of the same places of their gradient."""
    a = normal(10_000) + 10
    x, out, gradient_out, gradient = to_device(
        device, a, np.empty_like(a), np.ones_like(a), np.empty_like(a)
    )
    dropout(x, out, 0.25, seed=7)
    dropout(gradient_out, gradient, 0.25, seed=7)
    is_kept = np.asarray(gradient) != 0
    check("dropout", out, np.where(is_kept, a.astype(np.float64) / 0.75, 0))
    check("dropout: gradient", gradient, is_kept / 0.75)
    check("dropout: share kept", is_kept.mean(), 0.75, 0.03)


if __name__ == "__main__":
    main()
