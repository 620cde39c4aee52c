"""Values of all kinds, assigned to elements: NumPy's conversions and errors."""

import itertools
import warnings

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_equal_values, interpret_array

DTYPES = ["int8", "uint8", "int64", "float32", "complex128", "bool"]
STATEMENTS = """
a[0] = np.float32("inf")
a[0] = np.float64("nan")
a[0] = float("nan")
a[0] = np.int64(300)
a[0] = np.int16(-1)
a[0] = -1
a[:] = np.float32("nan")
a[:2] = [float("nan"), 1]
a[:2] = [300, 1]
a[:2] = (True, 2.5)
a[[0, 1]] = [2.5, 1]
a[[0, 1]] = (7, 300)
a[a > 1] = [1, 2]
a[0] = "7"
a[0] = "x"
a[0] = None
a[0] = {}
a[0] = object()
a[:] = [1, 2]
a[:] = [1, [2], 3]
a[0] = 1 + 2j
a[0] = np.complex64(2)
a.fill(np.float32("nan"))
a.put(0, float("nan"))
a.put([0, 1], [300, 2])
np.put(a, [], [1])
np.place(a, [True, False, True], [300, 2])
np.putmask(a, [True, False, True], [4, 5])
a[:0].put([0], 1)
a[0] = np.array([2])
a[0] = np.array([[0.0]])
a[0] = a[1:2] > 0
a[0] = a[1:]
a[0] = np.array([])
a[0] = [5]
a[0, ...] = np.array([7])
a[a > 1] = np.ones((1, 2))
a[a > 1] = np.ones((1, 1))
a[[True, False, True]] = np.ones((3, 2))
a[(a > 1).tolist(),] = np.ones((1, 2))
a[(a > 1,)] = [1, 2, 3, 4]
a[a > 1, ...] = np.ones((1, 2))
a[[0], [1]] = 1000
a[[7]] = 1000
a[..., [0], [0]] = {}
a[0].reshape(())[...][a[0] > 5] = np.ones((2, 2))
"""


def run(statement, a):
    """What the array holds, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(statement, {"np": np, "a": a})
        except Exception as error:
            return error
    return a


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
def test_values_are_converted_as_in_numpy(statement):
    for dtype in DTYPES:
        theirs = run(statement, np.array([1, 2, 3]).astype(dtype))
        ours = run(statement, lb.asarray(np.array([1, 2, 3]).astype(dtype)))
        if isinstance(theirs, Exception):
            bases = [k for k in (TypeError, ValueError, OverflowError, IndexError)]
            kinds = tuple(k for k in bases if isinstance(theirs, k))
            assert isinstance(ours, kinds), (dtype, ours, theirs)
        else:
            assert isinstance(ours, lb.Array), (dtype, ours)
            assert_equal_values(interpret_array(ours), theirs)


def test_products_in_place_fit():
    x = np.ones((3, 3))
    for other, match in ((np.ones(3), "two dimensions"), (np.ones((3, 1)), "does not fit")):
        with pytest.raises(ValueError, match=match):
            a = lb.asarray(x)
            a @= other
    b = lb.asarray(x)
    b @= x
    np.testing.assert_array_equal(interpret_array(b), x @ x)


def test_flags_of_views_that_repeat():
    x = lb.asarray(np.arange(3))
    wide = lb.broadcast_to(x, (2, 3))
    assert not wide.flags.writeable
    assert not wide.flags.owndata
    assert x.flags.writeable
    assert x.flags == lb.asarray(np.zeros(4)).flags
    assert x.flags != wide.flags


def test_numbers_are_rounded():
    x = lb.asarray(np.array([2.34567, 7.0]))
    assert round(x[0], 2) == round(np.float64(2.34567), 2)
    assert round(x.sum()) == 9
    assert type(round(x[1])) is int
    with pytest.raises(TypeError, match="__round__"):
        round(x)


def test_conjugates_in_an_array():
    x = np.array([1 + 2j, 3 - 1j])
    out = lb.zeros(2, dtype=x.dtype)
    assert lb.asarray(x).conjugate(out) is out
    assert_equal_values(interpret_array(out), x.conj())


def test_pickles_in_files(tmp_path):
    x = np.arange(3.0)
    lb.asarray(x).dump(tmp_path / "x")
    assert_equal_values(np.load(tmp_path / "x", allow_pickle=True), x)
    assert lb.asarray(x).dumps() == x.dumps()


def test_arrays_of_one_base_share_memory():
    x = np.zeros((4, 6), np.complex64)
    views = [
        lambda a: a,
        lambda a: a[:2],
        lambda a: a[2:, ::2],
        lambda a: a[:, 1::2].T,
        lambda a: a.real,
        lambda a: a.imag[::-1],
        lambda a: a.imag.view("i4")[0],
        lambda a: a[:0],
        lambda a: a.copy(),
    ]
    base = lb.asarray(x)
    ours, theirs = [view(base) for view in views], [view(x) for view in views]
    with lb.forbid_eval():
        for i, j in itertools.combinations_with_replacement(range(len(views)), 2):
            for function in (np.shares_memory, np.may_share_memory):
                assert function(ours[i], ours[j]) == function(theirs[i], theirs[j]), (i, j)
    assert not lb.shares_memory(base, x)
    assert lb.shares_memory(x, x[1:])


def test_windows_cannot_be_written():
    x = lb.asarray(np.arange(6.0))
    with pytest.raises(ValueError, match="read-only"):
        np.lib.stride_tricks.sliding_window_view(x, 3)[0] = 1
    assert_equal_values(interpret_array(x), np.arange(6.0))


def test_results_have_no_more_axes_than_numpys():
    x = lb.asarray(np.zeros(2))
    for key in ((None,) * 64, (np.array([0]), *(None,) * 64)):
        with pytest.raises(IndexError, match=r"within \[0, 64\]"):
            x[key]


def test_flat_takes_flat_positions():
    x, places = np.arange(6).reshape(2, 3), np.array([[5, 0], [1, 1]])
    assert_equal_values(lb.asarray(x).flat[lb.asarray(places).flat].numpy(), x.flat[places.flat])
    with pytest.raises(IndexError, match="too many indices"):
        lb.asarray(x).flat[0, 1]
