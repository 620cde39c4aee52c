"""Elementwise functions: dtypes and values are NumPy's, for every dtype they take."""

import itertools

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.tracer.functions import FUNCTIONS
from tests.helpers.arrays import (
    assert_equal_values,
    assert_records_numpy,
    expm1,
    interpret_array,
)

UFUNCS = [name for name in FUNCTIONS if isinstance(getattr(np, name, None), np.ufunc)]
UNARY = [name for name in UFUNCS if FUNCTIONS[name].num_operands == 1]
BINARY = [name for name in UFUNCS if FUNCTIONS[name].num_operands == 2]
NUMPY_DTYPES = [dtype for dtype in dtypes.SUPPORTED if dtype != dtypes.bfloat16]
# Composed of roundings that NumPy's own loop does not make.
TOLERANCE = {"logaddexp": 1e-15, "logaddexp2": 1e-15}


def make_values(dtype):
    if dtype == dtypes.bool_:
        return np.array([True, False, True])
    if dtype.kind == "c":
        parts = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan])
        return np.array([complex(*pair) for pair in itertools.product(parts, parts)]).astype(dtype)
    if dtype.kind == "f" or dtype == dtypes.bfloat16:
        return np.array([0.0, -0.0, 1.0, -2.5, 0.5, np.inf, -np.inf, np.nan, 7.25]).astype(dtype)
    info = np.iinfo(dtype)
    return np.array([0, 1, 2, 7, info.max, info.max - 1, info.min], dtype)


def grid_of(left, right):
    """All pairs, as a column and a row."""
    return left.reshape(-1, 1), right.reshape(1, -1)


def numpy_result(name, *operands):
    """NumPy's result, or the type of its error."""
    with np.errstate(all="ignore"):
        try:
            return (expm1 if name == "expm1" else getattr(np, name))(*operands)
        except (TypeError, ValueError, OverflowError) as error:
            return error


def assert_like_numpy(name, *operands):
    expected = numpy_result(name, *operands)
    lazy = [lb.asarray(x, device="cpu") if isinstance(x, np.ndarray) else x for x in operands]
    function = getattr(lb, name)
    if isinstance(expected, Exception):
        kinds = [k for k in (TypeError, ValueError, OverflowError) if isinstance(expected, k)]
        with pytest.raises(kinds[0]):
            function(*lazy)
        return
    result = function(*lazy)
    assert result.dtype == expected.dtype, [str(x.dtype) for x in operands]
    tolerance = TOLERANCE.get(name, 0.0)
    if tolerance:
        tolerance = max(tolerance, 2 * float(np.finfo(expected.dtype).eps))
    assert_equal_values(interpret_array(result), np.asarray(expected), tolerance)


@pytest.mark.parametrize("name", UNARY)
def test_unary_function_is_numpys_on_every_dtype(name):
    for dtype in NUMPY_DTYPES:
        values = make_values(dtype)
        if name == "reciprocal" and dtype.kind in "iu":
            values = values[values != 0]  # NumPy's is what the C cast of infinity gives
        assert_like_numpy(name, values)


@pytest.mark.parametrize("name", BINARY)
def test_binary_function_is_numpys_on_every_pair_of_dtypes(name):
    for left, right in itertools.product(NUMPY_DTYPES, repeat=2):
        x, y = grid_of(make_values(left), make_values(right))
        if name in ("maximum", "minimum", "fmax", "fmin"):
            x = x[~((x == 0) & np.signbit(x.astype(np.float64)))].reshape(-1, 1)
            y = y[:, ~((y[0] == 0) & np.signbit(y[0].astype(np.float64)))]  # which zero is open
        if name == "power" and numpy_result(name, x, y).__class__ is ValueError:
            y = np.abs(y) * (y > 0)  # negative powers of integers: NumPy raises when it runs
        assert_like_numpy(name, x, y)


WEAK = (True, 0, 3, -1, 300, 2**63, 0.5, -2.0, float("nan"), 1e300)


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "power",
        "less",
        "equal",
        "not_equal",
        "greater_equal",
        "maximum",
        "bitwise_and",
        "left_shift",
        "floor_divide",
        "remainder",
        "arctan2",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_python_scalars_are_weak(name):
    for dtype, scalar in itertools.product(NUMPY_DTYPES, WEAK):
        values = make_values(dtype)
        if name == "power" and dtype == np.float16 and scalar == 0.5:
            continue  # NumPy's operator takes the square root, its function does not
        if dtype == dtypes.bool_ and scalar == 2**63:
            continue  # NumPy raises even in comparisons, where the answer is known
        if name == "maximum" and dtype.kind == "f":
            values = values[2:]  # which zero is the larger is open
        if name == "power" and dtype.kind == "c":
            continue  # NumPy's operator has fast paths of its own, tested below
        if name == "left_shift" and dtype.kind in "iu":
            values = values[:3]
        assert_like_numpy(name, values, scalar)
        if name != "power" or dtype.kind == "f":
            assert_like_numpy(name, scalar, values)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, -1.0, np.float32(2), np.float64(0.5)])
@pytest.mark.filterwarnings("ignore")
def test_scalar_powers_take_numpys_fast_paths(exponent):
    for dtype in (np.float32, np.float64, np.int32, np.uint8, np.complex64, np.complex128):
        if exponent < 0 and np.dtype(dtype).kind in "iu" and isinstance(exponent, int):
            continue
        assert_records_numpy(lambda x: x**exponent, make_values(np.dtype(dtype)))


def test_square_is_one_multiplication():
    x = lb.asarray(np.ones(3, np.float32), device="cpu")
    assert (x**2).node.op is (x * x).node.op
    assert (x**2).node is (x * x).node


def test_bfloat16_is_written_into_complex_numbers():
    x = lb.zeros(2, dtype="complex64", device="cpu")
    x += lb.asarray([1, 2], dtype=lb.bfloat16, device="cpu")
    assert x.tolist() == [1, 2]


def test_bfloat16_promotes_as_float16_and_meets_it_in_float32():
    def arrays(*names):
        return [lb.ones(3, dtype=name, device="cpu") for name in names]

    for other in ("bool", "int8", "int16", "int32", "float32", "float64"):
        b, h, o = arrays("bfloat16", "float16", other)
        expected = dtypes.bfloat16 if (h + o).dtype == np.float16 else (h + o).dtype
        assert (b + o).dtype == expected
    b, h = arrays("bfloat16", "float16")
    assert (b + h).dtype == np.float32
    assert (b + 1.5).dtype == lb.exp(b).dtype == lb.sqrt(b).dtype == dtypes.bfloat16
    assert (b < h).dtype == lb.isnan(b).dtype == np.bool


def test_where_and_clip_promote():
    condition = np.array([True, False, True])
    x, y = np.array([1, 2, 3], np.int8), np.array([1.5, np.nan, 2], np.float32)
    assert_records_numpy(np.where, condition, x, y)
    assert_records_numpy(lambda c, a: np.where(c, a, 2), condition, x)
    assert_records_numpy(lambda c, a: np.where(c, a, 0.5), condition, y)
    assert_records_numpy(lambda a: np.clip(a, 1, 300), x)
    assert_records_numpy(lambda a: np.clip(a, None, 2), x)
    assert_records_numpy(lambda a: np.clip(a, 0, 2), y)
    assert_records_numpy(lambda a: a.clip(0.5, None), y)


def test_where_alone_gives_places():
    condition = lb.asarray([[1, 0], [0, 1]], device="cpu")
    rows, columns = lb.where(condition)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1])
    with pytest.raises(ValueError, match="either both or neither of x and y should be given"):
        lb.where(condition, 1)


def test_comparisons_of_int64_and_uint64_are_by_value():
    signed = np.array([-1, 0, 1, 2**63 - 1])
    unsigned = np.array([2**64 - 1, 0, 1, 2**63], np.uint64)
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        assert_like_numpy(name, *grid_of(signed, unsigned))
        assert_like_numpy(name, *grid_of(unsigned, signed))


def test_new_functions_keep_float_dtypes():
    x = lb.asarray(np.float32([0.5, 1]), device="cpu")
    for function in (lb.erf, lb.erfc, lb.lgamma, lb.tgamma, lb.rsqrt):
        assert function(x).dtype == np.float32
        assert function(lb.asarray([1, 2], device="cpu")).dtype == np.float64


def test_divmod_gives_quotient_and_remainder():
    assert_records_numpy(divmod, np.array([-7, 7, -8]), np.array([2, -2, 3]))
    assert_records_numpy(lambda x: np.divmod(x, 3.0), np.array([-7.5, 7]))
    assert_records_numpy(lambda x: divmod(7, x), np.array([2, -2, 3]))


def test_numbers_alone_become_arrays():
    assert lb.exp(1.0).dtype == np.float64
    assert lb.add(1, 2).shape == ()
    with pytest.raises(TypeError, match="takes arrays and numbers"):
        lb.exp("text")
