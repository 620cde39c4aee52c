"""Calls of the functions of other themes on complex operands."""

import numpy as np

from tests.helpers.numpy_calls import call, evaluating, sample

NUMBERS = sample((4, 5), "complex128", 1)
SPECIAL = sample((4, 5), "complex64", 2, special=True)
REALS = sample((4, 5))

CALLS = [
    *(
        call(name, x, axis=axis)
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nancumsum", "ptp")
        for x in (NUMBERS, SPECIAL)
        for axis in (None, 1)
    ),
    call("nanmax", SPECIAL, axis=0),
    call("nanmin", SPECIAL),
    evaluating("nanargmax", SPECIAL),
    call("var", NUMBERS, axis=0, where=REALS > 0),
    call("nan_to_num", SPECIAL),
    call("nan_to_num", SPECIAL, nan=1, posinf=2),
    call("cov", NUMBERS),
    call("cov", NUMBERS, REALS),
    call("corrcoef", NUMBERS),
    call("average", NUMBERS, axis=0),
    evaluating("average", NUMBERS, weights=REALS),
    call("convolve", REALS[0], NUMBERS[1]),
    call("correlate", NUMBERS[0], NUMBERS[1], "full"),
    call("correlate", NUMBERS[0, :2], NUMBERS[1], "full"),
    call("correlate", REALS[0], NUMBERS[1], "same"),
    call("kron", NUMBERS, REALS),
    call("cross", NUMBERS[:, :3], REALS[:, :3]),
    call("gradient", NUMBERS),
    call("trapezoid", NUMBERS, REALS),
    call("ediff1d", NUMBERS),
    call("polyval", NUMBERS[0], REALS),
    call("vander", NUMBERS[0]),
    call("isclose", NUMBERS, NUMBERS + 1e-9),
    call("isclose", SPECIAL, SPECIAL, equal_nan=True),
    call("isposinf", NUMBERS),
    call("fix", NUMBERS),
    call("sinc", NUMBERS),
    call("trace", NUMBERS),
    call("diag", NUMBERS[0]),
    call("select", [REALS > 0], [NUMBERS], 1),
    evaluating("choose", (REALS > 0).astype(int), [NUMBERS, REALS]),
    call("insert", REALS, 1, NUMBERS[0], axis=0),
    call("partition", NUMBERS, 2),
    call("median", NUMBERS),
    call("quantile", NUMBERS, 0.5),
    call("interp", REALS, np.sort(REALS[0]), NUMBERS[0]),
    evaluating("linspace", NUMBERS, REALS, 3),
]

FUSED = []
