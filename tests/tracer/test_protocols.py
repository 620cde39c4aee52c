"""NumPy's ufuncs and functions record; what does not record says so."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_records_numpy, interpret_array


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def same(array, values):
    assert isinstance(array, lb.Array)
    np.testing.assert_array_equal(interpret_array(array), values)


def test_ufuncs_record_from_both_sides():
    x = lazy([1.0, 4.0])
    same(np.sqrt(x), [1, 2])
    same(np.add(np.array([1, 2]), x), [2, 6])
    same(np.array([1.0, 2]) * x, [1, 8])
    same(np.float64(2) * x, [2, 8])
    same([1, 2] * x, [1, 8])
    quotient, rest = np.divmod(x, 3)
    same(quotient, [0, 1])
    same(rest, [1, 1])


def test_out_writes_into_lazy_arrays():
    x, out = lazy([1.0, 4.0]), lazy([0.0, 0.0])
    view = out[::-1]
    assert np.add(x, 1, out=out) is out
    same(view, [5, 2])
    with pytest.raises(TypeError, match="same_kind"):
        np.add(x, 1, out=lazy([0, 0]))


def test_dtype_of_a_ufunc():
    x = lazy([1, 2])
    assert np.add(x, 1, dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="same_kind"):
        np.add(lazy([1.5]), 1, dtype=np.int64)


@pytest.mark.parametrize(
    ("ufunc", "expected"),
    [(np.add, [5, 7]), (np.multiply, [6, 12]), (np.maximum, [3, 4]), (np.minimum, [2, 3])],
)
def test_reduce_of_ufuncs(ufunc, expected):
    x = lazy([[2, 3], [3, 4]])
    same(ufunc.reduce(x), expected)
    same(ufunc.reduce(x, axis=1, keepdims=True), ufunc.reduce(x.numpy(), axis=1, keepdims=True))


def test_what_does_not_record_is_a_type_error():
    x = lazy([1.0, 2.0])
    for call in (
        lambda: np.isnat(x),
        lambda: np.bitwise_and(x, 1),
        lambda: np.add(x, object()),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match=r"(?s)'np.is_busday'.*not offered.*x\.numpy"):
        np.is_busday(x)


def test_array_subclasses_with_a_meaning_of_their_own_are_foreign():
    class Tagged(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **settings):
            return "tagged"

    tagged = np.zeros(1).view(Tagged)
    assert lazy([1.0]) + tagged == "tagged"
    assert np.add(lazy([1.0]), tagged) == "tagged"
    assert lazy([1.0]).__add__(np.ma.masked_array([1.0])) is NotImplemented
    same(lazy([1.0]) + np.zeros(1).view(np.memmap), [1.0])


def test_foreign_operands_get_their_turn():
    class Foreign:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "foreign"

    assert lazy([1.0]) + Foreign() == "foreign"
    with pytest.raises(TypeError):
        lazy([1.0]) + object()


def test_no_element_equals_a_text_or_none():
    x = np.array([[1.0, 2.0]])
    for other in ("text", b"bytes", None):
        assert_records_numpy(lambda a, o=other: (a == o, a != o), x)


def test_namespace():
    x = lazy([1.0])
    assert x.__array_namespace__() is lb
    assert x.__array_namespace__(api_version="2024.12") is lb
    with pytest.raises(ValueError, match=r"Version '1999\.01'"):
        x.__array_namespace__(api_version="1999.01")


def test_every_public_name_is_there():
    for name in lb.__all__:
        assert hasattr(lb, name), name
