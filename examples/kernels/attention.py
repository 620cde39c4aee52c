"""Attention that never writes its scores down: softmax of parts, corrected as the maximum grows.

Run it with `python -m examples.kernels.attention`.
Source: T. Dao et al., FlashAttention, NeurIPS 2022.
"""

import numpy as np

import lazyblock as lb
import lazyblock.language as tl
from examples.kernels.arrays import check, normal, to_device


@lb.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, IS_CAUSAL: tl.constexpr,
):  # fmt: skip
    """BLOCK_M queries of one head meet all keys, or (causal) those that are not behind them."""
    head = tl.program_id(1).to(tl.int64) * length * DIM
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, DIM)
    queries = head + i[:, None] * DIM + d[None, :]
    q = tl.load(q_ptr + queries, mask=i[:, None] < length, other=0.0)
    largest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    weight = tl.zeros((BLOCK_M,), tl.float32)
    total = tl.zeros((BLOCK_M, DIM), tl.float32)
    end = min((tl.program_id(0) + 1) * BLOCK_M, length) if IS_CAUSAL else length
    for start in range(0, end, BLOCK_N):
        j = start + tl.arange(0, BLOCK_N)
        keys = head + j[:, None] * DIM + d[None, :]
        k = tl.load(k_ptr + keys, mask=j[:, None] < length, other=0.0)
        v = tl.load(v_ptr + keys, mask=j[:, None] < length, other=0.0)
        is_seen = (j < length)[None, :] & ((i[:, None] >= j[None, :]) | (not IS_CAUSAL))
        scores = tl.where(is_seen, tl.dot(q, k.T) * (scale * 1.44269504), -float("inf"))
        larger = tl.maximum(largest, tl.max(scores, axis=1))
        p = tl.exp2(scores - larger[:, None])
        shrink = tl.exp2(largest - larger)
        weight = weight * shrink + tl.sum(p, axis=1)
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None])
        largest = larger
    tl.store(out_ptr + queries, total / weight[:, None], mask=i[:, None] < length)


def main(device=None) -> None:
    """Two heads of 70 queries and keys of 32 numbers, in both ways."""
    heads, n, dim = 2, 70, 32
    given = [normal(heads, n, dim, dtype=np.float16) for _ in range(3)]
    scores = given[0].astype(np.float64) @ given[1].transpose(0, 2, 1) / np.sqrt(dim)
    for is_causal in (False, True):
        q, k, v, out = to_device(device, *given, np.empty_like(given[0]))
        blocks = {"DIM": dim, "BLOCK_M": 32, "BLOCK_N": 16, "IS_CAUSAL": is_causal}
        attention_kernel[(lb.cdiv(n, 32), heads)](q, k, v, out, n, dim**-0.5, **blocks)
        p = np.exp(np.where(np.tri(n, dtype=bool) | (not is_causal), scores, -np.inf))
        check("attention", out, p / p.sum(axis=2, keepdims=True) @ given[2], 1e-3)


if __name__ == "__main__":
    main()
