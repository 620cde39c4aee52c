"""Calls at the edges: results that `out=` cannot hold, empty arrays, arrays without axes."""

import numpy as np

from tests.helpers.numpy_calls import call, evaluating, sample

REALS = sample((4, 6))
INTS = sample((4, 6), "int32", 2)
BYTES = sample((4, 6), "uint8", 2)
BOOLS = sample((4, 6), "bool", 5)
NUMBER, EMPTY = np.array(3.0), np.zeros((2, 0))
ROWS = np.array([[True] * 3, [False] * 3])  # two conditions for a line of three


def _outs(name, *args, **settings):
    """The call with arrays for its result: of the right kind, another dtype, another shape."""
    kinds = [(6,), "int64"], [(6,), "int32"], [(6,), "float64"], [(1, 6), "int64"], [(), "float64"]
    return [call(name, *args, **settings, out=np.ones(*kind)) for kind in kinds]


CALLS = [
    *(c for name in ("argmax", "argmin") for c in _outs(name, REALS, axis=0)),
    *(c for name in ("mean", "sum", "max", "any", "var", "ptp") for c in _outs(name, INTS, axis=0)),
    *(c for x in (INTS, REALS) for c in _outs("take", x, 1, axis=0)),
    *(call("compress", [True], REALS, axis=0, out=np.ones(shape)) for shape in ((1, 6), (4, 6))),
    *(call("concatenate", [REALS[0], INTS[0]], out=np.zeros(n, int)) for n in (12, 13)),
    evaluating("choose", BOOLS, [REALS, INTS], out=np.zeros((2, 4, 6))),
    *(call("fix", REALS[0], out=np.zeros(shape)) for shape in ((6,), (2, 6))),
    call("round", REALS[0], 1, out=np.zeros((2, 6))),
    # arrays without elements
    *(call("nanquantile", EMPTY, [0.1, 0.5], axis=1, keepdims=keeps) for keeps in (False, True)),
    *(call("linalg.norm", EMPTY, order, axis=1) for order in (np.inf, -np.inf, 1)),
    *(call("linalg.norm", EMPTY, order) for order in (np.inf, 1, 2, "nuc")),
    call("partition", EMPTY, 5, axis=0),
    call("take", np.zeros((0, 0)), [3], axis=1),
    call("put", np.zeros(0), [0], 1),
    *(evaluating("compress", [False, True], np.zeros((n, 0)), axis=1) for n in (0, 1)),
    call("select", [BOOLS, BOOLS], [BYTES[0, :0], 0]),
    call("average", EMPTY.T, axis=0),
    evaluating("trim_zeros", EMPTY),
    # arrays without axes
    *(call("pad", NUMBER, 1, mode=mode) for mode in ("constant", "edge", "reflect", "linear_ramp")),
    call("tensordot", NUMBER, NUMBER, axes=1),
    call("correlate", NUMBER, NUMBER),
    call("polyval", NUMBER, 2.0),
    call("triu", NUMBER),
    # numbers and arrays that a dtype does not hold
    *(call(name, BYTES, BOOLS, 300) for name in ("place", "putmask")),
    *(call(name, BYTES, BOOLS, [2]) for name in ("place", "putmask")),
    *(call(name, BYTES, BOOLS, INTS[0]) for name in ("place", "putmask")),
    *(call("put", BYTES, [1], value) for value in (300, [2], INTS[0], 1e300)),
    call("sum", BYTES, initial=-2, dtype="uint8"),
    *(call("select", [BOOLS, ~BOOLS], [BYTES, other]) for other in (0, np.uint8(7))),
    evaluating("piecewise", BYTES, [BYTES > 3], [-1, 2]),
    # conditions that are one array
    evaluating("piecewise", REALS[0, :3], ROWS, [5, 7]),
    evaluating("piecewise", REALS[0, :3], ROWS, [5]),
    evaluating("piecewise", REALS, BOOLS[:, 0], [lambda x: x * 2, 1]),
    *(evaluating("trim_zeros", np.array([0, 0, 1, 0, 2, 0]), trim) for trim in ("f", "B", "no")),
    evaluating("trim_zeros", np.diag([0, 1, 2, 0]), "fb", 0),
    *(call("ravel", x, order=order) for x in (INTS, INTS.T) for order in "CFAK"),
    # `ufunc.at` and its like
    *(evaluating("add.at", INTS, i, 5) for i in (slice(1, 3), ..., None, True, (0, slice(2)))),
    evaluating("add.at", INTS, BOOLS, 5),
    call("add.at", INTS, [0, 1], np.arange(4)),
    call("bitwise_xor.at", REALS, [99], 5),
    call("add.reduceat", REALS, [[0, 1]]),
]
FUSED = []
