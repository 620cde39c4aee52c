"""SciPy's functions that dispatch give, for lazy arrays, what they give for NumPy arrays."""

import numpy as np
import pytest

import lazyblock as lb

ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy is in the extra 'consumers'")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 6, 5))
CALLS = {
    "expit": lambda c: special.expit(c(X)),
    "softmax": lambda c: special.softmax(c(X), axis=1),
    "log_softmax": lambda c: special.log_softmax(c(X), axis=1),
    "zscore": lambda c: stats.zscore(c(X), axis=0),
    "skew": lambda c: stats.skew(c(X)),
    "gmean": lambda c: stats.gmean(c(X**2)),
    "describe": lambda c: stats.describe(c(X)),
    "ttest_ind": lambda c: stats.ttest_ind(c(X), c(Y)),
    "pearsonr": lambda c: stats.pearsonr(c(X[:, 0]), c(Y[:, 0])),
    "gaussian_filter": lambda c: ndimage.gaussian_filter(c(X), 1.0),
    "median_filter": lambda c: ndimage.median_filter(c(X), 3),
}


def list_arrays(result):
    if hasattr(result, "pvalue"):
        return [result.statistic, result.pvalue]
    if isinstance(result, tuple):
        return [array for part in result for array in list_arrays(part)]
    return [result]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_call(name):
    expected = list_arrays(CALLS[name](np.array))
    found = list_arrays(CALLS[name](lambda values: lb.asarray(values, device="cpu")))
    assert any(isinstance(array, lb.Array) for array in found)
    for own, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(own), reference, rtol=1e-9, atol=1e-12)
