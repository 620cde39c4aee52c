"""Distinct elements, sorted, as NumPy's `unique_*` give them; membership."""

import ml_dtypes
import numpy as np
import pytest

import lazyblock as lb

VALUES = [
    np.array([[3, 1, 3], [2, 2, 1]], np.int16),
    np.array([True, False, True]),
    np.array([2.5, np.nan, -0.0, 0.0, np.nan, 2.5], np.float32),
    np.array([1 + 1j, 1, 1 + 1j]),
    np.zeros((0, 2), np.uint8),
    np.array(7.0),
]


@pytest.mark.parametrize("values", VALUES, ids=str)
def test_unique(values):
    x = lb.asarray(values, device="cpu")
    found, expected = lb.unique_all(x), np.unique_all(values)
    for name in ("values", "indices", "inverse_indices", "counts"):
        own, numpys = getattr(found, name), getattr(expected, name)
        assert isinstance(own, lb.Array) and own.dtype == numpys.dtype
        np.testing.assert_array_equal(own.numpy(), numpys)
    for own, whole in [
        (lb.unique_counts(x), (found.values, found.counts)),
        (lb.unique_inverse(x), (found.values, found.inverse_indices)),
        ((lb.unique_values(x),), (found.values,)),
    ]:
        for part, same in zip(own, whole, strict=True):
            np.testing.assert_array_equal(part.numpy(), same.numpy())


def test_unique_bfloat16_keeps_its_dtype():
    x = lb.asarray(np.array([2, 1, 2], ml_dtypes.bfloat16), device="cpu")
    values, counts = lb.unique_counts(x)
    assert (values.dtype, values.tolist(), counts.tolist()) == (lb.bfloat16, [1.0, 2.0], [1, 2])


@pytest.mark.parametrize("invert", [False, True])
def test_isin_records(invert):
    x = lb.asarray([[1, 2], [3, 4]], device="cpu")
    with lb.forbid_eval():
        found = lb.isin(x + 1, lb.asarray([3, 5]), invert=invert)
    np.testing.assert_array_equal(found.numpy(), np.isin([[2, 3], [4, 5]], [3, 5], invert=invert))
    assert lb.isin(3, x).item() is True
    assert lb.isin(x, 3).tolist() == [[False, False], [True, False]]
