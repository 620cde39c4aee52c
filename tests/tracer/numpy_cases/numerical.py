"""Calls of differences, integrals, convolutions and products."""

import numpy as np

from tests.helpers.numpy_calls import call, sample

REALS = sample((5, 6))
SINGLES = sample((5, 6), "float32", 1)
INTS = sample((5, 6), "int32", 2)
BYTES = sample((5, 6), "uint8", 3)
BOOLS = sample((5, 6), "bool", 4)
NUMBERS = [REALS, SINGLES, INTS, BYTES]
PLACES = np.cumsum(sample(6, "float64") ** 2 + 0.1)
HOLED = np.where(np.arange(30).reshape(5, 6) == 8, np.nan, REALS)
MODES = ("full", "same", "valid")

CALLS = [
    *(
        call("gradient", x, *distances, **settings)
        for x in NUMBERS
        for distances, settings in [
            ((), {}),
            ((), {"axis": 1, "edge_order": 2}),
            ((2.0,), {"axis": (1, 0)}),
            ((2.0, PLACES), {"edge_order": 2}),
            ((PLACES,), {"axis": 1}),
        ]
    ),
    call("gradient", REALS, PLACES),
    call("gradient", HOLED, 10.0 * np.arange(6), axis=1),  # even: NumPy leaves the middle out
    call("gradient", HOLED, PLACES, axis=1),
    call("gradient", REALS, PLACES, axis=1, edge_order=2),  # two kernels: are the places even?
    call("gradient", REALS, 1, 2, 3),
    call("gradient", REALS[:1]),
    call("gradient", REALS, edge_order=3),
    call("gradient", REALS, PLACES[:-1], axis=1),
    call("gradient", sample(7, "float16")),
    *(call("trapezoid", x, axis=axis) for x in (*NUMBERS, BOOLS) for axis in (0, -1)),
    call("trapezoid", REALS, PLACES),
    call("trapezoid", REALS, REALS**2, axis=0),
    call("trapezoid", INTS, dx=0.5),
    call("trapezoid", REALS, axis=2),
    *(call("ediff1d", x) for x in NUMBERS),
    call("ediff1d", INTS, to_end=[1, 2], to_begin=INTS[0]),
    call("ediff1d", INTS, to_end=[1.5]),
    call("ediff1d", np.zeros(0)),
    *(call("unwrap", x) for x in NUMBERS),
    call("unwrap", REALS * 4, axis=0),
    call("unwrap", INTS, period=5),
    call("unwrap", INTS, discont=4, period=6),
    *(
        call(name, x[0], x[1, :size], mode)
        for name in ("convolve", "correlate")
        for x in (*NUMBERS, BOOLS)
        for size in (1, 2, 3, 6)
        for mode in MODES
    ),
    *(
        call(name, REALS[0, :2], INTS[0], mode)
        for name in ("convolve", "correlate")
        for mode in MODES
    ),
    call("convolve", np.array([1.0, np.inf, 2]), np.array([1.0, 2])),
    call("convolve", REALS, REALS[0]),
    *(call("convolve", REALS[0], REALS[1], mode=mode) for mode in (0, 1, 2, 3, None)),
    call("convolve", REALS[0], REALS[0, :0]),
    call("correlate", REALS[0], [1, 2], "other"),
    call("kron", REALS[:2], INTS),
    call("kron", REALS[0], INTS[:2]),
    call("kron", BOOLS[:2], BYTES[:3]),
    call("kron", 2, INTS),
    call("cross", REALS[:, :3], INTS[:, 3:]),
    call("cross", REALS[:3], REALS[2:], axis=0),
    call("cross", REALS[0, :3], INTS[:, :3]),
    call("cross", REALS, INTS),
    call("cross", np.array([True, True]), np.float16([1, np.inf, 2])),
    call("cross", np.float16([1, np.inf, 2]), np.array([True, False])),
    call("lib.stride_tricks.sliding_window_view", REALS, (2, 3)),
    call("lib.stride_tricks.sliding_window_view", REALS, 4, axis=1),
    call("lib.stride_tricks.sliding_window_view", INTS, (2, 2), axis=(1, 1)),
    *(call("lib.stride_tricks.sliding_window_view", INTS, n, axis=0) for n in (9, len(INTS) + 1)),
    call("lib.stride_tricks.sliding_window_view", INTS, (2, 2, 2)),
]

FUSED = [
    call("gradient", REALS, axis=1),
    call("gradient", REALS, 2.0, axis=1, edge_order=2),
    call("trapezoid", REALS),
    call("convolve", REALS[0], REALS[1]),
    call("kron", REALS, INTS),
]
