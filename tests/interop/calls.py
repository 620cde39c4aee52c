"""Calls of functions that accept any array, beside what they give for NumPy arrays.

A call is a name and a function of NumPy arrays or lazy ones; `call(function, *arguments)` makes a
function of one converter, which is applied to all arrays among the arguments.
"""

import numpy as np

import lazyblock as lb


def call(function, *arguments, **settings):
    """What calls `function` with its arrays converted."""

    def run(convert):
        given = [_converted(argument, convert) for argument in arguments]
        return function(*given, **{k: _converted(v, convert) for k, v in settings.items()})

    return run


def _converted(value, convert):
    if isinstance(value, (tuple, list)):
        return type(value)(_converted(part, convert) for part in value)
    return convert(value) if isinstance(value, np.ndarray) else value


def lazy(values):
    return lb.asarray(values, device="cpu")


def list_numbers(result):
    """The arrays and numbers of a result, whatever holds them."""
    if isinstance(result, (lb.Array, np.ndarray, np.generic, int, float, complex)):
        return [result]
    if isinstance(result, dict):
        return [array for key in sorted(result) for array in list_numbers(result[key])]
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in list_numbers(part)]
    public = {k: v for k, v in getattr(result, "__dict__", {}).items() if not k.startswith("_")}
    return list_numbers(public) if public else []


def check(run, rtol=1e-9, atol=1e-12, is_lazy=True):
    """`run` gives for lazy arrays what it gives for NumPy's, in shape, dtype and value.

    is_lazy: whether some of it is lazy; None: that does not matter. Raises: AssertionError.
    """
    expected, found = list_numbers(run(np.copy)), list_numbers(run(lazy))
    assert len(found) == len(expected) > 0
    if is_lazy is not None:
        assert any(isinstance(array, lb.Array) for array in found) == is_lazy
    for own, reference in zip(found, expected, strict=True):
        own, reference = np.asarray(own), np.asarray(reference)
        assert (own.shape, own.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_allclose(own, reference, rtol=rtol, atol=atol)
