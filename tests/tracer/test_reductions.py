"""Reductions: NumPy's dtypes and values, also of nothing; half types accumulate in float32."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from tests.helpers.arrays import assert_records_numpy, assert_same_error, interpret_array

NAMES = ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all"]
ALL_DTYPES = [dtype for dtype in dtypes.SUPPORTED if dtype not in dtypes.FLOATING]
FLOATS = [np.float16, np.float32, np.float64]


def draw(dtype, shape=(3, 4, 2)):
    rng = np.random.default_rng(0)
    return (rng.integers(0, 7, shape) / (4 if np.dtype(dtype).kind == "f" else 1)).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 0), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_and_keepdims(name, axis, keepdims):
    def function(x):
        return getattr(np, name)(x, axis=axis, keepdims=keepdims)

    assert_records_numpy(function, draw(np.float64), rtol=1e-14)
    assert_records_numpy(function, draw(np.int32), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_integers_and_bools(name, dtype):
    assert_records_numpy(lambda x: getattr(x, name)(axis=1), draw(dtype), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(name, dtype):
    tolerance = 4 * float(np.finfo(dtype).eps)
    assert_records_numpy(lambda x: getattr(x, name)(axis=(0, 1)), draw(dtype), rtol=tolerance)


@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64"])
def test_dtype_of_the_accumulator(name, dtype):
    assert_records_numpy(lambda x: getattr(np, name)(x, dtype=dtype), draw(np.int16), rtol=1e-6)


@pytest.mark.parametrize("ddof", [0, 1, 5])
def test_variance_over_count_minus_ddof(ddof):
    x = draw(np.float64, (2, 5))
    assert_records_numpy(lambda a: (a.var(1, ddof=ddof), a.std(1, ddof=ddof)), x, rtol=1e-14)
    y = lb.asarray(x, device="cpu")
    assert lb.var(y, correction=1).node is y.var(ddof=1).node


@pytest.mark.filterwarnings("ignore")
def test_reductions_of_nothing():
    empty = np.zeros((0, 3))
    assert_records_numpy(lambda x: (x.sum(0), x.prod(), x.any(0), x.all(), x.mean(0)), empty)
    assert_records_numpy(lambda x: (x.max(axis=1), x.min(axis=1), x.sum(1)), empty)
    assert_same_error(lambda x: x.max(axis=0), empty, kind=ValueError)
    assert_same_error(lambda x: x.min(), empty, kind=ValueError)


def test_extremes_propagate_nan_and_know_infinity():
    x = np.zeros((4, 33), np.float32)
    x[2, 32] = np.nan
    assert_records_numpy(lambda a: (a.max(1), a.min(1)), x)
    assert_records_numpy(lambda a: (a.max(), a.min()), np.full(3, -np.inf))


def test_variance_is_two_pass():
    x = np.float32(1e4) + (np.arange(1000) % 7).astype(np.float32)
    assert abs(float(interpret_array(lb.asarray(x, device="cpu").var())) - 3.99499) < 1e-3


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
def test_half_types_reduce_in_float32_and_round_once(name, dtype):
    result = getattr(lb.ones((3, 4), dtype=dtype, device="cpu"), name)(axis=1)
    assert result.dtype == dtype
    reductions = [node for node in topological([result.node]) if node.op is Op.REDUCE]
    assert {node.dtype for node in reductions} == {dtypes.float32}
    assert result.node.op is Op.CAST


def test_mean_of_many_tiny_halves():
    x = lb.full(2**16, 1e-5, dtype="float16", device="cpu")
    assert interpret_array(x.mean()) == np.float16(1e-5)


def test_count_is_a_constant_node():
    means = [lb.asarray(np.ones(n), device="cpu").mean().node for n in (3, 4)]
    assert [node.inputs[1].op for node in means] == [Op.CONSTANT] * 2


# --- places of extremes --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_places_of_extremes(name, axis, keepdims):
    function = getattr(np, name)
    for dtype in (np.float32, np.int8, np.bool_):
        assert_records_numpy(lambda x: function(x, axis, keepdims=keepdims), draw(dtype))
    assert_records_numpy(lambda x: getattr(x, name)(axis), draw(np.float64)[::-1, :, 1])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_nan_is_the_extreme_and_the_first_of_equals_wins(name):
    nan, inf = np.nan, np.inf
    rows = [
        [0.0, -0.0, 0.0],
        [-0.0, 0.0, 0.0],
        [1.0, nan, nan],
        [inf, -inf, nan],
        [-inf, -inf, inf],
    ]
    assert_records_numpy(lambda x: (getattr(np, name)(x, 1), getattr(np, name)(x)), np.array(rows))


def test_places_of_extremes_of_nothing_and_of_scalars():
    assert_records_numpy(lambda x: (x.argmax(), x.argmin()), np.array(3.0))
    assert_records_numpy(lambda x: x.argmax(1), np.zeros((0, 3)))
    for call in (lambda x: x.argmax(), lambda x: x.argmin(0)):
        assert_same_error(call, np.zeros((0, 3)), kind=ValueError)
    assert_same_error(lambda x: np.argmax(x, axis=(0, 1)), np.zeros((2, 3)), kind=TypeError)
    assert_same_error(lambda x: np.argmin(x, axis=2), np.zeros((2, 3)), kind=IndexError)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float16"])
def test_arrays_for_results_say_how_sums_are_computed(name, dtype):
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4) / 3
    for axis in (0, 1):
        expected = np.zeros_like(getattr(np, name)(x, axis=axis), dtype)
        out = lb.asarray(expected)
        getattr(np, name)(lb.asarray(x), axis=axis, out=out)
        getattr(np, name)(x, axis=axis, out=expected)
        tolerance = 4 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(out.numpy(), expected, rtol=tolerance)


def test_deviations_are_no_integers():
    with pytest.raises(TypeError, match="Cannot cast ufunc 'sqrt' output"):
        np.std(lb.asarray([1, 2, 4]), out=lb.zeros((), dtype="int64"))
