"""Running sums, products and extremes: NumPy's dtypes, values, errors."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from tests.helpers.arrays import assert_records_numpy, assert_same_error, interpret_array

ALL_DTYPES = [dtype for dtype in dtypes.SUPPORTED if dtype not in dtypes.FLOATING]
UFUNCS = [np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.logical_and]


def draw(dtype=np.float64, shape=(3, 4, 2)):
    return np.random.default_rng(0).integers(0, 3, shape).astype(dtype)


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod], ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_axes(function, axis):
    assert_records_numpy(lambda x: function(x, axis=axis), draw())
    assert_records_numpy(lambda x: function(x, axis), draw(np.int16))
    assert_records_numpy(lambda x: getattr(x, function.__name__)(axis), draw())


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", [*ALL_DTYPES, np.dtype(np.float32)], ids=str)
def test_dtypes_of_results(name, dtype):
    assert_records_numpy(lambda x: getattr(x, name)(axis=1), draw(dtype))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64"])
def test_dtypes_asked_for(dtype):
    for function in (np.cumsum, np.cumprod):
        assert_records_numpy(lambda x, f=function: f(x, dtype=dtype), draw(np.int16))
        assert_records_numpy(lambda x, f=function: f(x, 0, dtype=dtype), draw(np.float32))


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_accumulate_of_ufuncs(ufunc):
    for dtype in (np.bool_, np.uint8, np.int32, np.float32):
        assert_records_numpy(lambda x: (ufunc.accumulate(x), ufunc.accumulate(x, -1)), draw(dtype))
    assert_records_numpy(lambda x: ufunc.accumulate(x, axis=None), draw(np.int8, 5))


def test_extremes_propagate_nan():
    x = np.array([[1.0, np.nan, 3.0], [-np.inf, -0.0, 0.0]])
    assert_records_numpy(lambda a: np.maximum.accumulate(a, 1), x)


@pytest.mark.parametrize("function", [np.cumulative_sum, np.cumulative_prod])
@pytest.mark.parametrize("include_initial", [False, True])
def test_the_standards_functions(function, include_initial):
    for axis in (0, 1, -1):
        for dtype in (np.float64, np.uint8, np.bool_):
            assert_records_numpy(
                lambda x, a=axis: function(x, axis=a, include_initial=include_initial), draw(dtype)
            )
    for shape in ((), (1,), (5,), (0,)):
        x = draw(shape=shape)
        assert_records_numpy(lambda x: function(x, include_initial=include_initial), x)
    assert_records_numpy(
        lambda x: function(x, axis=1, dtype=np.float32, include_initial=include_initial), draw()
    )


def test_scans_of_nothing_and_of_scalars():
    for shape in ((), (0,), (0, 3), (3, 0)):
        assert_records_numpy(lambda x: (np.cumsum(x), x.cumprod()), draw(shape=shape))
    assert_records_numpy(lambda x: np.cumsum(x, axis=0), draw(shape=(0, 3)))
    assert_records_numpy(lambda x: np.cumsum(x, axis=-1), draw(shape=()))


def test_views_are_scanned_as_seen():
    x = draw(shape=(6, 5))
    assert_records_numpy(lambda a: (np.cumsum(a[::-2, 1:], 0), a.T.cumsum(), a[2].cumsum()), x)


def test_the_first_negative_zero_stays():
    assert_records_numpy(lambda x: (x.cumsum(), x.cumsum(0)), np.array([-0.0, -0.0, 1.0]))


def test_errors_are_numpys():
    x = draw()
    assert_same_error(lambda a: np.cumsum(a, axis=3), x, kind=IndexError)
    assert_same_error(lambda a: a.cumprod(-4), x, kind=IndexError)
    assert_same_error(lambda a: np.cumsum(a, axis=(0, 1)), x, kind=TypeError)
    assert_same_error(lambda a: np.cumulative_sum(a), x, kind=ValueError)
    assert_same_error(lambda a: np.add.accumulate(a, axis=None), x, kind=ValueError)
    assert_same_error(lambda a: np.add.accumulate(a), draw(shape=()), kind=TypeError)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16], ids=str)
def test_half_types_add_up_in_float32(dtype):
    ones = lb.ones(4096, dtype=dtype, device="cpu")
    result = ones.cumsum()
    assert result.dtype == dtype
    scans = [node for node in topological([result.node]) if node.op is Op.SCAN]
    assert [node.dtype for node in scans] == [dtypes.float32]
    exact = np.arange(1, 4097).astype(dtype)
    np.testing.assert_array_equal(interpret_array(result), exact)
    assert lb.max(ones).dtype == np.maximum.accumulate(ones).dtype == dtype
