"""scikit-learn's estimators fit lazy arrays as they fit NumPy arrays."""

import numpy as np
import pytest

import lazyblock as lb

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is in the extra 'consumers'")
pytest.importorskip("sklearn.decomposition")
pytest.importorskip("sklearn.discriminant_analysis")
pytest.importorskip("sklearn.linear_model")
pytest.importorskip("sklearn.mixture")
pytest.importorskip("sklearn.preprocessing")

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(30, 4)), RNG.normal(size=(30, 4)) + 3])
CLASSES = np.repeat([0, 1], 30)
TARGETS = X @ np.array([1.0, -2.0, 0.5, 3.0]) + 1
CALLS = {
    "StandardScaler": lambda c: sklearn.preprocessing.StandardScaler().fit_transform(c(X)),
    "PCA": lambda c: sklearn.decomposition.PCA(2, svd_solver="full").fit(c(X)).explained_variance_,
    "LinearDiscriminantAnalysis": lambda c: (
        sklearn.discriminant_analysis.LinearDiscriminantAnalysis()
        .fit(c(X), c(CLASSES))
        .predict(c(X))
    ),
    "Ridge": lambda c: sklearn.linear_model.Ridge(solver="svd").fit(c(X), c(TARGETS)).coef_,
    "GaussianMixture": lambda c: (
        sklearn.mixture.GaussianMixture(2, init_params="random", random_state=0, max_iter=5)
        .fit(c(X))
        .means_
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_estimator(name):
    expected = CALLS[name](np.array)
    with sklearn.config_context(array_api_dispatch=True):
        found = CALLS[name](lambda values: lb.asarray(values, device="cpu"))
    assert isinstance(found, lb.Array)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-8, atol=1e-10)
