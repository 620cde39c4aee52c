"""Ufuncs, their methods and their keywords mean what they mean in NumPy."""

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_records_numpy, assert_same_error, interpret_array

UFUNCS = sorted(
    {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None},
    key=lambda f: f.__name__,
)
DTYPES = [np.bool_, np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64, np.complex64]
BINARY = [f for f in UFUNCS if f.nin == 2 and f.nout == 1]
RTOL = 1e-6  # functions are lazyblock's own, within their ULP targets


def draw(dtype, shape=(3, 4), seed=0):
    values = np.random.default_rng(seed).uniform(0.15, 0.9, shape)
    if np.dtype(dtype).kind == "c":
        return (values - 0.3j * values**2).astype(dtype)
    return values.astype(dtype) if np.dtype(dtype).kind == "f" else (values * 7).astype(dtype)


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def same(array, values):
    values = np.asarray(values)
    assert isinstance(array, lb.Array)
    assert (array.shape, array.dtype) == (values.shape, values.dtype)
    np.testing.assert_allclose(interpret_array(array), values, rtol=RTOL)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_ufunc_takes_the_dtypes_that_it_takes_in_numpy(ufunc):
    for dtype in DTYPES:
        arrays = [draw(dtype, seed=n) for n in range(ufunc.nin)]
        try:
            ufunc(*arrays)
        except TypeError:
            with pytest.raises(TypeError):
                ufunc(*map(lazy, arrays))
            continue
        rtol = RTOL if np.dtype(dtype).itemsize > 1 else 1e-3  # bytes are computed in halves
        assert_records_numpy(ufunc, *arrays, rtol=rtol)


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_binary_ufunc_reduces_and_accumulates(ufunc, method):
    for dtype in (np.bool_, np.int8, np.uint64, np.float64):
        x = draw(dtype)
        for axis in (0, 1):

            def call(a, axis=axis):
                return getattr(ufunc, method)(a, axis=axis)

            try:
                call(x)
            except TypeError:
                with pytest.raises(TypeError):
                    call(lazy(x))
                continue
            assert_records_numpy(call, x, rtol=RTOL)


REDUCED = [np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or]
REDUCED += [np.bitwise_xor, np.fmax, np.logical_xor, np.gcd]


@pytest.mark.parametrize("ufunc", REDUCED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (2, 3, 2)])
def test_settings_of_reduce(ufunc, shape):
    x = draw(np.int64, shape)
    mask = draw(np.float64, shape) > 0.5
    for settings in (
        {"axis": None},
        {"axis": (0, 1), "keepdims": True},
        {"axis": ()},
        {"axis": -1, "initial": 2},
        {"axis": 0, "initial": 3},
        {"axis": 0, "where": mask, "initial": 1},
        {"axis": 1, "where": mask[:1], "initial": 5},
    ):
        try:
            ufunc.reduce(x, **settings)
        except ValueError:
            assert_same_error(lambda a, s=settings: ufunc.reduce(a, **s), x, kind=ValueError)
            continue
        assert_records_numpy(lambda a, s=settings: ufunc.reduce(a, **s), x)


def test_dtype_and_out_of_reduce():
    x = draw(np.float64)
    assert_records_numpy(lambda a: np.add.reduce(a, dtype=np.int64), x * 10)
    assert_records_numpy(lambda a: np.maximum.reduce(a, dtype=np.float32), x)
    assert_records_numpy(lambda a: np.add.accumulate(a, dtype=np.int64, axis=1), x * 10)
    out = lazy(np.zeros(4, np.int8))
    assert np.add.reduce(lazy(x * 10), out=out) is out
    expected = np.zeros(4, np.int8)
    same(out, np.add.reduce(x * 10, out=expected))
    host = np.zeros((3, 4))
    assert np.add.accumulate(lazy(x), out=host) is host
    np.testing.assert_allclose(host, np.add.accumulate(x))
    with pytest.raises(ValueError, match="wrong number of dimensions: Found 1 but expected 0"):
        np.add.reduce(lazy([1.0]), out=lazy([1.0]))


def test_errors_of_methods():
    x = np.ones((2, 3))
    for call in (
        lambda a: np.subtract.reduce(a, axis=(0, 1)),
        lambda a: np.exp.reduce(a),
        lambda a: np.divmod.reduce(a),
        lambda a: np.exp.outer(a, a),
        lambda a: np.maximum.reduce(a, where=np.array([True, False, True])),
        lambda a: np.maximum.reduce(a[:0]),
        lambda a: np.add.reduce(a[:, :0], axis=1, initial=None),
        lambda a: np.add.accumulate(a, axis=(0, 1)),
        lambda a: np.add.accumulate(a, axis=None),
        lambda a: np.add.reduceat(a, [0, 5]),
        lambda a: np.add.reduceat(a, [-1]),
    ):
        assert_same_error(call, x, kind=(ValueError, IndexError))
    assert_same_error(lambda a: np.add.accumulate(a), np.float64(1), kind=TypeError)
    assert_same_error(lambda a: np.add.reduce(a, where=np.array([1, 0, 1])), x, kind=TypeError)
    assert_same_error(lambda a: np.add(a, 1, key=3), x, kind=TypeError)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.subtract, np.maximum])
def test_reduceat(ufunc):
    x = draw(np.int64, (6, 4))
    assert_records_numpy(lambda a: ufunc.reduceat(a, [0, 3, 1, 5]), x)
    assert_records_numpy(lambda a: ufunc.reduceat(a, np.array([0, 3]), axis=1), x)
    assert_records_numpy(lambda a, i: ufunc.reduceat(a, i, axis=-1), x, np.array([2, 1]))


def test_outer():
    x, y = draw(np.float64), draw(np.float64, (2,))
    assert_records_numpy(lambda a, b: np.multiply.outer(a, b), x, y)
    assert_records_numpy(lambda a: np.add.outer(a, 2), x)
    assert_records_numpy(lambda a: np.add.outer(y, a), x)
    assert_records_numpy(lambda a: np.add.outer(a, 2.0), x.astype(np.float32))
    out = lazy(np.zeros((2, 3, 4)))
    assert np.add.outer(lazy(y), lazy(x), out=out) is out
    same(out, np.add.outer(y, x))


def test_at():
    x, idx = np.zeros(4), np.array([0, 1, 1, 3])

    def add_at(a):
        a = a.copy()
        np.add.at(a, idx, 2.0)
        return a

    assert_records_numpy(add_at, x)
    assert_records_numpy(lambda x: add_at(x.astype(np.int8)), x + 0.5)
    assert_records_numpy(lambda x: add_at(x > 1), x)
    y = np.zeros(4)
    np.add.at(y, lazy(idx), lazy([1.0, 2, 3, 4]))
    np.testing.assert_array_equal(y, [1, 5, 0, 4])
    z = lazy([1.0, 4.0])
    np.negative.at(z[::-1], [0])
    same(z, [1.0, -4.0])


def test_where_and_out_of_a_call():
    x, mask = np.array([1.0, 4.0, 9.0]), np.array([True, False, True])
    out = lazy([7.0, 7.0, 7.0])
    assert np.sqrt(lazy(x), out=out, where=mask) is out
    same(out, [1.0, 7.0, 3.0])
    assert np.add(lazy(x), 1, where=lazy(mask), out=(out,)) is out
    same(out, [2.0, 7.0, 10.0])
    assert np.add(lazy(x), 1, where=mask[:, None]).shape == (3, 3)
    host = np.zeros(3, np.float32)
    assert np.add(lazy(x), 1, host) is host
    np.testing.assert_array_equal(host, [2, 5, 10])
    assert_same_error(lambda a: np.add(a, 1, where=np.array([1, 0, 1])), x, kind=TypeError)
    assert_same_error(lambda a: np.add(a, 1, out=np.zeros((3,), int)), x, kind=TypeError)
    assert_same_error(lambda a: np.add(a, 1, out=np.zeros((1,))), x, kind=ValueError)
    assert_same_error(lambda a: np.divmod(a, 1, out=np.zeros(3)), x, kind=(TypeError, ValueError))


def test_where_leaves_elements_of_out_as_they_are():
    def choose(x, mask):
        x = x.copy()
        np.logical_or(x, 5, out=x, where=mask)
        wide = x * 1e300
        np.add(x.astype(np.float32), 1, out=wide, where=mask)
        return x, wide

    assert_records_numpy(choose, np.array([-2.0, 3.0, 0.0]), np.array([True, False, False]))


def test_bools_to_the_power_of_two():
    x = np.array([True, False])
    assert_records_numpy(lambda x: (x**2, x**3, x**2.0, np.power(x, 2)), x)


def test_negative_powers_of_no_integers():
    assert_records_numpy(lambda x: np.power(x, -2), np.zeros(0, np.int64))


def test_reduceat_of_nothing():
    assert_records_numpy(lambda x: np.add.reduceat(x, [0, 1]), np.zeros((2, 0), np.int32))


def test_several_results():
    x = np.array([2.5, -3.75, np.inf, -0.0])
    for ufunc in (np.modf, np.frexp):
        assert_records_numpy(ufunc, x[[0, 1, 3]])
    quotient, rest = lazy([0.0] * 4), lazy([0.0] * 4)
    found = np.divmod(lazy(x), 2, out=(quotient, rest))
    assert found[0] is quotient and found[1] is rest
    with np.errstate(all="ignore"):
        same(quotient, np.divmod(x, 2)[0])
        same(rest, np.divmod(x, 2)[1])
    found = np.divmod(lazy(x), 2, out=(None, rest))
    assert found[1] is rest


def test_dtype_casting_and_signature():
    x, n = np.array([1.5, 2.5]), np.array([1, 2])
    assert_records_numpy(lambda a: np.add(a, 1, dtype=np.float32), n)
    assert_records_numpy(lambda a: np.add(a, 1, dtype=np.int64, casting="unsafe"), x)
    assert_records_numpy(lambda a: np.sqrt(a, signature="f->f"), x, rtol=RTOL)
    assert_records_numpy(lambda a: np.true_divide(a, 2, dtype=np.float32), n)
    assert_records_numpy(lambda a: np.less(a, 2, dtype=bool), n)
    for call in (
        lambda a: np.add(a, 1, dtype=np.int64),
        lambda a: np.add(a, a.astype(np.float32), casting="no"),
        lambda a: np.bitwise_and(a, 1),
        lambda a: np.add(a, 1, out=np.zeros(2, np.int64), casting="safe"),
    ):
        assert_same_error(call, x, kind=TypeError)


def test_in_place_operators_keep_numpys_casting_rule():
    x = lazy([1, 2])
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output from") as caught:
        x += 0.5
    with pytest.raises(TypeError) as reference:
        np.array([1]).__iadd__(0.5)
    bases = [k for k in type(reference.value).__mro__ if k.__name__ == "UFuncTypeError"]
    assert isinstance(caught.value, bases[-1])
    assert str(caught.value) == str(reference.value)
    same(x, [1, 2])


PRODUCTS = {
    "matmul": lambda a: np.matmul(a, a.T),
    "of axes elsewhere": lambda a: np.matmul(a, a, axes=[(1, 0), (0, 1), (1, 0)]),
    "in another dtype": lambda a: np.matmul(a, a.T, dtype=np.complex128),
    "vecdot": lambda a: np.vecdot(a, a),
    "along an axis": lambda a: np.vecdot(a, a, axis=0),
    "keeping it": lambda a: np.vecdot(a, a, axis=0, keepdims=True),
    "of given axes": lambda a: np.vecdot(a, a, axes=[0, 0]),
    "matvec": lambda a: np.matvec(a, a[0]),
    "vecmat": lambda a: np.vecmat(a[:, 0], a),
}


@pytest.mark.parametrize("call", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex64])
def test_products_take_ufunc_keywords(call, dtype):
    assert_records_numpy(call, draw(dtype), rtol=RTOL)


def test_products_into_an_array():
    x = draw(np.float64)
    out = lazy(np.zeros((3, 3)))
    assert np.matmul(lazy(x), x.T, out=out) is out
    same(out, x @ x.T)
    for call in (
        lambda a: np.matmul(a, a),
        lambda a: np.matmul(a, 2.0),
    ):
        with pytest.raises(ValueError, match="matmul"):
            call(lazy(x))


@pytest.mark.parametrize("ufunc", [np.less, np.less_equal, np.greater, np.equal, np.not_equal])
@pytest.mark.parametrize("number", [-2, 300, 2**70, -(2**70)])
def test_numbers_beyond_a_dtype_are_compared_by_value_into_an_array(ufunc, number):
    for dtype in ("uint8", "int64", "uint64"):
        x = np.array([0, 1, 5], dtype)
        for operands in ((x, number), (number, x)):
            lazy = [lb.asarray(value) if value is x else value for value in operands]
            for kind in ("bool", "int64"):
                actual = ufunc(*lazy, out=lb.zeros(3, dtype=kind))
                expected = ufunc(*operands, out=np.zeros(3, kind))
                np.testing.assert_array_equal(actual.numpy(), expected)


def test_values_broadcast_to_the_indices_of_an_update():
    for shape, index, values in (
        (6, [[0, 1, 0], [0, 1, 0]], [3.0, 2, 1]),
        (6, [[0, 1, 0], [0, 1, 0]], [[3.0], [2]]),
        ((3, 2), ([[0, 1, 0], [0, 1, 0]], 0), [3.0, 2, 1]),
        ((3, 2), (slice(None), [1, 1]), [[3.0], [2], [1]]),
        ((3, 2), ([0, 0, 2],), [3.0, 2]),
    ):
        x = np.arange(6.0).reshape(shape)
        updated = lb.asarray(x)
        np.add.at(updated, index, lb.asarray(values))
        places = np.arange(6).reshape(shape)[index]
        pairs = zip(places.flat, np.broadcast_to(values, places.shape).flat, strict=True)
        for place, value in pairs:
            x.flat[place] += value
        np.testing.assert_array_equal(updated.numpy(), x)
