"""Atomics of the language: old values, masks, casts, orders; and pointers made of integers."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import LaunchError, SemanticError
from lazyblock.language.context import current_builder
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, evaluate, run_body
from tests.language.rules import NUMPY

COMBINE = {
    **{"add": np.add, "max": np.maximum, "min": np.minimum, "xchg": lambda a, b: b},
    **{"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
}
WIDE = ["int32", "uint32", "int64", "uint64"]
CASES = [(name, type) for name in COMBINE for type in WIDE]
CASES += [(name, type) for name in ("add", "max", "min", "xchg") for type in ("fp32", "fp64")]
CASES += [("add", "fp16"), ("add", "bf16")]


@pytest.mark.parametrize(("name", "type"), CASES)
def test_atomics_give_what_was_there(name, type):
    memory = np.array([5, 3, 9, 1, 7, 2, 8, 4]).astype(NUMPY[type])
    values = np.array([2, 6, 6, 1, 7, 9, 0, 3]).astype(np.int8)

    def body(memory, values, old):
        i = tl.arange(0, 8)
        atomic = getattr(tl, f"atomic_{name}")
        tl.store(old + i, atomic(memory + i, tl.load(values + i), mask=i < 6, sem="relaxed"))

    after, _, old = run_body(body, memory, values, np.zeros_like(memory), ways=DEVICES)
    expected = COMBINE[name](memory, values.astype(memory.dtype)).astype(memory.dtype)
    assert_same_bits(after, np.where(np.arange(8) < 6, expected, memory).astype(memory.dtype))
    assert_same_bits(old[:6], memory[:6])


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
def test_colliding_additions_all_count(sem, scope):
    def body(memory):
        i = tl.arange(0, 64)
        tl.atomic_add(memory + i % 4, 1, sem=sem, scope=scope)
        tl.atomic_max(memory + 4, tl.program_id(0))

    ways = ALL if (sem, scope) in (("relaxed", "cta"), ("acq_rel", "gpu")) else DEVICES
    (after,) = run_body(body, np.zeros(8, np.int32), ways=ways, grid=(3, 1, 1))
    assert after.tolist() == [48, 48, 48, 48, 2, 0, 0, 0]


def test_float_extremes_mind_the_sign():
    memory = np.array([-1.0, 1.0, -0.0, 0.0], np.float32)

    def body(memory):
        i = tl.arange(0, 4)
        tl.atomic_max(memory + i, tl.where(i < 2, -2.0, 0.0))

    assert run_body(body, memory, ways=ALL)[0].tolist() == [-1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("type", ["int32", "int64", "uint32", "fp32"])
def test_compare_and_swap(type):
    memory = np.array([5, 3, 5, 1]).astype(NUMPY[type])

    def body(memory, old):
        i = tl.arange(0, 4)
        tl.store(old + i, tl.atomic_cas(memory + i, 5, i + 10))

    after, old = run_body(body, memory, np.zeros_like(memory), ways=DEVICES)
    assert after.tolist() == [10, 3, 12, 1] and old.tolist() == memory.tolist()


def test_a_lock_of_scalars():
    def body(lock, total):
        b = current_builder()

        def is_taken(value):
            return b.compare("ne", value, 0)

        def again(value):
            return [tl.atomic_cas(lock, 0, 1).handle]

        b.while_([tl.atomic_cas(lock, 0, 1).handle], is_taken, again)
        tl.store(total, tl.load(total) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)

    zero = np.zeros(1, np.int32)
    lock, total = run_body(body, zero, zero, grid=(8, 1, 1), ways=ALL)
    assert (lock[0], total[0]) == (0, 8)


def test_ordered_loads_and_stores():
    def body(out, x):
        i = tl.arange(0, 8)
        tl.atomic_store(out + i, tl.atomic_load(x + i, mask=i < 6) + 1, mask=i > 0)
        tl.store(out, tl.load(x, volatile=True))
        tl.atomic_poll(x + 3, 4)

    out = run_body(body, np.zeros(8, np.int32), np.arange(1, 9, dtype=np.int32), ways=ALL)[0]
    assert out.tolist() == [1, 3, 4, 5, 6, 7, 1, 1]


@pytest.mark.parametrize(
    ("name", "type"),
    [("add", "int8"), ("max", "fp16"), ("xchg", "int16"), ("and", "fp32"), ("xor", "int8")],
)
def test_types_without_atomics_are_refused(name, type):
    with pytest.raises(SemanticError, match=f"atomic_{name} is not for elements of {type}"):
        run_body(lambda p: getattr(tl, f"atomic_{name}")(p, 1), np.zeros(2, NUMPY[type]))


def test_scopes_and_widths_are_checked():
    x = np.zeros(2, np.int8)
    with pytest.raises(SemanticError, match="scope is 'world'"):
        run_body(lambda p: tl.atomic_add(p, 1, scope="world"), x.astype(np.int32))
    with pytest.raises(SemanticError, match=r"tl\.atomic_cas is of 16, 32 and 64 bits"):
        run_body(lambda p: tl.atomic_cas(p, 0, 1), x)


def test_descriptors_update_atomically():
    def body(x):
        descriptor = tl.make_tensor_descriptor(x, [5, 7], [7, 1], [4, 4])
        block = tl.arange(0, 16).reshape(4, 4)
        descriptor.atomic_add([3, 5], block)
        descriptor.atomic_max([0, 0], block - 4)
        descriptor.atomic_min([0, 0], block * 0 + 7)
        descriptor.atomic_xor([0, 3], block)
        descriptor.atomic_or([0, 3], block)
        descriptor.atomic_and([0, 3], 0xFF)

    given = np.arange(35, dtype=np.int32).reshape(5, 7)
    expected, block = given.copy(), np.arange(16, dtype=np.int32).reshape(4, 4)
    expected[3:, 5:] += block[:2, :2]
    expected[:4, :4] = np.minimum(np.maximum(expected[:4, :4], block - 4), 7)
    part = expected[:4, 3:]
    part[...] = ((part ^ block) | block) & 0xFF
    assert_same_bits(run_body(body, given, ways=DEVICES)[0], expected)


# --- addresses as integers -----------------------------------------------------------------------


def test_pointers_made_of_integers():
    def body(out, x):
        address = x.to(tl.int64)
        again = (address + 8).to(tl.pointer_type(tl.int32))
        halves = x.to(tl.pointer_type(tl.int16), bitcast=True)
        tl.store(out, tl.load(again))
        tl.store(out + 1, tl.load(halves + 2))
        tl.store(out + 2, x.to(tl.int1))

    out = run_body(body, np.zeros(4, np.int32), np.arange(7, 11, dtype=np.int32), ways=DEVICES)[0]
    assert out.tolist() == [9, 8, 1, 0]


def test_tables_of_pointers():
    rows = [np.arange(4, dtype=np.float32) + 10 * n for n in range(4)]
    table = np.array([row.ctypes.data for row in rows], np.int64)

    def body(out, table, *rows):
        which = tl.arange(0, 4)
        pointers = tl.load(table + which).to(tl.pointer_type(tl.float32))
        tl.store(out + which, tl.load(pointers + which))

    out = run_body(body, np.zeros(4, np.float32), table, *rows, ways=("eager", "cpu"))[0]
    assert out.tolist() == [0, 11, 22, 33]


def test_addresses_of_nothing_are_found_in_interpreter_mode():
    def body(out, table):
        tl.store(out, tl.load(tl.load(table).to(tl.pointer_type(tl.float32))))

    with pytest.raises(LaunchError, match="touches address 0x10, which lies in no argument"):
        run_body(body, np.zeros(1, np.float32), np.array([16], np.int64), ways=["eager"])


# --- loops in mapped functions -------------------------------------------------------------------


def collatz(n):
    """Steps until 1, with the builder's own control flow."""
    b = current_builder()

    def goes_on(value, count):
        return b.compare("gt", value, 1)

    def step(value, count):
        is_even = b.compare("eq", b.and_(value, 1), 0)
        (value,) = b.if_(is_even, lambda: [b.div(value, 2)], lambda: [b.add(b.mul(value, 3), 1)])
        return [value, b.add(count, 1)]

    _, count = b.while_([n.handle, b.constant(0, tl.int32.ir)], goes_on, step)
    return tl.tensor(count)


def triangle(n):
    """0 + 1 + ... + n - 1 in a loop."""
    b = current_builder()
    (total,) = b.for_(0, n.handle, 1, [b.constant(0, tl.int32.ir)], lambda i, t: [b.add(t, i)])
    return tl.tensor(total)


def test_loops_of_mapped_functions_end_for_each_element():
    a = np.arange(1, 17, dtype=np.int32)

    def steps(n):
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    def body(x):
        return tl.map_elementwise(lambda n: (collatz(n), triangle(n)), x)

    results = evaluate(body, a, ways=ALL)
    assert results[0].data.tolist() == [steps(int(n)) for n in a]
    assert results[1].data.tolist() == [int(n) * (int(n) - 1) // 2 for n in a]
