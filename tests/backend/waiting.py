"""Block programs whose instances wait for each other and update memory together; running them."""

import numpy as np

from lazyblock.pipeline import compile_block_program
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import float32, int32, int64, to_numpy
from tests.backend.kernels import Case, grid_offsets, pointer, sample
from tests.helpers.cpu import assert_same_bits
from tests.helpers.emulator import run_on
from tests.helpers.programs import copy_arguments


def look_back(instances=4, block=128, num_warps=2):
    """A prefix sum over the grid: an instance waits for the flag of the one before it."""

    def make(rng):
        b = Builder("look_back", num_warps=num_warps)
        x, out, sums = (pointer(b, name) for name in ("x", "out", "sums"))
        flags = pointer(b, "flags", int32)
        pid = b.program_id(0)
        offsets = b.add(b.splat(b.mul(pid, block), (block,)), b.arange(0, block))
        values = b.load(b.add_pointer(x, offsets))
        scanned = b.scan_with("add", values, 0)
        total = b.reduce_with("add", values, 0)
        before = b.sub(pid, 1)

        def wait():
            flag = b.add_pointer(flags, before)
            b.while_([], lambda: b.compare("eq", b.load(flag, sem="acquire", scope="gpu"), 0), list)
            return [b.load(b.add_pointer(sums, before))]

        is_first = b.compare("eq", pid, 0)
        (prefix,) = b.if_(is_first, lambda: [b.constant(0.0, float32)], wait)
        b.store(b.add_pointer(sums, pid), b.add(prefix, total))
        b.store(b.add_pointer(flags, pid), b.constant(1, int32), sem="release", scope="gpu")
        b.store(b.add_pointer(out, offsets), b.add(scanned, b.splat(prefix, (block,))))
        data = sample(rng, float32, instances * block)
        arrays = [data, np.zeros_like(data), np.zeros(instances, np.float32)]
        return Case(b.finish(), [*arrays, np.zeros(instances, np.int32)], (instances, 1, 1))

    return make


def decoupled_look_back(instances=4, block=128, num_warps=2):
    """A prefix sum in one pass: each instance walks back to the nearest that knows its prefix.

    A word per instance holds 2^32 times a sum, plus 1 for its own elements or 2 for all so far.
    """

    def make(rng):
        b = Builder("decoupled_look_back", num_warps=num_warps)
        x, out = pointer(b, "x", int32), pointer(b, "out", int32)
        words = pointer(b, "words", int64)
        pid = b.program_id(0)
        offsets = b.add(b.splat(b.mul(pid, block), (block,)), b.arange(0, block))
        values = b.load(b.add_pointer(x, offsets))
        scanned = b.scan_with("add", values, 0)
        total = b.cast(b.reduce_with("add", values, 0), int64)

        def publish(total, state):
            word = b.add(b.shl(total, 32), state)
            b.store(b.add_pointer(words, pid), word, sem="relaxed", scope="gpu")

        def step(prefix, place):
            word = b.load(b.add_pointer(words, place), sem="relaxed", scope="gpu")
            state = b.and_(word, 3)
            is_known = b.compare("ne", state, 0)
            added = b.add(prefix, b.select(is_known, b.shr(word, 32), b.full_like(word, 0)))
            before = b.sub(place, b.cast(is_known, int32))
            is_last = b.compare("eq", state, 2)
            return [added, b.select(is_last, b.constant(-1, int32), before)]

        publish(total, 1)
        start = [b.constant(0, int64), b.sub(pid, 1)]
        prefix, _ = b.while_(start, lambda _, place: b.compare("ge", place, 0), step)
        publish(b.add(prefix, total), 2)
        shift = b.splat(b.cast(prefix, int32), (block,))
        b.store(b.add_pointer(out, offsets), b.add(scanned, shift))
        data = sample(rng, int32, instances * block)
        arrays = [data, np.zeros_like(data), np.zeros(instances, np.int64)]
        return Case(b.finish(), arrays, (instances, 1, 1))

    return make


def spin_lock(instances=5, num_warps=2, by_swap=True, block=64):
    """Every instance adds its row to one shared row, one at a time."""

    def make(rng):
        b = Builder("spin_lock", num_warps=num_warps)
        x, total, lock = pointer(b, "x"), pointer(b, "total"), pointer(b, "lock", int32)
        lanes = b.arange(0, block)
        offsets = b.add(b.splat(b.mul(b.program_id(0), block), (block,)), lanes)
        values = b.load(b.add_pointer(x, offsets))

        def is_taken():
            if by_swap:
                old = b.compare_and_swap(lock, 0, 1, sem="acquire")
            else:
                old = b.atomic("xchg", lock, 1, sem="acquire")
            return b.compare("ne", old, 0)

        b.while_([], is_taken, list)
        places = b.add_pointer(total, lanes)
        b.store(places, b.add(b.load(places), values))
        b.atomic("xchg", lock, 0, sem="release")
        data = sample(rng, float32, instances * block)
        arrays = [data, np.zeros(block, np.float32), np.zeros(1, np.int32)]
        return Case(b.finish(), arrays, (instances, 1, 1))

    return make


def histogram(instances=3, block=256, bins=16, num_warps=4, sem="relaxed"):
    """Many lanes count in few places."""

    def make(rng):
        b = Builder("histogram", num_warps=num_warps)
        x, counts = pointer(b, "x", int32), pointer(b, "counts", int32)
        start = b.splat(b.mul(b.program_id(0), block), (block,))
        values = b.load(b.add_pointer(x, b.add(start, b.arange(0, block))))
        mask = b.compare("ge", values, 0)
        b.atomic("add", b.add_pointer(counts, values), b.full_like(values, 1), mask, sem=sem)
        data = rng.integers(-2, bins, instances * block).astype(np.int32)
        return Case(b.finish(), [data, np.zeros(bins, np.int32)], (instances, 1, 1))

    return make


def update(kind, element, block=64, num_warps=2, masked=False, sem="acq_rel", scope="gpu"):
    """Each element updated once; the old values are stored."""

    def make(rng):
        b = Builder(f"update_{kind}", num_warps=num_warps)
        x, value, old = (pointer(b, name, element) for name in ("x", "value", "old"))
        lanes = b.arange(0, block)
        mask = b.compare("ne", b.rem(lanes, 3), 0) if masked else None
        values = b.load(b.add_pointer(value, lanes))
        before = b.atomic(kind, b.add_pointer(x, lanes), values, mask, sem, scope)
        b.store(b.add_pointer(old, lanes), before)
        data = [sample(rng, element, block) for _ in range(2)]
        return Case(b.finish(), [*data, np.full(block, 7, to_numpy(element))])

    return make


def scalar_update(kind="add", element=int32, num_warps=4):
    """One scalar updated by each instance; every thread stores what it found."""

    def make(rng):
        b = Builder("scalar_update", num_warps=num_warps)
        x, out = pointer(b, "x", element), pointer(b, "out", element)
        lanes = b.arange(0, 256)
        before = b.atomic(kind, x, b.constant(3, element))
        offsets = b.add(b.splat(b.mul(b.program_id(0), 256), (256,)), lanes)
        b.store(b.add_pointer(out, offsets), b.splat(before, (256,)))
        out = np.zeros(3 * 256, to_numpy(element))
        return Case(b.finish(), [sample(rng, element, 1), out], (3, 1, 1))

    return make


def replicated_update(rows=2, columns=8, num_warps=2):
    """A block smaller than the threads are many: each lane updates once."""

    def make(rng):
        b = Builder("replicated_update", num_warps=num_warps)
        x, out = pointer(b, "x", int64), pointer(b, "out", int64)
        offsets = grid_offsets(b, rows, columns)
        before = b.atomic("add", b.add_pointer(x, offsets), b.cast(offsets, int64))
        total = b.reduce_with("add", before, 0)
        b.store(b.add_pointer(out, b.arange(0, columns)), total)
        return Case(b.finish(), [sample(rng, int64, rows * columns), np.zeros(columns, np.int64)])

    return make


def collatz(block=16, num_warps=1):
    """A while loop that carries scalars and a block."""

    def make(rng):
        b = Builder("collatz", num_warps=num_warps)
        x, steps, trail = (pointer(b, name, int32) for name in ("x", "steps", "trail"))
        pid = b.program_id(0)
        lanes = b.arange(0, block)
        start = b.load(b.add_pointer(x, pid))

        def body(n, count, row):
            is_odd = b.compare("eq", b.and_(n, 1), 1)
            half = b.shr(n, 1)
            following = b.select(is_odd, b.add(b.mul(n, 3), 1), half)
            here = b.compare("eq", lanes, b.splat(count, (block,)))
            return [following, b.add(count, 1), b.select(here, b.splat(n, (block,)), row)]

        zero = b.constant(0, int32)
        empty = b.constant(0, int32, (block,))
        _, count, row = b.while_(
            [start, zero, empty], lambda n, count, row: b.compare("gt", n, 1), body
        )
        b.store(b.add_pointer(steps, pid), count)
        offsets = b.add(b.splat(b.mul(pid, block), (block,)), lanes)
        b.store(b.add_pointer(trail, offsets), row)
        data = rng.integers(1, 40, 4).astype(np.int32)
        arrays = [data, np.zeros(4, np.int32), np.zeros(4 * block, np.int32)]
        return Case(b.finish(), arrays, (4, 1, 1))

    return make


def running_sum_in_while(block=64, num_warps=2):
    """Rounds that reduce and write memory; the test reads what the round before wrote."""

    def make(rng):
        b = Builder("running_sum_in_while", num_warps=num_warps)
        x, out = pointer(b, "x"), pointer(b, "out", int32)
        places = b.add_pointer(x, b.arange(0, block))

        def test(count):
            total = b.reduce_with("add", b.load(places), 0)
            return b.compare("lt", total, 1000.0)

        def body(count):
            values = b.load(places)
            shifted = b.load(b.add_pointer(x, b.sub(block - 1, b.arange(0, block))))
            b.store(places, b.add(b.add(values, shifted), 1.0))
            return [b.add(count, 1)]

        (count,) = b.while_([b.constant(0, int32)], test, body)
        b.store(out, count)
        return Case(b.finish(), [sample(rng, float32, block), np.zeros(1, np.int32)])

    return make


WAITING = {
    "look_back": look_back(),
    "look_back_one_warp": look_back(3, 32, 1),
    "decoupled_look_back": decoupled_look_back(),
    "lock_by_swap": spin_lock(),
    "lock_by_exchange": spin_lock(by_swap=False),
    "histogram": histogram(),
    "histogram_ordered": histogram(sem="acq_rel"),
    "scalar_update": scalar_update(),
    "replicated_update": replicated_update(),
    "collatz": collatz(),
    "running_sum_in_while": running_sum_in_while(),
}


# --- running -------------------------------------------------------------------------------------


def make(build):
    return build(np.random.default_rng(1))


def run_case(case, run):
    """The arguments after a run."""
    arguments = copy_arguments(case.arguments)
    run(case.program, arguments, case.grid)
    return arguments


def assert_agrees(case, run):
    actual, expected = run_case(case, run), run_case(case, interpret)
    for left, right in zip(actual, expected, strict=True):
        assert_same_bits(np.asarray(left), np.asarray(right))
    return expected


def on(device):
    return lambda program, arguments, grid: run_on(device, program, arguments, grid)


def ptx_of(build, arch="sm_90a"):
    program = build if not callable(build) else make(build).program
    return compile_block_program(program, cuda_target(arch)).stages["ptx"]
