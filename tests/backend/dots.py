"""Programs of dots, with arguments whose sums are exact in every type."""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ops.contract import COMBINATIONS, PRECISIONS
from lazyblock.tiler.types import (
    SCALARS,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int32,
    to_numpy,
)
from tests.backend.kernels import Case, pointer

PAIRS = [(SCALARS[a], SCALARS[acc]) for (a, *_), sums in COMBINATIONS for acc in sums]


class Dot(NamedTuple):
    """A product of blocks: extents (batch 0: of rank 2), types, how the operands lie in memory.

    steps: rounds of a loop over K, of k elements each. cut: rows, columns, and elements of the last
    round that masks keep out.
    """

    m: int
    n: int
    k: int
    batch: int = 0
    element: Any = float32
    acc: Any = float32
    precision: str = "ieee"
    turned: tuple[bool, bool] = (False, False)
    num_warps: int = 4
    steps: int = 1
    cut: tuple[int, int, int] = (0, 0, 0)


def small_numbers(rng, scalar, shape):
    """Numbers whose products are exact, and whose sums are up to 2048 / 4, in half precision."""
    return rng.integers(0 if scalar.kind == "u" else -2, 3, shape).astype(to_numpy(scalar))


def index_along(b, shape, axis, start=None):
    """The index along one axis, counted from `start`, in a block of `shape`."""
    index = b.constant(0, int32, (1,))
    if shape[axis] > 1:
        index = b.arange(0, shape[axis])
    if start is not None:
        index = b.add(b.splat(start, index.shape), index)
    for position in range(len(shape)):
        if position != axis:
            index = b.expand_dims(index, position)
    return b.broadcast_to(index, shape)


def place(b, shape, limits, starts):
    """Offsets and mask of a block of matrices of extents `limits`; no mask if all is inside."""
    indices = [index_along(b, shape, axis, start) for axis, start in enumerate(starts)]
    offsets, stride = b.constant(0, int32, shape), 1
    for index, limit in zip(reversed(indices), reversed(limits), strict=True):
        offsets = b.add(offsets, b.mul(index, stride))
        stride *= limit
    is_inside = [
        b.compare("lt", index, limit)
        for index, limit, extent in zip(indices, limits, shape, strict=True)
        if limit % extent
    ]
    return offsets, reduce(b.and_, is_inside) if is_inside else None


def load(b, base, shape, limits, starts, turned):
    """A block of a matrix; one stored the other way round is read so, and transposed."""
    if not turned:
        offsets, mask = place(b, shape, limits, starts)
        return b.load(b.add_pointer(base, offsets), mask)
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    shape, limits, starts = ([x[axis] for axis in order] for x in (shape, limits, starts))
    offsets, mask = place(b, tuple(shape), limits, starts)
    return b.transpose(b.load(b.add_pointer(base, offsets), mask), tuple(order))


def dot_program(dot):
    """out = init + x @ y, where K is walked in steps and what is cut off is no memory."""
    b = Builder("dot", num_warps=dot.num_warps)
    x, y = pointer(b, "x", dot.element), pointer(b, "y", dot.element)
    init, out = pointer(b, "init", dot.acc), pointer(b, "out", dot.acc)
    batch = (dot.batch,) if dot.batch else ()
    m, n, k = (e - c for e, c in zip((dot.m, dot.n, dot.k * dot.steps), dot.cut, strict=True))
    none = (None,) * len(batch)
    offsets, mask = place(b, (*batch, dot.m, dot.n), (*batch, m, n), (*none, None, None))

    def body(i, total):
        a = load(b, x, (*batch, dot.m, dot.k), (*batch, m, k), (*none, None, i), dot.turned[0])
        c = load(b, y, (*batch, dot.k, dot.n), (*batch, k, n), (*none, i, None), dot.turned[1])
        return [b.dot(a, c, total, dot.precision)]

    start = b.load(b.add_pointer(init, offsets), mask)
    if dot.steps == 1:
        (total,) = body(None, start)
    else:
        (total,) = b.for_(0, k, dot.k, [start], body)
    b.store(b.add_pointer(out, offsets), total, mask)
    left, right = (k, m) if dot.turned[0] else (m, k), (n, k) if dot.turned[1] else (k, n)
    return b.finish(), [(*batch, *extents) for extents in (left, right, (m, n))]


def dot_case(dot):
    """The program with operands of small whole numbers."""

    def make(rng):
        program, (left, right, result) = dot_program(dot)
        arrays = [small_numbers(rng, dot.element, shape) for shape in (left, right)]
        start = small_numbers(rng, dot.acc, result)
        return Case(program, [*arrays, start, np.zeros_like(start)])

    return make


_MOST_SHARED = 1 << 17  # bytes of both operands, which lie in shared memory


def any_dot(rng, most_bits=14):
    """A drawn product of at most 2 ** most_bits multiplications."""
    element, acc = PAIRS[rng.integers(len(PAIRS))]
    batch = int(rng.choice([0, 0, 0, 1, 2, 4]))
    m, n, k = (1 << int(bits) for bits in rng.integers(0, 8, 3))
    while (
        max(batch, 1) * m * n * k > 1 << most_bits
        or max(batch, 1) * (m + n) * k * element.nbytes > _MOST_SHARED
        or (k * 4 > 2048 and acc == float16)
    ):
        m, n, k = max(m // 2, 1), max(n // 2, 1), max(k // 2, 1)
    precision = str(rng.choice(PRECISIONS)) if element == float32 else "ieee"
    cut = tuple(int(rng.integers(0, extent)) if rng.random() < 0.3 else 0 for extent in (m, n, k))
    turned = tuple(bool(x) for x in rng.integers(0, 2, 2))
    steps, num_warps = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 2, 4, 8]))
    return Dot(m, n, k, batch, element, acc, precision, turned, num_warps, steps, cut)


def matmul(
    size, tile, element=float32, acc=float32, num_warps=4, precision="ieee", numbers=small_numbers
):
    """x @ y of matrices of size (M, N, K), in tiles (m, n, k): one program instance per m x n."""

    def make(rng):
        b = Builder("matmul", num_warps=num_warps)
        x, y, out = (pointer(b, n, t) for n, t in (("x", element), ("y", element), ("out", acc)))
        m, n, k = tile
        row, column = (b.mul(b.program_id(axis), tile[axis]) for axis in range(2))

        def body(i, total):
            left, mask = place(b, (m, k), (size[0], size[2]), (row, i))
            right, other = place(b, (k, n), (size[2], size[1]), (i, column))
            a, c = (
                b.load(b.add_pointer(base, offsets), where)
                for base, offsets, where in ((x, left, mask), (y, right, other))
            )
            return [b.dot(a, c, total, precision)]

        (total,) = b.for_(0, size[2], k, [b.constant(0, acc, (m, n))], body)
        offsets, mask = place(b, (m, n), size[:2], (row, column))
        b.store(b.add_pointer(out, offsets), total, mask)
        arrays = [numbers(rng, element, (size[i], size[j])) for i, j in ((0, 2), (2, 1))]
        grid = (-(-size[0] // m), -(-size[1] // n), 1)
        return Case(b.finish(), [*arrays, np.zeros(size[:2], to_numpy(acc))], grid)

    return make


def two_dots(
    rows, columns, depth, steps=2, element=float16, num_warps=4, acc=float32, precision="ieee"
):
    """The sum over steps of max(q @ k.T, 0) @ v: the result of a dot is the A of another."""

    def make(rng):
        b = Builder("two_dots", num_warps=num_warps)
        q, k, v = (pointer(b, name, element) for name in "qkv")
        out = pointer(b, "out", acc)
        of_rows, _ = place(b, (rows, depth), (rows, depth), (None, None))
        left = b.load(b.add_pointer(q, of_rows))

        def body(i, total):
            offsets, _ = place(b, (columns, depth), (steps * columns, depth), (i, None))
            keys = b.transpose(b.load(b.add_pointer(k, offsets)), (1, 0))
            product = b.dot(left, keys, b.constant(0, acc, (rows, columns)), precision)
            weights = b.cast(b.binary("max", product, 0), element)
            total = b.sub(total, b.full_like(total, 1))
            return [b.dot(weights, b.load(b.add_pointer(v, offsets)), total, precision)]

        start = b.constant(0, acc, (rows, depth))
        (total,) = b.for_(0, steps * columns, columns, [start], body)
        b.store(b.add_pointer(out, of_rows), total)
        shapes = [(rows, depth), *[(steps * columns, depth)] * 2]
        arrays = [small_numbers(rng, element, shape) for shape in shapes]
        return Case(b.finish(), [*arrays, np.zeros((rows, depth), to_numpy(acc))])

    return make


def square_of_itself(extent=16, rounds=3, num_warps=4):
    """x = x + x @ x.T, wrapping: both operands and the accumulator are the block carried along."""

    def make(rng):
        b = Builder("square_of_itself", num_warps=num_warps)
        x, out = pointer(b, "x", int32), pointer(b, "out", int32)
        offsets, _ = place(b, (extent, extent), (extent, extent), (None, None))

        def body(i, carried):
            small = b.cast(carried, int8)
            return [b.dot(small, b.transpose(small, (1, 0)), carried)]

        start = b.load(b.add_pointer(x, offsets))
        (result,) = b.for_(0, rounds, 1, [start], body)
        b.store(b.add_pointer(out, offsets), result)
        data = rng.integers(-9, 9, (extent, extent), np.int32)
        return Case(b.finish(), [data, np.zeros_like(data)])

    return make


CASES = {
    **{f"{a}_{acc}": dot_case(Dot(32, 32, 32, 0, a, acc)) for a, acc in PAIRS},
    **{
        f"f32_{p}": dot_case(Dot(32, 32, 32, precision=p, turned=(True, False))) for p in PRECISIONS
    },
    "one": dot_case(Dot(1, 1, 1)),
    "narrow": dot_case(Dot(1, 64, 32, 0, float16)),
    "batched": dot_case(Dot(16, 32, 16, 4, float16, turned=(False, True))),
    "cut_loop": dot_case(Dot(32, 16, 32, 0, float16, steps=3, cut=(5, 3, 7))),
    "square_of_itself": square_of_itself(),
    "matmul": matmul((64, 64, 64), (32, 32, 32), float16),
    "matmul_cut": matmul((50, 41, 70), (32, 32, 32), bfloat16),
    "two_dots": two_dots(64, 32, 32),
    "two_dots_i8": two_dots(32, 32, 64, 2, int8, 2, int32),
    "two_dots_f64": two_dots(32, 16, 8, 2, float64, 2, float64),
    "two_dots_tf32": two_dots(32, 16, 16, 2, float32, 4, float32, "tf32"),
    "two_dots_ieee": two_dots(32, 16, 16, 2, float32, 4),
    "two_dots_of_few_rows": two_dots(16, 32, 16, 2, bfloat16, 8),
}
