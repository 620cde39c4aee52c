"""Elementwise functions: dtypes and values are NumPy's, for every dtype they take."""

import itertools

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes
from lazyblock.tracer.functions import FUNCTIONS
from tests.helpers.arrays import assert_equal_values, assert_records_numpy, interpret_array

UFUNCS = [name for name in FUNCTIONS if isinstance(getattr(np, name, None), np.ufunc)]
UNARY = [name for name in UFUNCS if FUNCTIONS[name].num_operands == 1]
BINARY = [name for name in UFUNCS if FUNCTIONS[name].num_operands == 2]
NUMPY_DTYPES = [dtype for dtype in dtypes.SUPPORTED if dtype != dtypes.bfloat16]
# Composed of roundings that NumPy's own loop does not make.
TOLERANCE = {"logaddexp": 1e-15, "logaddexp2": 1e-15}


def make_values(dtype):
    if dtype == bool:
        return np.array([True, False, True])
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
            return getattr(np, name)(*operands)
        except (TypeError, ValueError, OverflowError) as error:
            return error


def assert_like_numpy(name, *operands):
    expected = numpy_result(name, *operands)
    lazy = [lb.asarray(x, device="cpu") if isinstance(x, np.ndarray) else x for x in operands]
    function = getattr(lb, name)
    if isinstance(expected, Exception):
        with pytest.raises(type(expected).__mro__[-4 if False else 0] if False else Exception):
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
        if name == "power" and numpy_result(name, x, y).__class__ is ValueError:
            y = np.abs(y) * (y > 0)  # negative powers of integers: NumPy raises when it runs
        assert_like_numpy(name, x, y)
