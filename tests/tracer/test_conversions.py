"""Arrays as NumPy arrays, Python numbers and text."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_same_error

X = np.array([[1.5, -2.0], [np.nan, 1e10]])


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def test_numpy_sees_the_memory_or_gets_a_copy():
    x = lazy(X)
    seen = np.asarray(x)
    assert not seen.flags.writeable
    assert np.shares_memory(seen, np.asarray(x, copy=False))
    for copied in (np.array(x), np.asarray(x, copy=True), np.asarray(x, np.float32)):
        assert copied.flags.writeable
        np.testing.assert_array_equal(copied, X.astype(copied.dtype))
    for dtype in (np.float32, np.int64):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            np.asarray(x, dtype, copy=False)
    x._cell.device = "cuda:0"
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        x.__array__(copy=False)


@pytest.mark.parametrize("function", [int, float, complex, bool])
def test_python_numbers(function):
    for value in (0, 1, -3):
        for dtype in (np.int8, np.float32, np.bool_):
            number = function(lazy(value, dtype))
            assert number == function(np.asarray(value, dtype)[()])
            assert type(number) is function
    for array in (np.ones(2), np.ones((0,)), np.ones((1, 2))):
        assert_same_error(function, array, kind=(TypeError, ValueError))


def test_indices_and_lengths():
    assert [10, 20, 30][lazy(1)] == 20
    assert range(5)[lazy(1) : lazy(3)] == range(1, 3)
    for array in (np.array(1.0), np.array([1, 2]), np.array(True)):
        assert_same_error(lambda a: [1, 2][a], array, kind=TypeError)
    for function in (len, iter):
        assert_same_error(function, np.array(1), kind=TypeError)
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(lazy(X))


def test_texts():
    x = lazy(X)
    assert str(x) == str(X)
    assert f"{x}" == f"{X}"
    assert f"{lazy(1.25):.1f} {lazy(7):03d}" == "1.2 007"
    with pytest.raises(TypeError, match=r"unsupported format string passed to lazyblock\.Array"):
        f"{x:.1f}"
    assert repr(lazy([1, 2])) == "Array([1, 2], shape=(2,), dtype=int64, device='cpu')"
    assert lazy([True])._repr_html_().startswith("<pre>Array([ True], shape=(1,)")
    assert "&#x27;cpu&#x27;" in lazy([1])._repr_html_()


def test_texts_follow_numpys_print_options():
    with np.printoptions(precision=2, threshold=4, edgeitems=1, suppress=True):
        for values in (np.arange(20) / 3, X):
            assert str(lazy(values)) == str(values)
            inner = np.array2string(values, separator=", ", prefix="Array(")
            assert repr(lazy(values)).startswith(f"Array({inner}, shape=")


def test_elements():
    x = lazy(X)
    assert x.item(1, 1) == x.item(3) == x.item((1, 1)) == 1e10
    assert x[:1].tolist() == X[:1].tolist()
    assert [row.tolist() for row in x[:1]] == [[1.5, -2.0]]
    for index in ((7,), (0, 0, 0), ()):
        assert_same_error(lambda a, i=index: a.item(*i), X, kind=(IndexError, ValueError))


def test_no_elements_of_any_strides_come_to_the_host():
    x = lb.asarray(np.zeros((3, 0, 2)), device="emulated:sm_90a")
    x[...] = x[::-1]
    assert x.numpy().shape == x[::-1].numpy().shape == (3, 0, 2)
