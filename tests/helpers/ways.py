"""One function of arrays, evaluated in every way there is, beside NumPy.

`check(function, *arrays)` compares `function(lb, *lazy arrays)` with `function(np, *arrays)`: its
shapes, dtypes and values, bit for bit unless a tolerance is given. The ways: the graph interpreter;
kernels unfused, fused and compiled on the default device; for small arrays fused and compiled on
the emulated GPU, slow to compile for.
"""

import numpy as np

import lazyblock as lb
from lazyblock import config
from tests.helpers.arrays import assert_equal_values, interpret_array

_MOST_EMULATED = 100  # elements of all arguments together
EMULATED = "emulated:sm_90a"


def lazy(values, dtype=None, device=None):
    return lb.asarray(np.asarray(values, dtype), device=device)


def results(function, *arrays, is_compiled=True, is_emulated=True):
    """What `function` gives in every way, as lists of NumPy arrays; compiled is called twice."""
    interpreted = [interpret_array(x) for x in as_tuple(function(lb, *map(lazy, arrays)))]
    with config.scope(fuse=False):
        ways = [interpreted, evaluate(function(lb, *map(lazy, arrays)))]
    ways += _fused(function, arrays, is_compiled)
    size = sum(array.size for array in arrays)
    if is_emulated and config.current.device == "cpu" and 0 < size <= _MOST_EMULATED:
        with config.scope(device=EMULATED, verify=False):
            ways += _fused(function, arrays, is_compiled)
    return ways


def _fused(function, arrays, is_compiled):
    ways = [evaluate(function(lb, *map(lazy, arrays)))]
    if is_compiled:
        compiled = lb.compile(lambda *given: function(lb, *given))
        ways += [evaluate(compiled(*map(lazy, arrays))) for _ in range(2)]
    return ways


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def evaluate(value):
    """Evaluate one or several lazy arrays in one plan."""
    outputs = as_tuple(value)
    lb.eval(*outputs)
    return [output.numpy() for output in outputs]


def check(function, *arrays, expected=None, rtol=0.0, atol=0.0, **ways):
    """Raises: AssertionError naming what differs."""
    arrays = [np.asarray(array) for array in arrays]
    with np.errstate(all="ignore"):
        right = function(np, *map(np.copy, arrays)) if expected is None else expected
    right = as_tuple(right)
    for way in results(function, *arrays, **ways):
        assert len(way) == len(right)
        for actual, one in zip(way, right, strict=True):
            assert_equal_values(actual, np.asarray(one), rtol, atol)
