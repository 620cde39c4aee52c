"""SciPy's functions that dispatch give, for lazy arrays, what they give for NumPy arrays."""

import numpy as np
import pytest

import lazyblock as lb
from tests.interop.calls import call, check

ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy is in the extra 'consumers'")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
fft = pytest.importorskip("scipy.fft")
signal = pytest.importorskip("scipy.signal")
vq = pytest.importorskip("scipy.cluster.vq")
hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
integrate = pytest.importorskip("scipy.integrate")
differentiate = pytest.importorskip("scipy.differentiate")
optimize = pytest.importorskip("scipy.optimize")
interpolate = pytest.importorskip("scipy.interpolate")
transform = pytest.importorskip("scipy.spatial.transform")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 9, 5))
WITH_NAN = np.where(np.arange(45).reshape(9, 5) == 11, np.nan, X)
POSITIVE = np.abs(X) + 0.1
COUNTS = RNG.integers(0, 4, size=(9, 5))
IMAGE, KERNEL = RNG.normal(size=(7, 8)), RNG.normal(size=(3, 3))
MASK, LABELS, CHOSEN = IMAGE > 0.2, COUNTS[:7].repeat(2, axis=1)[:, :8], np.array([1, 2])
LINE = RNG.normal(size=24)
POINTS = RNG.normal(size=(10, 3))
QUATERNIONS = RNG.normal(size=(4, 4))
PLACES = np.sort(RNG.random(8))

# Functions of so many arguments, all of them positive numbers
SPECIAL = {
    1: """bei beip ber berp cbrt cosm1 digamma ellipe ellipk ellipkm1 entr erf erfc erfcx erfi
        erfinv exp1 exp10 exp2 expi expit expm1 exprel gamma gammaln i0 i0e i1 i1e j0 j1 k0 k0e
        k1 k1e log1p log_expit log_ndtr logit loggamma ndtr ndtri psi rgamma sinc spence
        y0 y1 zetac""",
    2: """beta betaln binom chdtr chdtrc expn gammainc gammaincc hyp0f1 iv jv kl_div kv poch
        rel_entr stdtr xlog1py xlogy zeta""",
    3: "betainc betaincc fdtr fdtrc gdtr hyp1f1 hyperu",
}
ALONG_ROWS = """
    circmean circstd circvar describe differential_entropy entropy gmean gstd gzscore hmean
    iqr jarque_bera kstat kstatvar kurtosis median_abs_deviation moment rankdata sem skew
    tmax tmean tmin tsem tstd tvar variation zscore lmoment power_divergence chisquare
"""
OF_TWO_SAMPLES = """
    alexandergovern ansari bartlett brunnermunzel cramervonmises_2samp entropy f_oneway fligner
    kruskal levene mannwhitneyu mood pearsonr ttest_ind ttest_rel wilcoxon zmap
"""
FILTERS = """
    gaussian_laplace/1 gaussian_filter/1 gaussian_gradient_magnitude/1 uniform_filter/3
    median_filter/3 minimum_filter/3 maximum_filter/3 minimum_filter1d/3 maximum_filter1d/3
    sobel prewitt laplace grey_erosion/3 grey_dilation/3 grey_opening/3 grey_closing/3
    morphological_gradient/3 white_tophat/3 black_tophat/3 zoom/2 shift/1 spline_filter
"""
OF_LABELS = """
    sum_labels mean variance standard_deviation minimum maximum median extrema center_of_mass
    minimum_position maximum_position
"""
BINARY = """
    binary_erosion binary_dilation binary_opening binary_closing binary_fill_holes label
    binary_propagation binary_hit_or_miss distance_transform_edt distance_transform_cdt
"""
TRANSFORMS = "fft ifft rfft ihfft fft2 rfftn ihfftn dct idct dst idst dctn dstn fftshift ifftshift"
INVERSE = "fft ifft irfft hfft fft2 irfft2 irfftn hfftn fftn"


def in_namespace(values):
    return lb if isinstance(values, lb.Array) else np


def stats_calls():
    for name in ALONG_ROWS.split():
        extra = {"moment": [3], "tmean": [(-1.0, 1.0)]}.get(name, [])
        x = POSITIVE if name[0] in "gh" or name in ("entropy", "power_divergence") else X
        yield f"stats.{name}", call(getattr(stats, name), np.abs(x), *extra, axis=0)
    for name in OF_TWO_SAMPLES.split():
        yield f"stats.{name} of two", call(getattr(stats, name), POSITIVE, np.abs(Y), axis=0)
    yield "stats.mode", call(stats.mode, COUNTS, axis=1)
    yield "stats.quantile", call(stats.quantile, X, 0.3, axis=1)
    yield "stats.ttest_1samp", call(stats.ttest_1samp, X, 0.1, axis=None)
    yield "stats.zscore with NaN", call(stats.zscore, WITH_NAN)
    yield "stats.gmean weighted", call(stats.gmean, POSITIVE, weights=np.abs(Y))
    yield "stats.combine_pvalues", call(stats.combine_pvalues, special.ndtr(LINE))
    yield "stats.false_discovery_control", call(stats.false_discovery_control, special.ndtr(LINE))
    yield "stats.directional_stats", call(stats.directional_stats, X)
    yield "stats.skewtest", call(stats.skewtest, RNG.normal(size=(12, 3)))
    yield "stats.boxcox_llf", call(stats.boxcox_llf, 0.5, POSITIVE)


def ndimage_calls():
    for row in FILTERS.split():
        name, _, setting = row.partition("/")
        yield f"ndimage.{name}", call(getattr(ndimage, name), IMAGE, *map(int, setting))
    for name in OF_LABELS.split():
        yield f"ndimage.{name}", call(getattr(ndimage, name), IMAGE, LABELS, CHOSEN)
    for name in BINARY.split():
        yield f"ndimage.{name}", call(getattr(ndimage, name), MASK)
    for name in ("convolve", "correlate"):
        yield f"ndimage.{name}", call(getattr(ndimage, name), IMAGE, KERNEL)
    yield "ndimage.rotate", call(ndimage.rotate, IMAGE, 30.0)
    yield "ndimage.affine_transform", call(ndimage.affine_transform, IMAGE, np.eye(2) + 0.1)
    yield "ndimage.map_coordinates", call(ndimage.map_coordinates, IMAGE, np.abs(X[:2]))
    yield "ndimage.generic_filter", call(ndimage.generic_filter, IMAGE, np.mean, 3)
    yield "ndimage.fourier_gaussian", call(ndimage.fourier_gaussian, IMAGE + 1j, 1.0)


def signal_calls():
    for name in TRANSFORMS.split():
        yield f"fft.{name}", call(getattr(fft, name), IMAGE)
    for name in INVERSE.split():
        yield f"fft.{name} of complex", call(getattr(fft, name), IMAGE + 1j * IMAGE[::-1])
    b, a = signal.butter(3, 0.3)
    for name in ("convolve", "fftconvolve", "oaconvolve", "correlate"):
        yield f"signal.{name}", call(getattr(signal, name), LINE, LINE[:5])
    for name in ("lfilter", "filtfilt"):
        yield f"signal.{name}", call(getattr(signal, name), b, a, LINE)
    for name in ("hilbert", "detrend", "wiener", "savgol_filter"):
        extra = (5, 2) if name == "savgol_filter" else ()
        yield f"signal.{name}", call(getattr(signal, name), LINE, *extra)
    yield "signal.resample", call(signal.resample, LINE, 12)
    yield "signal.resample_poly", call(signal.resample_poly, LINE, 2, 3)
    yield "signal.upfirdn", call(signal.upfirdn, LINE[:3], LINE, 2, 1)
    yield "signal.freqz", call(signal.freqz, b, a)
    yield "signal.tf2zpk", call(signal.tf2zpk, b, a)
    for name in ("hann", "blackman", "tukey", "taylor"):
        window = getattr(signal.windows, name)
        yield (
            f"signal.windows.{name}",
            call(lambda x, w=window: w(9, xp=in_namespace(x)) * x, X[:, 0]),
        )


def other_calls():
    tree = hierarchy.linkage(POINTS, "ward")
    yield "cluster.whiten", call(vq.whiten, POINTS)
    yield "cluster.vq", call(vq.vq, POINTS, POINTS[:3])
    yield "cluster.kmeans", call(vq.kmeans, POINTS, POINTS[:3])
    yield "cluster.linkage", call(hierarchy.linkage, POINTS, "average")
    for name in ("cophenet", "inconsistent", "leaves_list", "maxdists"):
        yield f"cluster.{name}", call(getattr(hierarchy, name), tree)
    yield "cluster.fcluster", call(hierarchy.fcluster, tree, 1.0)
    yield "integrate.trapezoid", call(integrate.trapezoid, X)
    yield "integrate.cumulative_simpson", call(integrate.cumulative_simpson, X)
    yield (
        "differentiate.derivative",
        call(differentiate.derivative, lambda x: in_namespace(x).sin(x), PLACES[:2]),
    )
    yield "optimize.rosen_hess", call(optimize.rosen_hess, LINE)
    rotation = transform.Rotation.from_quat
    for name in ("as_matrix", "as_rotvec", "magnitude"):
        method = getattr(transform.Rotation, name)
        yield f"Rotation.{name}", call(lambda q, m=method: m(rotation(q)), QUATERNIONS)
    yield "Rotation.apply", call(lambda q, v: rotation(q).apply(v), QUATERNIONS, POINTS[:4])
    for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "make_interp_spline"):
        maker = getattr(interpolate, name)
        yield f"interpolate.{name}", call(lambda x, y, m=maker: m(x, y)(x), PLACES, LINE[:8])


CALLS = {
    **dict(stats_calls()),
    **dict(ndimage_calls()),
    **dict(signal_calls()),
    **dict(other_calls()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_call(name):
    check(CALLS[name], rtol=1e-8, atol=1e-11)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", SPECIAL)
def test_special_functions(count, dtype):
    arguments = [(np.abs(RNG.normal(size=(3, 4))) + 0.2 + k).astype(dtype) for k in range(count)]
    for name in SPECIAL[count].split():
        check(call(getattr(special, name), *arguments), rtol=1e-5 if dtype == "f4" else 1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"axis": 0}, {"b": np.abs(Y)}, {"keepdims": True}], ids=str
)
def test_sums_of_exponentials(settings):
    check(call(special.logsumexp, X, **settings))
    if "b" not in settings and "keepdims" not in settings:
        check(call(special.softmax, X, **settings))
        check(call(special.log_softmax, X, **settings))
