"""Indexing against NumPy, drawn at random: maps of basic keys; programs that read and write."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyblock as lb
from lazyblock.tracer.indexing import basic_index
from tests.helpers.arrays import assert_records_numpy, assert_same_error, interpret_array
from tests.helpers.indexing import SHAPES, Pair, draw_step, draw_view

BOUND = st.one_of(st.none(), st.integers(-6, 6))
STEP = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
ENTRY = st.one_of(
    st.integers(-5, 5), st.builds(slice, BOUND, BOUND, STEP), st.none(), st.just(Ellipsis)
)


@given(st.lists(st.integers(0, 5), max_size=3).map(tuple), st.lists(ENTRY, max_size=4).map(tuple))
def test_map_and_shape_are_numpys(shape, key):
    base = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    try:
        expected = base[key]
    except IndexError:
        with pytest.raises(IndexError):
            basic_index(shape, key)
        return
    index_map, result = basic_index(shape, key)
    assert result == expected.shape
    for index in np.ndindex(*result):
        assert base[index_map(index)] == expected[index]


@given(st.lists(st.lists(ENTRY, max_size=2).map(tuple), max_size=3))
def test_views_of_views(keys):
    base = np.arange(60.0).reshape(3, 4, 5)
    try:
        for key in keys:
            base = base[key]
    except IndexError:
        return

    def index(x):
        for key in keys:
            x = x[key]
        return x

    assert_records_numpy(index, np.arange(60.0).reshape(3, 4, 5))


@pytest.mark.parametrize("index", [np.int8(1), np.uint64(1), np.array(1)[()]])
def test_numpy_integers_are_indices(index):
    assert basic_index((3,), index) == basic_index((3,), 1)


def test_new_axis_is_none():
    x = lb.zeros((2, 3), device="cpu")
    assert x[:, lb.newaxis].shape == (2, 1, 3)


def run_program(data, evaluate, most_steps, device="cpu"):
    """Views of one array, reading and writing through any of them."""
    shape = data.draw(st.sampled_from(SHAPES))
    dtype = data.draw(st.sampled_from([np.float64, np.int32]))
    base = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    pair = Pair(base, lambda values: lb.asarray(values, device=device), evaluate)
    for _ in range(data.draw(st.integers(0, 3))):
        draw_view(data.draw, pair)
    for _ in range(data.draw(st.integers(1, most_steps))):
        draw_step(data.draw, pair)
    pair.check_all()


@settings(max_examples=200)
@given(st.data())
def test_programs_of_reads_and_writes(data):
    run_program(data, interpret_array, most_steps=4)


@settings(max_examples=25)
@given(st.data())
def test_programs_of_reads_and_writes_from_kernels(data):
    run_program(data, lb.Array.numpy, most_steps=3)


@settings(max_examples=5)
@given(st.data())
def test_programs_of_reads_and_writes_on_the_emulator(data):
    run_program(data, lb.Array.numpy, most_steps=2, device="emulated:sm_90a")


def lazy(values):
    return lb.asarray(np.asarray(values), device="cpu")


def test_the_last_of_several_values_for_one_element_counts():
    for index in ([0, 0, 2, 0], np.array([[0, 2], [0, 0]]), lazy([0, 0, 2, 0])):
        x = lazy(np.zeros(3))
        x[index] = np.arange(5.0, 9.0).reshape(np.shape(index))
        np.testing.assert_array_equal(x.numpy(), [8, 0, 7 if np.ndim(index) == 1 else 6])


def test_overlapping_updates_behave_as_if_copied_first():
    x, y = lazy(np.arange(6.0)), np.arange(6.0)
    x[1:], y[1:] = x[:-1], y[:-1].copy()
    x[:-1] += x[1:]
    y[:-1] += y[1:]
    x[x[[1, 2]].astype(np.int64)] = x[::3]
    y[y[[1, 2]].astype(np.int64)] = y[::3].copy()
    np.testing.assert_array_equal(x.numpy(), y)


def test_an_ellipsis_for_no_axis_parts_what_picks():
    x = np.arange(24).reshape(2, 3, 4)
    assert_records_numpy(
        lambda x: (x[:, [0, 1], ..., [1, 2]], x[0:, [0, 1], ..., 2], x[..., [0, 1], [1, 2]]), x
    )


def test_leading_axes_of_one_element_of_a_value_do_not_count():
    def write(x):
        x = x.copy()
        x[[2, 0]] = np.arange(8.0).reshape(1, 1, 2, 4)
        x[[1, 1], [0, 2]] = np.array([[[5.0]]])
        x[[], 0] = np.ones((1, 1, 1))
        return x

    assert_records_numpy(write, np.zeros((3, 4)))


def test_a_mask_writes_without_being_evaluated():
    x = lazy(np.arange(6.0).reshape(2, 3))
    with lb.forbid_eval():
        x[x > 2] = -1
        x[lazy([False, True])] = lazy([7.0, 8, 9])
    np.testing.assert_array_equal(x.numpy(), [[0, 1, 2], [7, 8, 9]])


def test_known_indices_write_without_evaluation():
    x = lazy(np.arange(5.0)) + 0
    with lb.forbid_eval():
        x[[0, 3]] = x[[1, 2]] * 10
        x[::2] += 0.5
    np.testing.assert_array_equal(x.numpy(), [10.5, 1, 2.5, 20, 4.5])


def test_an_ellipsis_for_no_axis_moves_the_axes_of_computed_indices():
    def write(x):
        x = x.copy()
        i = (x[0, 0] + 1).astype(int)
        x[::-1, i[:2], ..., [0, 3]] = [[1, 2], [3, 4]]
        return x

    assert_records_numpy(write, np.zeros((2, 3, 4)))
    x = lazy(np.zeros((1, 1, 1)))
    x[::-1, lazy(np.zeros(0, int)), ..., [False]] = 5
    np.testing.assert_array_equal(x.numpy(), np.zeros((1, 1, 1)))


def test_computed_indices_out_of_range_are_found_when_they_are_used():
    x, i = lazy(np.arange(5.0)), lazy([1, 5])
    taken = x[i - 1] + x[i - 6]
    np.testing.assert_array_equal(taken.numpy(), [0, 8])
    for wrong, index in ((x[i * 2], 10), (x[i - 7], -6)):
        with pytest.raises(IndexError, match=rf"index {index} is out of bounds for axis 0 with"):
            (wrong * 2).numpy()
        with pytest.raises(IndexError, match=r"used at .*test_indexing\.py"):
            wrong.numpy()
    compiled = lb.compile(lambda x, i: x[i])
    np.testing.assert_array_equal(compiled(x, i - 1).numpy(), [0, 4])
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        compiled(x, i)


def test_an_index_keeps_what_it_was():
    index, x = np.array([0, 2]), lazy(np.arange(3.0))
    i = lazy(index)
    known, computed = x[index], x[i]
    index[...] = 1
    i[...] = 1
    x[...] = 9
    np.testing.assert_array_equal(known.numpy(), [0, 2])
    np.testing.assert_array_equal(computed.numpy(), [0, 2])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.__setitem__(slice(1), np.zeros(3)),
        lambda x: x.__setitem__([0, 1], np.zeros(3)),
        lambda x: x.__setitem__(np.array([True, True, False, False]), np.zeros(3)),
        lambda x: x[:, None].__setitem__(np.array([0]), np.zeros((2, 2))),
    ],
)
def test_values_that_do_not_fit_are_refused(function):
    assert_same_error(function, np.zeros(4), kind=ValueError)


def test_a_mask_takes_a_line_of_values():
    mask = np.array([True, True, False, False])
    assert_same_error(lambda x: x.__setitem__(mask, np.zeros((1, 2))), np.zeros(4), kind=TypeError)


@pytest.mark.parametrize("key", [1.0, np.array([0.5]), "a", [0.5], (0, 0), (..., ...)])
def test_keys_that_are_no_indices_are_refused(key):
    assert_same_error(lambda x: x[key], np.zeros(4), kind=IndexError)


@pytest.mark.parametrize("bound", [0.0, "a", np.zeros(2, int)])
def test_bounds_of_slices_are_integers(bound):
    assert_same_error(lambda x: x[bound:], np.zeros(4), kind=TypeError)


@pytest.mark.parametrize("key", [[0, 2], ([0, 1], [1, 0]), (slice(None), [0, 1])])
def test_leading_axes_of_one_are_dropped_from_values(key):
    host, x = np.zeros((3, 3)), lazy(np.zeros((3, 3)))
    value = np.arange(1.0, host[key].size + 1).reshape(1, 1, *host[key].shape)
    host[key] = x[key] = value
    np.testing.assert_array_equal(x.numpy(), host)
