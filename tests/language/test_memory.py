"""Loads and stores: masks, others, casts, offsets, block pointers and descriptors."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import LaunchError, SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, run_body
from tests.language.rules import FLOATS, INTEGERS, NAMES, NUMPY, convert, sample

X = np.arange(1, 17, dtype=np.float32)
I16 = np.arange(16)


def loaded(body, *arguments, out=None, ways=DEVICES, grid=(1, 1, 1)):
    """What `body(out, *arguments)` leaves in `out`, 16 elements of -1 unless given."""
    given = np.full(16, -1, np.float32) if out is None else out
    return run_body(body, given, *arguments, ways=ways, grid=grid)[0]


# --- masks ---------------------------------------------------------------------------------------


def test_masked_lanes_read_zero():
    def body(out, x):
        i = tl.arange(0, 16)
        tl.store(out + i, tl.load(x + i, mask=i < 10))

    assert_same_bits(loaded(body, X, ways=ALL), np.where(I16 < 10, X, 0).astype(np.float32))


@pytest.mark.parametrize("other", [5, -2.5, True, float("nan")])
def test_masked_lanes_read_other_as_the_element_type(other):
    def body(out, x):
        i = tl.arange(0, 16)
        tl.store(out + i, tl.load(x + i, mask=i < 10, other=other))

    expected = np.where(I16 < 10, X, np.float32(other)).astype(np.float32)
    assert_same_bits(loaded(body, X), expected)


def test_other_may_be_a_block():
    def body(out, x):
        i = tl.arange(0, 16)
        tl.store(out + i, tl.load(x + i, i % 2 == 0, -i))

    assert_same_bits(loaded(body, X), np.where(I16 % 2 == 0, X, -I16).astype(np.float32))


def test_masks_and_values_broadcast():
    def body(out, x):
        rows, columns = tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :]
        v = tl.load(x + rows * 4 + columns, mask=rows < 3, other=0)
        tl.store(out + rows * 4 + columns, v, mask=columns > 0)
        tl.store(out + tl.arange(0, 2), 7, mask=True)

    expected = np.where((I16 // 4 < 3), X, 0)
    expected = np.where(I16 % 4 > 0, expected, -1)
    expected[:2] = 7
    assert_same_bits(loaded(body, X), expected.astype(np.float32))


def test_a_load_broadcasts_pointers_to_the_mask():
    def body(out, x):
        columns, rows = tl.arange(0, 4), tl.arange(0, 4)[:, None]
        v = tl.load(x + columns, mask=(rows >= columns), other=0.0)
        tl.store(out + rows * 4 + columns, v)

    expected = np.where(I16 // 4 >= I16 % 4, X[I16 % 4], 0).astype(np.float32)
    assert_same_bits(loaded(body, X), expected)


@pytest.mark.parametrize("condition", [True, False])
def test_scalars_are_loaded_and_stored(condition):
    def body(out, x):
        v = tl.load(x + 3, mask=condition, other=9.0)
        tl.store(out, v * 2)
        tl.store(out + 1, 5, mask=condition)

    expected = np.full(16, -1, np.float32)
    expected[0] = 8 if condition else 18
    if condition:
        expected[1] = 5
    assert_same_bits(loaded(body, X, ways=ALL), expected)


def test_every_instance_has_its_place():
    def body(out, x):
        number = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * 2 + tl.program_id(0)
        tl.store(out + number, tl.load(x + number) + number)

    expected = np.full(16, -1, np.float32)
    expected[:12] = X[:12] + np.arange(12)
    assert_same_bits(loaded(body, X, grid=(2, 3, 2), ways=ALL), expected)


# --- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", ["int1", "int8", "uint16", "int64", "fp16", "bf16", "fp64"])
def test_stores_convert_to_the_element_type(source, target):
    a = np.abs(sample(source, 16)) if source in FLOATS else sample(source, 16)
    out = np.zeros(16, NUMPY[target])

    def body(out, x):
        i = tl.arange(0, 16)
        tl.store(out + i, tl.load(x + i))

    expected = a != 0 if target == "int1" else convert(a, target)
    assert_same_bits(loaded(body, a, out=out, ways=("eager", "interpreter")), expected)


def test_bool_memory_is_a_byte_per_element():
    flags = np.array([0, 1] * 8, bool)

    def body(out, x):
        i = tl.arange(0, 16)
        v = tl.load(x + i)
        assert v.dtype == tl.int1
        tl.store(out + i, ~v)

    assert_same_bits(loaded(body, flags, out=np.zeros(16, bool), ways=ALL), ~flags)


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("type", INTEGERS[1:])
def test_pointers_move_by_any_integers(type):
    def body(out, x):
        i = tl.arange(0, 8).to(tl.dtype(type))
        tl.store(i + out, tl.load(x + 8 + i))
        tl.store(out + 15 - i, tl.load(x + i))

    assert_same_bits(loaded(body, X), np.concatenate([X[8:], X[:8][::-1]]))


@pytest.mark.parametrize(("type", "offset"), [("uint8", 200), ("uint16", 60000)])
def test_offsets_without_a_sign_are_not_negative(type, offset):
    x = np.arange(offset + 8, dtype=np.float32)

    def body(out, x):
        i = (tl.arange(0, 8) + offset).to(tl.dtype(type))
        tl.store(out + tl.arange(0, 8), tl.load(x + i))

    assert loaded(body, x)[:8].tolist() == x[offset : offset + 8].tolist()


def test_negative_offsets_go_back():
    def body(out, x):
        i = tl.arange(0, 16)
        tl.store(out + i, tl.load(x + 15 + (-i).to(tl.int8)))

    assert_same_bits(loaded(body, X, ways=ALL), X[::-1])


def test_offsets_wrap_as_they_are_computed():
    """4 times 2**30 is 0 in int32, so that 8 more is 8."""

    def body(out, x, n):
        tl.store(out, tl.load(x + (tl.load(n) * 4 + 8)))

    assert loaded(body, X, np.array([2**30], np.int32), ways=ALL)[0] == X[8]


def test_accesses_out_of_bounds_are_found_in_interpreter_mode():
    def body(out, x):
        i = tl.arange(0, 32)
        tl.store(out + i % 16, tl.load(x + i))

    for way in ("eager", "interpreter"):
        with pytest.raises(LaunchError, match=r"touches element 16 of 'x1', which has 16"):
            loaded(body, X, ways=[way])


def test_pointers_compare_by_address():
    def body(out, x):
        tl.store(out, (x + 3 == x + 3).to(tl.float32))
        tl.store(out + 1, (x == x + 1).to(tl.float32))

    assert loaded(body, X)[:2].tolist() == [1, 0]


REFUSED = [
    (lambda x, i: tl.load(i), "tl.load needs pointers, got a block of int32"),
    (lambda x, i: tl.load(x + i, other=0), "'other' without 'mask'"),
    (lambda x, i: tl.load(x, mask=i < 3), "but the pointer is a scalar"),
    (lambda x, i: tl.load(x + i, mask=i), "A mask is of int1"),
    (lambda x, i: tl.load(x + i, boundary_check=(0,)), "are for block pointers"),
    (lambda x, i: tl.load(x + i, cache_modifier=".wb"), "cache_modifier is '.wb'"),
    (lambda x, i: tl.load(x + i, eviction_policy="never"), "eviction_policy is 'never'"),
    (lambda x, i: tl.store(x, i), "The value is a block .* but the pointer is a scalar"),
    (lambda x, i: tl.store(x + i, i[:, None]), r"a value of shape \(16, 1\) does not broadcast"),
    (lambda x, i: tl.store(x + i, 1, mask=i), "A mask is of int1"),
    (lambda x, i: x + x, "Two pointers cannot be added"),
    (lambda x, i: x + 1.0, r"'\+' has no meaning"),
    (lambda x, i: x * 2, r"'\*' has no meaning"),
    (lambda x, i: x - x, "'-' has no meaning"),
    (lambda x, i: -x, "'-' has no meaning"),
    (lambda x, i: x.to(tl.float32), "does not convert"),
    (lambda x, i: x.to(tl.int32), "does not fit in int32"),
    (lambda x, i: tl.where(i > 3, x, 0), "chooses between pointers of one type"),
    (lambda x, i: tl.atomic_add(x + i, 1, sem="loose"), "sem is 'loose'"),
    (lambda x, i: tl.atomic_add(x, i), "The value is a block .* but the pointer is a scalar"),
    (lambda x, i: tl.atomic_add(x + i, i[:, None]), "a value of shape .* does not broadcast"),
    (lambda x, i: tl.atomic_and(x + i, 1), "atomic_and is not for elements of fp32"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_what_has_no_meaning_is_refused(body, message):
    for way in ("eager", "interpreter"):
        with pytest.raises(SemanticError, match=message):
            run_body(lambda x: body(x, tl.arange(0, 16)), X, ways=[way])


def test_pointers_to_constants_are_read_only():
    def body(x):
        p = tl.tensor(x.handle, tl.pointer_type(tl.float32, const=True))
        assert (p + tl.arange(0, 4)).dtype.is_const()
        assert tl.load(p + 1).dtype == tl.float32
        tl.store(p + tl.arange(0, 4), 0.0)

    with pytest.raises(SemanticError, match="pointer to constants"):
        run_body(body, X)


@pytest.mark.parametrize("cache", ["", ".ca", ".cg", ".cs", ".cv"])
def test_hints_change_nothing(cache):
    def body(out, x):
        i = tl.arange(0, 16)
        i = tl.max_contiguous(tl.multiple_of(i, 16), 16)
        tl.assume(tl.program_id(0) >= 0)
        v = tl.load(x + i, cache_modifier=cache, eviction_policy="evict_last")
        i = tl.max_constancy(i, [1])
        tl.store(out + i, v, cache_modifier=".wt", eviction_policy="evict_first")

    assert_same_bits(loaded(body, X), X)


# --- block pointers ------------------------------------------------------------------------------

GRID = np.arange(1, 36, dtype=np.float32).reshape(5, 7)


def padded(array, rows, columns, top, left, fill=0.0):
    """A block of an array at (top, left), which may lie outside."""
    result = np.full((rows, columns), fill, array.dtype)
    for row in range(rows):
        for column in range(columns):
            r, c = top + row, left + column
            if 0 <= r < array.shape[0] and 0 <= c < array.shape[1]:
                result[row, column] = array[r, c]
    return result


@pytest.mark.parametrize(("top", "left"), [(0, 0), (2, 5), (-1, -2), (4, 6), (9, 0)])
@pytest.mark.parametrize("padding", ["", "zero", "nan"])
def test_block_pointers_pad_outside(padding, top, left):
    def body(out, x):
        block = tl.make_block_ptr(x, (5, 7), (7, 1), (top, left), (4, 4), (1, 0))
        v = tl.load(block, boundary_check=(0, 1), padding_option=padding)
        assert block.dtype.is_ptr() and block.type.element_ty == v.type
        v = v.to(tl.float64).to(block.dtype.element_ty)
        assert v.dtype == tl.float32 and v.shape == (4, 4)
        target = tl.make_block_ptr(out, (4, 4), (4, 1), (0, 0), (4, 4), (1, 0))
        tl.store(target, v)

    fill = np.nan if padding == "nan" else 0.0
    out = np.zeros((4, 4), np.float32)
    assert_same_bits(loaded(body, GRID, out=out), padded(GRID, 4, 4, top, left, fill))


def test_block_pointers_advance_and_check_single_axes():
    def body(out, x):
        block = tl.make_block_ptr(
            base=x, shape=(7, 5), strides=(1, 7), offsets=(0, 0), block_shape=(4, 4), order=(0, 1)
        )
        total = tl.zeros((4, 4), tl.float32)
        for _ in range(2):
            total += tl.load(block, boundary_check=(0,))
            block = tl.advance(block, (2, 0)).advance((2, 0))
        target = tl.make_block_ptr(out, (3, 4), (4, 1), (0, 0), (4, 4), (1, 0))
        tl.store(target, total, boundary_check=(0,))

    transposed = GRID.T
    expected = padded(transposed, 4, 4, 0, 0) + padded(transposed, 4, 4, 4, 0)
    assert_same_bits(loaded(body, GRID, out=np.zeros((3, 4), np.float32)), expected[:3])


def test_composites_are_taken_apart_and_put_together():
    def body(out, x):
        block = tl.make_block_ptr(x, (5, 7), (7, 1), (1, 2), (4, 4), (1, 0))
        leaves = block.leaves()
        assert len(leaves) == 7 and leaves[0].dtype.is_ptr()
        again = block.with_leaves(leaves)
        descriptor = tl.make_tensor_descriptor(x, (5, 7), (7, 1), (4, 4))
        other = descriptor.with_leaves(descriptor.leaves())
        i = tl.arange(0, 16).reshape(4, 4)
        tl.store(out + i, tl.load(again) - other.load([1, 2]))

    assert_same_bits(loaded(body, GRID), np.zeros(16, np.float32))


# --- tensor descriptors --------------------------------------------------------------------------


@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize(("top", "left"), [(0, 0), (3, 4), (-2, -3), (5, 7)])
def test_descriptors_pad_on_every_side(padding, top, left):
    def body(out, x):
        descriptor = tl.make_tensor_descriptor(x, [5, 7], [7, 1], [4, 4], padding_option=padding)
        assert descriptor.block_shape == (4, 4) and descriptor.dtype == tl.float32
        v = descriptor.load([top, left])
        tl.store(out + tl.arange(0, 16).reshape(4, 4), v)

    fill = np.nan if padding == "nan" else 0.0
    expected = padded(GRID, 4, 4, top, left, fill)
    assert_same_bits(loaded(body, GRID), expected.reshape(-1))


def test_the_last_stride_of_a_descriptor_may_be_an_argument():
    def body(out, x):
        stride = tl.load(x).to(tl.int32) + 1 - tl.load(x).to(tl.int32)
        descriptor = tl.make_tensor_descriptor(x, [5, 7], [7, stride], [4, 4])
        tl.store(out + tl.arange(0, 16).reshape(4, 4), descriptor.load([1, 2]))

    assert_same_bits(loaded(body, GRID), padded(GRID, 4, 4, 1, 2, 0.0).reshape(-1))


@pytest.mark.parametrize(("top", "left"), [(0, 0), (3, 5), (-1, -2)])
def test_descriptors_drop_what_leaves_the_array(top, left):
    block = np.arange(100, 116, dtype=np.float32).reshape(4, 4)

    def body(out, x):
        descriptor = tl.make_tensor_descriptor(out, [5, 7], [7, 1], [4, 4])
        value = tl.load(x + tl.arange(0, 16)).reshape(4, 4)
        tl.store_tensor_descriptor(descriptor, [top, left], value)

    expected = GRID.copy()
    for row in range(4):
        for column in range(4):
            r, c = top + row, left + column
            if 0 <= r < 5 and 0 <= c < 7:
                expected[r, c] = block[row, column]
    assert_same_bits(loaded(body, block, out=GRID), expected)


def test_descriptors_of_one_to_five_axes():
    x = np.arange(64, dtype=np.float32)

    def body(out, x):
        total = tl.zeros((), tl.float32)
        for rank in (1, 3, 5):
            extents, blocks = [1] * (rank - 1) + [64], [1] * (rank - 1) + [16]
            strides = [64] * (rank - 1) + [1]
            descriptor = tl.make_tensor_descriptor(x, extents, strides, blocks)
            total += tl.sum(tl.load_tensor_descriptor(descriptor, [0] * (rank - 1) + [48]))
        tl.store(out, total)

    assert loaded(body, x)[0] == 3 * x[48:].sum()


def test_descriptors_gather_and_scatter_rows():
    rows = np.array([3, 0, 9, 4], np.int32)

    def body(out, x, r):
        descriptor = tl.make_tensor_descriptor(x, [5, 7], [7, 1], [1, 4])
        target = tl.make_tensor_descriptor(out, [5, 7], [7, 1], [1, 4])
        which = tl.load(r + tl.arange(0, 4))
        target.scatter(descriptor.gather(which, 5) + 100, which, 1)

    expected = np.zeros((5, 7), np.float32)
    for row in (3, 0, 4):
        expected[row, 1:5] = padded(GRID, 5, 4, 0, 5)[row] + 100
    out = np.zeros((5, 7), np.float32)
    assert_same_bits(loaded(body, GRID, rows, out=out), expected)


DESCRIPTORS = [
    (
        lambda x: tl.make_tensor_descriptor(x, [5, 7], [1, 7], [4, 4]),
        "last stride of a descriptor is 1, got 7",
    ),
    (lambda x: tl.make_tensor_descriptor(x, [5, 7], [7, 1], [4, 2]), "16 bytes at least, got 8"),
    (lambda x: tl.make_tensor_descriptor(x, [5], [7, 1], [4, 4]), "'shape' has 1 entries"),
    (lambda x: tl.make_tensor_descriptor(x + tl.arange(0, 4), [5], [1], [4]), "a scalar pointer"),
    (lambda x: tl.make_block_ptr(x, (5,), (1,), (0,), (4,), (1,)), "outside a block of 1 axes"),
    (lambda x: tl.make_block_ptr(x, (5.0,), (1,), (0,), (4,), (0,)), "takes integer scalars"),
    (lambda x: tl.advance(x, (1,)), "tl.advance moves block pointers"),
    (lambda x: tl.load(line(x), mask=True), "mask and other are not for block pointers"),
    (lambda x: tl.load(line(x), (0, 0)), "mask and other are not for block pointers"),
    (lambda x: tl.load(line(x), boundary_check=(0, 0)), "names an axis twice"),
    (lambda x: tl.load(line(x), padding_option="one"), "padding_option is 'one'"),
]


def line(x):
    return tl.make_block_ptr(x, (5,), (1,), (0,), (4,), (0,))


@pytest.mark.parametrize(("body", "message"), DESCRIPTORS)
def test_wrong_descriptions_are_refused(body, message):
    with pytest.raises(SemanticError, match=message):
        run_body(lambda x: body(x), X)
