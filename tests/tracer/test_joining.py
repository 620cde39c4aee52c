"""Joining, cutting, padding and taking, beside NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyblock as lb
from lazyblock.graph.ops import Op
from tests.helpers.arrays import (
    assert_kernel_count,
    assert_records_numpy,
    assert_same_as_numpy,
    assert_same_error,
)
from tests.helpers.graphs import count_op

A = np.arange(12.0).reshape(3, 4)
B = np.arange(8.0).reshape(2, 4) - 3
ROW = np.array([1, 2, 3, 4], np.int16)


def both(function):
    """`function(xp, *arrays)` with the module that fits the arrays."""
    return lambda *arrays: function(lb if isinstance(arrays[0], lb.Array) else np, *arrays)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, a, b, r: xp.concatenate([a, b]),
        lambda xp, a, b, r: xp.concatenate((a * 2, b.T[:3, ::-1], a), axis=1)[::-1],
        lambda xp, a, b, r: xp.concatenate([a, b, r[None]], axis=-2).sum(axis=1),
        lambda xp, a, b, r: xp.concatenate([a, b[:0], b], axis=0, dtype=np.float32),
        lambda xp, a, b, r: xp.concatenate([a, r, b], axis=None),
        lambda xp, a, b, r: xp.stack([a[0], r, b[1]]),
        lambda xp, a, b, r: xp.stack([a[0], r, b[1]], axis=-1) + 1,
        lambda xp, a, b, r: xp.vstack([r, a, b]),
        lambda xp, a, b, r: xp.hstack([a[:2], b]),
        lambda xp, a, b, r: xp.hstack([r, a[0], b[1, :1]]),
        lambda xp, a, b, r: xp.dstack([r, r]),
        lambda xp, a, b, r: xp.dstack([a, a + 1]),
        lambda xp, a, b, r: xp.column_stack([r, a.T, b.T]),
        lambda xp, a, b, r: xp.concatenate(xp.split(a, 2, axis=1), axis=0),
        lambda xp, a, b, r: tuple(xp.array_split(r, 3)),
        lambda xp, a, b, r: tuple(xp.split(a, [1, 1, 7], axis=1)),
        lambda xp, a, b, r: (*xp.hsplit(a, 2), *xp.vsplit(b, 2), *xp.dsplit(a[None, None, 0], 4)),
        lambda xp, a, b, r: xp.pad(a, 2),
        lambda xp, a, b, r: xp.pad(a, ((1, 0), (0, 3)), constant_values=((5, 6), (7, 8))),
        lambda xp, a, b, r: xp.pad(a * b[:1], ((0, 0), (2, 1)), constant_values=((1, 2), (3, 4))),
        lambda xp, a, b, r: xp.pad(r, (2, 3), "edge"),
        lambda xp, a, b, r: xp.pad(a, ((3, 5), (1, 9)), mode="wrap"),
        lambda xp, a, b, r: xp.pad(a, 7, mode="reflect"),
        lambda xp, a, b, r: xp.pad(a, ((2, 0), (4, 9)), mode="symmetric"),
        lambda xp, a, b, r: xp.pad(a, 2, mode="linear_ramp", end_values=(1, 5)),
        lambda xp, a, b, r: xp.pad(a, 2, mode="mean", stat_length=2),
        lambda xp, a, b, r: xp.pad(a, 2, mode="reflect", reflect_type="odd"),
        lambda xp, a, b, r: xp.pad(r, {0: (1, 2)}),
        lambda xp, a, b, r: xp.take(a, [[0, -1], [2, 2]], axis=1),
        lambda xp, a, b, r: xp.take(a * 2, xp.asarray([5, -1, 3])),
        lambda xp, a, b, r: xp.take(a, 1, axis=0),
        lambda xp, a, b, r: xp.take(a, [], axis=0),
        lambda xp, a, b, r: xp.take(a, [-5, 9, 2], axis=0, mode="clip"),
        lambda xp, a, b, r: xp.take(a, [-5, 9, 2], axis=0, mode="wrap"),
        lambda xp, a, b, r: xp.take_along_axis(a, (a % 3).astype(np.int64), axis=0),
        lambda xp, a, b, r: xp.take_along_axis(a, np.array([[1, -1]]), axis=1),
        lambda xp, a, b, r: xp.take_along_axis(a, xp.argmax(a, axis=1, keepdims=True), axis=1),
        lambda xp, a, b, r: xp.take_along_axis(a, np.array([3, -1]), axis=None),
        lambda xp, a, b, r: (xp.rot90(a), xp.rot90(a, 2), xp.rot90(a, -1), xp.rot90(a, 4)),
        lambda xp, a, b, r: (xp.flipud(a), xp.fliplr(a), xp.rot90(a[None], axes=(2, 0))),
    ],
)
def test_values_are_numpys(function):
    assert_records_numpy(both(function), A, B, ROW)


def test_values_from_kernels():
    def several(xp, a, b, r):
        joined = xp.concatenate((a * 2, b.T[:3, ::-1], a), axis=1)
        padded = xp.pad(a * b[:1], ((0, 0), (2, 1)), constant_values=((1, 2), (3, 4)))
        repeated = xp.pad(a, ((3, 5), (1, 9)), mode="reflect")
        taken = xp.take_along_axis(a, xp.argmax(a, axis=1, keepdims=True), axis=1)
        ramp = xp.pad(r, 2, mode="linear_ramp", end_values=(1, 5))
        return joined.sum(axis=0), padded, repeated, taken, ramp, xp.rot90(xp.stack([a, a + 1]))

    assert_same_as_numpy(both(several), A, B, ROW)


SHAPES = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(SHAPES, st.booleans())
def test_any_number_of_arrays_is_joined(extents, is_last):
    arrays = [np.arange(2 * n).reshape(2, n) + k for k, n in enumerate(extents)]
    axis = 1 if is_last else 0

    def join(*arrays):
        return both(lambda xp, *a: xp.concatenate([x if axis else x.T for x in a], axis))(*arrays)

    assert_records_numpy(join, *arrays)


def test_what_is_joined_is_computed_in_the_same_kernel():
    x = lb.asarray(A, device="cpu")
    assert_kernel_count(lb.concat([x * 2, lb.exp(x), x[:1]]).sum(axis=1), 1)
    assert_kernel_count(lb.pad(x * 2, 1)[1:, 1:] + lb.stack([x[0, :2]] * 5, axis=1)[0, 0], 1)


def test_stacking_thousands_of_arrays():
    a = lb.asarray(np.arange(3.0), device="cpu")
    stacked = lb.stack([a + k for k in range(6000)])
    assert stacked.shape == (6000, 3)
    assert stacked.sum().item() == sum(range(6000)) * 3 + 3 * 6000


def test_an_index_is_fused_with_what_reads_its_elements():
    x, i = lb.asarray(A, device="cpu"), lb.asarray([2, 0], device="cpu")
    assert_kernel_count(lb.exp(x[np.array([2, 0])]) * 2, 1)
    taken = (x + 1)[i + 0]
    assert count_op(taken.node, Op.GATHER) == 1
    assert "computed positions" in taken.explain()


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, a: xp.concatenate([]),
        lambda xp, a: xp.concatenate([a, a[0]]),
        lambda xp, a: xp.concatenate([a, a[:, 1:]]),
        lambda xp, a: xp.concatenate([a[0, 0], a[0, 0]]),
        lambda xp, a: xp.stack([a, a[1:]]),
        lambda xp, a: xp.split(a, 2),
        lambda xp, a: xp.pad(a, -1),
        lambda xp, a: xp.pad(a[:0], 1, mode="mean"),
        lambda xp, a: xp.pad(a, 1, mode="strange"),
        lambda xp, a: xp.rot90(a, axes=(1, 1)),
        lambda xp, a: xp.rot90(a, axes=(1, 4)),
        lambda xp, a: xp.fliplr(a[0]),
    ],
)
def test_values_that_do_not_fit_are_refused_in_numpys_words(function):
    assert_same_error(both(function), A, kind=ValueError)


def test_positions_outside_are_refused():
    assert_same_error(lambda a: a.__array_namespace__().take(a, [3], axis=0), A, kind=IndexError)
    assert_same_error(lambda a: a[np.array([0, -4])], A, kind=IndexError)
    with pytest.raises(TypeError, match="Cannot cast array data"):
        lb.take(lb.asarray(A), [1.5])
