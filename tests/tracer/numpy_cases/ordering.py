"""Calls of order statistics, partial sorts, searches, histograms and sets."""

import numpy as np

from tests.helpers.numpy_calls import Host, call, evaluating, sample

REALS = sample((4, 6))
WITH_NANS = np.where(sample((4, 6), "bool", 3), np.nan, REALS)
SINGLES = sample((4, 6), "float32", 1)
HALVES = sample((4, 6), "float16", 1)
INTS = sample((4, 6), "int32", 2)
BYTES = sample((4, 6), "uint8", 2)
NUMBERS = [REALS, SINGLES, HALVES, INTS, BYTES, WITH_NANS]
METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
EDGES = np.array([-3.0, -1, 0, 0.5, 4])
PLACES = np.array([-2.0, 0, 1, 1.5])

CALLS = [
    *(
        call(name, x, axis=axis)
        for name in ("median", "nanmedian")
        for x in NUMBERS
        for axis in (None, 0, -1, (0, 1))
    ),
    call("median", REALS, axis=1, keepdims=True),
    call("median", np.zeros((0, 3)), axis=1),
    call("median", REALS, axis=5),
    *(
        call(name, x, q, axis=axis)
        for name, scale in [("quantile", 1), ("percentile", 100)]
        for x in NUMBERS
        for q in (0.3 * scale, np.array([0.0, 0.5, 1.0]) * scale, [0.25 * scale])
        for axis in (None, 1)
    ),
    *(call("quantile", x, 0.4, axis=0, method=m) for x in (REALS, INTS) for m in METHODS),
    call("quantile", REALS, np.array([[0.1, 0.2], [0.3, 0.4]]), axis=0, keepdims=True),
    call("quantile", REALS, 0.4, axis=1, weights=np.arange(1.0, 7), method="inverted_cdf"),
    call("quantile", REALS, 1.4),
    call("quantile", REALS, 0.4, method="none"),
    call("percentile", REALS, [10, 140]),
    *(
        call(name, WITH_NANS, q, axis=axis)
        for name in ("nanquantile", "nanpercentile")
        for q in (0.3, [0.2, 0.9])
        for axis in (None, 0, 1)
    ),
    *(call("partition", x, 2, axis=axis) for x in NUMBERS for axis in (-1, 0, None)),
    call("partition", np.arange(5.0), Host(np.array([], np.int16))),
    call("partition", np.arange(5.0), []),
    *(call("argpartition", x, [1, 3], axis=axis) for x in NUMBERS for axis in (-1, 0, None)),
    call("partition", REALS, 9),
    call("partition", REALS, 1.5),
    call("lexsort", (INTS[0], BYTES[0])),
    call("lexsort", BYTES, axis=0),
    call("lexsort", (INTS[0], BYTES[0, :2])),
    *(call("digitize", x, EDGES, right) for x in NUMBERS for right in (False, True)),
    call("digitize", REALS, EDGES[::-1]),
    *(call("interp", x, PLACES, PLACES**2) for x in NUMBERS),
    call("interp", REALS, PLACES, PLACES**2, left=-1, right=9.0),
    call("interp", REALS, PLACES, PLACES**2, period=3),
    call("interp", REALS, PLACES, PLACES[1:]),
    call("i0", REALS * 8),
    call("i0", SINGLES),
    call("i0", INTS),
    *(call("histogram", x) for x in (REALS, SINGLES, INTS)),
    call("histogram", REALS, 5, (-1, 2)),
    call("histogram", REALS, EDGES, density=True),
    call("histogram", INTS, np.array([-3, 0, 2]), weights=REALS),
    call("histogram", REALS, Host(EDGES[::-1])),
    call("histogram", REALS, 0),
    call("histogram", REALS, np.arange(4.0).reshape(2, 2)),
    call("histogram", SINGLES, 3, Host(np.array([-1.0, 2.0]))),
    evaluating("histogram", REALS, "auto"),
    call("histogram_bin_edges", REALS, 4),
    evaluating("histogram_bin_edges", REALS, "sturges"),
    evaluating("histogram2d", REALS[0], REALS[1], 3),
    evaluating("histogramdd", REALS, 2),
    evaluating("histogramdd", (REALS[0], REALS[1]), 2),
    evaluating("bincount", BYTES[0]),
    evaluating("bincount", BYTES[0], weights=REALS[0], minlength=20),
    evaluating("bincount", INTS[0]),
    *(
        evaluating(name, x, y)
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")
        for x, y in [(INTS, BYTES), (REALS, REALS[:2])]
    ),
    evaluating("intersect1d", INTS, BYTES, return_indices=True),
    evaluating("trim_zeros", np.array([0, 0, 1, 2, 0])),
    evaluating("sort_complex", REALS),
    evaluating("unravel_index", np.array([3, 5]), (2, 3)),
    evaluating("unravel_index", np.array([3, 9]), (2, 3)),
    evaluating("ravel_multi_index", (np.array([1, 0]), np.array([2, 1])), (2, 3)),
    evaluating("ravel_multi_index", (np.array([1, 5]), np.array([2, 1])), (2, 3), mode="wrap"),
    evaluating("apply_along_axis", np.sort, 1, REALS),
    evaluating("array2string", INTS),
    evaluating("array_repr", INTS),
    evaluating("array_str", INTS),
]

FUSED = []
