"""Claims about lazy arrays, beside NumPy: same results, same errors, number of kernels.

`assert_same_as_numpy` evaluates for real; `assert_records_numpy` asks the graph interpreter, so
that recording is tested alone.
"""

import numpy as np

import lazyblock as lb
from lazyblock import pipeline
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological


def interpret_array(array):
    """The elements of a lazy array, by the graph interpreter."""
    leaves = [node for node in topological([array.node]) if node.op is Op.INPUT]
    (values,) = interpret([array.node], {leaf: pipeline.to_numpy(leaf) for leaf in leaves})
    return values


def expm1(x):
    """NumPy's, with C99's values at complex infinities, where NumPy's is NaN."""
    result = np.asarray(np.expm1(x))
    if result.dtype.kind == "c":
        power = np.exp(x)
        result.real = np.where(np.isfinite(x), result.real, power.real - 1)
        result.imag = np.where(np.isfinite(x) & (x.imag != 0), result.imag, power.imag)
    return result


def assert_same_as_numpy(function, *arrays, rtol=0.0, atol=0.0):
    """`function` of lazy arrays, evaluated, gives what it gives for the NumPy arrays."""
    _assert_equal(function, arrays, lb.Array.numpy, rtol, atol)


def assert_records_numpy(function, *arrays, rtol=0.0, atol=0.0):
    """What `function` records means what NumPy computes."""
    _assert_equal(function, arrays, interpret_array, rtol, atol)


def _assert_equal(function, arrays, evaluate, rtol, atol):
    with np.errstate(all="ignore"):
        expected = _as_tuple(function(*arrays))
    results = _as_tuple(function(*(lb.asarray(a, device="cpu") for a in arrays)))
    for result, reference in zip(results, expected, strict=True):
        assert isinstance(result, lb.Array)
        reference = np.asarray(reference)
        assert (result.shape, result.dtype) == (reference.shape, reference.dtype)
        assert_equal_values(evaluate(result), reference, rtol, atol)


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def assert_equal_values(actual, expected, rtol=0.0, atol=0.0):
    """Equal shape and dtype; equal bits (any NaN equals any NaN) unless a tolerance is given."""
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind == "c":
        for part in ("real", "imag"):
            assert_equal_values(getattr(actual, part), getattr(expected, part), rtol, atol)
        return
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    wide = (actual.astype(np.float64), expected.astype(np.float64))
    if rtol or atol:
        np.testing.assert_allclose(*wide, rtol=rtol, atol=atol, equal_nan=True)
    else:
        np.testing.assert_array_equal(*wide)
        numbers = ~np.isnan(wide[1])
        np.testing.assert_array_equal(*(np.signbit(w)[numbers] for w in wide))


def assert_same_error(function, *arrays, kind):
    """`function` raises an error of `kind` with NumPy's words, lazily and eagerly."""
    caught = []
    for given in (arrays, [lb.asarray(a, device="cpu") for a in arrays]):
        try:
            function(*given)
        except Exception as error:
            caught.append(error)
    eager, lazy = caught
    assert isinstance(eager, kind), eager
    assert isinstance(lazy, kind), lazy
    words, given = (str(error).replace(", ", ",").strip() for error in caught)
    assert words.rstrip(".") in given


def assert_kernel_count(array, count):
    """So many kernels compute `array`."""
    names = [kernel.name for kernel in array.kernels]
    assert len(names) == count, names
