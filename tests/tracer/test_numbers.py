"""Values without axes: numbers do not change, as NumPy's scalars; arrays made as such do."""

import copy

import numpy as np
import pytest

import lazyblock as lb
from tests.helpers.arrays import assert_records_numpy

X = np.array([3, 5, 7])


def keep_sum(x):
    total = x.sum()
    before = total
    total += 1
    return before, total


def keep_element(x):
    best = x[1]
    before = best
    best *= 10
    return before, best, x


def keep_root(x):
    largest = x.max()
    before = largest
    largest **= 0.5
    return before, largest


def add_fraction_to_element(x):
    x = x.copy()
    x[0] += 2.7
    return x


def change_view_of_element(x):
    x = x.copy()
    view = x[:1].reshape(())
    view += 100
    return x, view


def change_copies_of_sum(x):
    total = x.sum()
    results = [total[...], total[None], total.reshape(1)]
    for result in results:
        result += 1
    results[1][0] = 3
    return total, *results


def change_what_is_no_number(x):
    found = np.isin(x[0], [3])
    found[...] ^= found
    return found, x


@pytest.mark.parametrize(
    "function",
    [
        keep_sum,
        keep_element,
        keep_root,
        add_fraction_to_element,
        change_view_of_element,
        change_copies_of_sum,
        change_what_is_no_number,
    ],
)
def test_in_place_operators(function):
    assert_records_numpy(function, X)


CALLS = """
x[...]
x[()]
x.T
x.copy()
x.astype("float32")
x.byteswap()
x.getfield("int8")
x.view("int8")
x.clip(0, 1)
x.clip()
x.round()
x.round(1)
x.sum()
np.pad(x, 0)
np.pad(x, 0, mode="reflect", reflect_type="odd")
np.tile(x, ())
np.isin(x, [1])
np.i0(x)
np.sinc(x)
np.nan_to_num(x)
np.nanmax(x)
np.nanmin(x)
np.nanstd(x)
np.nanvar(x)
np.where(x, x, x)
np.einsum("->", x)
np.dot(x, x)
np.broadcast_to(x, ())
np.ones_like(x)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
@pytest.mark.parametrize("dtype", ["int8", "float64", "complex64"])
def test_what_is_a_number_and_what_an_array(call, dtype):
    def run(x):
        try:
            return eval(call, {"np": np, "x": x})
        except (TypeError, ValueError) as error:
            return error

    theirs = run(np.array(2, dtype))
    ours = run(lb.asarray(np.array(2, dtype)))
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs).__mro__[-3])
    else:
        before = ours
        ours *= ours
        assert (before is ours) == isinstance(theirs, np.ndarray)


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64", "complex128"])
def test_a_number_beside_an_array_filled_with_it(dtype):
    for shape in ((2,), ()):
        lb.full(shape, 9, dtype=dtype) + 9  # looks like the sum of an array and itself
        x = np.array([1, 2], dtype)
        assert_records_numpy(lambda x: (x + 9, 9 + x), x)


@pytest.mark.parametrize(
    "make",
    [
        lambda xp: xp.asarray(4),
        lambda xp: xp.zeros((), dtype="int64"),
        lambda xp: xp.asarray(xp.asarray(X).sum()),
        lambda xp: xp.asarray(4).copy(),
        lambda xp: copy.copy(xp.asarray(4)),
        lambda xp: xp.asarray(4)[...],
        lambda xp: np.where(xp.asarray(4) > 3, 1, 2),
    ],
)
@pytest.mark.parametrize("is_evaluated", [False, True])
def test_an_array_without_axes_changes_in_place(make, is_evaluated):
    values = []
    for xp in (np, lb):
        x = make(xp)
        if is_evaluated:
            np.asarray(x)
        other = x
        x += 1
        assert x is other
        values.append(int(other))
    assert values[0] == values[1]
