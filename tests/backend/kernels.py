"""Block programs that together use every rule of the NVPTX lowering, with arguments for them.

`CASES` maps a name to a function that gives a `Case` for a random generator. Shapes are small: the
same cases run on the interpreter, on an emulated GPU, and on a GPU.
"""

from typing import Any, NamedTuple

import numpy as np

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import (
    SCALARS,
    PointerType,
    float32,
    float64,
    int1,
    int8,
    int32,
    int64,
    to_numpy,
    uint8,
)


class Case(NamedTuple):
    """A program and what to run it on."""

    program: Any
    arguments: list[Any]
    grid: tuple[int, int, int] = (1, 1, 1)


def pointer(b, name, element=float32, divisibility=16):
    return b.parameter(name, PointerType(element), divisibility)


def sample(rng, element, shape):
    """Random numbers of a type, small enough that sums are exact."""
    dtype = to_numpy(element)
    if element == int1:
        return rng.integers(0, 2, shape).astype(dtype)
    low = 0 if element.kind == "u" else -9
    return rng.integers(low, 9, shape).astype(dtype)


def grid_offsets(b, rows, columns, stride=None):
    """Offsets of a block of rows and columns of a row-major array."""
    shape = (rows, columns)
    row = b.mul(b.expand_dims(b.arange(0, rows), 1), stride or columns)
    column = b.expand_dims(b.arange(0, columns), 0)
    return b.add(b.broadcast_to(row, shape), b.broadcast_to(column, shape))


def less(b, offsets, n):
    return b.compare("lt", offsets, b.broadcast_to(n, offsets.shape))


def axpy(n=300, block=128, num_warps=2, element=float32, divisibility=1):
    """out = 2.5 x + y; the block is cut off at n."""
    b = Builder("axpy", num_warps=num_warps)
    x, y, out = (pointer(b, name, element) for name in ("x", "y", "out"))
    size = b.parameter("n", int32, divisibility)
    start = b.broadcast_to(b.mul(b.program_id(0), block), (block,))
    i = b.add(start, b.arange(0, block))
    mask = less(b, i, size)
    scaled = b.mul(b.load(b.add_pointer(x, i), mask), 2.5 if element.is_floating else 3)
    b.store(b.add_pointer(out, i), b.add(scaled, b.load(b.add_pointer(y, i), mask)), mask)

    def make(rng):
        inputs = [sample(rng, element, max(n, 1)) for _ in range(2)]
        grid = (max(-(-n // block), 1), 1, 1)
        return Case(b.finish(), [*inputs, np.full(max(n, 1), 77, to_numpy(element)), n], grid)

    return make


def gelu_like(block=1024, num_warps=8):
    """A longer elementwise chain without masks."""

    def make(rng):
        b = Builder("gelu_like", num_warps=num_warps)
        x, out = pointer(b, "x"), pointer(b, "out")
        i = b.add(b.broadcast_to(b.mul(b.program_id(0), block), (block,)), b.arange(0, block))
        v = b.load(b.add_pointer(x, i))
        cube = b.mul(b.mul(v, v), v)
        inner = b.mul(b.add(v, b.mul(cube, 0.044715)), 0.7978845608)
        ratio = b.div(inner, b.add(b.abs(inner), 1.0))
        b.store(b.add_pointer(out, i), b.mul(b.mul(v, 0.5), b.add(ratio, 1.0)))
        data = rng.normal(size=2 * block).astype(np.float32)
        return Case(b.finish(), [data, np.zeros_like(data)], (2, 1, 1))

    return make


def row_softmax(columns=256, n=256, num_warps=2, divisibility=1):
    """Without exp: squares of the distance to the maximum, divided by their sum."""

    def make(rng):
        b = Builder("row_softmax", num_warps=num_warps)
        x, out = pointer(b, "x"), pointer(b, "out")
        size = b.parameter("n", int32, divisibility)
        shape = (1, columns)
        column = b.expand_dims(b.arange(0, columns), 0)
        mask = less(b, column, size)
        offsets = b.add(b.broadcast_to(b.mul(b.program_id(0), size), shape), column)
        v = b.load(b.add_pointer(x, offsets), mask, -np.inf)
        top = b.broadcast_to(b.expand_dims(b.reduce_with("max", v, 1), 1), shape)
        distance = b.select(mask, b.sub(v, top), 0.0)
        power = b.mul(distance, distance)
        total = b.broadcast_to(b.expand_dims(b.reduce_with("add", power, 1), 1), shape)
        b.store(b.add_pointer(out, offsets), b.div(power, total), mask)
        data = sample(rng, float32, (2, n))
        return Case(b.finish(), [data, np.zeros_like(data), n], (2, 1, 1))

    return make


def layer_norm(rows=8, columns=64, num_warps=2):
    """Rows and columns: sums along rows, a weight along columns, results per row."""

    def make(rng):
        b = Builder("layer_norm", num_warps=num_warps)
        x, weight, out, means = (pointer(b, name) for name in ("x", "weight", "out", "means"))
        shape = (rows, columns)
        offsets = grid_offsets(b, rows, columns)
        v = b.load(b.add_pointer(x, offsets))
        mean = b.div(b.reduce_with("add", v, 1), float(columns))
        b.store(b.add_pointer(means, b.arange(0, rows)), mean)
        centred = b.sub(v, b.broadcast_to(b.expand_dims(mean, 1), shape))
        variance = b.div(b.reduce_with("add", b.mul(centred, centred), 1), float(columns))
        scale = b.div(b.full_like(variance, 1.0), b.unary("sqrt", b.add(variance, 1.0)))
        w = b.load(b.add_pointer(weight, b.arange(0, columns)))
        wide = b.broadcast_to(b.expand_dims(w, 0), shape)
        scaled = b.mul(b.mul(centred, b.broadcast_to(b.expand_dims(scale, 1), shape)), wide)
        b.store(b.add_pointer(out, offsets), scaled)
        data = sample(rng, float32, shape)
        weights = sample(rng, float32, columns)
        return Case(b.finish(), [data, weights, np.zeros_like(data), np.zeros(rows, np.float32)])

    return make


def reduce_axis(shape, axis, kind, element, num_warps=2):
    """One reduction of a whole block; the result is stored per remaining element."""

    def make(rng):
        b = Builder("reduce_axis", num_warps=num_warps)
        x, out = pointer(b, "x", element), pointer(b, "out", element)
        count = int(np.prod(shape))
        offsets = b.reshape(b.arange(0, count), shape)
        result = b.reduce_with(kind, b.load(b.add_pointer(x, offsets)), axis)
        if result.shape:
            places = b.reshape(b.arange(0, int(np.prod(result.shape))), result.shape)
            b.store(b.add_pointer(out, places), result)
        else:
            b.store(out, result)
        data = sample(rng, element, shape)
        empty = np.zeros(max(count // shape[axis], 1), to_numpy(element))
        return Case(b.finish(), [data.reshape(-1), empty])

    return make


def argmax(columns=256, num_warps=4, index_element=int64):
    """Two values reduced together; equal values take the first index."""

    def make(rng):
        b = Builder("argmax", num_warps=num_warps)
        x, out = pointer(b, "x"), pointer(b, "out", index_element)
        row = b.program_id(0)
        lanes = b.arange(0, columns)
        offsets = b.add(b.broadcast_to(b.mul(row, columns), (columns,)), lanes)

        def combine(value, index, other, other_index):
            is_first = b.and_(b.compare("eq", value, other), b.compare("lt", index, other_index))
            keep = b.or_(b.compare("gt", value, other), is_first)
            return [b.select(keep, value, other), b.select(keep, index, other_index)]

        v = b.load(b.add_pointer(x, offsets))
        _, index = b.reduce([v, b.cast(lanes, index_element)], 0, combine)
        b.store(b.add_pointer(out, row), index)
        data = sample(rng, float32, (2, columns))
        return Case(b.finish(), [data, np.zeros(2, to_numpy(index_element))], (2, 1, 1))

    return make


def transposed_add(size=32, num_warps=2):
    """out = x.T + y: the two loads run along different axes."""

    def make(rng):
        b = Builder("transposed_add", num_warps=num_warps)
        x, y, out = (pointer(b, name) for name in ("x", "y", "out"))
        offsets = grid_offsets(b, size, size)
        flipped = b.transpose(offsets, (1, 0))
        total = b.add(b.load(b.add_pointer(x, flipped)), b.load(b.add_pointer(y, offsets)))
        b.store(b.add_pointer(out, offsets), total)
        data = [sample(rng, float32, (size, size)) for _ in range(2)]
        return Case(b.finish(), [*data, np.zeros_like(data[0])])

    return make


def transpose_values(rows=16, columns=64, element=float32, num_warps=2):
    """A loaded block, transposed and reshaped as a value."""

    def make(rng):
        b = Builder("transpose_values", num_warps=num_warps)
        x, out, flat = (pointer(b, name, element) for name in ("x", "out", "flat"))
        v = b.load(b.add_pointer(x, grid_offsets(b, rows, columns)))
        moved = b.transpose(v, (1, 0))
        b.store(b.add_pointer(out, grid_offsets(b, columns, rows)), moved)
        line = b.reshape(moved, (rows * columns,))
        b.store(b.add_pointer(flat, b.arange(0, rows * columns)), line)
        data = sample(rng, element, (rows, columns))
        return Case(b.finish(), [data, np.zeros_like(data), np.zeros_like(data)])

    return make


def k_loop(n=300, block=64, num_warps=2):
    """A row summed in steps, with a scalar and a block carried along."""

    def make(rng):
        b = Builder("k_loop", num_warps=num_warps)
        x, out, count = pointer(b, "x"), pointer(b, "out"), pointer(b, "count", int32)
        size = b.parameter("n", int32)
        lanes = b.arange(0, block)

        def body(i, total, steps):
            offsets = b.add(b.broadcast_to(i, (block,)), lanes)
            part = b.load(b.add_pointer(x, offsets), less(b, offsets, size))
            return [b.add(total, part), b.add(steps, 1)]

        zero = b.constant(0.0, float32, (block,))
        total, steps = b.for_(0, size, block, [zero, b.constant(0, int32)], body)
        b.store(out, b.reduce_with("add", total, 0))
        b.store(count, steps)
        data = sample(rng, float32, max(n, 1))
        return Case(b.finish(), [data, np.zeros(1, np.float32), np.zeros(1, np.int32), n])

    return make


def reductions_in_loop(steps=5, block=64, num_warps=2):
    """Each step needs the sum of the last: shared memory is used again and again."""

    def make(rng):
        b = Builder("reductions_in_loop", num_warps=num_warps)
        x, out = pointer(b, "x"), pointer(b, "out")
        v = b.load(b.add_pointer(x, b.arange(0, block)))

        def body(i, carried):
            top = b.reduce_with("max", carried, 0)
            following = b.sub(b.broadcast_to(top, (block,)), carried)
            low = b.reduce_with("min", following, 0)
            total = b.reduce_with("add", b.mul(following, b.broadcast_to(low, (block,))), 0)
            return [b.add(following, b.broadcast_to(b.add(total, 1.0), (block,)))]

        (result,) = b.for_(0, steps, 1, [v], body)
        b.store(b.add_pointer(out, b.arange(0, block)), result)
        data = sample(rng, float32, block)
        return Case(b.finish(), [data, np.zeros_like(data)])

    return make


def branches(num_warps=2, block=64):
    """Even instances double, odd ones subtract their maximum; a scalar comes out too."""

    def make(rng):
        b = Builder("branches", num_warps=num_warps)
        x, out, chosen = pointer(b, "x"), pointer(b, "out"), pointer(b, "chosen", int64)
        pid = b.program_id(0)
        start = b.broadcast_to(b.mul(pid, block), (block,))
        offsets = b.add(start, b.arange(0, block))
        v = b.load(b.add_pointer(x, offsets))

        def odd():
            top = b.broadcast_to(b.reduce_with("max", v, 0), (block,))
            return [b.sub(v, top), b.constant(7, int64)]

        is_even = b.compare("eq", b.rem(pid, 2), 0)
        wide, narrow = b.if_(is_even, lambda: [b.add(v, v), b.cast(pid, int64)], odd)
        b.store(
            b.add_pointer(out, offsets),
            b.add(wide, b.cast(b.broadcast_to(narrow, (block,)), float32)),
        )
        b.store(b.add_pointer(chosen, pid), narrow)
        data = sample(rng, float32, 3 * block)
        return Case(b.finish(), [data, np.zeros_like(data), np.zeros(3, np.int64)], (3, 1, 1))

    return make


def gather(n=100, block=128, num_warps=2):
    """Indices are loaded; the addresses they make have no runs."""

    def make(rng):
        b = Builder("gather", num_warps=num_warps)
        x, index, out = pointer(b, "x"), pointer(b, "index", int64), pointer(b, "out")
        size = b.parameter("n", int32)
        lanes = b.arange(0, block)
        mask = less(b, lanes, size)
        places = b.load(b.add_pointer(index, lanes), mask)
        b.store(b.add_pointer(out, lanes), b.load(b.add_pointer(x, places), mask, 5.0), mask)
        indices = rng.integers(0, n, n)
        return Case(b.finish(), [sample(rng, float32, n), indices, np.zeros(n, np.float32), n])

    return make


def in_place_reverse(block=128, num_warps=4):
    """x[:] = x[::-1] in one block: all is read before anything is written."""

    def make(rng):
        b = Builder("in_place_reverse", num_warps=num_warps)
        x = pointer(b, "x")
        lanes = b.arange(0, block)
        reverse = b.sub(b.constant(block - 1, int32, (block,)), lanes)
        b.store(b.add_pointer(x, lanes), b.load(b.add_pointer(x, reverse)))
        return Case(b.finish(), [sample(rng, float32, block)])

    return make


def running_update(steps=4, block=64, num_warps=2):
    """A loop that reads what its last step wrote, shifted by one."""

    def make(rng):
        b = Builder("running_update", num_warps=num_warps)
        x = pointer(b, "x")
        lanes = b.arange(0, block)

        def body(i):
            v = b.load(b.add_pointer(x, b.rem(b.add(lanes, 1), block)))
            b.store(b.add_pointer(x, lanes), b.add(v, 1.0))
            return []

        b.for_(0, steps, 1, [], body)
        return Case(b.finish(), [sample(rng, float32, block)])

    return make


def select_pointers(block=64, num_warps=1):
    """Addresses chosen element by element."""

    def make(rng):
        b = Builder("select_pointers", num_warps=num_warps)
        x, y, out = (pointer(b, name) for name in ("x", "y", "out"))
        lanes = b.arange(0, block)
        is_even = b.compare("eq", b.rem(lanes, 2), 0)
        chosen = b.select(is_even, b.add_pointer(x, lanes), b.add_pointer(y, lanes))
        b.store(b.add_pointer(out, lanes), b.load(chosen))
        data = [sample(rng, float32, block) for _ in range(2)]
        return Case(b.finish(), [*data, np.zeros_like(data[0])])

    return make


def scalar_arguments(num_warps=1):
    """Every scalar type as a kernel argument."""

    def make(rng):
        b = Builder("scalar_arguments", num_warps=num_warps)
        kinds = [kind for kind in SCALARS.values() if not kind.is_half]
        outputs = [pointer(b, f"out_{kind}", kind) for kind in kinds]
        for kind, out in zip(kinds, outputs, strict=True):
            value = b.parameter(f"value_{kind}", kind)
            b.store(b.add_pointer(out, b.arange(0, 2)), b.broadcast_to(value, (2,)))
        arrays = [np.zeros(2, to_numpy(kind)) for kind in kinds]
        numbers = [sample(rng, kind, ()).item() for kind in kinds]
        return Case(b.finish(), [*arrays, *numbers])

    return make


def comparison_to_bool(block=256, num_warps=2):
    """f32 in, bool out and bool in: types of different widths in one layout."""

    def make(rng):
        b = Builder("comparison_to_bool", num_warps=num_warps)
        x, flags, out = pointer(b, "x"), pointer(b, "flags", int1), pointer(b, "out", int1)
        lanes = b.arange(0, block)
        positive = b.compare("gt", b.load(b.add_pointer(x, lanes)), 0.0)
        both = b.and_(positive, b.load(b.add_pointer(flags, lanes)))
        b.store(b.add_pointer(out, lanes), both)
        flag = sample(rng, int1, block)
        return Case(b.finish(), [sample(rng, float32, block), flag, np.zeros_like(flag)])

    return make


def half_to_float(element, block=2048, num_warps=8):
    """Halves read and widened, and floats rounded back."""

    def make(rng):
        b = Builder("half_to_float", num_warps=num_warps)
        x, out, back = pointer(b, "x", element), pointer(b, "out"), pointer(b, "back", element)
        i = b.add(b.broadcast_to(b.mul(b.program_id(0), block), (block,)), b.arange(0, block))
        wide = b.add(b.cast(b.load(b.add_pointer(x, i)), float32), 0.3)
        b.store(b.add_pointer(out, i), wide)
        b.store(b.add_pointer(back, i), b.cast(wide, element))
        data = rng.normal(size=block).astype(to_numpy(element))
        return Case(b.finish(), [data, np.zeros(block, np.float32), np.zeros_like(data)])

    return make


CASES = {
    **{f"axpy_{n}": axpy(n) for n in (0, 1, 127, 129, 300)},
    **{f"axpy_{e}": axpy(200, element=e) for e in (float64, int64, int32, int8, uint8)},
    "axpy_aligned": axpy(304, divisibility=16),
    "axpy_few_elements": axpy(20, block=32, num_warps=4),
    "gelu_like": gelu_like(256, 2),
    "row_softmax": row_softmax(),
    "row_softmax_cut": row_softmax(256, 201),
    "row_softmax_tiny": row_softmax(256, 3),
    "row_softmax_aligned": row_softmax(512, 320, 4, 16),
    "row_softmax_narrow": row_softmax(16, 13, 2),
    "layer_norm": layer_norm(),
    "layer_norm_wide": layer_norm(2, 256),
    "sum_rows": reduce_axis((8, 32), 1, "add", float32),
    "sum_columns": reduce_axis((32, 16), 0, "add", float32),
    "sum_middle": reduce_axis((4, 8, 16), 1, "add", float64),
    "sum_all": reduce_axis((512,), 0, "add", int64, 4),
    "max_bytes": reduce_axis((256,), 0, "max", int8),
    "max_unsigned_rows": reduce_axis((4, 64), 1, "max", uint8, 4),
    "any": reduce_axis((256,), 0, "or", int1),
    "all_columns": reduce_axis((64, 4), 0, "and", int1, 4),
    "product": reduce_axis((2, 128), 1, "mul", float64, 4),
    "argmax": argmax(),
    "argmax_small": argmax(32, 2, int32),
    "transposed_add": transposed_add(),
    "transpose_values": transpose_values(),
    "transpose_bytes": transpose_values(8, 32, int8),
    "transpose_bools": transpose_values(8, 8, int1, 1),
    "transpose_doubles": transpose_values(32, 8, float64),
    "k_loop": k_loop(),
    "k_loop_empty": k_loop(0),
    "reductions_in_loop": reductions_in_loop(),
    "branches": branches(),
    "gather": gather(),
    "in_place_reverse": in_place_reverse(),
    "running_update": running_update(),
    "select_pointers": select_pointers(),
    "scalar_arguments": scalar_arguments(),
    "comparison_to_bool": comparison_to_bool(),
}


def expect(case, run):
    """Arrays after `run(program, arguments, grid)` on copies of the case's arguments."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]
    run(case.program, copies, case.grid)
    return [a for a in copies if isinstance(a, np.ndarray)]
