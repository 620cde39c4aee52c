"""Block programs that scan: every shape, axis and direction that the lowerings tell apart."""

import numpy as np

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import (
    float32,
    float64,
    int1,
    int8,
    int32,
    int64,
    to_numpy,
    uint8,
    uint16,
)
from tests.backend.kernels import Case, pointer, sample


def scan_axis(shape, axis, kind="add", element=float32, num_warps=2, reverse=False):
    """A whole block scanned along one axis."""

    def make(rng):
        b = Builder("scan_axis", num_warps=num_warps)
        x, out = pointer(b, "x", element), pointer(b, "out", element)
        offsets = b.reshape(b.arange(0, int(np.prod(shape))), shape)
        value = b.load(b.add_pointer(x, offsets))
        b.store(b.add_pointer(out, offsets), b.scan_with(kind, value, axis, reverse))
        data = sample(rng, element, shape)
        if kind == "mul":
            data = rng.choice([0.5, 1, -1, 2], shape).astype(data.dtype)  # products stay exact
        return Case(b.finish(), [data, np.zeros_like(data)])

    return make


def argmax_so_far(shape, axis, num_warps=2, reverse=False, index_element=int64):
    """Two values scanned together; equal values keep the index met first."""

    def make(rng):
        b = Builder("argmax_so_far", num_warps=num_warps)
        x, best, out = pointer(b, "x"), pointer(b, "best"), pointer(b, "out", index_element)
        offsets = b.reshape(b.arange(0, int(np.prod(shape))), shape)

        def combine(value, index, other, other_index):
            keep = b.compare("ge", value, other)
            return [b.select(keep, value, other), b.select(keep, index, other_index)]

        v = b.load(b.add_pointer(x, offsets))
        values, indices = b.scan([v, b.cast(offsets, index_element)], axis, combine, reverse)
        b.store(b.add_pointer(best, offsets), values)
        b.store(b.add_pointer(out, offsets), indices)
        data = sample(rng, float32, shape)
        empty = np.zeros(shape, to_numpy(index_element))
        return Case(b.finish(), [data, np.zeros_like(data), empty])

    return make


def recurrence(shape, axis, num_warps=2, reverse=False):
    """s = a s + x modulo 2**32, as a scan of pairs: the order of the operands matters."""

    def make(rng):
        b = Builder("recurrence", num_warps=num_warps)
        a, x, out = (pointer(b, name, int32) for name in ("a", "x", "out"))
        offsets = b.reshape(b.arange(0, int(np.prod(shape))), shape)

        def combine(scale, shift, factor, addend):
            return [b.mul(scale, factor), b.add(b.mul(shift, factor), addend)]

        operands = [b.load(b.add_pointer(p, offsets)) for p in (a, x)]
        _, result = b.scan(operands, axis, combine, reverse)
        b.store(b.add_pointer(out, offsets), result)
        data = [rng.integers(-99, 99, shape).astype(np.int32) for _ in range(2)]
        return Case(b.finish(), [*data, np.zeros(shape, np.int32)])

    return make


def carried_scan(n=300, block=64, num_warps=2):
    """A long row in steps: the total of a step is what the next starts from."""

    def make(rng):
        b = Builder("carried_scan", num_warps=num_warps)
        x, out, size = pointer(b, "x"), pointer(b, "out"), b.parameter("n", int32)
        lanes = b.arange(0, block)

        def body(i, total):
            offsets = b.add(b.broadcast_to(i, (block,)), lanes)
            mask = b.compare("lt", offsets, b.broadcast_to(size, (block,)))
            value = b.load(b.add_pointer(x, offsets), mask)
            scanned = b.add(b.scan_with("add", value, 0), b.broadcast_to(total, (block,)))
            b.store(b.add_pointer(out, offsets), scanned, mask)
            return [b.add(total, b.reduce_with("add", value, 0))]

        b.for_(0, size, block, [b.constant(0.0, float32)], body)
        data = sample(rng, float32, n)
        return Case(b.finish(), [data, np.zeros_like(data), n])

    return make


def running_share(rows=8, columns=64, num_warps=2):
    """A scan of squares over their sum, and the largest share of a row: one block, two roots."""

    def make(rng):
        b = Builder("running_share", num_warps=num_warps)
        x, out, top = (pointer(b, name) for name in ("x", "out", "top"))
        shape = (rows, columns)
        offsets = b.reshape(b.arange(0, rows * columns), shape)
        v = b.load(b.add_pointer(x, offsets))
        square = b.mul(v, v)
        total = b.broadcast_to(b.expand_dims(b.reduce_with("add", square, 1), 1), shape)
        share = b.div(b.scan_with("add", square, 1), b.add(total, 1.0))
        b.store(b.add_pointer(out, offsets), share)
        b.store(b.add_pointer(top, b.arange(0, rows)), b.reduce_with("max", share, 1))
        data = sample(rng, float32, shape)
        return Case(b.finish(), [data, np.zeros_like(data), np.zeros(rows, np.float32)])

    return make


CASES = {
    "row": scan_axis((512,), 0),
    "row_reverse": scan_axis((512,), 0, reverse=True),
    "long_row": scan_axis((4096,), 0, num_warps=4),
    "long_row_reverse": scan_axis((4096,), 0, num_warps=4, reverse=True),
    "short_row": scan_axis((8,), 0),
    "single": scan_axis((1,), 0, num_warps=1),
    "many_warps": scan_axis((2048,), 0, num_warps=16),
    "rows": scan_axis((8, 64), 1),
    "columns": scan_axis((64, 16), 0),
    "columns_reverse": scan_axis((64, 16), 0, reverse=True),
    "wide_columns": scan_axis((32, 128), 0, num_warps=4),
    "middle": scan_axis((4, 16, 8), 1, element=float64),
    "first_of_three": scan_axis((16, 4, 8), 0, element=int64, num_warps=4, reverse=True),
    "products": scan_axis((4, 128), 1, "mul", float64, 4),
    "largest_byte": scan_axis((256,), 0, "max", int8),
    "smallest": scan_axis((4, 64), 1, "min", uint8, 4),
    "short_integers": scan_axis((1024,), 0, "add", uint16, 4),
    "any_so_far": scan_axis((256,), 0, "or", int1),
    "all_so_far": scan_axis((64, 4), 0, "and", int1, 4, reverse=True),
    "parity": scan_axis((128,), 0, "xor", int1),
    "argmax_row": argmax_so_far((256,), 0, 4),
    "argmax_columns": argmax_so_far((32, 8), 0, 2, True, int32),
    "recurrence": recurrence((512,), 0, 4),
    "recurrence_reverse": recurrence((512,), 0, 4, True),
    "recurrence_columns": recurrence((32, 16), 0),
    "recurrence_rows": recurrence((4, 64), 1, 1, True),
    "carried_scan": carried_scan(),
    "running_share": running_share(),
}
