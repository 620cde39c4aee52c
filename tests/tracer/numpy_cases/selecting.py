"""Calls that choose, compare, rearrange and make arrays, and of polynomials and bits."""

import numpy as np

from tests.helpers.numpy_calls import Host, call, evaluating, sample

REALS = sample((4, 6))
SPECIAL = sample((4, 6), "float64", 4, special=True)
SINGLES = sample((4, 6), "float32", 1, special=True)
INTS = sample((4, 6), "int32", 2)
BYTES = sample((4, 6), "uint8", 2)
BOOLS = sample((4, 6), "bool", 5)
LINE = sample(5)
CUBE = sample((2, 3, 4), "int64", 6)
WHICH = sample((4, 6), "int64", 7) % 3
NUMBERS = [REALS, SINGLES, INTS, BYTES, BOOLS]

CALLS = [
    call("select", [REALS < 0, REALS > 1], [REALS, INTS], 7),
    call("select", [BOOLS, ~BOOLS], [SINGLES, 2.0], default=0.5),
    call("select", [INTS], [REALS]),
    call("select", [np.array(True)], [np.array(2.5)], default=[0]),
    call("select", [BOOLS], [REALS, REALS]),
    evaluating("choose", WHICH, [REALS, INTS, BYTES]),
    evaluating("choose", WHICH, [REALS, INTS, BYTES], out=np.zeros(REALS.shape, int)),
    evaluating("choose", WHICH - 1, [REALS, INTS, BYTES]),
    *(call("choose", INTS, [REALS, INTS[0], BYTES], mode=mode) for mode in ("wrap", "clip")),
    call("choose", WHICH, REALS[:3], mode="clip"),
    call("choose", WHICH, [REALS.astype("float32"), 3, 2.5], mode="clip"),
    call("piecewise", REALS, [REALS < 0, REALS > 1], [-1, 2]),
    call("piecewise", INTS, [INTS < 0], [-1, 5]),
    evaluating("piecewise", REALS, [REALS < 0, REALS >= 0], [np.negative, lambda x: x * 2]),
    evaluating("piecewise", INTS, [INTS < 0], [lambda x, k: x * k, 5], 3),
    call("piecewise", REALS, [REALS < 0], [1, 2, 3]),
    evaluating("compress", [True, False, True], REALS, axis=0),
    evaluating("compress", BOOLS[0], REALS),
    evaluating("compress", [False] * 4 + [True], REALS, axis=0),
    evaluating("extract", BOOLS, REALS),
    evaluating("extract", REALS > 0, INTS),
    *(evaluating(name, x) for name in ("flatnonzero", "argwhere") for x in (REALS, INTS, BOOLS)),
    *(
        call("isclose", x, y, equal_nan=equal_nan)
        for x, y in [(SPECIAL, SPECIAL[::-1]), (SPECIAL, SPECIAL), (INTS, BYTES), (REALS, 0.1)]
        for equal_nan in (False, True)
    ),
    call("isclose", REALS, REALS + 1e-3, rtol=1e-2, atol=0),
    call("isclose", np.float32([1.0]), 2, rtol=(1.0 - 2.0**-52) / 2, atol=0),
    evaluating("allclose", REALS, REALS + 1e-12),
    evaluating("allclose", SPECIAL, SPECIAL),
    evaluating("allclose", SPECIAL, SPECIAL, equal_nan=True),
    evaluating("array_equal", INTS, INTS),
    evaluating("array_equal", SPECIAL, SPECIAL, equal_nan=True),
    evaluating("array_equal", INTS, INTS[0]),
    evaluating("array_equiv", INTS[:1], INTS[0]),
    evaluating("array_equiv", INTS, INTS[:, :2]),
    *(call(name, SPECIAL) for name in ("isneginf", "isposinf")),
    *(call("fix", x) for x in (SPECIAL, SINGLES, INTS)),
    *(call("packbits", x, axis) for x in (BOOLS, INTS, BYTES) for axis in (None, 0, 1)),
    call("packbits", BOOLS, -1, bitorder="little"),
    call("packbits", REALS),
    call("packbits", BOOLS, bitorder="middle"),
    *(call("unpackbits", BYTES, axis) for axis in (None, 0, 1)),
    call("unpackbits", BYTES, 1, bitorder="little"),
    *(call("unpackbits", BYTES, 1, count=count) for count in (3, 60, -5, -60)),
    call("unpackbits", INTS),
    *(
        call("bitwise_count", sample((3, 5), f"{kind}{size}", 1, special=True))
        for kind in ("int", "uint")
        for size in (8, 16, 32, 64)
    ),
    *(call("sinc", x) for x in (REALS, SINGLES, INTS)),
    # making and rearranging
    call("append", REALS, INTS),
    call("append", REALS, INTS[:2], axis=0),
    call("append", REALS, LINE, axis=0),
    call("insert", LINE, 2, 9.5),
    call("insert", LINE, [1, 3], [7, 8]),
    call("insert", LINE, [1, 1, 5], 7),
    call("insert", LINE, slice(0, 4, 2), [7, 8]),
    call("insert", LINE, -1, [7, 8]),
    call("insert", REALS, 1, LINE[:4], axis=1),
    call("insert", REALS, [1], LINE[:4, None], axis=1),
    call("insert", REALS, [0, 2], INTS[:, :2], axis=1),
    call("insert", INTS, 3, 1.5),
    call("insert", LINE, 9, 1),
    call("insert", LINE, [], []),
    call("delete", LINE, []),
    call("delete", REALS, (), axis=1),
    call("delete", LINE, Host(np.array([]))),
    call("insert", REALS, [1], LINE[:4, None] * np.ones(6), axis=0),
    *(call("insert", REALS, at, LINE[:4], axis=1) for at in (1, [1], slice(1, 2))),
    call("insert", REALS, 1, LINE[:4, None], axis=1),
    call("insert", LINE, Host(LINE > 0), 9),
    call("delete", LINE, 2),
    call("delete", LINE, [0, -1]),
    call("delete", REALS, slice(None, None, 2), axis=1),
    call("delete", REALS, np.array([True, False, True, False]), axis=0)._replace(evaluates=True),
    call("delete", REALS, 3),
    call("delete", LINE, 9),
    *(call("resize", x, shape) for x in (LINE, INTS) for shape in (7, (2, 3), (5, 7), (0, 2))),
    call("resize", np.zeros(0), (2, 2)),
    *(call("rollaxis", CUBE, *axes) for axes in [(2,), (0, 3), (1, 2), (-1, -2)]),
    *(call("rollaxis", CUBE, 1, start) for start in (5, -4)),
    *(
        call(f"atleast_{n}d", *arrays)
        for n in (1, 2, 3)
        for arrays in [(np.array(2),), (LINE,), (INTS,), (CUBE,), (LINE, INTS)]
    ),
    call("block", [[REALS, INTS], [INTS, REALS]]),
    call("block", [LINE, LINE, 1.5]),
    call("block", [[LINE], [LINE]]),
    call("block", [[LINE], LINE]),
    call("block", [[REALS, INTS], [INTS, LINE]]),
    call("ix_", np.array([1, 2]), np.array([0, 3, 1])),
    call("ix_", np.array([True, False, True]), np.array([1]))._replace(evaluates=True),
    call("ix_", REALS),
    call("ix_", LINE[:0]),
    call("indices", (2, 3)),
    call("indices", (2, 3), np.int32, True),
    call("fromfunction", lambda i, j: i * 10 + j, (3, 4)),
    call("apply_over_axes", np.sum, CUBE, [0, 2]),
    *(call(name, 6) for name in ["bartlett", "blackman", "hamming", "hanning"]),
    call("kaiser", 6, 3.5),
    # diagonals
    *(call("diag", x, k) for x in (LINE, REALS, BOOLS) for k in (-2, 0, 1, 9)),
    call("diag", CUBE),
    call("diagflat", INTS[:2], 1),
    *(call("diagonal", CUBE, k, *axes) for k in (-1, 0, 2) for axes in [(), (1, 2), (2, 0)]),
    call("diagonal", CUBE, 0, 1, 1),
    call("diagonal", LINE),
    *(call("trace", x, k) for x in (CUBE, REALS, BOOLS, BYTES) for k in (-1, 0, 3)),
    call("trace", REALS, dtype=np.float32),
    call("tri", 3),
    call("tri", 3, 5, -1, np.int32),
    call("identity", 4),
    *(call(name, 4, k, 3) for name in ("tril_indices", "triu_indices") for k in (-1, 0, 2)),
    *(call(name, REALS, 1) for name in ("tril_indices_from", "triu_indices_from")),
    call("tril_indices_from", LINE),
    call("diag_indices", 3, 3),
    call("diag_indices_from", REALS[:, :4]),
    call("diag_indices_from", REALS),
    call("mask_indices", 3, np.triu, 1),
    # polynomials
    *(call("polyval", LINE, x) for x in (REALS, INTS, 2.5)),
    call("polyval", np.array([1, 2]), BYTES),
    *(call(name, LINE, INTS[0]) for name in ("polyadd", "polysub")),
    evaluating("polymul", LINE, INTS[0]),
    evaluating("polymul", np.array([0.0, 0, 1, 2]), np.array([0, 3, 0])),
    evaluating("polymul", LINE[:0], np.zeros(2, "float32")),
    call("polyadd", [1, 2], LINE),
    *(call("polyder", x, m) for x in (LINE, INTS[0]) for m in (0, 1, 2)),
    call("polyder", LINE, -1),
    *(call("polyint", x, m) for x in (LINE, INTS[0]) for m in (0, 1, 2)),
    call("polyint", LINE, 2, [3, 4]),
    call("polyint", LINE, 2, LINE[:1]),
    evaluating("polydiv", LINE, INTS[0, :3] + 20),
    evaluating("polyfit", LINE, LINE**2 + 1, 2)._replace(rtol=1e-6),
    evaluating("poly", LINE),
    evaluating("roots", LINE)._replace(rtol=1e-9),
    *(call("vander", x) for x in (LINE, INTS[0], SINGLES[0])),
    call("vander", LINE, 3, increasing=True),
    call("vander", LINE, 0),
    call("vander", REALS),
    call("where", BOOLS, -2, BYTES),
    call("where", BOOLS, BYTES, 300),
    call("select", [Host(BOOLS), REALS > 0], [REALS, Host(INTS)]),
]

FUSED = [
    call("select", [REALS < 0, REALS > 1], [REALS, INTS], 7),
    call("choose", INTS, [REALS, INTS[0], BYTES], mode="wrap"),
    call("isclose", SPECIAL, SPECIAL[::-1], equal_nan=True),
    call("packbits", BOOLS, 1),
    call("unpackbits", BYTES, 1),
    call("bitwise_count", INTS),
    call("sinc", REALS),
    call("diag", LINE),
    call("trace", REALS),
    call("polyval", LINE, REALS),
]
