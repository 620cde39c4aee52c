"""Calls of NumPy's functions as data, and the claim that lazy arrays give what NumPy's give.

A table of calls serves the differential test and the coverage page. `evaluates` marks calls whose
result depends on data in shape or in Python's own control flow; all others only record.
"""

import io
import warnings
from typing import Any, NamedTuple

import numpy as np

import lazyblock as lb
from tests.helpers.arrays import interpret_array


class Call(NamedTuple):
    """A call of `np.<name>`, a method of ndarray ("ndarray.sum") or of a ufunc ("add.reduce")."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    kernels: int | None = None  # claimed number of kernels of the first result
    evaluates: bool = False
    rtol: float = 0.0

    def __str__(self):
        shown = [describe(value) for value in self.args]
        shown += [f"{name}={describe(value)}" for name, value in self.kwargs.items()]
        return f"{self.name}({', '.join(shown)})"


class Host(NamedTuple):
    """An operand that stays a NumPy array."""

    array: np.ndarray


def call(name, *args, **kwargs):
    return Call(name, args, kwargs)


def evaluating(name, *args, **kwargs):
    return Call(name, args, kwargs, evaluates=True)


def describe(value):
    """A value in a test's name."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, io.BytesIO):
        return "file"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(describe, value))}]"
    return getattr(value, "__name__", None) or str(value)


def sample(shape, dtype="float64", seed=0, special=False):
    """Small numbers of every dtype; `special` adds NaN, infinities and -0.0 (extremes of ints)."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -9
        values = rng.integers(low, 10, shape).astype(dtype)
        corners = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    else:
        values = np.asarray(rng.normal(0, 2, shape)).astype(dtype)
        if dtype.kind == "c":
            values = values + np.asarray(1j * rng.normal(0, 2, shape)).astype(dtype)
        corners = np.array([np.nan, np.inf, -np.inf, -0.0], dtype)
    if not special:
        return values
    return np.where(rng.random(shape) < 0.25, rng.choice(corners, shape), values)


def map_arrays(function, value):
    """`value` with `function` applied to the arrays in it."""
    if isinstance(value, (np.ndarray, Host)):
        return function(value)
    if type(value) in (list, tuple):
        return type(value)(map_arrays(function, item) for item in value)
    if isinstance(value, dict):
        return {name: map_arrays(function, item) for name, item in value.items()}
    return value


def to_lazy(value):
    return value.array if isinstance(value, Host) else lb.asarray(value, device="cpu")


def to_numpy(value):
    return value.array.copy() if isinstance(value, Host) else value.copy()


def find(name, namespace):
    """The function of a call, in `np` or `lb`."""
    found = namespace
    for part in name.split("."):
        found = getattr(found, part)
    return found


def invoke(call, convert, through=np):
    """The result of a call and its operands after it, all arrays converted first."""
    args, kwargs = map_arrays(convert, call.args), map_arrays(convert, call.kwargs)
    if call.name.startswith("ndarray."):
        return getattr(args[0], call.name.partition(".")[2])(*args[1:], **kwargs), args
    return find(call.name, through)(*args, **kwargs), args


def attempt(call, convert, through=np):
    """As `invoke`, an error being a result."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return invoke(call, convert, through)
        except Exception as error:
            return error, ()


def assert_call_agrees(call, evaluate=interpret_array):
    """The call of lazy arrays gives NumPy's values, dtypes, shapes or class of error."""
    expected, written = attempt(call, to_numpy)
    if call.evaluates:
        actual, changed = attempt(call, to_lazy, dispatching(call))
    else:
        with lb.forbid_eval():
            actual, changed = attempt(call, to_lazy, dispatching(call))
    if isinstance(expected, Exception):
        assert isinstance(actual, find_builtin(type(expected))), repr(actual)
        return
    if isinstance(actual, Exception):
        raise actual
    assert_agrees(actual, expected, evaluate, call.rtol)
    assert_agrees(changed, written, evaluate, call.rtol)


def dispatching(call):
    """NumPy where it dispatches on an operand, else the function of lazyblock's own."""
    found = []
    map_arrays(found.append, (call.args, call.kwargs))
    return np if any(isinstance(x, np.ndarray) for x in found) else lb


def is_offered(name):
    """Whether a function, method or ufunc is there for lazy arrays."""
    place, _, method = name.rpartition(".")
    if place == "ndarray":
        return hasattr(lb.Array, method)
    if isinstance(getattr(np, place or name, None), np.ufunc):
        return getattr(np, place or name).signature is None or hasattr(lb, name)
    if name in _OF_NUMPY:
        return True
    home = getattr(lb, place, None) if place in ("linalg", "fft") else lb
    return hasattr(home, method)


# What NumPy calls by itself, with the values of arrays, or finds by another name.
_OF_NUMPY = {"array2string", "array_repr", "array_str", "amax", "amin", "around", "unique"}
_OF_NUMPY |= {"save", "savetxt", "savez", "savez_compressed"}
_OF_NUMPY |= {"row_stack"}


def find_arrays(value):
    """The lazy arrays in a result."""
    if isinstance(value, lb.Array):
        return [value]
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in find_arrays(item)]
    return []


def find_builtin(kind):
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def assert_agrees(actual, expected, evaluate, rtol):
    """Equal structure, dtypes, shapes, and values: exact, or to a few roundings of the dtype."""
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for item, reference in zip(actual, expected, strict=True):
            assert_agrees(item, reference, evaluate, rtol)
    elif isinstance(expected, np.generic) and isinstance(actual, (int, float)):
        assert actual == expected
    elif isinstance(expected, (np.ndarray, np.generic)):
        values = evaluate(actual) if isinstance(actual, lb.Array) else np.asarray(actual)
        assert_close(values, np.asarray(expected), rtol)
    else:
        assert type(actual) is type(expected)
        assert actual == expected


def assert_close(actual, expected, rtol):
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(actual, expected)
        return
    eps = float(np.finfo(expected.dtype).eps)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    actual, expected = actual.astype(wide), expected.astype(wide)
    finite = np.abs(expected[np.isfinite(expected)])
    atol = 32 * eps * finite.max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=rtol or 64 * eps, atol=atol)
