"""Calls of averages, spreads, order statistics and histograms."""

import numpy as np

from tests.helpers.numpy_calls import call, evaluating, sample

REALS = sample((4, 5))
WITH_NANS = np.where(sample((4, 5), "bool", 3), np.nan, REALS)
WITH_NAN_ROW = np.where(np.arange(4)[:, None] == 2, np.nan, WITH_NANS)
SINGLES = sample((3, 7), "float32", 1, special=True)
HALVES = sample((3, 7), "float16", 1)
INTS = sample((3, 4), "int32", 2, special=True)
BYTES = sample((3, 4), "uint8", 2)
BOOLS = sample((3, 4), "bool", 2)
NOTHING = np.zeros((0, 3))
SCALAR = np.array(2.5)
MASK = sample((4, 5), "bool", 5)
OPERANDS = [REALS, WITH_NANS, WITH_NAN_ROW, SINGLES, HALVES, INTS, BYTES, BOOLS, NOTHING, SCALAR]
COMPLEX = sample((4, 5), "complex128")
WEIGHTS = np.array([1.0, 2, 0.5, 3, 1])

CALLS = [
    *(
        call(name, x, axis=axis)
        for name in ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]
        for x in OPERANDS
        for axis in (None, 0, -1)
    ),
    *(call(name, WITH_NANS, axis=(0, 1), keepdims=True) for name in ("nansum", "nanmax", "nanstd")),
    *(
        call(name, np.where(MASK, np.nan, COMPLEX), axis=1)
        for name in ("nansum", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd")
    ),
    call("nan_to_num", np.where(MASK, complex(np.nan, -np.inf), COMPLEX), nan=2),
    call("cov", COMPLEX),
    call("corrcoef", COMPLEX),
    call("average", COMPLEX, 1),
    call("nansum", WITH_NANS, 0, np.float32),
    call("nansum", WITH_NANS, initial=2.0, where=MASK),
    call("nanprod", INTS, axis=1, initial=3),
    call("nanmax", WITH_NANS, axis=1, initial=0.5, where=MASK),
    call("nanmin", WITH_NANS, where=MASK),
    *(call(name, WITH_NANS, dtype=np.int32) for name in ("nanmean", "nanvar", "nanstd")),
    *(call(name, WITH_NANS, ddof=1, correction=1) for name in ("var", "std", "nanvar", "nanstd")),
    call("nanmean", WITH_NANS, axis=0, where=MASK),
    call("nanvar", WITH_NANS, axis=0, ddof=1, where=MASK),
    call("nanstd", WITH_NANS, axis=0, correction=2),
    call("nanvar", WITH_NANS, axis=1, mean=WITH_NANS[:, :1]),
    *(
        (evaluating if x.dtype.kind == "f" else call)(name, x, axis=axis)
        for name in ("nanargmax", "nanargmin")
        for x in (REALS, WITH_NANS, WITH_NAN_ROW, INTS, SINGLES)
        for axis in (None, 0, 1)
    ),
    *(
        call(name, x, axis=axis)
        for name in ("nancumsum", "nancumprod")
        for x in (WITH_NANS, WITH_NAN_ROW, HALVES, BYTES, SCALAR)
        for axis in (None, 0)
    ),
    *(call("nan_to_num", x) for x in OPERANDS),
    call("nan_to_num", SINGLES, nan=1.0, posinf=2, neginf=-3),
    call("nan_to_num", SINGLES, False),
    *(
        call("ptp", x, axis=axis)
        for x in (REALS, INTS, BYTES, HALVES)
        for axis in (None, 0, (0, 1))
    ),
    call("ptp", BOOLS),
    call("ptp", NOTHING),
    call("ptp", REALS, 1, keepdims=True),
    *(call("average", x, axis=axis) for x in (REALS, INTS, HALVES) for axis in (None, 1)),
    evaluating("average", REALS, axis=1, weights=WEIGHTS),
    evaluating("average", REALS, weights=REALS, returned=True),
    evaluating("average", INTS, axis=1, weights=[1, 2, 3, 4], keepdims=True),
    evaluating("average", REALS, axis=(1, 0), weights=REALS.T.copy()),
    evaluating("average", REALS, axis=1, weights=np.zeros(5)),
    call("average", REALS, weights=WEIGHTS),
    call("average", REALS, axis=0, weights=WEIGHTS),
    call("average", REALS, returned=True),
    call("cov", REALS),
    call("cov", REALS[0]),
    call("cov", INTS, rowvar=False, bias=True),
    call("cov", REALS, sample((2, 5), seed=8), ddof=0),
    call("cov", REALS, REALS[1], rowvar=True, dtype=np.float32),
    call("cov", NOTHING),
    call("cov", REALS[None]),
    evaluating("cov", REALS, fweights=np.array([1, 2, 1, 3, 1])),
    evaluating("cov", REALS, aweights=WEIGHTS, ddof=0),
    evaluating("cov", REALS, fweights=[1, 2, 1, 3, 1], aweights=WEIGHTS),
    evaluating("cov", REALS, aweights=-WEIGHTS),
    call("corrcoef", REALS),
    call("corrcoef", REALS, REALS[::-1], rowvar=False),
    call("corrcoef", REALS[0]),
]

FUSED = [
    call("nanmean", WITH_NANS, axis=1),
    call("nanvar", WITH_NANS, axis=1),
    call("nansum", WITH_NANS),
    call("nanmax", WITH_NANS, axis=1),
    call("nan_to_num", WITH_NANS),
    call("ptp", REALS, axis=1),
]
