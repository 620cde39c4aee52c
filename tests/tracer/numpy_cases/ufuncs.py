"""Calls of every ufunc of NumPy, of its keywords and of its methods."""

import numpy as np

from tests.helpers.numpy_calls import call, evaluating, sample

KINDS = ["float64", "float32", "int32", "uint8", "bool"]
SHAPE = (3, 4)
LEFT = {kind: sample(SHAPE, kind, 1) for kind in KINDS}
RIGHT = {kind: sample(SHAPE, kind, 2) for kind in KINDS}
REALS, SINGLES, INTS = LEFT["float64"], LEFT["float32"], LEFT["int32"]
MASK = sample(SHAPE, "bool", 3)
UFUNCS = {
    name: getattr(np, name)
    for name in sorted(dir(np))
    if isinstance(getattr(np, name), np.ufunc) and getattr(np, name).signature is None
}
# Ints divide by nothing here, and are no powers: what NumPy warns of or refuses is tested apart.
NONZERO = {
    "reciprocal",
    "divide",
    "true_divide",
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "divmod",
}
POWERS = {"power", "pow", "float_power", "ldexp", "left_shift", "bitwise_left_shift"}


def _operands(name, ufunc, kind):
    left, right = LEFT[kind], RIGHT[kind]
    if name in NONZERO and kind != "bool":
        left, right = (np.where(x == 0, x.dtype.type(3), x) for x in (left, right))
    if name in POWERS and kind in ("int32", "uint8"):
        right = np.abs(right) % 5
    if name == "ldexp":
        right = np.abs(RIGHT["int32"]) % 5
    return (left, right)[: ufunc.nin]


CALLS = [
    *(
        call(name, *_operands(name, ufunc, kind))
        for name, ufunc in UFUNCS.items()
        for kind in KINDS
        if name != "isnat"
    ),
    call("add", INTS, 2.5),
    call("multiply", SINGLES, 2),
    call("add", SINGLES, INTS, dtype=np.float32, casting="same_kind"),
    call("add", INTS, INTS, dtype=np.float64),
    call("add", REALS, REALS, casting="none"),
    call("exp", INTS, out=REALS.copy()),
    call("sqrt", REALS, out=INTS.copy()),
    call("add", REALS, 0.5, out=INTS.copy(), casting="unsafe"),
    *(call(name, REALS, out=[]) for name in ("exp", "sum", "mean", "cumsum", "add.reduce")),
    call("add", INTS, INTS, out=REALS.copy(), casting="no"),
    call("add", REALS, 1, where=MASK, out=REALS.copy()),
    call("add", INTS, 1, where=MASK, out=REALS.copy()),
    call("add", REALS, 1, where=MASK, out=INTS.copy()),
    call("add", REALS, 1, where=MASK, out=INTS.copy(), casting="unsafe"),
    *(
        call("vecdot", REALS, REALS, keepdims=True, **axes)
        for axes in ({}, {"axis": 0}, {"axes": [0, 0, 0]}, {"axes": [0, 0, 1]})
    ),
    call("divmod", REALS, 0.75),
    *(call(f"{name}.reduce", x) for name in ("add", "multiply", "maximum") for x in (REALS, INTS)),
    call("add.reduce", REALS, axis=(0, 1), keepdims=True, initial=2.0),
    call("subtract.reduce", REALS),
    call("logical_and.reduce", INTS, axis=1),
    *(call(f"{name}.accumulate", REALS, axis=1) for name in ("add", "minimum", "subtract")),
    call("add.reduceat", REALS, [0, 2, 1], axis=1),
    call("multiply.outer", REALS, INTS[0]),
    call("add.reduce", REALS, axis=5),
    evaluating("add.at", INTS, [0, 0, 2], 5),
]

FUSED = []
