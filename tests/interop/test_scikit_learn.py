"""scikit-learn's estimators, metrics and tools take lazy arrays as they take NumPy arrays."""

import numpy as np
import pytest

import lazyblock as lb
from tests.interop.calls import call, check

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is in the extra 'consumers'")
decomposition = pytest.importorskip("sklearn.decomposition")
discriminant_analysis = pytest.importorskip("sklearn.discriminant_analysis")
kernel_approximation = pytest.importorskip("sklearn.kernel_approximation")
linear_model = pytest.importorskip("sklearn.linear_model")
metrics = pytest.importorskip("sklearn.metrics")
mixture = pytest.importorskip("sklearn.mixture")
model_selection = pytest.importorskip("sklearn.model_selection")
naive_bayes = pytest.importorskip("sklearn.naive_bayes")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(30, 4)), RNG.normal(size=(30, 4)) + 3])
CLASSES = np.repeat([0, 1], 30)
THREE = np.arange(60) % 3
TARGETS = X @ np.array([1.0, -2.0, 0.5, 3.0]) + 1
GUESSED = np.where(np.arange(60) % 7 == 0, 1 - CLASSES, CLASSES)
SCORES = RNG.random(60)
MIXTURE = {"init_params": "random", "random_state": 0, "max_iter": 5}

OF_FEATURES = [
    preprocessing.StandardScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.MaxAbsScaler(),
    preprocessing.Normalizer(),
    preprocessing.Binarizer(),
    preprocessing.PolynomialFeatures(),
    decomposition.PCA(2, svd_solver="full"),
    decomposition.PCA(2, svd_solver="covariance_eigh", whiten=True),
    decomposition.PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0),
    kernel_approximation.Nystroem(n_components=5, random_state=0),
    mixture.GaussianMixture(2, **MIXTURE),
    mixture.GaussianMixture(2, covariance_type="diag", **MIXTURE),
    mixture.GaussianMixture(2, covariance_type="tied", **MIXTURE),
    mixture.GaussianMixture(2, covariance_type="spherical", **MIXTURE),
]
OF_TARGETS = [
    (linear_model.Ridge(solver="svd"), TARGETS),
    (linear_model.RidgeCV(), TARGETS),
    (linear_model.RidgeClassifier(solver="svd"), CLASSES),
    (linear_model.LogisticRegression(), CLASSES),
    (linear_model.LogisticRegression(), THREE),
    (discriminant_analysis.LinearDiscriminantAnalysis(), CLASSES),
    (discriminant_analysis.LinearDiscriminantAnalysis(), THREE),
    (naive_bayes.GaussianNB(), CLASSES),
    (pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.RidgeCV()), TARGETS),
]
OF_CLASSES = """
    accuracy_score balanced_accuracy_score confusion_matrix f1_score precision_score recall_score
    jaccard_score hamming_loss zero_one_loss cohen_kappa_score multilabel_confusion_matrix
    matthews_corrcoef precision_recall_fscore_support
"""
OF_NUMBERS = """
    mean_squared_error mean_absolute_error median_absolute_error max_error r2_score
    explained_variance_score root_mean_squared_error mean_pinball_loss d2_tweedie_score
    mean_absolute_percentage_error mean_tweedie_deviance
"""
OF_PAIRS = """
    cosine_similarity cosine_distances rbf_kernel linear_kernel polynomial_kernel sigmoid_kernel
    laplacian_kernel manhattan_distances euclidean_distances
"""
METHODS = ["predict", "transform", "predict_proba", "decision_function", "score_samples"]


def fit(estimator, *data):
    """What a fitted clone of `estimator` says of its data, and what it has learnt."""
    fitted = sklearn.clone(estimator).fit(*data)
    said = [getattr(fitted, name)(data[0]) for name in METHODS if hasattr(fitted, name)]
    learnt = [value for name, value in sorted(vars(fitted).items()) if name.endswith("_")]
    return said, [v for v in learnt if isinstance(v, (np.ndarray, lb.Array)) and v.ndim]


def calls():
    for number, estimator in enumerate(OF_FEATURES):
        yield f"{type(estimator).__name__} {number}", call(lambda x, e=estimator: fit(e, x), X)
    for number, (estimator, y) in enumerate(OF_TARGETS):
        name = f"{type(estimator).__name__} with targets {number}"
        yield name, call(lambda x, y, e=estimator: fit(e, x, y), X, y)
    for name in OF_PAIRS.split():
        yield name, call(getattr(metrics.pairwise, name), X, X[:5] + 0.5)
    yield "scaling", call(lambda x: [preprocessing.minmax_scale(x), preprocessing.normalize(x)], X)
    yield (
        "label_binarize",
        call(lambda y: preprocessing.label_binarize(y, classes=[0, 1, 2]), THREE),
    )
    yield (
        "train_test_split",
        call(lambda x, y: model_selection.train_test_split(x, y, random_state=0), X, CLASSES),
    )
    yield (
        "cross_val_predict",
        call(
            lambda x, y: model_selection.cross_val_predict(OF_TARGETS[0][0], x, y, cv=3), X, TARGETS
        ),
    )


def metric_calls():
    """They give Python's numbers, some of them, or arrays of NumPy."""
    for name in OF_CLASSES.split():
        yield name, call(getattr(metrics, name), CLASSES, GUESSED)
    for name in OF_NUMBERS.split():
        yield name, call(getattr(metrics, name), TARGETS, TARGETS + SCORES)
    for name in ("log_loss", "brier_score_loss", "average_precision_score", "roc_auc_score"):
        yield name, call(getattr(metrics, name), CLASSES, SCORES)


CALLS, METRIC_CALLS = dict(calls()), dict(metric_calls())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_estimators_and_tools(name):
    with sklearn.config_context(array_api_dispatch=True):
        check(CALLS[name], rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METRIC_CALLS)
def test_metrics(name):
    with sklearn.config_context(array_api_dispatch=True):
        check(METRIC_CALLS[name], is_lazy=None)
