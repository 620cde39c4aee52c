"""Atomic accesses of every kind and type, and addresses as integers, on every device."""

import itertools

import numpy as np
import pytest

from lazyblock import config
from lazyblock.backend.devices import get_device
from lazyblock.backend.runtime.device import pack_pointer
from lazyblock.errors import LaunchError
from lazyblock.pipeline import compile_block_program
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ops.atomic import ORDERS, RMW_KINDS
from lazyblock.tiler.ops.memory import SCOPES
from lazyblock.tiler.types import (
    PointerType,
    bfloat16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int16,
    int32,
    int64,
    uint32,
    uint64,
)
from tests.backend.kernels import Case, pointer
from tests.backend.waiting import assert_agrees, make, on, ptx_of, update
from tests.helpers.ptxas import assemble

DEVICES = ["cpu", "emulated:sm_80", "emulated:sm_90a"]

# --- every kind on every type --------------------------------------------------------------------

_NUMBERS = (int32, uint32, int64, uint64, float32, float64)
_UPDATES = [
    (kind, element)
    for kind, element in itertools.product(RMW_KINDS, _NUMBERS)
    if not (element.is_floating and RMW_KINDS[kind] == "i")
] + [("add", float16), ("add", bfloat16)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("kind", "element"), _UPDATES, ids=str)
def test_updates_of_every_type(kind, element, device):
    assert_agrees(make(update(kind, element, 32, 1, masked=True)), on(device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_floats_are_updated_in_total_order(kind, device):
    special = np.array([-np.inf, -2.0, -0.0, 0.0, 1.5, np.inf, np.nan, -np.nan], np.float32)
    case = make(update(kind, float32, 64, 2))
    left, right = np.repeat(special, 8), np.tile(special, 8)
    case = case._replace(arguments=[left, right, np.zeros_like(left)])
    after, _, _ = assert_agrees(case, on(device))
    expected = np.maximum(left, right) if kind == "max" else np.minimum(left, right)
    are_numbers = ~(np.isnan(left) | np.isnan(right)) & (expected != 0)
    np.testing.assert_array_equal(after[are_numbers], expected[are_numbers])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("element", [float16, int32, float32, int64, float64], ids=str)
def test_swaps_of_blocks(element, device):
    def swap(rng):
        b = Builder("swap", num_warps=2)
        x, old = pointer(b, "x", element), pointer(b, "old", element)
        lanes = b.arange(0, 64)
        before = b.compare_and_swap(b.add_pointer(x, lanes), 2, 5)
        b.store(b.add_pointer(old, lanes), before)
        data = rng.integers(1, 4, 64).astype(sample_dtype(element))
        return Case(b.finish(), [data, np.zeros_like(data)])

    after, before = assert_agrees(make(swap), on(device))
    assert (after[before == 2] == 5).all() and (after[before != 2] == before[before != 2]).all()


def sample_dtype(element):
    return {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(
        element.name, f"int{element.bits}"
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("element", [int1, int8, float16, float32, int64], ids=str)
def test_ordered_loads_and_stores_of_blocks(element, device):
    def copy(rng):
        b = Builder("copy", num_warps=2)
        x, out = pointer(b, "x", element), pointer(b, "out", element)
        lanes = b.arange(0, 64)
        mask = b.compare("lt", lanes, 50)
        value = b.load(b.add_pointer(x, lanes), mask, 1, sem="acquire", scope="sys")
        b.store(b.add_pointer(out, lanes), value, mask, sem="release", scope="cta")
        dtype = np.bool_ if element == int1 else sample_dtype(element)
        return Case(b.finish(), [rng.integers(0, 2, 64).astype(dtype), np.zeros(64, dtype)])

    data, out = assert_agrees(make(copy), on(device))
    np.testing.assert_array_equal(out[:50], data[:50])


@pytest.mark.parametrize("device", DEVICES)
def test_loads_before_an_update_see_what_was_there(device):
    def keep(rng):
        b = Builder("keep", num_warps=2)
        x, out = pointer(b, "x", int32), pointer(b, "out", int32)
        lanes = b.arange(0, 64)
        places = b.add_pointer(x, lanes)
        before = b.load(places)
        b.atomic("add", b.add_pointer(x, b.sub(63, lanes)), b.load(places))
        after = b.load(places)
        b.store(b.add_pointer(out, lanes), b.sub(b.mul(before, 100), after))
        data = rng.integers(0, 9, 64).astype(np.int32)
        return Case(b.finish(), [data, np.zeros_like(data)])

    case = make(keep)
    _, out = assert_agrees(case, on(device))
    data = case.arguments[0]
    np.testing.assert_array_equal(out, 100 * data - data - data[::-1])


# --- instructions --------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_ptx_says_order_scope_and_type(arch, tmp_path):
    b = Builder("orders", num_warps=1)
    x, out = pointer(b, "x", int32), pointer(b, "out", int32)
    wanted = []
    for sem, scope in itertools.product(ORDERS, SCOPES):
        b.store(out, b.atomic("add", x, 1, sem=sem, scope=scope))
        wanted.append(f"atom.{sem}.{scope}.global.add.u32")
    for sem, scope in itertools.product(("relaxed", "acquire"), SCOPES):
        b.store(out, b.load(x, sem=sem, scope=scope))
        wanted.append(f"ld.{sem}.{scope}.global.b32")
    for sem, scope in itertools.product(("relaxed", "release"), SCOPES):
        b.store(x, b.constant(1, int32), sem=sem, scope=scope)
        b.atomic("max", x, 1, sem=sem, scope=scope)
        wanted += [f"st.{sem}.{scope}.global.b32", f"red.{sem}.{scope}.global.max.s32"]
    text = ptx_of(b.finish(), arch)
    assemble(text, arch, tmp_path)
    for instruction in wanted:
        assert text.count(instruction) == 1, instruction


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_updates_of_every_type_assemble(arch, tmp_path):
    b = Builder("kinds", num_warps=1)
    ordered = {"sem": "release", "scope": "gpu"}
    for kind, element in _UPDATES:
        x, out = pointer(b, "x", element), pointer(b, "out", element)
        value = b.load(out)
        b.atomic(kind, x, value)
        b.store(out, b.atomic(kind, x, value))
    for element in (float16, int32, float64):
        x = pointer(b, "x", element)
        b.store(x, b.compare_and_swap(x, 1, 2))
    for element in (int1, int8, bfloat16):
        x = pointer(b, "x", element)
        value = b.load(x, sem="acquire", scope="gpu")
        b.store(b.add_pointer(x, b.arange(0, 64)), b.splat(value, (64,)), None, **ordered)
    text = ptx_of(b.finish(), arch)
    assemble(text, arch, tmp_path)
    assert "red.release.gpu.global.add.f64" in text
    assert "atom.acq_rel.gpu.global.exch.b64" in text
    assert "atom.acq_rel.gpu.global.min.u64" in text
    assert "atom.acq_rel.gpu.global.add.noftz.f16" in text
    assert ("red.release.gpu.global.add.noftz.bf16" in text) == (arch != "sm_80")


# --- addresses as integers -----------------------------------------------------------------------


def table_of_pointers():
    """out[i] = sum of element i of x and y, whose addresses come from a table; minus others'."""
    b = Builder("table", num_warps=2)
    table, out = pointer(b, "table", int64), pointer(b, "out", float16)
    x, y = pointer(b, "x", float16), pointer(b, "y", float16)
    lanes = b.arange(0, 64)

    def body(i, total):
        address = b.load(b.add_pointer(table, i))
        array = b.bitcast(address, PointerType(float16))
        is_known = b.or_(b.compare("eq", array, x), b.compare("eq", array, y))
        value = b.load(b.add_pointer(array, lanes))
        kept = b.select(b.splat(is_known, (64,)), value, b.neg(value))
        return [b.add(total, kept)]

    (total,) = b.for_(0, 2, 1, [b.constant(0, float16, (64,))], body)
    b.store(b.add_pointer(out, lanes), total)
    return b.finish()


def words_of_floats(rng):
    """Floats read and written through pointers to their halves and their bits."""
    b = Builder("words", num_warps=2)
    x, out = pointer(b, "x"), pointer(b, "out", int32)
    halves = b.bitcast(x, PointerType(float16))
    words = b.bitcast(b.splat(x, (64,)), PointerType(int32))
    lanes = b.arange(0, 64)
    low = b.bitcast(b.load(b.add_pointer(halves, b.mul(lanes, 2))), int16)
    whole = b.load(b.add_pointer(words, lanes))
    b.store(b.add_pointer(out, lanes), b.add(whole, b.cast(low, int32)))
    b.store(b.add_pointer(words, lanes), b.full_like(whole, 0x3F800000))
    data = rng.normal(size=64).astype(np.float32)
    return Case(b.finish(), [data, np.zeros(64, np.int32)])


@pytest.mark.parametrize("device", DEVICES)
def test_pointers_to_other_types(device):
    case = make(words_of_floats)
    data, out = assert_agrees(case, on(device))
    before = case.arguments[0]
    np.testing.assert_array_equal(
        out, before.view(np.int32) + before.view(np.int16)[::2].astype(np.int32)
    )
    assert (data == 1).all()


def test_tables_of_addresses_in_the_interpreter():
    program = table_of_pointers()
    x, y = (np.arange(n, n + 64).astype(np.float16) for n in (1, 7))
    table = np.array([x.ctypes.data, y.ctypes.data])
    out = np.zeros(64, np.float16)
    interpret(program, [table, out, x, y])
    np.testing.assert_array_equal(out, x + y)
    table[1] = 4096
    with pytest.raises(LaunchError, match=r"address 0x1000, which lies in no argument's array"):
        interpret(program, [table, out, x, y])


@pytest.mark.parametrize("device", [*DEVICES, "checked"])
@pytest.mark.parametrize("are_arguments", [True, False])
def test_tables_of_addresses_on_devices(device, are_arguments):
    """The arrays need not be arguments."""
    with config.scope(sanitize=device == "checked"):
        device = get_device(device.replace("checked", "cpu"))
        program = table_of_pointers()
        kernel = compile_block_program(program, device.target)
        frame = kernel.num_threads, kernel.shared_bytes, kernel.num_ctas
        loaded = device.load(kernel.image, kernel.name, *frame)
        x, y = (np.arange(n, n + 64).astype(np.float16) for n in (1, 7))
        arrays = [device.from_host(array) for array in (x, y, np.zeros(64, np.float16))]
        addresses = np.array([array.pointer for array in arrays[:2]])
        table = device.from_host(addresses)
        given = arrays[:2] if are_arguments else [arrays[2], arrays[2]]
        slots = b"".join(pack_pointer(b.pointer) for b in (table, arrays[2], *given))
        device.launch(loaded, (1, 1, 1), slots + bytes(24), 1)
        found = device.to_host(arrays[2], 0, np.dtype(np.float16), (64,), (1,))
    np.testing.assert_array_equal(found, x + y if are_arguments else -(x + y))
